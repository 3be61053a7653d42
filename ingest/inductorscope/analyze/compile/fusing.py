"""Why two nodes were not fused, by names of scheduler nodes or FX nodes."""

from collections.abc import Sequence

from inductorscope.analyze.compile.model import Spoken
from inductorscope.formats.log.torch_logs import LoggedNode

KNOWN_REASONS = (
    (
        "no shared data",
        "They read and write nothing in common: fusing would save no memory traffic.",
    ),
    ("intermediate nodes", "Another node must run between them."),
    ("memory deps did not match", "They access the shared buffer in different orders or shapes."),
    ("device mismatch", "They run on different devices."),
    ("node1 must go before node2", "The data flow requires the other order."),
    ("numel/rnumel mismatch", "Their loops have different sizes."),
    ("node1 is extern", "A library kernel is not fused with generated code."),
    ("node2 is extern", "A library kernel is not fused with generated code."),
    ("exceeds max fusion", "The fused kernel would have too many nodes (config.max_fusion_size)."),
    ("slowdown", "Inductor tried it, and it was slower."),
    ("register spilling", "The fused kernel would spill registers."),
    ("no overlap", "They read and write nothing in common."),
    ("fusion for buffer explicit disabled", "A setting forbids it for this buffer."),
    ("not be fused with other nodes", "It runs in a separate group, such as a foreach."),
)


def in_words(reason: str) -> str:
    """The meaning of torch's reason; empty if unknown."""
    return next((meaning for part, meaning in KNOWN_REASONS if part in reason), "")


def ask(spoken: Sequence[Spoken], name: str, other_name: str) -> list[str]:
    """Says for each compile with both nodes whether they were fused. A name is that of a scheduler
    node or an FX node."""
    answers: list[str] = []
    if not name or not other_name:
        return answers
    compiles = dict.fromkeys(node.compile_id for log in spoken for node in log.nodes)
    for compile_id in compiles:
        nodes = [node for log in spoken for node in log.nodes if node.compile_id == compile_id]
        first = [node for node in nodes if named(node, name)]
        second = [node for node in nodes if named(node, other_name)]
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
) -> str:
    names, others = {node.name for node in first}, {node.name for node in second}
    where = f"in compile {compile_id}" if compile_id else "in the log"
    both = f"{_described(first)} and {_described(second)}"
    if names & others:
        return f"{both} are already one node {where}."
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
        return f"{both} were fused {where}."
    if tried:
        return f"{both} were not fused {where}: {tried[-1].reason}."
    return (
        f"{both} were never tried together {where}: only nodes that share a buffer or are next to "
        "each other are."
    )


def _holds(names: set[str], node: str) -> bool:
    return node in names or any(part in names for part in node.split("_"))


def _described(nodes: list[LoggedNode]) -> str:
    node = nodes[0]
    origins = f" ({', '.join(node.origins[:4])})" if node.origins else ""
    return f"`{node.name}`{origins}"
