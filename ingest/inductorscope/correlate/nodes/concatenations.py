"""Pieces of concatenations: buffers that are a part of the memory of one."""

from __future__ import annotations

from inductorscope.correlate.nodes.buffer_candidates import Candidates, numel_of
from inductorscope.correlate.nodes.fx_graph import FxGraph
from inductorscope.correlate.nodes.fx_value import FxValue
from inductorscope.correlate.nodes.lowerings import PURE_COPIES
from inductorscope.formats.graph.ir import IrBuffer, IrTextNode


class Concatenations(Candidates):
    """Which concatenation a piece belongs to."""

    def __init__(self, graph: FxGraph, nodes: dict[str, IrTextNode]) -> None:
        super().__init__(graph, nodes)
        self.placed: set[tuple[str, str]] = set()
        """Concatenation → values that its pieces hold so far."""

    def _users(self, buffer: IrBuffer) -> list[IrTextNode]:
        return [self.by_name[name] for name in buffer.users if name in self.by_name]

    def _piece(self, buffer: IrBuffer) -> bool:
        """Whether the buffer is a part of a concatenation's memory."""
        return self._whole(buffer) is not None

    def _whole(self, buffer: IrBuffer) -> str | None:
        """The concatenation that the buffer is a part of."""
        concats = (user.name for user in self._users(buffer) if "Concat" in user.detail)
        return next(concats, None)

    def _is_part(self, piece: IrBuffer, joining: FxValue) -> bool:
        """Whether the memory that a buffer is a part of has the size of a concatenation."""
        whole = self._whole(piece)
        memory = self.by_name[whole].buffers if whole is not None else []
        return not memory or joining.numel == numel_of(memory[0])

    def _fits_in(self, value: FxValue, piece: IrBuffer) -> bool:
        """Whether the concatenation that a piece is a part of may be one that takes the value, or
        is it."""
        joining = self._all_joining(value) + [value] * (value.op == "cat")
        return any(each.name not in self.used and self._is_part(piece, each) for each in joining)

    def _next_joining(self, value: FxValue, piece: IrBuffer) -> str | None:
        """The next concatenation that takes the value, of the size of the piece's memory if there
        is one."""
        joining = self._all_joining(value)
        joining = [each for each in joining if self._is_part(piece, each)] or joining
        waiting = [each for each in joining if each.name not in self.used]
        best = min(waiting or joining, key=lambda each: each.order, default=None)
        return None if best is None else best.name

    def _all_joining(self, value: FxValue, *, through_copies: bool = True) -> list[FxValue]:
        """The concatenations that take a value, perhaps through views and, unless it is read from
        memory, through copies, which are computed with it."""
        joining: list[FxValue] = []
        queue = [value]
        for each in queue:
            for name in each.users:
                user = self.graph.values.get(name)
                if user is None or len(queue) > 20:
                    continue
                if user.op == "cat":
                    joining.append(user)
                elif (
                    user.view or user.op == "getitem" or (through_copies and user.op in PURE_COPIES)
                ):
                    queue.append(user)
        return joining
