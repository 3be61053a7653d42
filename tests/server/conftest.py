"""The application in this process, on a database of its own."""

import dataclasses
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from inductorscope.settings import Settings
from inductorscope.store.who import OWNER, VIEWER
from inductorscope_server.web.app import create_app
from starlette.testclient import TestClient

from tests.support.new_database import new_database

BASE = "http://127.0.0.1:8765"


@contextmanager
def _opened(settings: Settings, *, alone: bool = True, **changes: Any) -> Iterator[TestClient]:
    """A client of an application with these settings, changed so. `alone`: answers need no process
    of their own, which takes two seconds to start."""
    changed = dataclasses.replace(settings, **changes)
    app = create_app(changed, alone=alone)
    with TestClient(app, base_url=BASE, follow_redirects=False) as client:
        yield client


@pytest.fixture(autouse=True)
def viewer() -> Iterator[None]:
    """Tests look into the application's parts as its owner."""
    before = VIEWER.set(OWNER)
    yield
    VIEWER.reset(before)


Opened = Callable[..., AbstractContextManager[TestClient]]


@pytest.fixture(scope="session")
def opened() -> Opened:
    """`with opened(settings, token="x") as client:`"""
    return _opened


def _new_settings(data: Path) -> Settings:
    new_database(data)
    return Settings(data=data, database_url="")


@pytest.fixture(scope="module")
def own_settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """An installation on SQLite that the tests of a module share."""
    return _new_settings(tmp_path_factory.mktemp("server") / "data")


@pytest.fixture(scope="module")
def client(own_settings: Settings) -> Iterator[TestClient]:
    with _opened(own_settings) as client:
        yield client


@pytest.fixture(scope="session")
def filled_settings(tmp_path_factory: pytest.TempPathFactory, fixtures: Path) -> Settings:
    """An installation that holds the run of a real capture."""
    from inductorscope.cli.local import read_paths

    settings = _new_settings(tmp_path_factory.mktemp("filled") / "data")
    read_paths(
        settings,
        [fixtures / "cuda-foo1"],
        name="foo1",
        tags=["fixture"],
        origin="ingest",
        progress=lambda step, done, total, unit: None,
    )
    return settings


@pytest.fixture(scope="session")
def filled(filled_settings: Settings) -> Iterator[TestClient]:
    """The application with that run."""
    with _opened(filled_settings) as client:
        yield client


@pytest.fixture
def graph(filled: TestClient) -> str:
    """Path of the one graph of the one run."""
    (run,) = set(re.findall(r'href="(/runs/[0-9a-f]+)"', filled.get("/").text))
    found = re.search(rf'href="({run}/graphs/[^"?/]+)', filled.get(run).text)
    assert found
    return found.group(1)
