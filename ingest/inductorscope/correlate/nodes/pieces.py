"""Finds concatenations, written as choices between masked blocks."""

from __future__ import annotations

from inductorscope.correlate.nodes.region import Place, Region


def pieces_of(region: Region) -> dict[Place, int]:
    """Choices between masked blocks, and the blocks → number of pieces that follow.

    where(x < 8, masked(x < 8, first), where(8 <= x < 16, masked(…, second), masked(16 <= x, …)))
    """
    pieces: dict[Place, int] = {}
    for place in region.order:
        operation = region.operations[place]
        if operation.op != "where" or len(operation.children) != 3:
            continue
        masked, rest = operation.children[1:]
        last = region.operations[rest].op == "masked_subblock"
        if region.operations[masked].op != "masked_subblock" or not (last or rest in pieces):
            continue
        if last:
            pieces[rest] = 0
        pieces[place] = pieces[masked] = pieces[rest] + 1
    return pieces
