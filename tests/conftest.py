"""What every test may ask for."""

import fcntl
import gc
import json
import os
import ssl
import sys
import uuid
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import cache as kept
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as effort
from hypothesis.internal.conjecture import providers
from inductorscope.capturing.run import run_capture
from inductorscope.capturing.spec import CaptureSpec
from inductorscope.jobs.queue.engine import prepare
from inductorscope.settings import Settings
from inductorscope.store.database.engine import make_engine
from sqlalchemy import Engine
from xdist.remote import Producer

from tests.support.new_database import NAME, new_database
from tests.support.places import FIXTURES, SHARED
from tests.support.postgres import PostgresServer, binaries, shared_postgres
from tests.support.serving import Served, serve
from tests.support.spreading import WITH_SERVERS, Spreading, place, unit, write_seconds

# Compiled modules are always kept, those of tests too: compiling them again is 40 % of a start.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Torch leaves the other cores to the processes of other tests.
os.environ["OMP_NUM_THREADS"] = "1"
# Kernels without vectors compile in a tenth of the time; what looks at vectors uses VECTORS.
VECTORS = "TORCHINDUCTOR_VEC_ISA_OK"
os.environ[VECTORS] = "0"

# A busy machine fails no test, and 25 examples of most inputs are as good as a hundred.
effort.register_profile(
    "busy", deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow]
)
effort.load_profile("busy")

# Hypothesis would read the constants of all our modules, in three seconds for each process.
if "INDUCTORSCOPE_FUZZ_CASES" not in os.environ:
    vars(providers)["is_local_module_file"] = lambda path: False

# httpx would read the machine's certificates for every request without a client, in up to 60 ms.
vars(ssl)["create_default_context"] = kept(ssl.create_default_context)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: place(item.nodeid))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, object, object]:
    """The servers that a unit shares end with it: each would take 4 s of a processor until the end
    of a session, waiting."""
    done = yield
    here = unit(item.nodeid)
    if here in WITH_SERVERS and nextitem is not None and unit(nextitem.nodeid) != here:
        item.session._setupstate.teardown_exact(None)
    return done


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Thousands of tests last to the end: no garbage collection looks at them; and it seldom looks
    at what tests make, which took a tenth of their time. Every process of a test session collects
    all tests, so that none may import torch, which takes seconds."""
    gc.disable()
    known = "torch" in sys.modules
    try:
        found = yield
        if not known and "torch" in sys.modules:
            raise pytest.UsageError("A module of tests imports torch: do it in the tests.")
        return found
    finally:
        gc.freeze()
        gc.enable()
        gc.set_threshold(50_000)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Spreading | None:
    """Of `--dist loadfile`, with units that may hold several files."""
    return Spreading(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write-seconds", action="store_true", help="note how long files take")


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if config.getoption("--write-seconds"):
        reported = chain.from_iterable(terminalreporter.stats.values())
        write_seconds(report for report in reported if isinstance(report, pytest.TestReport))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real traces beside the checkout; tests that need it are skipped without it."""
    if not (SHARED / "traces").is_dir():
        pytest.skip("needs the folder of shared traces beside the checkout")
    return SHARED


@pytest.fixture(scope="session")
def fixtures() -> Path:
    """Small captures of our own, part of the checkout."""
    return FIXTURES


# --- captures: one of each for all processes of a test session ---


