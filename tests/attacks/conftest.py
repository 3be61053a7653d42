"""Servers that several attacks share."""

import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest
from inductorscope.cli.local import read_paths
from inductorscope.settings import Settings

from tests.support.attacking import largest_file
from tests.support.places import FIXTURES
from tests.support.postgres import PostgresServer
from tests.support.sending import variant
from tests.support.serving import Served, serve

FILES = 256
"""Files that the impatient server may open."""


@pytest.fixture(scope="session")
def serving(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], Served]]:
    """Servers without workers, whose analyses end soon, by the name of their database."""
    with ExitStack() as servers:

        @cache
        def on(database: str) -> Served:
            env = {"INDUCTORSCOPE_ANALYSIS_SECONDS": "3"}
            if database == "postgresql":
                server: PostgresServer = request.getfixturevalue("pg_server")
                name = f"attacked_{uuid.uuid4().hex}"
                server.run(f"CREATE DATABASE {name}")
                env["INDUCTORSCOPE_DATABASE_URL"] = server.url(name)
            data = tmp_path_factory.mktemp("attacked") / "data"
            return servers.enter_context(serve(data, "--workers", "0", env=env))

        yield on


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def served(request: pytest.FixtureRequest, serving: Callable[[str], Served]) -> Served:
    """A server without workers, once on SQLite and once on PostgreSQL."""
    return serving(request.param)


@pytest.fixture(scope="session")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that may open few files and waits two seconds for its clients."""
    folder = tmp_path_factory.mktemp("impatient")
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nulimit -n {FILES}\nexec {sys.executable} "$@"\n')
    python.chmod(0o700)
    env = {"INDUCTORSCOPE_CLIENT_SECONDS": "2"}
    with serve(folder / "data", "--workers", "0", env=env, python=str(python)) as served:
        yield served


@pytest.fixture
def large_file(tmp_path: Path) -> Callable[[Served, int], str]:
    """Stores a run with a file of this size; the path of its bytes on the server."""

    def store(served: Served, size: int) -> str:
        settings = Settings(data=served.data, database_url=served.database_url)
        source = variant(FIXTURES / "cuda-foo1", tmp_path, 0, padding=size)
        run = read_paths(
            settings, [source], name="large", tags=[], origin="ingest", progress=lambda *_: None
        ).run_id
        return largest_file(served.url, run)

    return store
