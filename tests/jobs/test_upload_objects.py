"""Uploads in an object store: two web processes and a worker that share it and no folder."""

import subprocess
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from inductorscope.cli.client import files_of
from inductorscope.jobs.api import JobsClient
from inductorscope.jobs.backup import back_up, restore
from inductorscope.jobs.doctor import Doctor
from inductorscope.jobs.errors import FileBusyError, NotFoundError, OffsetError
from inductorscope.jobs.queue.processes import environment
from inductorscope.jobs.queue.transitions import claim
from inductorscope.jobs.queue.workflow import child_command
from inductorscope.jobs.work import folders
from inductorscope.settings import Settings
from inductorscope.store.database.engine import Sessions, make_engine, sessions

from tests.support.sending import append

pytest.importorskip("obstore")


@pytest.fixture
def apart(tmp_path: Path) -> Settings:
    return Settings(
        data=tmp_path / "data",
        database_url=f"sqlite:///{tmp_path}/database",
        contents_url=f"file://{tmp_path}/bucket",
    )


@pytest.fixture
def factory(apart: Settings) -> Iterator[Sessions]:
    engine = make_engine(apart)
    yield sessions(engine)
    engine.dispose()


@pytest.fixture
def webs(apart: Settings, tmp_path: Path) -> Iterator[list[JobsClient]]:
    made = [JobsClient(replace(apart, data=tmp_path / name)) for name in ("one", "two")]
    yield made
    for client in made:
        client.close()


def objects(tmp_path: Path) -> list[str]:
    uploads = tmp_path / "bucket/uploads"
    return sorted(str(file.relative_to(uploads)) for file in uploads.rglob("*") if file.is_file())


def announce(client: JobsClient, size: int) -> str:
    return client.uploads.create("sent", [], [("a.log", size), ("empty", 0)]).id


def test_a_file_goes_on_at_another_web_process(webs: list[JobsClient], tmp_path: Path) -> None:
    one, two = webs
    upload = announce(one, 9)
    assert append(one.uploads, upload, 0, 0, b"123") == 3
    with pytest.raises(OffsetError) as wrong:
        append(two.uploads, upload, 0, 0, b"1")
    assert wrong.value.offset == 3
    # Both go on at the same place: the first to arrive wins, who sent the same has it too.
    with one.uploads.open_file(upload, 0, 3) as late, one.uploads.open_file(upload, 0, 3) as same:
        late.write(b"abc")
        same.write(b"456")
        assert append(two.uploads, upload, 0, 3, b"456") == 6
        same.flush()
        with pytest.raises(FileBusyError) as busy:
            late.flush()
    assert busy.value.offset == 6
    assert append(two.uploads, upload, 0, 6, b"789") == 9
    assert [file.received for file in one.uploads.get(upload).files] == [9, 0]
    one.uploads.finish(upload)
    two.cancel(f"ingest-{upload}")


def test_what_is_dropped_leaves_nothing(webs: list[JobsClient], tmp_path: Path) -> None:
    one, two = webs
    upload = announce(one, 4)
    append(one.uploads, upload, 0, 0, b"12")
    assert [kept.received for kept in two.uploads.kept()] == [2]
    with one.uploads.open_file(upload, 0, 2) as file:
        file.write(b"34")
        two.uploads.drop(upload)
        with pytest.raises(NotFoundError):
            file.flush()
    with pytest.raises(NotFoundError):
        append(one.uploads, upload, 0, 2, b"34")
    assert objects(tmp_path) == []


def test_a_worker_with_a_folder_of_its_own_reads_it(
    webs: list[JobsClient], apart: Settings, factory: Sessions, fixtures: Path, tmp_path: Path
) -> None:
    files = files_of([fixtures / "cuda-foo1"])
    made = webs[0].uploads.create("sent", [], [(file.name, file.size) for file in files])
    for index, file in enumerate(files):
        append(webs[index % 2].uploads, made.id, index, 0, file.path.read_bytes())
    job = webs[1].uploads.finish(made.id)
    attempt = claim(factory, job, "a test")
    assert attempt is not None
    worker = replace(apart, data=tmp_path / "worker")
    subprocess.run(child_command(attempt), env=environment(worker), check=True)
    assert webs[0].job(job).state == "done", webs[0].job(job).message
    assert objects(tmp_path) == []


def test_the_doctor_finds_what_is_left_and_a_backup_has_what_waits(
    webs: list[JobsClient],
    apart: Settings,
    factory: Sessions,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waiting, cancelled = announce(webs[0], 3), announce(webs[0], 3)
    for upload in (waiting, cancelled):
        append(webs[0].uploads, upload, 0, 0, b"abc")
    webs[0].cancel(webs[0].uploads.finish(cancelled))
    with closing(Doctor(apart)) as doctor:
        (found,) = [finding for finding in doctor.findings() if finding.repair is not None]
        assert f"uploads/{cancelled}" in found.what
        assert found.repair is not None
        found.repair()
        assert [finding for finding in doctor.findings() if finding.repair is not None] == []
    before = objects(tmp_path)
    assert {path.partition("/")[0] for path in before} == {waiting}
    back_up(apart, tmp_path / "backup")
    webs[0].uploads.drop(waiting)
    assert objects(tmp_path) == []
    restore(apart, tmp_path / "backup")
    assert objects(tmp_path) == before
    assert append(webs[1].uploads, waiting, 0, 3, b"") == 3
    monkeypatch.setattr(folders, "ABANDONED_AFTER", timedelta(0))
    assert folders.sweep(apart, factory) == [f"uploads/{waiting}"]
    assert objects(tmp_path) == []