@pytest.fixture(scope="session")
def between(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all processes of a test session share."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "between"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def cache(between: Path) -> Path:
    """Compiled C++ that captures of different tests share."""
    folder = between / "cache"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def captured_tutorial(between: Path, cache: Path) -> Path:
    """The tutorial's function, captured; the words of its steps are in a file beside it."""
    out, steps = between / "tutorial" / "capture", between / "tutorial" / "steps.json"
    with (between / "tutorial.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # whoever comes first captures, the others wait
        if not steps.exists():
            words: dict[str, None] = {}
            spec = CaptureSpec(
                model="neg-maximum-cat",
                seconds=0.2,
                config={"max_fusion_size": "16", "cpp.min_chunk_size": "4096"},
            )
            with pytest.MonkeyPatch.context() as patch:
                patch.delenv(VECTORS)
                run_capture(
                    spec, out, Settings(data=out, database_url=""),
                    lambda step, *_: words.setdefault(step), cache=cache,
                )  # fmt: skip
            steps.write_text(json.dumps(list(words)))
    return out


@pytest.fixture
def vectors(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Kernels have vectors, as they do for people."""
    monkeypatch.setenv(VECTORS, "1")  # without trying each kind, in ten processes
    if "torch._inductor.config" not in sys.modules:
        yield
        return
    with asking_for_vectors():
        yield


@contextmanager
def asking_for_vectors() -> Iterator[None]:
    """Makes torch read anew which vectors there are, since another test made it read VECTORS."""
    from torch._inductor import config, cpu_vec_isa

    cpu_vec_isa.valid_vec_isa_list.cache_clear()
    with config.patch({"cpp.vec_isa_ok": True}):
        yield
    cpu_vec_isa.valid_vec_isa_list.cache_clear()


@pytest.fixture(scope="session")
def playing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server whose playground several tests use: its process takes ten seconds to start."""
    with serve(tmp_path_factory.mktemp("playing") / "data", "--workers", "0") as served:
        yield served


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with a worker, which runs models of the folder `models` beside its data."""
    folder = tmp_path_factory.mktemp("server")
    (folder / "models").mkdir()
    with serve(
        folder / "data", env={"INDUCTORSCOPE_MODEL_FOLDERS": str(folder / "models")}
    ) as served:
        yield served


# --- databases: every test of the store runs on SQLite and on a PostgreSQL server of our own ---


@pytest.fixture(scope="session")
def pg_server(between: Path) -> Iterator[PostgresServer]:
    """PostgreSQL from PATH or Debian's folder; without it tests are skipped, in CI they fail."""
    programs = binaries()
    if programs is None:
        why = "needs PostgreSQL's initdb and pg_ctl on PATH or in /usr/lib/postgresql/*/bin"
        if os.environ.get("CI"):
            pytest.fail(why)
        pytest.skip(why)
    with shared_postgres(programs, between) as server:
        yield server


@pytest.fixture(scope="session")
def pg_template(pg_server: PostgresServer, between: Path) -> str:
    """A database at the newest revision, with the job engine's tables, to copy from."""
    made = pg_server.folder / "migrated"
    with (between / "template.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            pg_server.run("CREATE DATABASE migrated")
            prepare(Settings(data=made, database_url=pg_server.url("migrated")))
            made.mkdir(exist_ok=True)
    return "migrated"


DATABASES = ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)]
ON_SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
"""For tests to which the database makes no difference."""


@pytest.fixture(params=DATABASES)
def empty_database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database without tables, once on SQLite and once on PostgreSQL."""
    yield from database(request, tmp_path, template=None)


@pytest.fixture(params=DATABASES)
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database at the newest revision, once on SQLite and once on PostgreSQL."""
    yield from database(request, tmp_path)


@pytest.fixture(scope="module", params=DATABASES)
def shared_engine(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Engine]:
    """An engine on a ready database that the tests of a module share."""
    folder = tmp_path_factory.mktemp("shared")
    for url in database(request, folder):
        made = make_engine(Settings(data=folder / "data", database_url=url))
        yield made
        made.dispose()


def database(
    request: pytest.FixtureRequest, folder: Path, template: str | None = "migrated"
) -> Iterator[str]:
    """The database that a fixture's parameter names."""
    if request.param == "sqlite":
        if template:
            new_database(folder)
        yield f"sqlite:///{folder / NAME}"
        return
    server: PostgresServer = request.getfixturevalue("pg_server")
    if template:
        template = request.getfixturevalue("pg_template")
    name = f"test_{uuid.uuid4().hex}"
    server.run(f"CREATE DATABASE {name} TEMPLATE {template or 'template0'}")
    yield server.url(name)
    server.run(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> Settings:
    """Settings of an installation whose database is ready."""
    return Settings(data=tmp_path / "data", database_url=database_url)


@pytest.fixture
def engine(settings: Settings) -> Iterator[Engine]:
    """An engine on the ready database, closed at the end."""
    made = make_engine(settings)
    yield made
    made.dispose()
