"""Uploads: what is refused, where a file goes on, and finishing once and for all."""

import threading
from dataclasses import replace

import pytest
from inductorscope.jobs.api import JobsClient
from inductorscope.jobs.errors import (
    CaptureRefusedError,
    IncompleteError,
    NotFoundError,
    OffsetError,
    UploadOverError,
    UploadRefusedError,
)
from inductorscope.jobs.queue.machines import GPU, TORCH
from inductorscope.jobs.work.folders import sweep, work_folder
from inductorscope.settings import Settings
from inductorscope.store.database.engine import sessions
from inductorscope.store.tables.models import Job
from sqlalchemy import Engine, func, select, text

from tests.conftest import ON_SQLITE
from tests.support.sending import append


def test_an_upload_from_announcement_to_job(client: JobsClient) -> None:
    upload = client.uploads.create(None, ["a"], [("run/a.py", 6), ("run/empty", 0)])
    assert upload.name == "run"
    assert append(client.uploads, upload.id, 0, 0, b"abc") == 3
    assert [file.received for file in client.uploads.get(upload.id).files] == [3, 0]
    assert append(client.uploads, upload.id, 0, 3, b"def") == 6
    job = client.uploads.finish(upload.id)
    assert job == f"ingest-{upload.id}"
    status = client.job(job)
    assert (status.state, status.kind, status.title) == ("queued", "ingest", "run")
    assert status.spec["bytes"] == 6
    after = client.uploads.get(upload.id)
    assert (after.finished, after.job) == (True, job)


@ON_SQLITE
def test_a_wrong_offset_tells_the_right_one(client: JobsClient) -> None:
    upload = client.uploads.create("x", [], [("a", 10)])
    append(client.uploads, upload.id, 0, 0, b"1234")
    for wrong in (0, 3, 5):
        with pytest.raises(OffsetError) as caught:
            append(client.uploads, upload.id, 0, wrong, b"z")
        assert caught.value.offset == 4


@ON_SQLITE
def test_more_than_announced_is_refused_and_not_kept(client: JobsClient) -> None:
    upload = client.uploads.create("x", [], [("a", 4)])
    with pytest.raises(UploadRefusedError, match="More bytes"):
        append(client.uploads, upload.id, 0, 0, b"12345")
    assert client.uploads.get(upload.id).files[0].received == 0


@ON_SQLITE
def test_one_request_at_a_time_writes_a_file(client: JobsClient) -> None:
    upload = client.uploads.create("x", [], [("a", 4)])
    with (
        client.uploads.open_file(upload.id, 0, 0),
        pytest.raises(OffsetError, match="Another request"),
    ):
        client.uploads.open_file(upload.id, 0, 0)
    append(client.uploads, upload.id, 0, 0, b"12")


@ON_SQLITE
@pytest.mark.parametrize(
    "files",
    [
        [],
        [("../a", 1)],
        [("/etc/a", 1)],
        [("a\0b", 1)],
        [("", 1)],
        [("a/../../b", 1)],
        [("a", 1), ("a", 1)],
        [("a", 1), ("a/b", 1)],
        [("a", -1)],
        [("x" * 300, 1)],
    ],
)
def test_what_cannot_be_laid_out_is_refused(
    client: JobsClient, files: list[tuple[str, int]]
) -> None:
    with pytest.raises(UploadRefusedError):
        client.uploads.create("x", [], files)


@ON_SQLITE
def test_limits_are_named(settings: Settings) -> None:
    client = JobsClient(replace(settings, max_upload_bytes=10, max_members=2))
    with pytest.raises(UploadRefusedError) as large:
        client.uploads.create("x", [], [("a", 11)])
    with pytest.raises(UploadRefusedError) as many:
        client.uploads.create("x", [], [("a", 1), ("b", 1), ("c", 1)])
    client.close()
    assert (large.value.limit, many.value.limit) == ("max_upload_bytes", "max_members")


@ON_SQLITE
def test_finishing_too_early_names_what_lacks(client: JobsClient) -> None:
    upload = client.uploads.create("x", [], [(f"{name}.py", 2) for name in "abcde"])
    append(client.uploads, upload.id, 0, 0, b"12")
    with pytest.raises(IncompleteError, match=r"b\.py \(0 of 2 bytes\).* and 1 more") as caught:
        client.uploads.finish(upload.id)
    assert len(caught.value.missing) == 4


