"""Divides a fused kernel's time among its nodes.

Each node counts the bytes that it would read and write on its own: its inputs and its output, by
their types and shapes. Views move none. If nothing is known about any node, all count equally. So
the shares of a kernel sum to its time, and those of a run to its kernels' time. A size known only
at run time counts as 1, for all nodes alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec

# f32[4, 256][256, 1]cuda:0
_TENSOR = re.compile(r"^([a-z]\w*+)\[([^\[\]]{0,400})\]")
_BITS = re.compile(r"^(?:bf|f|i|u|c|b)(\d{1,3})")
_VIEWS = re.compile(
    r"(?:^|[.:])(?:_?(?:unsafe_)?view(?:_copy|_as\w*|_dtype)?|_?reshape(?:_alias)?|permute|transpose"
    r"|t|expand|slice|select|unsqueeze|squeeze|alias|detach|as_strided|getitem|split(?:_with_sizes)?"
    r"|unbind|chunk|diagonal|unfold|movedim|swapaxes|flatten|lift_fresh_copy|sym_\w+)"
    r"(?:\.\w+)?(?:>)?$"
)
LARGEST = 2**62


class Node(msgspec.Struct, frozen=True):
    """The facts about an FX node that decide its bytes."""

    target: str
    annotation: str | None
    inputs: Sequence[str] = ()


def tensor_bytes(annotation: str | None) -> int:
    """Bytes of a tensor by its FX annotation; 0 for anything else."""
    match = _TENSOR.match(annotation or "")
    bits = _BITS.match(match.group(1)) if match else None
    if match is None or bits is None:
        return 0
    count = 1
    for size in match.group(2).split(","):
        size = size.strip()
        if size.isdecimal() and size.isascii():
            count = min(count * int(size[:18]), LARGEST)
    return max(1, count * int(bits.group(1)) // 8)


def is_view(target: str) -> bool:
    return _VIEWS.search(target) is not None


def moved_bytes(name: str, nodes: Mapping[str, Node]) -> int:
    """Bytes that a node reads and writes on its own."""
    node = nodes.get(name)
    if node is None or is_view(node.target):
        return 0
    read = sum(tensor_bytes(nodes[source].annotation) for source in node.inputs if source in nodes)
    return read + tensor_bytes(node.annotation)


def shares(names: Iterable[str], nodes: Mapping[str, Node]) -> dict[str, float]:
    """Returns each node's share of a call that computes these nodes; the shares sum to 1 if there
    are nodes."""
    moved = {name: moved_bytes(name, nodes) for name in names}
    total = sum(moved.values())
    if total:
        return {name: count / total for name, count in moved.items()}
    return dict.fromkeys(moved, 1 / len(moved)) if moved else {}
