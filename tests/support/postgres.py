"""A PostgreSQL server for tests."""

import contextlib
import fcntl
import os
import pickle
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg

OPTIONS = (
    "-c listen_addresses=127.0.0.1 -c fsync=off -c full_page_writes=off -c max_connections=200"
)


@dataclass(frozen=True)
class PostgresServer:
    """A server in a folder of its own."""

    programs: Path
    folder: Path
    port: int
    options: str

    def url(self, database: str) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def run(self, statement: str) -> None:
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(statement)

    def start(self) -> None:
        self._control("-l", f"{self.folder}/log", "-o", self.options, "start")

    def stop(self) -> None:
        """At once, as in a crash."""
        self._control("-m", "immediate", "stop")

    def end(self) -> None:
        try:
            self.stop()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _control(self, *words: str) -> None:
        self.call("pg_ctl", "-D", f"{self.folder}/data", "-w", *words)

    def call(self, program: str, *words: str) -> None:
        # PostgreSQL refuses to run as root.
        as_user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        done = subprocess.run(
            [*as_user, str(self.programs / program), *words],
            cwd=self.folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr


def binaries() -> Path | None:
    """Returns the folder of `initdb` and `pg_ctl`: from PATH, or Debian's."""
    on_path = shutil.which("pg_ctl")
    if on_path and shutil.which("initdb"):
        return Path(on_path).parent
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
    return found[-1].parent if found else None


@contextlib.contextmanager
def postgres(programs: Path, *, durable: bool = False) -> Iterator[PostgresServer]:
    """Runs a server on a free port until the block ends. `durable`: what is committed survives a
    crash."""
    server = _started(programs, durable)
    try:
        yield server
    finally:
        server.end()


@contextlib.contextmanager
def shared_postgres(programs: Path, between: Path) -> Iterator[PostgresServer]:
    """The one server of all processes with this folder: the first starts it, the last ends it."""
    known, mine = between / "postgres", between / f"postgres-{os.getpid()}"

    def alone() -> contextlib.AbstractContextManager[object]:
        lock = (between / "postgres.lock").open("w")
        fcntl.flock(lock, fcntl.LOCK_EX)
        return lock

    with alone():
        if not known.exists():
            known.write_bytes(pickle.dumps(_started(programs)))
        server: PostgresServer = pickle.loads(known.read_bytes())
        mine.touch()
    try:
        yield server
    finally:
        with alone():
            mine.unlink()
            if not [*between.glob("postgres-*")]:
                known.unlink()
                server.end()


def _started(programs: Path, durable: bool = False) -> PostgresServer:
    # Short, since PostgreSQL's socket must have a path under 108 bytes.
    folder = Path(tempfile.mkdtemp(prefix="isc-pg-"))
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres", "postgres")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    unsure = "" if durable else " -c synchronous_commit=off"
    server = PostgresServer(programs, folder, port, f"-p {port} -k {folder} {OPTIONS}{unsure}")
    data = ("-D", f"{folder}/data", "-U", "postgres", "-A", "trust", "--no-sync")
    server.call("initdb", *data, "--locale=C.UTF-8", "-E", "UTF8")
    server.start()
    return server
