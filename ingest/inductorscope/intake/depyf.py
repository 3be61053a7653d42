"""Recognises the files that depyf dumps: the stages of a graph, next to each other in one folder.

__compiled_fn_2.Captured_Graph.0.py   or `__compiled_fn_2.__compiled_fn_2_97f9….0.py`
__compiled_fn_2.Forward_graph.0.py __compiled_fn_2.AFTER_POST_GRAD.0.py __compiled_fn_2.kernel_0.py

In 2023 names had spaces: `__compiled_fn_3 kernel 0.py`, beside a file for each Triton kernel in it
(`__compiled_fn_3 kernel 1.py`, …). A backward then has a number of its own, such as 4.
"""

import re
from pathlib import Path

import msgspec

from inductorscope.formats.sizes import MIB
from inductorscope.formats.vocabulary import (
    AOT,
    CODE,
    DYNAMO,
    JOINT,
    KERNEL_FILE,
    LOG_ARTIFACT,
    POST_GRAD,
    PRE_GRAD,
    READABLE,
)
from inductorscope.intake.files import File

_NAME = re.compile(
    r"^__compiled_fn_(\d{1,9})([. ])(?:kernel[_ ](\d{1,4})|(.{1,300})[. ](\d{1,4}))\.py$"
)
_STAGES = {
    "captured_graph": DYNAMO,
    "before_pre_grad": PRE_GRAD,
    "before_post_grad": READABLE,
    "after_post_grad": POST_GRAD,
}
_LARGEST_KERNEL = MIB
_TRITON = re.compile(rb"^@triton\.jit", re.M)


class _Named(msgspec.Struct, frozen=True):
    """What the name of a file says."""

    file: File
    function: int
    old: bool
    """Whether it is named as in 2023."""
    stage: str
    """`kernel`, `forward_graph`, …"""
    number: int

    @property
    def folder(self) -> Path:
        return self.file.absolute.parent


def mark_depyf(files: list[File]) -> dict[str, str]:
    """Gives the files of depyf their roles. Returns path → name of the graph, for the stages of
    graphs."""
    named = [name for file in files if (name := _named(file)) is not None]
    captured = {(name.folder, name.function) for name in named if name.stage == "captured_graph"}
    compiled = {(name.folder, name.function) for name in named if name.stage == "after_post_grad"}
    graphs: dict[str, str] = {}
    for name in named:
        role, which = _stage(name)
        if name.file.role == CODE or role != CODE:
            name.file.role = role
        if role in (LOG_ARTIFACT, KERNEL_FILE):
            continue
        function = name.function
        if name.old and which:
            backwards = (number for folder, number in compiled - captured if folder == name.folder)
            function, which = min((b for b in backwards if b > function), default=function), 0
        graphs[name.file.path] = f"__compiled_fn_{function}" + (f"_{which}" if which else "")
    return graphs


def _named(file: File) -> _Named | None:
    found = _NAME.match(file.absolute.name)
    if found is None:
        return None
    function, separator, kernel, what, number = found.groups()
    stage = "kernel" if what is None else what.lower().replace(" ", "_")
    return _Named(file, int(function), separator == " ", stage, int(kernel or number))


def _stage(name: _Named) -> tuple[str, int]:
    """Returns a file's role, and which graph of the function it is of: 1 for the backward."""
    if name.stage == "kernel":
        return (KERNEL_FILE, 0) if name.number and _is_kernel(name.file) else (CODE, name.number)
    if name.stage.startswith(("forward_graph", "backward_graph")):
        return AOT, int(name.stage.startswith("backward"))
    if name.stage.startswith("__compiled_fn_"):
        return DYNAMO, name.number
    if name.stage.startswith("joint"):
        return JOINT, name.number
    return _STAGES.get(name.stage, LOG_ARTIFACT), name.number


def _is_kernel(file: File) -> bool:
    """Whether it holds a kernel that the function's code contains too, and no wrapper."""
    if file.size > _LARGEST_KERNEL:
        return False
    text = file.absolute.read_bytes()
    return _TRITON.search(text) is not None and b"async_compile" not in text
