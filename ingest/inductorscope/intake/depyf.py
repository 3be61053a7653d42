"""Recognises the files that depyf dumps: the stages of a graph, next to each other in one folder.

__compiled_fn_2.Captured_Graph.0.py   or `__compiled_fn_2.__compiled_fn_2_97f9….0.py`
__compiled_fn_2.Forward_graph.0.py __compiled_fn_2.AFTER_POST_GRAD.0.py __compiled_fn_2.kernel_0.py
"""

import re

import msgspec

from inductorscope.formats.vocabulary import (
    AOT,
    CODE,
    DYNAMO,
    JOINT,
    LOG_ARTIFACT,
    POST_GRAD,
    PRE_GRAD,
    READABLE,
)
from inductorscope.intake.files import File

_NAME = re.compile(r"^__compiled_fn_(\d{1,9})\.(?:kernel_(\d{1,4})|(.{1,300})\.(\d{1,4}))\.py$")
_STAGES = {
    "captured_graph": DYNAMO,
    "before_pre_grad": PRE_GRAD,
    "before_post_grad": READABLE,
    "after_post_grad": POST_GRAD,
}


class _Named(msgspec.Struct, frozen=True):
    """What the name of a file says."""

    file: File
    function: int
    stage: str
    """`kernel`, `forward_graph`, …"""
    number: int


def mark_depyf(files: list[File]) -> dict[str, str]:
    """Gives the files of depyf their roles. Returns path → name of the graph, for the stages of
    graphs."""
    named = [name for file in files if (name := _named(file)) is not None]
    graphs: dict[str, str] = {}
    for name in named:
        role, which = _stage(name)
        if name.file.role == CODE or role != CODE:
            name.file.role = role
        if role != LOG_ARTIFACT:
            suffix = f"_{which}" if which else ""
            graphs[name.file.path] = f"__compiled_fn_{name.function}{suffix}"
    return graphs


def _named(file: File) -> _Named | None:
    found = _NAME.match(file.absolute.name)
    if found is None:
        return None
    function, kernel, what, number = found.groups()
    return _Named(file, int(function), (what or "kernel").lower(), int(kernel or number))


def _stage(name: _Named) -> tuple[str, int]:
    """Returns a file's role, and which graph of the function it is of: 1 for the backward."""
    if name.stage == "kernel":
        return CODE, name.number
    if name.stage.startswith(("forward_graph", "backward_graph")):
        return AOT, int(name.stage.startswith("backward"))
    if name.stage.startswith("__compiled_fn_"):
        return DYNAMO, name.number
    if name.stage.startswith("joint"):
        return JOINT, name.number
    return _STAGES.get(name.stage, LOG_ARTIFACT), name.number
