"""Databases of one test, and one database of what is read once for many."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from inductorscope.intake.limits import Limits
from inductorscope.intake.unpack import unpack

from tests.support.readings import Database, SharedRuns, database


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    made = database(tmp_path / "data")
    yield made
    made.close()


@pytest.fixture(scope="session")
def shared_runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedRuns]:
    made = SharedRuns(tmp_path_factory.mktemp("shared") / "data")
    yield made
    made.db.close()


@pytest.fixture(scope="session")
def mixnet(shared: Path, shared_runs: SharedRuns, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The largest capture, unpacked."""
    folder = tmp_path_factory.mktemp("large") / "mixnet"
    archive = shared / "traces" / "cuda-mixnet-train.tar.xz"
    unpack(archive, folder, Limits.of(shared_runs.db.settings))
    return folder
