"""The playground's warm process: what a try gives, and what it cannot do."""

import os
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
from inductorscope.capturing import process_group
from inductorscope.capturing.playground.order import MODEL, PRINTED, RESULT, Done, Order, Outcome
from inductorscope.capturing.playground.order import Ready as IsReady
from inductorscope.capturing.playground.warm import _lay_out
from inductorscope.capturing.spec import CaptureSpec
from inductorscope.playing import kernels
from inductorscope.playing.lessons import LESSONS
from inductorscope.processes.programs import needed_variables, program

from tests.support.escapes import as_code, escapes, succeeded

WARM = "inductorscope.capturing.playground.warm"
SMALL = """
def f(x):
    return torch.relu(x) + 1

inputs = torch.ones(8)
"""


@dataclass
class Result:
    """What came of a try."""

    done: Done
    outcome: Outcome | None
    printed: str
    files: list[str]
    seconds: float


@dataclass
class Warm:
    process: subprocess.Popen[bytes]
    ready: IsReady
    folder: Path
    data: Path
    """A folder that must stay out of sight, with a file in it."""

    def __call__(self, code: str, seconds: int = 60, **options: object) -> Result:
        target = self.folder / "try.tar"
        spec = msgspec.convert({"model": MODEL, **options}, type=CaptureSpec)
        cache = str(self.folder / "cache")
        wanted = Order(spec, f"import os, torch\n{code}", str(target), cache, seconds)
        begin = time.monotonic()
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(msgspec.json.encode(wanted) + b"\n")
        self.process.stdin.flush()
        done = msgspec.json.decode(self.process.stdout.readline(), type=Done)
        texts = {}
        files = []
        if target.stat().st_size:
            with tarfile.open(target) as archive:
                files = archive.getnames()
                for name in {RESULT, PRINTED} & {*files}:
                    stream = archive.extractfile(name)
                    assert stream is not None
                    texts[name] = stream.read()
        outcome = msgspec.json.decode(texts[RESULT], type=Outcome) if RESULT in texts else None
        printed = texts.get(PRINTED, b"").decode()
        return Result(done, outcome, printed, files, time.monotonic() - begin)


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warm]:
    folder = tmp_path_factory.mktemp("warm")
    data = folder / "data"
    for name in ("cache", "data", "room"):
        (folder / name).mkdir()
    (data / "inductorscope.db").write_text("secret rows")
    own = ("--parent", str(os.getpid()), "--room", str(folder / "room"), "--hide", str(data))
    with subprocess.Popen(
        program(WARM, *own), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=needed_variables()
    ) as process:
        assert process.stdout is not None
        ready = msgspec.json.decode(process.stdout.readline(), type=IsReady)
        yield Warm(process, ready, folder, data)
        process.kill()


@pytest.fixture(scope="module")
def confined(warm: Warm) -> Warm:
    if any(warm.ready.protections.values()):
        pytest.skip(f"this kernel does not separate processes: {warm.ready.protections}")
    return warm


def test_a_try_that_prints_much_is_kept_without_it(warm: Warm) -> None:
    result = warm(SMALL + "\nprint('x' * 80_000_000)")
    assert result.outcome is not None
    assert (result.outcome.error, result.outcome.graphs) == ("", 1)
    assert result.printed == "(It printed more than 64 MiB, which is not kept.)"
    without_end = warm(SMALL + "\nwhile True: print('x' * 1_000_000)")
    assert without_end.outcome is not None
    assert "File too large" in without_end.outcome.error


def test_a_try_records_its_graph_and_what_it_prints(warm: Warm) -> None:
    result = warm(SMALL + "\nprint('hello', sorted(os.environ))")
    assert result.outcome is not None
    assert result.outcome.error == ""
    assert result.outcome.graphs == 1
    assert "hello" in result.printed
    assert "INDUCTORSCOPE" not in result.printed
    assert any(name.endswith("output_code.py") for name in result.files)
    assert "run/line_record.json" in result.files


@pytest.mark.parametrize(
    ("code", "line", "words"),
    [
        ("def f(x:\n", 2, "SyntaxError"),
        ("x = 1\ny = x / 0", 3, "ZeroDivisionError"),
        ("def f(x):\n  return x @ x\ninputs = torch.ones(2, 3)", 3, "TorchRuntimeError"),
        ("inputs = torch.ones(2)", None, "no function or module f"),
        ("inputs = torch.ones(2, device='cuda')", 2, "runs without one"),
        ("def f(x): return x", None, "no inputs"),
    ],
)
def test_errors_have_their_line(warm: Warm, code: str, line: int | None, words: str) -> None:
    outcome = warm(code).outcome
    assert outcome is not None
    assert words in outcome.error
    assert outcome.line == line


