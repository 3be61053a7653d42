"""Uploads that nobody finishes: how many there may be, which make way, and dropping them."""

import os
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from inductorscope.formats.sizes import MIB
from inductorscope.jobs.api import JobsClient
from inductorscope.jobs.errors import (
    NotFoundError,
    StorageError,
    TooManyError,
    UploadOverError,
)
from inductorscope.jobs.queue import transitions
from inductorscope.jobs.sender import HERE, SENDER, sender_at
from inductorscope.jobs.uploads import kept
from inductorscope.settings import Settings
from inductorscope.store.database.engine import sessions
from inductorscope.store.tables.models import Upload
from sqlalchemy import Engine, update

from tests.support.sending import append


@pytest.fixture(autouse=True)
def _sender() -> Iterator[None]:
    yield
    SENDER.set(HERE)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST_OF_ONE", 2)
    monkeypatch.setattr(kept, "MOST_UPLOADS", 3)


def announce(client: JobsClient, name: str, size: int = 1) -> str:
    return client.uploads.create(name, [], [("a", size)]).id


def grow_old(client: JobsClient, engine: Engine, upload: str) -> None:
    """As if nothing had arrived for a while."""
    long_ago = time.time() - kept.IDLE_SECONDS - 5
    folder = client.settings.uploads / upload / "files"
    for file in folder.iterdir():
        os.utime(file, (long_ago, long_ago))
    before = datetime.fromtimestamp(long_ago, UTC)
    with sessions(engine).begin() as session:
        session.execute(update(Upload).where(Upload.id == upload).values(created_at=before))


@pytest.mark.usefixtures("few")
def test_a_sender_may_have_some_and_all_some_more(client: JobsClient) -> None:
    for sender in ("one", "one", "two"):
        SENDER.set(sender)
        announce(client, sender)
    SENDER.set("one")
    with pytest.raises(TooManyError, match="2 uploads from this address are not finished"):
        announce(client, "too many")
    SENDER.set("three")
    with pytest.raises(TooManyError, match="3 uploads on this server are not finished"):
        announce(client, "too many")
    client.uploads.drop(client.uploads.kept()[-1].id)
    announce(client, "now there is a place")


@pytest.mark.usefixtures("few")
def test_an_upload_that_nothing_arrives_of_makes_way(client: JobsClient, engine: Engine) -> None:
    old, other = announce(client, "old"), announce(client, "other")
    append(client.uploads, old, 0, 0, b"1")
    grow_old(client, engine, old)
    new = announce(client, "new")
    assert {upload.id for upload in client.uploads.kept()} == {other, new}
    with pytest.raises(NotFoundError):
        client.uploads.get(old)


@pytest.mark.usefixtures("few")
def test_nobody_takes_the_place_of_another_sender(client: JobsClient, engine: Engine) -> None:
    SENDER.set("other")
    old = announce(client, "old")
    grow_old(client, engine, old)
    SENDER.set("one")
    announce(client, "a")
    announce(client, "b")
    with pytest.raises(TooManyError):
        announce(client, "c")
    assert client.uploads.get(old).name == "old"


def test_announced_bytes_are_limited(
    settings: Settings, client: JobsClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "LEAST_BYTES", 1)
    small = JobsClient(replace(settings, max_upload_bytes=10))
    for _ in range(kept.BYTES_OF_ONE):
        announce(small, "a", 10)
    with pytest.raises(TooManyError, match="more than 40 bytes") as refused:
        announce(small, "b", 1)
    assert "INDUCTORSCOPE_MAX_UPLOAD_BYTES" in (refused.value.do or "")
    small.close()


def test_more_than_the_disk_holds_is_refused(settings: Settings, client: JobsClient) -> None:
    huge = JobsClient(replace(settings, max_upload_bytes=2**60))
    with pytest.raises(StorageError, match=f"The disk of {settings.uploads} has little room"):
        announce(huge, "huge", 2**59)
    huge.close()
    assert not client.uploads.kept()


def test_what_is_dropped_is_gone_and_what_is_read_stays(client: JobsClient) -> None:
    upload = announce(client, "half", 2)
    append(client.uploads, upload, 0, 0, b"1")
    (shown,) = client.uploads.kept()
    assert (shown.name, shown.files, shown.size, shown.received, shown.job) == (
        "half", 1, 2, 1, None,
    )  # fmt: skip
    with client.uploads.open_file(upload, 0, 1) as file:  # a request that is still sending
        client.uploads.drop(upload)
        with pytest.raises(NotFoundError):
            file.write(b"2")
    with pytest.raises(NotFoundError):
        append(client.uploads, upload, 0, 1, b"2")
    with pytest.raises(NotFoundError):
        client.uploads.drop(upload)
    whole = announce(client, "whole")
    append(client.uploads, whole, 0, 0, b"1")
    job = client.uploads.finish(whole)
    assert client.uploads.kept() == []
    with pytest.raises(UploadOverError, match=job):
        client.uploads.drop(whole)


def test_files_of_a_failed_job_are_kept_and_make_way_first(
    client: JobsClient, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "LEAST_BYTES", MIB)
    small = JobsClient(replace(client.settings, max_upload_bytes=MIB), engine)
    failed = announce(small, "failed", MIB)
    append(small.uploads, failed, 0, 0, bytes(MIB))
    job = small.uploads.finish(failed)
    assert transitions.give_up(sessions(engine), job, "It could not be read.")
    assert [upload.job for upload in small.uploads.kept()] == [job]
    for _ in range(kept.BYTES_OF_ONE):
        announce(small, "new", MIB)
    assert failed not in {upload.id for upload in small.uploads.kept()}
    small.close()


@pytest.mark.parametrize(
    ("address", "sender"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("testclient", "testclient"),
        (None, HERE),
    ],
)
def test_a_sender_is_an_address(address: str | None, sender: str) -> None:
    assert sender_at(address) == sender