def test_finishing_at_once_from_many_sides_gives_one_job(
    client: JobsClient, engine: Engine
) -> None:
    upload = client.uploads.create("x", [], [("a", 1)])
    append(client.uploads, upload.id, 0, 0, b"1")
    jobs: list[str] = []
    threads = [
        threading.Thread(target=lambda: jobs.append(client.uploads.finish(upload.id)))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert jobs == [f"ingest-{upload.id}"] * 6
    table = "workflow_status" if engine.dialect.name == "sqlite" else "dbos.workflow_status"
    with sessions(engine)() as session:
        assert session.scalar(select(func.count()).select_from(Job)) == 1
        assert session.scalar(text(f"SELECT count(*) FROM {table}")) == 1


def test_a_finished_upload_takes_nothing_more(client: JobsClient) -> None:
    upload = client.uploads.create("x", [], [("a", 1)])
    append(client.uploads, upload.id, 0, 0, b"1")
    client.uploads.finish(upload.id)
    with pytest.raises(UploadOverError):
        append(client.uploads, upload.id, 0, 1, b"2")


@ON_SQLITE
def test_what_is_not_there_is_not_found(client: JobsClient) -> None:
    upload = client.uploads.create("x", [], [("a", 1)])
    for ask in (
        lambda: client.uploads.get("0" * 16),
        lambda: client.uploads.get("../../etc"),
        lambda: append(client.uploads, upload.id, 1, 0, b""),
        lambda: append(client.uploads, upload.id, -1, 0, b""),
        lambda: client.uploads.finish("0" * 16),
        lambda: client.job("nothing"),
        lambda: client.cancel("nothing"),
    ):
        with pytest.raises(NotFoundError):
            ask()


@ON_SQLITE
def test_a_capture_that_cannot_be_is_refused_at_once(client: JobsClient) -> None:
    with pytest.raises(CaptureRefusedError, match="neg-maximum-cat"):
        client.programs.capture({"model": "neg-maximum-dog"})


def test_a_capture_for_a_gpu_needs_one_unless_it_pretends(client: JobsClient) -> None:
    asked = {"model": "neg-maximum-cat", "device": "cuda:0"}
    needs = [
        client.job(client.programs.capture(spec)).spec["needs"]
        for spec in (asked, asked | {"pretend": "NVIDIA H100"}, {"model": "neg-maximum-cat"})
    ]
    assert needs == [GPU, TORCH, TORCH]


def test_jobs_come_newest_first_in_pages(client: JobsClient) -> None:
    made = [client.programs.capture({"model": "neg-maximum-cat"}) for _ in range(5)]
    first = [job.id for job in client.jobs(limit=3)]
    second = [job.id for job in client.jobs(limit=3, before=first[-1])]
    assert first + second == made[::-1]
    client.cancel(made[0])
    assert [job.id for job in client.jobs(active=True)] == made[:0:-1]


def test_files_of_cancelled_uploads_are_swept_and_others_stay(
    client: JobsClient, settings: Settings, engine: Engine
) -> None:
    under_way, gone = (client.uploads.create("x", [], [("a", 1)]) for _ in range(2))
    append(client.uploads, gone.id, 0, 0, b"1")
    client.cancel(client.uploads.finish(gone.id))
    assert sweep(settings, sessions(engine)) == [f"uploads/{gone.id}"]
    assert append(client.uploads, under_way.id, 0, 0, b"1") == 1


def test_folders_of_ended_jobs_are_swept_and_of_active_ones_stay(
    client: JobsClient, settings: Settings, engine: Engine
) -> None:
    active, ended = (client.programs.capture({"model": "neg-maximum-cat"}) for _ in range(2))
    client.cancel(ended)
    of_diagnosis = "numbers-0123456789abcdef"
    for job in (active, ended, of_diagnosis):
        work_folder(settings, job).mkdir(parents=True)
    swept = {name.rpartition("/")[2] for name in sweep(settings, sessions(engine))}
    assert swept == {ended, of_diagnosis}
    assert work_folder(settings, active).is_dir()
