"""Two web processes and four workers of two kinds, each with a folder of its own, that share
PostgreSQL and SeaweedFS. Clients upload while a web process, a worker, the store and the database
are killed and started again in turn.

    python -m tests.attacks.machines_that_die --uploads 200 --clients 20

In the end every job has ended once, every run has the contents that were sent, and nothing is left.
"""

import argparse
import itertools
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import httpx
import inductorscope.cli.client
import pytest
from inductorscope.cli.client import Client, Pushed
from inductorscope.jobs.api import JobsClient
from inductorscope.jobs.doctor import Doctor
from inductorscope.jobs.uploads import open_uploads
from inductorscope.settings import PREFIX, Settings
from inductorscope.store.database.engine import make_engine, sessions
from inductorscope.store.tables.models import COMPLETE, Artifact, Job, Run, Upload
from sqlalchemy import func, select

from tests.support.places import FIXTURES
from tests.support.postgres import binaries, postgres
from tests.support.seaweed import Seaweed
from tests.support.sending import variant
from tests.support.serving import free_port

SOURCE = FIXTURES / "cuda-foo1" / "torch_compile_debug"
KINDS = ("CPU", "NVIDIA H100 80GB HBM3")
"""Devices that workers say they have; captures run on the CPU all the same."""
KILLED = ("web", "worker", "store", "database")
DOWN_SECONDS = 2.0
BETWEEN_SECONDS = 6.0
PATIENCE_SECONDS = 300.0
LEFT_SECONDS = 300.0
"""How long to wait until nothing is left: workers sweep every two minutes, and once the store may
not be back."""


