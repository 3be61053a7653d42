"""Watching a folder: whole records of the newest run, read again as they come."""

import gzip
import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from inductorscope.cli.watch.files import copy_log, logs_in, newest
from inductorscope.cli.watch.loop import QUIET_SECONDS, UnreadableYetError, Watch

HEAD = 'V1121 01:26:{second:02}.042000 {pid} torch/a.py:1] {{"str": ["a.py", 0]}}\n'


@pytest.fixture(scope="module")
def log(fixtures: Path) -> bytes:
    (packed,) = (fixtures / "dynamic" / "torch_trace").iterdir()
    return gzip.decompress(packed.read_bytes())


class Reader:
    """Remembers what was read instead of a database."""

    def __init__(self) -> None:
        self.read: list[dict[str, bytes]] = []
        self.forgotten: list[str] = []

    def __call__(self, root: Path, name: str, tag: str) -> tuple[str, bool]:
        files = [path for path in sorted(root.rglob("*")) if path.is_file()]
        self.read.append({str(path.relative_to(root)): path.read_bytes() for path in files})
        return f"run {len(self.read)}", True


class Clock:
    """Sleeping does the next thing that the watched program would do."""

    def __init__(self, steps: list[object]) -> None:
        self.steps = steps

    def __call__(self, seconds: float) -> None:
        if not self.steps:
            raise KeyboardInterrupt
        step = self.steps.pop(0)
        assert callable(step)
        step()


def watch(folder: Path, steps: list[object]) -> tuple[Watch, Reader]:
    reader = Reader()
    watched = Watch(folder, reader, reader.forgotten.append, lambda text: None, every=0.0)
    with pytest.raises(KeyboardInterrupt):
        watched.follow(Clock([*steps, *[lambda: time.sleep(0.02)] * 30]))
    return watched, reader


def test_a_growing_log_is_read_up_to_its_last_whole_record(tmp_path: Path, log: bytes) -> None:
    file = tmp_path / "dedicated_log_torch_trace_a.log"
    half = len(log) // 2

    def write(data: bytes) -> None:
        with file.open("ab") as stream:
            stream.write(data)

    def age() -> None:
        then = time.time() - QUIET_SECONDS - 1
        os.utime(file, (then, then))

    def wait() -> None:
        """Longer than the pause after a reading."""
        time.sleep(0.5)

    watched, reader = watch(
        tmp_path,
        [lambda: write(log[:half]), wait, lambda: write(log[half:]), wait, age, wait],
    )
    texts = [files[file.name] for files in reader.read]
    assert len(texts) == 3
    assert log.startswith(texts[0])
    assert half - 100_000 < len(texts[0]) <= half
    assert log[len(texts[0]) : len(texts[0]) + 1] in b"VI"
    assert len(texts[1]) < len(log)
    assert texts[2] == log
    assert reader.forgotten == ["run 1", "run 2"]
    assert watched.run == "run 3"


def test_only_processes_that_lived_together_are_one_run(tmp_path: Path) -> None:
    now, begun = time.time(), 0.0
    for name, second, ended in (("old", 0, 5), ("rank_0", 10, 30), ("rank_1", 11, 29)):
        path = tmp_path / f"dedicated_log_torch_trace_{name}.log"
        path.write_text(HEAD.format(second=second, pid=1))
        begun = begun or logs_in(tmp_path)[0].began
        stamp = begun + ended
        os.utime(path, (stamp, stamp))
    logs = newest(logs_in(tmp_path))
    assert sorted(found.path.name.split("trace_")[1] for found in logs) == [
        "rank_0.log", "rank_1.log",
    ]  # fmt: skip
    assert all(found.began <= now for found in logs)


def write_log(folder: Path, name: str) -> Path:
    path = folder / f"dedicated_log_torch_trace_{name}.log"
    path.write_text(2 * HEAD.format(second=1, pid=1))
    return path


def test_what_makes_no_run_yet_is_read_again_when_more_comes(tmp_path: Path) -> None:
    told: list[str] = []
    read: list[str] = []

    def reader(root: Path, name: str, tag: str) -> tuple[str, bool]:
        names = sorted(path.stem.rpartition("_")[2] for path in root.iterdir())
        if names == ["half"]:
            raise UnreadableYetError("Nothing here can be read.")
        read.append(" ".join(names))
        return "the run", True

    forgotten: list[str] = []
    watched = Watch(tmp_path, reader, forgotten.append, told.append, every=0.0)
    steps: list[object] = [
        lambda: write_log(tmp_path, "half"),
        lambda: time.sleep(0.1),
        lambda: write_log(tmp_path, "whole"),
        *[lambda: time.sleep(0.02)] * 20,
    ]
    with pytest.raises(KeyboardInterrupt):
        watched.follow(Clock(steps))
    assert read == ["half whole"]
    assert watched.run == "the run"
    assert sum("Nothing here can be read" in text for text in told) == 1


def test_a_reading_that_gives_the_same_run_stays_ours(tmp_path: Path) -> None:
    answers = [("first", True), ("first", False), ("second", True)]
    forgotten: list[str] = []
    watched = Watch(
        tmp_path, lambda *_: answers.pop(0), forgotten.append, lambda text: None, every=0.0
    )
    steps: list[object] = []
    for number in range(3):
        steps += [
            partial(write_log, tmp_path, str(number)),
            *[lambda: time.sleep(0.02)] * 10,
        ]
    with pytest.raises(KeyboardInterrupt):
        watched.follow(Clock(steps))
    assert (watched.run, forgotten) == ("second", ["first"])


def test_when_it_ends_it_reads_the_last_record_too(tmp_path: Path, log: bytes) -> None:
    (tmp_path / "dedicated_log_torch_trace_a.log").write_bytes(log)
    reader = Reader()
    watched = Watch(
        tmp_path, reader, reader.forgotten.append, lambda text: None, every=0.0, until_quiet=0.3
    )
    assert watched.follow(lambda seconds: time.sleep(0.02)) == "run 2"
    assert [len(text) for read in reader.read for text in read.values()][-1] == len(log)


def test_what_is_no_log_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("something else\n")
    (tmp_path / "b.bin").write_text(HEAD.format(second=1, pid=1))
    (tmp_path / "link.log").symlink_to(tmp_path / "b.bin")
    assert logs_in(tmp_path) == []
    assert newest([]) == []


@pytest.mark.parametrize("size", [0, 10, 2_000_000])
def test_a_log_that_is_one_half_record_gives_nothing(tmp_path: Path, size: int) -> None:
    source = tmp_path / "a.log"
    source.write_bytes((HEAD.format(second=1, pid=1).encode() + b"\t" + b"x" * size)[:size])
    assert copy_log(source, tmp_path / "copy.log", whole=False) == 0


def test_the_command_reads_into_the_database(tmp_path: Path, log: bytes) -> None:
    folder = tmp_path / "trace"
    folder.mkdir()
    (folder / "dedicated_log_torch_trace_a.log").write_bytes(log)
    done = subprocess.run(
        [sys.executable, "-m", "inductorscope", "watch", str(folder), "--data",
         str(tmp_path / "data"), "--every", "0.2", "--until-quiet", "1"],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    first, *rest = done.stdout.splitlines()
    assert "/watch/" in first
    assert rest[-1].startswith("Read ")
