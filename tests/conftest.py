"""What every test may ask for."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import socket
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from inductorscope.capture.run import run_capture
from inductorscope.capture.spec import CaptureSpec
from inductorscope.jobs.queue.engine import prepare
from inductorscope.settings import Settings
from inductorscope.store.database.engine import make_engine
from inductorscope.store.database.migrate import migrate
from sqlalchemy import Engine
from xdist.remote import Producer

from tests.support.places import FIXTURES, SHARED
from tests.support.spreading import Spreading, place

# Torch's threads that wait for each other leave the core to the processes of other tests.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: place(item.nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Spreading | None:
    """Of `--dist loadfile`, with units that may hold several files."""
    return Spreading(config, log) if config.getvalue("dist") == "loadfile" else None


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
                seconds=0.5,
                config={"max_fusion_size": "16", "cpp.min_chunk_size": "4096"},
            )
            run_capture(
                spec, out, Settings(data=out, database_url=""),
                lambda step, *_: words.setdefault(step), cache=cache,
            )  # fmt: skip
            steps.write_text(json.dumps(list(words)))
    return out


# --- databases: every test of the store runs on SQLite and on a PostgreSQL server of our own ---


@dataclass(frozen=True)
class PostgresServer:
    """A server that lives as long as the test session."""

    port: int

    def url(self, database: str) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def run(self, statement: str) -> None:
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(statement)


@pytest.fixture(scope="session")
def pg_server() -> Iterator[PostgresServer]:
    """PostgreSQL from PATH or Debian's folder; without it tests are skipped, in CI they fail."""
    binaries = _postgres_binaries()
    if binaries is None:
        why = "needs PostgreSQL's initdb and pg_ctl on PATH or in /usr/lib/postgresql/*/bin"
        if os.environ.get("CI"):
            pytest.fail(why)
        pytest.skip(why)
    # Short, since PostgreSQL's socket must have a path under 108 bytes.
    folder = Path(tempfile.mkdtemp(prefix="isc-pg-"))
    as_user: list[str] = []
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        shutil.chown(folder, "postgres", "postgres")
        as_user = ["runuser", "-u", "postgres", "--"]
    data = str(folder / "data")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = (
        f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off "
        "-c full_page_writes=off -c synchronous_commit=off -c max_connections=200"
    )

    def call(*command: str) -> None:
        done = subprocess.run(
            [*as_user, *command], cwd=folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr

    try:
        initdb = [str(binaries / "initdb"), "-D", data, "-U", "postgres", "-A", "trust"]
        call(*initdb, "--no-sync", "--locale=C.UTF-8", "-E", "UTF8")
        log = str(folder / "log")
        call(str(binaries / "pg_ctl"), "-D", data, "-w", "-l", log, "-o", options, "start")
        try:
            yield PostgresServer(port)
        finally:
            call(str(binaries / "pg_ctl"), "-D", data, "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _postgres_binaries() -> Path | None:
    on_path = shutil.which("pg_ctl")
    if on_path and shutil.which("initdb"):
        return Path(on_path).parent
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
    return found[-1].parent if found else None


@pytest.fixture(scope="session")
def pg_template(pg_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A database at the newest revision, with the job engine's tables, to copy from."""
    pg_server.run("CREATE DATABASE migrated")
    data = tmp_path_factory.mktemp("template")
    prepare(Settings(data=data, database_url=pg_server.url("migrated")))
    return "migrated"


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def empty_database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database without tables, once on SQLite and once on PostgreSQL."""
    yield from _database(request, tmp_path, template=None)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database at the newest revision, once on SQLite and once on PostgreSQL."""
    yield from _database(request, tmp_path, template="migrated")


def _database(
    request: pytest.FixtureRequest, tmp_path: Path, template: str | None
) -> Iterator[str]:
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path / 'inductorscope.db'}"
        if template:
            migrate(Settings(data=tmp_path / "data", database_url=url))
        yield url
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
