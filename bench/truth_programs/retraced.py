"""Whose the lines of a loop body are that fusion traced anew, in the truth that judges links.

Where fusion puts the loops of a node in another order, its body is traced a second time, from its
first trace. A capture's record follows each operation back to the first trace; score.py's truth
knows from there on only the node whose lowering made the buffer. The programs' truth follows
score.py, so that both say the same of a line.
"""

from __future__ import annotations

from functools import wraps
from typing import Any

from inductorscope.capturing.record import origins
from inductorscope.capturing.record.owners import _ATTRIBUTE as LOOPS_OWNER
from inductorscope.capturing.record.placing import GraphLines
from torch._inductor.loop_body import LoopBody
from torch._inductor.scheduler import SchedulerNode
from torch._inductor.virtualized import V

_RETRACED = "(traced anew)"


def copies_loop_bodies() -> bool:
    """Whether Inductor copies a body whose loops it merges, as torch does since 2.5."""
    return hasattr(LoopBody, "merge_loops")


class Makers:
    """Marks operations that are traced anew, and notes who made each scheduler node's buffer."""

    def __init__(self) -> None:
        self.by_folder: dict[str, dict[str, str]] = {}
        if copies_loop_bodies():  # before, every loop body was traced twice
            self._mark()
            self._note()

    def lines(self, folder: str, graph: GraphLines) -> dict[str, list[list[str | None]]]:
        """The graph's lines with the makers in place of the marks."""
        makers = self.by_folder.get(folder, {})
        truth: dict[str, list[list[str | None]]] = {}
        for call in graph.calls:
            for line, entries in call.lines.items():
                for op, where, fx, _ in entries:
                    known = makers.get((where or "").partition(".")[0]) if fx == _RETRACED else fx
                    if known is None:
                        continue
                    entry = [op, (where or "").rpartition(".")[2], known]
                    found = truth.setdefault(line, [])
                    if entry not in found:
                        found.append(entry)
        return truth

    def _mark(self) -> None:
        original = origins.Recorder.owner_of_new_node

        @wraps(original)
        def owner(recorder: origins.Recorder) -> str | None:
            running = origins._running_node()
            return original(recorder) if running is None else _RETRACED

        setattr(origins.Recorder, "owner_of_new_node", owner)  # noqa: B010  # not for mypy to see

    def _note(self) -> None:
        original = SchedulerNode.codegen

        @wraps(original)
        def codegen(node: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401  # as torch calls it
            maker = getattr(getattr(node.node, "data", None), LOOPS_OWNER, None)
            path = getattr(V.debug, "_path", None)
            if maker is not None and path:
                name = str(path).rstrip("/").rpartition("/")[2]
                self.by_folder.setdefault(name, {})[node.get_name()] = maker
            return original(node, *args, **kwargs)

        SchedulerNode.codegen = codegen