@dataclass
class Machine:
    """A web process or a worker with its supervisor, as on a machine of its own."""

    command: list[str]
    env: dict[str, str]
    log: Path
    process: subprocess.Popen[bytes] = field(init=False)

    def start(self) -> None:
        command = [sys.executable, "-m", "inductorscope", *self.command]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command, env=self.env, stdout=log, stderr=log, start_new_session=True
            )

    def kill(self) -> None:
        """Also what it started, which dies with it."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.kill()


@dataclass
class Installation:
    """All of it."""

    webs: list[str]
    settings: Settings
    dying: dict[str, list[tuple[Callable[[], None], Callable[[], None]]]]
    """How to kill and to start each, by kind."""


@contextmanager
def installed(folder: Path, web_count: int, worker_count: int) -> Iterator[Installation]:
    programs = binaries()
    assert programs is not None, "needs PostgreSQL's initdb and pg_ctl"
    (folder / "store").mkdir()
    store = Seaweed(folder / "store")
    with ExitStack() as stack:
        database = stack.enter_context(postgres(programs, durable=True))
        database.run("CREATE DATABASE dying")
        store.start()
        stack.callback(store.kill)
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        for name, value in store.env.items():
            patch.setenv(name, value)
        patch.setattr(inductorscope.cli.client, "PATIENCE_SECONDS", PATIENCE_SECONDS)
        shared = os.environ | {
            f"{PREFIX}DATABASE_URL": database.url("dying"),
            f"{PREFIX}CONTENTS_URL": store.url,
        }
        webs, dying = [], {"store": [(store.kill, store.start)]}
        dying["database"] = [(database.stop, database.start)]
        for number in range(web_count):
            port = free_port()
            webs.append(f"http://127.0.0.1:{port}")
            command = ["serve", "--workers", "0", "--port", str(port)]
            _add(stack, dying, folder, f"web-{number}", command, shared)
        for number in range(worker_count):
            env = shared | {f"{PREFIX}DEVICE": KINDS[number % 2]}
            _add(stack, dying, folder, f"worker-{number}", ["worker"], env)
        settings = Settings(
            data=folder / "looking", database_url=database.url("dying"), contents_url=store.url
        )
        yield Installation(webs, settings, dying)


def _add(
    stack: ExitStack,
    dying: dict[str, list[tuple[Callable[[], None], Callable[[], None]]]],
    folder: Path,
    name: str,
    command: list[str],
    env: dict[str, str],
) -> None:
    machine = Machine([*command, "--data", str(folder / name)], env, folder / f"{name}.log")
    machine.start()
    stack.callback(machine.stop)
    dying.setdefault(name.partition("-")[0], []).append((machine.kill, machine.start))


def keep_killing(
    installation: Installation, kinds: Iterable[str], over: threading.Event, between: float
) -> Counter[str]:
    killed: Counter[str] = Counter()
    turns = {kind: itertools.cycle(names) for kind, names in installation.dying.items()}
    for kind in kinds:
        if over.wait(between):
            return killed
        kill, start = next(turns[kind])
        kill()
        killed[kind] += 1
        time.sleep(DOWN_SECONDS)
        start()
    return killed


def send(webs: list[str], folder: Path, number: int) -> Pushed:
    source = variant(SOURCE, folder, number, padding=2_000)
    client = Client(webs[number % len(webs)])
    return client.push([source], source.name, ["dying"], lambda *_: None)


def faults(installation: Installation, jobs: JobsClient, sent: list[Pushed]) -> Iterator[str]:
    """What is not as it should be."""
    settings = installation.settings
    for pushed in sent:
        if pushed.state != "done" or pushed.duplicate:
            log = "".join(f"\n  {line.at} {line.text}" for line in jobs.events(pushed.job))
            yield f"{pushed.job}: {pushed.state}, {pushed.message}{log}"
    listed = [
        [run["id"] for run in httpx.get(f"{web}/api/", timeout=60).json()["runs"]]
        for web in installation.webs
    ]
    if any(answer != listed[0] for answer in listed):
        yield "the web processes list other runs"
    engine = make_engine(settings)
    with sessions(engine)() as session:
        states = session.execute(
            select(Job.state, func.count()).where(Job.kind == "ingest").group_by(Job.state)
        ).all()
        runs = set(session.scalars(select(Run.id).where(Run.state == COMPLETE)))
        ours = {str(pushed.run) for pushed in sent}
        same = [set(session.execute(_CONTENTS.where(Artifact.run_id == run))) for run in ours]
        figures = set(session.execute(_FIGURES.where(Run.id.in_(ours))))
    engine.dispose()
    if [tuple(row) for row in states] != [("done", len(sent))]:
        yield f"jobs: {states}"
    if len(ours) != len(sent) or not ours <= runs:
        yield f"{len(ours)} runs of {len(sent)} uploads, {len(runs)} stored"
    differ = [digest ^ same[0] for digest in same if digest != same[0]]
    if differ or len(figures) != 1:
        yield f"{len(differ)} runs have other contents, {len(figures)} figures: {differ[:1]}"
    until = time.monotonic() + LEFT_SECONDS
    while (left := list(_left(installation))) and time.monotonic() < until:
        time.sleep(2)
    yield from left


_CONTENTS = select(Artifact.role, Artifact.digest).where(~Artifact.path.contains("extra-"))
_FIGURES = select(Run.graph_count, Run.kernel_count).distinct()


def _left(installation: Installation) -> Iterator[str]:
    settings = installation.settings
    engine = make_engine(settings)
    with sessions(engine)() as session:
        read = set(session.scalars(select(Upload.id).where(Upload.job_id.is_not(None))))
    engine.dispose()
    for upload in open_uploads(settings).ids():
        # One whose announcement got no answer was announced again, and is kept as unfinished.
        if upload in read:
            yield f"the upload {upload} lies in the bucket"
    for kind in ("reading", "captures"):
        for folder in settings.data.parent.glob(f"*/{kind}/*"):
            yield f"{folder} is left"
    with closing(Doctor(settings)) as doctor:
        for finding in doctor.findings():
            yield f"doctor: {finding.what}"


def run(
    folder: Path,
    uploads: int,
    clients: int,
    captures: int = 0,
    between: float = BETWEEN_SECONDS,
    webs: int = 2,
    workers: int = 4,
    kinds: Iterable[str] = (),
) -> list[str]:
    """Prints the figures; returns what is not as it should be. `kinds`: what to kill, one after the
    other; by default everything in turn, until all is sent."""
    begun = time.monotonic()
    over = threading.Event()
    (folder / "sent").mkdir()
    with (
        installed(folder, webs, workers) as installation,
        ThreadPoolExecutor(clients + 1) as pool,
        closing(JobsClient(installation.settings)) as jobs,
    ):
        capture = {"model": "neg-maximum-cat", "seconds": 0.2}
        asked = [jobs.programs.capture(capture, (), device) for device in KINDS[:captures]]
        killing = pool.submit(
            keep_killing, installation, kinds or itertools.cycle(KILLED), over, between
        )
        try:
            sent = list(pool.map(partial(send, installation.webs, folder / "sent"), range(uploads)))
        finally:
            over.set()
        seconds = time.monotonic() - begun
        killed = killing.result()
        while any(jobs.job(job).active for job in asked):
            time.sleep(1)
        found = list(faults(installation, jobs, sent))
        found += [f"{job}: {jobs.job(job).message}" for job in asked if not jobs.job(job).run_id]
        done = jobs.jobs(limit=uploads + captures)
    tries = Counter(status.attempts for status in done)
    took_part = Counter(status.worker for status in done)
    print(f"{uploads} uploads by {clients} clients in {seconds:.0f} s; killed: {dict(killed)}")
    print(f"attempts: {dict(sorted(tries.items()))}; jobs a worker: {sorted(took_part.values())}")
    for fault in found:
        print("wrong:", fault)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.attacks.machines_that_die")
    parser.add_argument("--uploads", type=int, default=200)
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--captures", type=int, default=2)
    parser.add_argument("--between", type=float, default=BETWEEN_SECONDS)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="machines-"))
    print(f"logs are in {folder}", flush=True)
    return bool(run(folder, given.uploads, given.clients, given.captures, given.between))


if __name__ == "__main__":
    sys.exit(main())
