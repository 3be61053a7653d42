"""Why nodes were not fused: asked of any pair, by names of the schedule or of the FX graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inductorscope.analyze.compile.model import Spoken
from inductorscope.formats.log.torch_logs import Fusion, LoggedNode

UNDERSTOOD = (
    (
        "no shared data",
        "They read and write nothing in common: fusing would save no memory traffic.",
    ),
    ("intermediate nodes", "Something that must run between them keeps them apart."),
    ("memory deps did not match", "They read the shared buffer in another order or another shape."),
    ("device mismatch", "They run on different devices."),
    ("node1 must go before node2", "The data flow asks for the other order."),
    ("numel/rnumel mismatch", "Their loops have different sizes."),
    ("node1 is extern", "A library's kernel is not fused with generated code."),
    ("node2 is extern", "A library's kernel is not fused with generated code."),
    ("exceeds max fusion", "The fused kernel would have too many nodes (config.max_fusion_size)."),
    ("slowdown", "It was tried, and was slower."),
    ("register spilling", "The fused kernel would spill registers."),
    ("no overlap", "They read and write nothing in common."),
    ("fusion for buffer explicit disabled", "A setting forbids it for this buffer."),
    ("not be fused with other nodes", "It runs in a group of its own, such as a foreach."),
)


def in_words(reason: str) -> str:
    """What torch's reason means; nothing where that is not known."""
    return next((meaning for part, meaning in UNDERSTOOD if part in reason), "")


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of two nodes."""

    one: str
    other: str
    tried: list[Fusion]
    text: str


def ask(spoken: Sequence[Spoken], one: str, other: str) -> list[Answer]:
    """For each compile in which both are found. A name may be a node's, or an FX node's."""
    answers: list[Answer] = []
    if not one or not other:
        return answers
    compiles = dict.fromkeys(node.compile_id for log in spoken for node in log.nodes)
    for compile_id in compiles:
        nodes = [node for log in spoken for node in log.nodes if node.compile_id == compile_id]
        first = [node for node in nodes if named(node, one)]
        second = [node for node in nodes if named(node, other)]
        if first and second:
            answers.append(_answer(spoken, compile_id, first, second))
    return answers


def named(node: LoggedNode, name: str) -> bool:
    return name in (node.name, *node.origins) or name in node.name.split("_")


def _answer(
    spoken: Sequence[Spoken],
    compile_id: str | None,
    first: list[LoggedNode],
    second: list[LoggedNode],
) -> Answer:
    names, others = {node.name for node in first}, {node.name for node in second}
    where = f"in compile {compile_id}" if compile_id else "in the log"
    both = f"{_said(first)} and {_said(second)}"
    one, other = first[0].name, second[0].name
    if names & others:
        return Answer(one, other, [], f"{both} are one node already {where}.")
    tried = [
        fusion
        for log in spoken
        for fusion in log.fusions
        if fusion.compile_id == compile_id
        and (
            (_holds(names, fusion.one) and _holds(others, fusion.other))
            or (_holds(others, fusion.one) and _holds(names, fusion.other))
        )
    ]
    if any(fusion.fused for fusion in tried):
        return Answer(one, other, tried, f"{both} were fused {where}.")
    if tried:
        return Answer(one, other, tried, f"{both} were not fused {where}: {tried[-1].reason}.")
    return Answer(
        one, other, [],
        f"{both} were never tried together {where}: only nodes that share a buffer or stand next to"
        " each other are.",
    )  # fmt: skip


def _holds(names: set[str], node: str) -> bool:
    return node in names or any(part in names for part in node.split("_"))


def _said(nodes: list[LoggedNode]) -> str:
    node = nodes[0]
    origins = f" ({', '.join(node.origins[:4])})" if node.origins else ""
    return f"`{node.name}`{origins}"
