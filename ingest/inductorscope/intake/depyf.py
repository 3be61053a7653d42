"""Recognises the files that depyf dumps: the stages of a graph, next to each other in one folder.

__compiled_fn_2.Captured_Graph.0.py   or `__compiled_fn_2.__compiled_fn_2_97f9….0.py`
__compiled_fn_2.Forward_graph.0.py __compiled_fn_2.AFTER_POST_GRAD.0.py __compiled_fn_2.kernel_0.py
"""

from __future__ import annotations

import re

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

_NAME = re.compile(r"^(__compiled_fn_\d{1,9})\.(?:kernel_(\d{1,4})|(.{1,300})\.(\d{1,4}))\.py$")
_STAGES = {
    "captured_graph": DYNAMO,
    "before_pre_grad": PRE_GRAD,
    "before_post_grad": READABLE,
    "after_post_grad": POST_GRAD,
}


def mark_depyf(files: list[File]) -> dict[str, str]:
    """Gives the files of depyf their roles. Returns path → name of the graph, for the stages of
    graphs."""
    graphs: dict[str, str] = {}
    for file in files:
        named = _NAME.match(file.absolute.name)
        if named is None:
            continue
        function, kernel, what, number = named.groups()
        which = int(kernel or number)
        role = CODE
        if kernel is None:
            what = what.lower().replace(" ", "_")
            role, which = _stage(function, what, which)
        if file.role == CODE or role != CODE:
            file.role = role
        if role != LOG_ARTIFACT:
            graphs[file.path] = function if which == 0 else f"{function}_{which}"
    return graphs


def _stage(function: str, what: str, number: int) -> tuple[str, int]:
    """Returns a graph's role, and which graph of the function it is: 1 for the backward."""
    if what.startswith(("forward_graph", "backward_graph")):
        return AOT, int(what.startswith("backward"))
    if what.startswith(function):
        return DYNAMO, number
    if what.startswith("joint"):
        return JOINT, number
    return _STAGES.get(what, LOG_ARTIFACT), number
