"""Several web processes and workers that share a PostgreSQL and an object store and no folder,
started at once on an empty database."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.postgres import PostgresServer
from tests.support.sending import push, variant
from tests.support.serving import Served, serve

UPLOADS = 6

pytestmark = [pytest.mark.slow, pytest.mark.postgres]


@contextmanager
def workers(data: Path, count: int, env: dict[str, str]) -> Iterator[None]:
    command = [sys.executable, "-m", "inductorscope", "worker", "--data", str(data)]
    with data.with_suffix(".log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--count", str(count)],
            env={**os.environ, **env},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        yield
    finally:
        process.terminate()
        process.wait(20)


def test_two_web_processes_and_three_workers_take_uploads_at_once(
    pg_server: PostgresServer, tmp_path: Path, fixtures: Path
) -> None:
    name = f"topology_{uuid.uuid4().hex}"
    pg_server.run(f"CREATE DATABASE {name}")
    env = {
        "INDUCTORSCOPE_DATABASE_URL": pg_server.url(name),
        "INDUCTORSCOPE_CONTENTS_URL": f"file://{tmp_path}/bucket",
    }
    folders = [
        variant(fixtures / "cuda-foo1", tmp_path, number, 200_000) for number in range(UPLOADS)
    ]
    with ExitStack() as stack:
        for number in range(3):
            stack.enter_context(workers(tmp_path / f"worker-{number}", 1, env))
        webs = [
            stack.enter_context(serve(tmp_path / f"web-{number}", "--workers", "0", env=env))
            for number in range(2)
        ]
        with ThreadPoolExecutor(UPLOADS) as pool:
            sent = list(
                pool.map(
                    lambda pair: push(webs[pair[0] % 2].url, pair[1]), list(enumerate(folders))
                )
            )
        assert [pushed for pushed in sent if pushed.state != "done" or pushed.duplicate] == []
        first, second = (pages(web, sorted(str(pushed.run) for pushed in sent)) for web in webs)
        assert len(first["runs"]) == UPLOADS
        assert first == second
        took_part = {row["worker"] for row in first["jobs"]}
    assert len(took_part) == 3
    assert not list((tmp_path / "bucket/uploads").glob("*/*"))


def pages(web: Served, runs: list[str]) -> dict[str, Any]:
    """What one web process tells of everything."""

    def ask(path: str) -> Any:
        return httpx.get(f"{web.url}/api{path}", timeout=30).raise_for_status().json()

    return {
        "runs": [ask(f"/runs/{run}") for run in runs],
        "read": [ask(f"/runs/{run}/read") for run in runs],
        "list": ask("/")["runs"],
        "jobs": ask("/jobs")["jobs"],
    }
