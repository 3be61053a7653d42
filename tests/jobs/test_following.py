"""Uploads that are read while they are sent, by a process that waits for a job."""

from __future__ import annotations

import gzip
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from inductorscope.jobs.api import JobsClient
from inductorscope.jobs.queue.spare import Spare
from inductorscope.jobs.queue.transitions import claim
from inductorscope.jobs.uploads.files import UploadFolder
from inductorscope.jobs.work import following
from inductorscope.jobs.work.folders import scratch_folder
from inductorscope.jobs.work.following import Following, SilentError
from inductorscope.reading import Pool
from inductorscope.settings import MIB, Settings
from inductorscope.store.database.engine import sessions
from sqlalchemy import Engine

FIRST = 200_000
"""Bytes that suffice to know a log."""


@pytest.fixture(scope="module")
def log(fixtures: Path) -> bytes:
    """As long as one that is worth a head start: the same log again and again."""
    (found,) = (fixtures / "cuda-foo1" / "torch_trace").iterdir()
    once = found.read_bytes()
    return once * (5 * MIB // len(once))


class Waiting:
    """A `Following` that waits in a thread of its own, and what came of it."""

    def __init__(self, settings: Settings, engine: Engine) -> None:
        self._told, self._tell = os.pipe()
        self.ended: list[BaseException | None] = []
        self.following = Following(settings, engine, Pool(workers=0), self._told)
        self._thread = threading.Thread(target=self._wait, daemon=True)
        self._thread.start()

    def _wait(self) -> None:
        try:
            self.following.until_told()
            self.ended.append(None)
        except SilentError as error:
            self.ended.append(error)

    def tell(self) -> None:
        """That there is a job."""
        os.write(self._tell, b"job\n")
        self.join()
        assert self.ended == [None]

    def join(self) -> None:
        self._thread.join(60)
        assert not self._thread.is_alive()

    def close(self) -> None:
        os.close(self._tell)
        self.join()
        self.following.close()
        os.close(self._told)


@pytest.fixture
def waiting(settings: Settings, engine: Engine, client: JobsClient) -> Iterator[Waiting]:
    made = Waiting(settings, engine)
    yield made
    made.close()


def announce(client: JobsClient, *files: tuple[str, int]) -> str:
    return client.create_upload("sent", [], files).id


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def is_followed(settings: Settings, upload: str) -> bool:
    return (UploadFolder(settings.uploads, upload).path / "reader").exists()


def test_a_log_is_read_as_it_comes(
    settings: Settings, client: JobsClient, waiting: Waiting, log: bytes
) -> None:
    upload = announce(client, ("folder/a.log", len(log)))
    client.append(upload, 0, 0, log[:FIRST])
    until(lambda: is_followed(settings, upload))
    for start in range(FIRST, len(log), MIB):
        client.append(upload, 0, start, log[start : start + MIB])
    time.sleep(0.1)
    client.finish_upload(upload)
    waiting.tell()
    found = waiting.following.log_of(upload)
    assert found is not None
    assert found.path == "a.log"
    assert found.taking.position > 0
    found.abandon()
    assert waiting.following.log_of(upload) is None


def test_another_job_comes_first(
    settings: Settings, client: JobsClient, waiting: Waiting, log: bytes
) -> None:
    """While the rest of an upload is waited for."""
    upload = announce(client, ("a.log", len(log)))
    client.append(upload, 0, 0, log[: 2 * MIB])
    until(lambda: is_followed(settings, upload))
    waiting.tell()
    assert waiting.following.log_of("another") is None
    assert waiting.following.log_of(upload) is None


def test_a_sender_that_falls_silent_is_not_waited_for(
    settings: Settings,
    client: JobsClient,
    waiting: Waiting,
    log: bytes,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(following, "SILENT_SECONDS", 0.2)
    upload = announce(client, ("a.log", len(log)))
    client.append(upload, 0, 0, log[:FIRST])
    waiting.join()
    (ended,) = waiting.ended
    assert "Nothing was heard of upload" in str(ended)
    assert client.upload(upload).files[0].received == FIRST


def test_nor_is_a_job_that_does_not_come(
    client: JobsClient, waiting: Waiting, log: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "SILENT_SECONDS", 0.2)
    upload = announce(client, ("a.log", len(log)))
    client.append(upload, 0, 0, log)
    waiting.join()
    assert "Nothing was heard of upload" in str(waiting.ended[0])


def test_an_upload_that_is_taken_away_ends_it(
    settings: Settings, client: JobsClient, waiting: Waiting, log: bytes
) -> None:
    upload = announce(client, ("a.log", len(log)))
    client.append(upload, 0, 0, log[:FIRST])
    until(lambda: is_followed(settings, upload))
    shutil.rmtree(settings.uploads / upload)
    waiting.join()
    assert str(waiting.ended[0]) == f"Upload {upload} is gone."


@pytest.mark.parametrize("what", ["small", "packed", "no log", "two files", "short"])
def test_what_is_no_large_log_is_left_to_its_job(
    settings: Settings, client: JobsClient, waiting: Waiting, log: bytes, what: str
) -> None:
    contents = {
        "small": log[:MIB],
        "packed": gzip.compress(os.urandom(5 * MIB)),
        "no log": b"hello world\n" * 500_000,
        "two files": log,
        "short": log,
    }
    content = contents[what]
    files = [("a.log", len(content))] + [("b.txt", 3)] * (what == "two files")
    upload = announce(client, *files)
    client.append(upload, 0, 0, content[:1000] if what == "short" else content)
    large = announce(client, ("b.log", len(log)))
    client.append(large, 0, 0, log)
    until(lambda: is_followed(settings, large))  # which was looked at later
    assert not is_followed(settings, upload)


def test_two_that_wait_do_not_read_the_same(
    settings: Settings, engine: Engine, client: JobsClient, waiting: Waiting, log: bytes
) -> None:
    second = Waiting(settings, engine)
    upload = announce(client, ("a.log", len(log)))
    client.append(upload, 0, 0, log)
    until(lambda: is_followed(settings, upload))
    time.sleep(0.2)
    client.finish_upload(upload)
    for one in (waiting, second):
        one.tell()
    found = [one.following.log_of(upload) for one in (waiting, second)]
    assert sum(log is not None for log in found) == 1
    next(log for log in found if log is not None).abandon()
    second.close()


def test_a_job_goes_on_with_what_was_read(
    settings: Settings, engine: Engine, client: JobsClient, log: bytes
) -> None:
    spare = Spare(settings)
    spare.keep()
    begun: list[str] = []

    def followed() -> bool:
        """Once the process is up; uploads that began before it are none of its business."""
        if not begun or client.upload(begun[-1]).files[0].received:
            begun.append(announce(client, (f"{len(begun)}.log", len(log))))
            client.append(begun[-1], 0, 0, log[:FIRST])
            time.sleep(0.3)
        return is_followed(settings, begun[-1])

    until(followed)
    upload = begun[-1]
    client.append(upload, 0, FIRST, log[FIRST:])
    attempt = claim(sessions(engine), client.finish_upload(upload), "a test")
    assert attempt is not None
    scratch = scratch_folder(attempt.job_id)
    scratch.mkdir(parents=True)
    (scratch / "output").touch()
    wait = spare.take(attempt, scratch)
    assert wait is not None
    assert wait() == 0, (scratch / "output").read_text()
    done = client.job(attempt.job_id)
    times = log.count(b'"inductor_output_code"')
    assert (done.state, done.message) == (
        "done", f"Read {times} graphs with {times} generated kernels.",
    )  # fmt: skip
    assert not UploadFolder(settings.uploads, upload).exists()
    spare.close()


def test_what_reads_a_trace_is_loaded_while_it_is_sent(
    settings: Settings, client: JobsClient
) -> None:
    """Here and in the processes that help; until then none of them has numpy."""
    event = b'{"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 2},\n'
    trace = b'{"schemaVersion": 1, "traceEvents": [\n' + event * (5 * MIB // len(event))
    spare = Spare(settings)
    spare.keep()
    until(lambda: len(waiting_processes()) > 1)
    time.sleep(1)
    assert not any(map(has_numpy, waiting_processes()))
    begun: list[str] = []

    def loaded() -> bool:
        if len(begun) < 100:  # as above
            begun.append(announce(client, ("trace.json", len(trace))))
            client.append(begun[-1], 0, 0, trace[:FIRST])
            time.sleep(0.3)
        return all(map(has_numpy, waiting_processes()))

    until(loaded)
    assert not any(is_followed(settings, upload) for upload in begun)
    spare.close()


def waiting_processes() -> list[int]:
    """The one that waits, and those that help it."""
    found = [
        int(entry.name)
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit() and f"--parent\0{os.getpid()}\0".encode() in command_of(entry)
    ]
    for pid in list(found):
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (task / "children").read_text().split())
    return found


def command_of(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):  # it ended this moment
        return b""


def has_numpy(pid: int) -> bool:
    return "numpy" in Path(f"/proc/{pid}/maps").read_text()
