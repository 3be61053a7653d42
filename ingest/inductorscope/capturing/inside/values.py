"""Records the values that each kernel reads and writes, in an extra call of the compiled program.

The generated wrappers run unchanged: Python's tracing reports when a line that calls a kernel is
about to run and when it has run, and the buffers that the line names are recorded at both times.
The format is that of Inductor's printer, so that one parser reads both.
"""

import ast
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TextIO

import torch

from inductorscope.analyze.values.printing import printed
from inductorscope.capturing.inside.untyped import Call, Untyped

FILE = "values.txt"
MOST_LAUNCHES = 20_000
_BUFFER = re.compile(r"(buf|arg|primals_|tangents_|fwd_rng|bwd_rng|seed)\w*\d\w*|arg\d+_\d+")
_NO_KERNEL = (
    "alloc_from_pool", "assert_", "empty", "reinterpret_tensor", "_assert", "get_raw_stream",
    "print", "_import", "len", "range", "_DeviceGuard", "set_device", "synchronize", "clear",
)  # fmt: skip
"""Prefixes of the names of calls that compute nothing."""


@dataclass(frozen=True, slots=True)
class KernelLaunch:
    """A wrapper's statement that calls a kernel."""

    first: int
    last: int
    kernel: str
    names: tuple[str, ...]


def record_values(call: Call, out: Path) -> str:
    """Writes the values to a file. Returns a sentence on what is missing, or an empty string."""
    wrappers = _wrappers()
    if not wrappers:
        return "no Python wrapper was generated, so no launch could be recorded."
    with (out / FILE).open("w", encoding="utf-8") as stream:
        recorder = _Recorder(wrappers, stream)
        # On a GPU, backward would run in another thread, which tracing does not see.
        with torch.autograd.set_multithreading_enabled(False), recorder.tracing():
            call()
    if recorder.launches == 0:
        (out / FILE).unlink()
        return "the wrappers were not called again, because a CUDA graph replays without them."
    if recorder.launches > MOST_LAUNCHES:
        return f"the first {MOST_LAUNCHES:,} launches were recorded, later ones were left out."
    return ""


def _wrappers() -> dict[str, dict[int, KernelLaunch]]:
    """Returns file of each loaded wrapper → its launches by first line."""
    from torch._inductor.codecache import PyCodeCache

    wrappers = {}
    for module in PyCodeCache.modules:
        file = getattr(module, "__file__", None)
        if file and callable(getattr(module, "call", None)):
            launches = launches_of(Path(file).read_text(encoding="utf-8"))
            if launches:
                wrappers[file] = launches
    return wrappers


def launches_of(source: str) -> dict[int, KernelLaunch]:
    """Returns the statements of `call` that call a kernel, by first line."""
    launches: dict[int, KernelLaunch] = {}
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef) and function.name in {"call", "partition_0"}:
            for statement in ast.walk(function):
                if isinstance(statement, ast.Expr | ast.Assign):
                    launch = _launch(statement)
                    if launch is not None:
                        launches.setdefault(launch.first, launch)
    return launches


def _launch(statement: ast.Expr | ast.Assign) -> KernelLaunch | None:
    if not isinstance(statement.value, ast.Call):
        return None
    kernel = ast.unparse(statement.value.func)
    if kernel.endswith(".run"):
        kernel = kernel.removesuffix(".run")
    last = kernel.rpartition(".")[2]
    if last.startswith(_NO_KERNEL) or kernel.startswith(("torch._C", "torch.cuda", "async_")):
        return None
    names = [node.id for node in ast.walk(statement) if isinstance(node, ast.Name)]
    buffers = tuple(dict.fromkeys(name for name in names if _BUFFER.fullmatch(name)))
    if not buffers:
        return None
    return KernelLaunch(statement.lineno, statement.end_lineno or statement.lineno, kernel, buffers)


class _Recorder:
    def __init__(self, wrappers: dict[str, dict[int, KernelLaunch]], stream: TextIO) -> None:
        self.wrappers = wrappers
        self.stream = stream
        self.launches = 0

    @contextmanager
    def tracing(self) -> Iterator[None]:
        before = sys.gettrace()
        sys.settrace(self._of_frame)
        try:
            yield
        finally:
            sys.settrace(before)

    def _of_frame(self, frame: FrameType, event: str, _: Untyped) -> Untyped:
        launches = self.wrappers.get(frame.f_code.co_filename)
        if launches is None or frame.f_code.co_name == "<module>":
            return None
        running: list[KernelLaunch] = []

        def of_line(frame: FrameType, event: str, _: Untyped) -> Untyped:
            line = frame.f_lineno
            if running and (event == "return" or not running[0].first <= line <= running[0].last):
                self._print("after_launch", running.pop(), frame)
            launch = launches.get(line) if event == "line" and not running else None
            if launch is not None:
                self.launches += 1
                running.append(launch)
                self._print("before_launch", launch, frame)
            return of_line

        return of_line

    def _print(self, when: str, launch: KernelLaunch, frame: FrameType) -> None:
        if self.launches > MOST_LAUNCHES:
            return
        for name in launch.names:
            value = frame.f_locals.get(name)
            if isinstance(value, torch.Tensor):
                self.stream.write(printed(when, launch.kernel, name, value))
