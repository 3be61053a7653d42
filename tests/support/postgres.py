"""A PostgreSQL server for tests."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psycopg


@dataclass(frozen=True)
class PostgresServer:
    """A running server."""

    port: int
    start: Callable[[], None]
    stop: Callable[[], None]
    """At once, as in a crash."""

    def url(self, database: str) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def run(self, statement: str) -> None:
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(statement)


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
        "-c full_page_writes=off -c max_connections=200"
    )
    if not durable:
        options += " -c synchronous_commit=off"

    def call(*command: str) -> None:
        done = subprocess.run(
            [*as_user, *command], cwd=folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr

    try:
        initdb = [str(programs / "initdb"), "-D", data, "-U", "postgres", "-A", "trust"]
        call(*initdb, "--no-sync", "--locale=C.UTF-8", "-E", "UTF8")
        control = [str(programs / "pg_ctl"), "-D", data, "-w"]
        start = partial(call, *control, "-l", str(folder / "log"), "-o", options, "start")
        stop = partial(call, *control, "-m", "immediate", "stop")
        start()
        try:
            yield PostgresServer(port, start, stop)
        finally:
            stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
