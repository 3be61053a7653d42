"""Concatenations, as choices between masked blocks."""

from __future__ import annotations

from inductorscope.correlate.nodes.region import Place, Region


def pieces_of(region: Region) -> dict[Place, int]:
    """Choices between masked blocks, as concatenations are written, and those blocks: by how many
    pieces follow.

    where(x < 8, masked(x < 8, first), where(8 <= x < 16, masked(…, second), masked(16 <= x, …)))
    """
    found: dict[Place, int] = {}
    for place in region.order:
        operation = region.operations[place]
        if operation.op != "where" or len(operation.children) != 3:
            continue
        masked, rest = operation.children[1:]
        last = region.operations[rest].op == "masked_subblock"
        if region.operations[masked].op != "masked_subblock" or not (last or rest in found):
            continue
        if last:
            found[rest] = 0
        found[place] = found[masked] = found[rest] + 1
    return found
