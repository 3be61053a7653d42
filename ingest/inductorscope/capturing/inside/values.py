"""Records the values that each kernel reads and writes, in an extra call of the compiled program.

The generated wrappers run unchanged: Python's tracing reports when a line that calls a kernel is
about to run and when it has run, and the buffers that the line names are recorded at both times.
The format is that of Inductor's printer, so that one parser reads both.
"""

import ast
import re
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TextIO

import torch

from inductorscope.analyze.values.printing import printed
from inductorscope.capturing.inside.loaded import tracing, wrapper_files
from inductorscope.capturing.inside.untyped import Call

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
    texts = {file: Path(file).read_text(encoding="utf-8") for file in wrapper_files()}
    wrappers = {file: found for file, text in texts.items() if (found := launches_of(text))}
    if not wrappers:
        return "no Python wrapper was generated, so no launch could be recorded."
    with (out / FILE).open("w", encoding="utf-8") as stream:
        recorder = _Recorder(stream)
        # On a GPU, backward would run in another thread, which tracing does not see.
        with (
            torch.autograd.set_multithreading_enabled(False),
            tracing(wrappers, recorder.ended, recorder.begins),
        ):
            call()
    if recorder.launches == 0:
        (out / FILE).unlink()
        return "the wrappers were not called again, because a CUDA graph replays without them."
    if recorder.launches > MOST_LAUNCHES:
        return f"the first {MOST_LAUNCHES:,} launches were recorded, later ones were left out."
    return ""


def launches_of(source: str) -> dict[int, list[KernelLaunch]]:
    """Returns the statements of `call` that call a kernel, by first line."""
    launches: dict[int, list[KernelLaunch]] = {}
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef) and function.name in {"call", "partition_0"}:
            for statement in ast.walk(function):
                if isinstance(statement, ast.Expr | ast.Assign):
                    launch = _launch(statement)
                    if launch is not None:
                        launches.setdefault(launch.first, [launch])
    return launches


def _launch(statement: ast.Expr | ast.Assign) -> KernelLaunch | None:
    if not isinstance(statement.value, ast.Call):
        return None
    kernel = ast.unparse(statement.value.func).removesuffix(".run")
    last = kernel.rpartition(".")[2]
    if last.startswith(_NO_KERNEL) or kernel.startswith(("torch._C", "torch.cuda", "async_")):
        return None
    names = [node.id for node in ast.walk(statement) if isinstance(node, ast.Name)]
    buffers = tuple(dict.fromkeys(name for name in names if _BUFFER.fullmatch(name)))
    if not buffers:
        return None
    return KernelLaunch(statement.lineno, statement.end_lineno or statement.lineno, kernel, buffers)


class _Recorder:
    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.launches = 0

    def begins(self, launch: KernelLaunch, frame: FrameType) -> None:
        self.launches += 1
        self._print("before_launch", launch, frame)

    def ended(self, launch: KernelLaunch, frame: FrameType) -> None:
        self._print("after_launch", launch, frame)

    def _print(self, when: str, launch: KernelLaunch, frame: FrameType) -> None:
        if self.launches > MOST_LAUNCHES:
            return
        for name in launch.names:
            value = frame.f_locals.get(name)
            if isinstance(value, torch.Tensor):
                self.stream.write(printed(when, launch.kernel, name, value))
