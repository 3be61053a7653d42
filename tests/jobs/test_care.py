"""Backups of a database in use, and what the doctor finds and mends."""

from contextlib import closing
from pathlib import Path

import pytest
from inductorscope.jobs.api import JobsClient
from inductorscope.jobs.backup import back_up, restore
from inductorscope.jobs.doctor import Doctor, Finding
from inductorscope.jobs.queue import transitions
from inductorscope.jobs.uploads import open_uploads
from inductorscope.settings import Settings
from inductorscope.store.contents.blobs import add_blobs
from inductorscope.store.contents.content import content_of_bytes
from inductorscope.store.database.engine import Sessions, sessions
from inductorscope.store.database.errors import UnusableError
from inductorscope.store.tables.models import Base, Blob, Job, Run, TextFrame
from sqlalchemy import Engine, delete, func, select, text, update

from tests.conftest import ON_SQLITE
from tests.support.half_read import CODE, HalfRead
from tests.support.sending import append


@pytest.fixture
def factory(engine: Engine, client: JobsClient) -> Sessions:
    return sessions(engine)


@pytest.fixture
def run(factory: Sessions) -> str:
    return whole(factory, "first")


def whole(factory: Sessions, name: str) -> str:
    run = HalfRead(factory, name)
    run.lay_out()
    run.link_one()
    run.finish()
    return run.id


def rows(factory: Sessions, model: type[Base]) -> int:
    with factory() as session:
        return session.scalar(select(func.count()).select_from(model)) or 0


def found(settings: Settings, *, repair: bool = False) -> list[Finding]:
    findings = []
    with closing(Doctor(settings)) as doctor:
        for finding in doctor.findings():
            findings.append(finding)
            if repair and finding.repair is not None:
                finding.repair()
    return findings


def test_a_backup_has_runs_and_uploads_that_wait_and_jobs_go_on(
    settings: Settings, client: JobsClient, factory: Sessions, run: str, tmp_path: Path
) -> None:
    upload = client.uploads.create("x", [], [("a", 3)])
    append(client.uploads, upload.id, 0, 0, b"abc")
    job = client.uploads.finish(upload.id)
    transitions.claim(factory, job, "a worker that is gone")
    file = tmp_path / "backup.tar.zst"
    assert back_up(settings, file).runs == 1

    client.delete_run(run)
    open_uploads(settings).remove(upload.id)
    with factory.begin() as session:
        session.execute(delete(Job))
    later = whole(factory, "second")
    with pytest.raises(UnusableError, match="--replace"):
        restore(settings, file)
    restore(settings, file, replace=True)

    with factory() as session:
        assert list(session.scalars(select(Run.id))) == [run] != [later]
    assert (settings.uploads / upload.id / "files/0").read_bytes() == b"abc"
    assert client.job(job).title == "x"
    assert [finding.what for finding in found(settings) if finding.repair] == []
    assert whole(factory, "third")  # rows are numbered on
    assert whole(factory, "second") == later


@ON_SQLITE
def test_what_is_no_backup_is_refused(
    settings: Settings, factory: Sessions, run: str, tmp_path: Path
) -> None:
    file = tmp_path / "backup.tar.zst"
    back_up(settings, file)
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    with pytest.raises(UnusableError, match="no whole backup"):
        restore(settings, file, replace=True)
    assert rows(factory, Run) == 1


def test_a_deleted_run_is_read_anew_and_leaves_the_trash(
    client: JobsClient, factory: Sessions, run: str
) -> None:
    with factory.begin() as session:
        session.execute(update(Run).values(name="renamed"))
    assert client.trash_run(run)
    assert whole(factory, "first") == run
    assert client.trash().runs == []
    with factory() as session:
        assert session.get_one(Run, run).name == "first"


NO_WORKER = "1 job cannot start. No worker with torch is connected."


def test_the_doctor_finds_and_mends(
    settings: Settings, client: JobsClient, factory: Sessions, run: str
) -> None:
    assert found(settings) == []
    with closing(Doctor(settings)) as doctor:
        whole(factory, "second")
        shares = doctor.shares()
    assert shares.stored == shares.own + shares.shared + shares.unused
    assert (shares.contents, shares.own, shares.unused) == (1, 0, 0)
    assert shares.saved == shares.stored
    with factory() as session:
        assert shares.stored == session.scalar(select(func.sum(func.length(Blob.data))))

    half = HalfRead(factory, "half")
    half.read_log()
    client.programs.capture({"model": "neg-maximum-cat"})
    settings.captures.mkdir()
    (settings.captures / "capture-0123456789abcdef").mkdir()
    with factory.begin() as session:
        add_blobs(session, [content_of_bytes(b"of nobody")])
        session.execute(delete(TextFrame))
        session.execute(update(Run).where(Run.id == half.id).values(reader="job:gone"))
        session.add(job_unknown_to_the_engine())
    sentences = "\n".join(finding.what for finding in found(settings, repair=True))
    for part in (
        "Nobody reads 1 unfinished run any more: " + half.id,
        "Nothing uses 1 content of 9\u202fB",
        "Search does not cover 1 text",
        "The job lost never ends",
        "Nobody needs 1 folder",
        NO_WORKER,
    ):
        assert part in sentences
    assert [finding.what for finding in found(settings)] == [NO_WORKER]


def test_the_doctor_says_what_the_schema_lacks(settings: Settings, factory: Sessions) -> None:
    with factory.begin() as session:
        session.execute(text("ALTER TABLE kernel_calls DROP COLUMN number"))
        session.execute(text("DROP TABLE diagnoses"))
    (finding,) = found(settings)
    assert "kernel_calls.number" in finding.what
    assert "the table diagnoses" in finding.what


def job_unknown_to_the_engine() -> Job:
    return Job(
        id="lost", kind="ingest", title="lost", spec={}, state="queued", step="", done=0,
        created_at=transitions.now(),
    )  # fmt: skip


@ON_SQLITE
def test_a_damaged_content_is_found_and_one_without_its_secrets_is_not(
    settings: Settings, factory: Sessions, run: str
) -> None:
    def put(data: bytes) -> list[str]:
        content = content_of_bytes(data)
        with factory.begin() as session:
            values = {"data": content.data(), "encoding": content.encoding, "size": content.size}
            session.execute(update(Blob).values(**values))
        return [finding.what for finding in found(settings)]

    assert put(b"token = <secret removed>") == []
    (said,) = put(CODE[:-1])
    assert run in said
    assert "is damaged" in said
