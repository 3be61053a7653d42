"""Other users of the machine cannot read the data folder."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from inductorscope.settings import Settings
from inductorscope.store.database.engine import make_engine, sessions
from inductorscope.store.database.migrate import migrate
from inductorscope.store.database.private import open_to_others
from inductorscope.store.tables.models import Worker
from sqlalchemy import delete


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def modes(folder: Path) -> dict[str, int]:
    return {path.name: mode(path) for path in folder.iterdir()}


def test_a_new_data_folder_is_for_its_user_alone(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "data", database_url="")
    migrate(settings)
    engine = make_engine(settings)
    with sessions(engine).begin() as session:
        session.execute(delete(Worker))
    with engine.connect():  # open, so that the files beside the database are there
        found = modes(settings.data)
    engine.dispose()
    assert mode(settings.data) == 0o700
    assert found == dict.fromkeys(
        ("inductorscope.db", "inductorscope.db-shm", "inductorscope.db-wal"), 0o600
    )


def test_a_data_folder_of_an_earlier_version_is_closed(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "data", database_url="")
    migrate(settings)
    settings.uploads.mkdir()
    settings.data.chmod(0o755)
    (settings.data / "inductorscope.db").chmod(0o644)
    migrate(settings)
    assert mode(settings.data) == 0o700
    assert modes(settings.data) == {"inductorscope.db": 0o600, "uploads": 0o700}


def test_an_empty_folder_that_a_person_made_is_closed(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "data", database_url="")
    settings.data.mkdir(0o755)
    migrate(settings)
    assert mode(settings.data) == 0o700
    assert not open_to_others(settings.data)


def test_a_folder_that_holds_other_things_stays_open(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, database_url="")
    (tmp_path / "README").write_text("mine")
    (tmp_path / "inductorscope.db").touch(0o644)
    tmp_path.chmod(0o755)
    migrate(settings)
    assert mode(tmp_path) == 0o755
    assert "mode 0755): it also holds README, so" in open_to_others(tmp_path)
    assert mode(tmp_path / "README") == 0o644
    assert mode(tmp_path / "inductorscope.db") == 0o600