def test_every_example_runs_and_those_with_options_compile(warm: Warm) -> None:
    errors = {}
    for lesson in LESSONS:
        options: dict[str, Any] = {**lesson.options} or {"backend": "eager"}
        if "dynamic" in options:
            options["dynamic"] = options["dynamic"] == "true"
        outcome = warm(lesson.code, **options).outcome
        errors[lesson.id] = "no result" if outcome is None else outcome.error
    assert {*errors.values()} == {""}, errors


def test_options_are_those_of_the_web(warm: Warm) -> None:
    refused = warm(SMALL, config={"cpp.cxx": "('/bin/false',)"}).outcome
    assert refused is not None
    assert "may not be set" in refused.error
    code = SMALL + "\nimport torch._inductor.config as c\nprint(c.cpp.simdlen)"
    assert warm(code, config={"cpp.simdlen": "0"}).printed.strip() == "0"


def test_escapes_fail(confined: Warm) -> None:
    tried = escapes(confined.data, confined.process.pid, f"{confined.folder}/cache")
    result = confined(as_code(tried) + SMALL, backend="eager")
    assert result.outcome is not None
    assert result.outcome.error == "", result.printed
    assert not succeeded(tried, result.printed)


def test_it_sees_no_other_process_and_an_empty_home(confined: Warm) -> None:
    code = "print(os.listdir(os.environ['HOME']), [p for p in os.listdir('/proc') if p.isdigit()])"
    # Where the server is not root, some kernels give it no /proc at all.
    assert confined(code + SMALL, backend="eager").printed.strip() in ("[] ['1']", "[] []")


def test_a_fork_bomb_ends_with_its_try(confined: Warm) -> None:
    confined("while True: os.fork()", seconds=1)
    leader = confined.process.pid
    assert [*process_group.members(leader)] == [leader]
    outcome = confined(SMALL, backend="eager").outcome
    assert outcome is not None
    assert outcome.error == ""


def test_a_try_that_takes_too_long_is_stopped(warm: Warm) -> None:
    result = warm("os.setsid() if os.fork() == 0 else 0\nwhile True: pass", seconds=1)
    assert result.done.stopped == "It took longer than 1 s and was stopped."
    assert result.seconds < 10


@pytest.mark.parametrize(
    "crash", ["os._exit(7)", "[open(f'/tmp/{i}', 'wb').write(bytes(1 << 27)) for i in range(9)]"]
)
def test_a_crash_or_a_full_disk_is_a_result(warm: Warm, crash: str) -> None:
    assert "ended without a result" in warm(crash).done.stopped
    outcome = warm(SMALL, backend="eager").outcome
    assert outcome is not None
    assert outcome.error == ""


def test_kernels_are_kept_within_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "MOST_PEOPLE", 2)
    monkeypatch.setattr(kernels, "MOST_KERNELS", 3)
    monkeypatch.setattr(kernels, "MOST_BYTES", 1000)
    kept = kernels.Kernels(tmp_path / "kernels")

    def compiled(*names: str, size: int = 1) -> Path:
        files = tmp_path / "files"
        shutil.rmtree(files, ignore_errors=True)
        for second, name in enumerate(names):
            file = files / "cache" / name
            file.parent.mkdir(parents=True)
            file.write_bytes(bytes(size))
            os.utime(file.parent, (second, second))
        return files

    def names(person: str) -> set[str]:
        own = kept.of(person)
        return {str(file.relative_to(own)) for file in own.rglob("*") if file.is_file()}

    hash_ = "A" * 20
    kept.keep("ada", compiled("aa/k.so", f"triton/0/{hash_}/k.cubin", "bb/k.py", "bb2/k.so"))
    assert names("ada") == {"aa/k.so", f"triton/0/{hash_}/k.cubin"}
    assert names("mallory") == set()
    kept.keep("mallory", compiled(*(f"{letter}{letter}/k.so" for letter in "abcdef")))
    assert len(names("mallory")) == 3
    kept.keep("mallory", compiled("gg/k.so", "hh/k.so", size=600))
    assert len(names("mallory")) == 1
    assert len(names("ada")) == 2
    for person in ("grace", "mallory"):
        kept.of(person)
    assert names("ada") == set()


def test_a_try_finds_nothing_of_the_last_one(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    for code in ("first", "second"):
        _lay_out(tmp_path / "room", code, tmp_path / "cache")
        files = [file.name for file in (tmp_path / "room").rglob("*") if file.is_file()]
        assert files == ["play.py"]
        (tmp_path / "room" / "run" / "left.json").touch()


def test_a_try_on_a_gpu_makes_local_sockets_only() -> None:
    code = (
        "import socket\n"
        "from inductorscope.capturing.playground import kernel_calls\n"
        "kernel_calls.give_up_privileges()\n"
        "kernel_calls.refuse_calls(local_sockets=True)\n"
        "socket.socket(socket.AF_UNIX)\n"
        "socket.socket(socket.AF_INET)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "line 6" in done.stderr
    assert "PermissionError" in done.stderr
