"""Graphs read in other processes come out as they do here, also when such a process dies."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from copy import deepcopy
from pathlib import Path
from typing import Any

import msgspec
import pytest
from inductorscope.formats.vocabulary import CODE, IR_POST, IR_PRE, POST_GRAD, READABLE
from inductorscope.reading.graphs import apart
from inductorscope.reading.graphs.apart import read_all
from inductorscope.reading.graphs.content import read_task, read_texts
from inductorscope.reading.graphs.task import Given, Outcome, Task
from inductorscope.store.contents.content import content_of_bytes
from inductorscope.store.contents.packing import Packed

ROLES = {
    "fx_graph_transformed.py": POST_GRAD,
    "fx_graph_readable.py": READABLE,
    "ir_post_fusion.txt": IR_POST,
    "ir_pre_fusion.txt": IR_PRE,
    "output_code.py": CODE,
}


class Deadly(Task):
    """A graph that ends the process which begins to read it."""

    def __reduce__(self) -> tuple[Callable[[], None], tuple[()]]:
        return _die, ()


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture
def task(fixtures: Path) -> Task:
    folder = next((fixtures / "cuda-foo1").rglob("output_code.py")).parent
    return Task(
        "foo1",
        {
            role: Given(name, name, (folder / name).read_bytes())
            for name, role in ROLES.items()
            if (folder / name).exists()
        },
    )


def whole(outcome: Outcome) -> object:
    return msgspec.to_builtins(outcome.content)


@pytest.mark.parametrize("workers", [0, 1, 2])
@pytest.mark.parametrize("batch", [1, apart.BATCH])
def test_every_graph_is_read_once_wherever(
    monkeypatch: pytest.MonkeyPatch, task: Task, workers: int, batch: int
) -> None:
    monkeypatch.setattr(apart, "BATCH", batch)
    here = read_texts(deepcopy(task))
    calls: list[str] = []
    tasks = (deepcopy(task) for _ in range(5))  # reading uses a task up
    found = dict(read_all(tasks, workers, lambda: calls.append("meanwhile")))
    assert sorted(found) == list(range(5))
    for outcome in found.values():
        assert whole(outcome) == whole(here)
        assert outcome.quotes == here.quotes
    assert calls == ["meanwhile"]
    assert dict(read_all([], workers)) == {}


def test_a_graph_that_kills_its_process_fails_alone(task: Task) -> None:
    deadly = Deadly("deadly", deepcopy(task.texts))
    tasks = [deepcopy(task), deadly, deepcopy(task)]
    found = dict(read_all(tasks, 2))
    assert sorted(found) == [0, 1, 2]
    assert found[0].content.kernels
    assert found[2].content.kernels
    assert found[1].content.links is None
    (note,) = found[1].notes.dropped()
    assert note.file == "deadly"
    assert note.reason == (
        "the process that read this graph was ended by SIGKILL: its texts are kept, not read"
    )


def test_a_stored_text_that_is_cut_is_a_failure_and_not_an_empty_graph(task: Task) -> None:
    given = task.texts[CODE]
    stored = content_of_bytes(given.data or b"")
    given.size, given.data = stored.size, None
    given.packed = Packed(stored.encoding, stored.data())
    assert not read_task(deepcopy(task)).failed
    given.packed = Packed(stored.encoding, stored.data()[:-40])
    assert read_task(task).failed == "output_code.py could not be read"


class Slow(dict[str, Given]):
    """Texts that cannot be read within the limit of time."""

    def items(self) -> Any:  # a type that has no name
        if multiprocessing.parent_process():
            time.sleep(600)
        return super().items()


class Large(dict[str, Given]):
    """Texts that cannot be read within the limit of memory."""

    def items(self) -> Any:  # a type that has no name
        if multiprocessing.parent_process():
            bytearray(2**36)
        return super().items()


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        (Slow(), "reading this graph takes longer than 4 seconds"),
        (Large(), "the process that read this graph needed more memory than its limit"),
    ],
)
def test_a_graph_over_a_limit_fails_alone(
    monkeypatch: pytest.MonkeyPatch, task: Task, texts: dict[str, Given], why: str
) -> None:
    monkeypatch.setattr(apart, "seconds_for", lambda task: 4 if task.slug == "poisoned" else 60)
    tasks = [deepcopy(task), Task("poisoned", texts), deepcopy(task)]
    found = dict(read_all(tasks, 1))
    assert sorted(found) == [0, 1, 2]
    assert found[0].content.kernels
    assert found[2].content.kernels
    assert (found[1].content.links, found[1].failed) == (None, why)


def test_programs_that_run_later_import_from_their_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONSAFEPATH", "")
    apart.start_server()
    assert not os.environ["PYTHONSAFEPATH"]


def test_who_stops_early_leaves_no_process(task: Task) -> None:
    with closing(read_all((deepcopy(task) for _ in range(3)), 1)) as outcomes:
        next(outcomes)
    assert multiprocessing.active_children() == []


ENDLESS = """
import time
from multiprocessing import parent_process
from inductorscope.reading.graphs.apart import read_all
from inductorscope.reading.graphs.task import Task

class Slow(dict):
    def values(self):
        if parent_process():
            time.sleep(600)
        return super().values()

if __name__ == "__main__":
    list(read_all([Task("slow", Slow())], 1, lambda: print("begun", flush=True)))
"""


def test_they_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    script = tmp_path / "endless.py"
    script.write_text(ENDLESS)
    mark = f"mark-{os.getpid()}"
    started = subprocess.Popen(
        [sys.executable, script], env=os.environ | {"MARK": mark}, stdout=subprocess.PIPE
    )
    assert started.stdout is not None
    assert started.stdout.readline() == b"begun\n"
    until = time.monotonic() + 60
    while len(marked(mark)) < 3:  # itself, the server and the one that reads
        assert time.monotonic() < until
        time.sleep(0.05)
    started.kill()
    started.wait()
    while marked(mark):
        assert time.monotonic() < until
        time.sleep(0.05)


def marked(mark: str) -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if f"MARK={mark}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
        except OSError:  # it ended meanwhile
            continue
    return found
