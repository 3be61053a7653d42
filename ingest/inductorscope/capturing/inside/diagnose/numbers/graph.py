"""Compares one graph: a row for each node, in the graph's order."""

import torch

from inductorscope.analyze.failures.numbers import NodeNumbers
from inductorscope.capturing.inside.diagnose.numbers.lanes import (
    Compared,
    attribute,
    compare_along,
    computes,
    is_random,
    operation,
)
from inductorscope.capturing.inside.diagnose.numbers.measure import measure
from inductorscope.capturing.inside.diagnose.numbers.narrow import Culprit, Suspects, maker
from inductorscope.capturing.inside.diagnose.numbers.watch import GraphRun
from inductorscope.capturing.inside.report import Reporter
from inductorscope.capturing.inside.untyped import Untyped


class GraphNumbers:
    """Compares one graph and stores the result as plain rows."""

    def __init__(self, run: GraphRun) -> None:
        self.name = run.name
        self.backward = run.backward
        self.rows: list[NodeNumbers] = []
        self.differing: list[str] = []
        """Nodes whose buffer is wrong although its kernel received the right values."""
        self.culprit: Culprit | None = None
        self.unsteady: list[str] = []
        """Nodes whose values changed when the compiled graph ran again."""
        self.compared = 0
        self.done = False
        self.left_out = run.left_out
        self._run: GraphRun | None = run
        self._suspects: list[torch.fx.Node] = []
        """Nodes that lead to the first of them."""
        self._buffer_of = {node: name for name, node in run.origins.items() if name in run.buffers}

    @property
    def random(self) -> list[str]:
        return [row.node for row in self.rows if row.status == "random"]

    def forget(self) -> None:
        """Frees the tensors and keeps the rows."""
        self._run = None

    def compare(self, report: Reporter) -> None:
        run = self._run
        assert run is not None
        compiled = self._compiled(run)
        by_name: dict[str, NodeNumbers] = {}
        nodes = len(run.module.graph.nodes)
        for number, found in enumerate(compare_along(run.module, run.inputs, compiled)):
            node = found.node if isinstance(found, Compared) else found[0]
            row = by_name[node.name] = self._row(node, run)
            if isinstance(found, Compared):
                self._measured(row, found, run, by_name)
            elif found[1]:
                row.status, row.reason = "random" if is_random(node) else "unknown", found[1]
            if computes(node) or row.measured is not None:
                self.rows.append(row)
            report.progress(f"Comparing {self.name}", number, nodes, "nodes")
        self.done = True

    def narrow_first(self) -> None:
        """Narrows the first wrong buffer down to a node of its kernel."""
        run = self._run
        assert run is not None
        by_name = {row.node: row for row in self.rows}
        at_buffer = by_name[self.differing[0]]
        assert at_buffer.measured is not None
        values = self._values(run, self._suspects)
        suspects = Suspects(run.module, self._suspects, values, self.backward)
        self.culprit = suspects.narrow(at_buffer.measured)
        for name, measured in self.culprit.inner.items():
            row = by_name.get(name)
            if row is not None and row.measured is None:
                row.measured, row.how = measured, "stored"
                row.status = "agrees" if measured.agrees else "differs"
        blamed = by_name.get(self.culprit.node)
        if blamed is not None:
            blamed.blamed, blamed.status = True, "differs"
            blamed.measured = blamed.measured or self.culprit.measured
            blamed.kernel = blamed.kernel or at_buffer.kernel
            blamed.handle = blamed.handle or at_buffer.handle

    def _compiled(self, run: GraphRun) -> dict[str, torch.Tensor]:
        values = {node: run.buffers[name].value for node, name in self._buffer_of.items()}
        return values | run.mutated

    def _row(self, node: torch.fx.Node, run: GraphRun) -> NodeNumbers:
        meta = node.meta.get("val")
        tensor = isinstance(meta, torch.Tensor)
        name = self._buffer_of.get(node.name)
        kept = run.buffers[name] if name is not None else None
        return NodeNumbers(
            node=node.name,
            op=str(operation(node).target),
            dtype=str(meta.dtype).removeprefix("torch.") if tensor else "",
            shape=[n if isinstance(n, int) else str(n) for n in meta.shape] if tensor else [],
            buffer=name or "",
            kernel=kept.kernel if kept else "",
            handle=kept.handle if kept else None,
            line=kept.line if kept else None,
            user=_user_line(node),
        )

    def _measured(
        self, row: NodeNumbers, each: Compared, run: GraphRun, by_name: dict[str, NodeNumbers]
    ) -> None:
        again = run.again.get(row.buffer)
        unsteady = again is not None and not _same(each.compiled, again)
        if unsteady:
            self.unsteady.append(row.node)
        measured = measure(
            each.compiled, each.written, each.exact, each.shaken, each.terms,
            again if unsteady else None,
        )  # fmt: skip
        self.compared += 1
        row.measured = measured
        row.status = "agrees" if measured.agrees else "differs"
        row.how = "buffer" if row.buffer else "input"
        for node in each.between:
            inner = by_name[node.name]
            inner.kernel = inner.kernel or row.kernel
            inner.handle = inner.handle or row.handle
            if node is not each.node and computes(node):
                row.within.append(node.name)
        if not measured.agrees:
            self._suspects = self._suspects or each.between
            self.differing.append(row.node)
            name = maker(each.node).name
            if name in by_name:
                by_name[name].status = "differs"

    def _values(self, run: GraphRun, between: list[torch.fx.Node]) -> dict[torch.fx.Node, Untyped]:
        """Returns the values of all nodes outside the kernel that it uses."""
        inside = set(between)
        compiled = self._compiled(run)
        places = [node for node in run.module.graph.nodes if node.op == "placeholder"]
        inputs = dict(zip(places, run.inputs, strict=True))
        values: dict[torch.fx.Node, Untyped] = {}
        for node in between:
            for used in node.all_input_nodes:
                if used in inside:
                    continue
                if used in inputs:
                    values[used] = inputs[used]
                elif used.op == "get_attr":
                    values[used] = attribute(run.module, used)
                else:
                    values[used] = compiled[used.name]
        return values


def _user_line(node: torch.fx.Node) -> str:
    """Returns the user's innermost line that created the node, as the trace quotes it."""
    lines = [line.strip() for line in (node.stack_trace or "").split("\n")]
    quoted = [line for line in lines if line.strip("^~ ") and not line.startswith("File ")]
    return quoted[-1][:300] if quoted else ""


def _same(left: torch.Tensor, right: torch.Tensor) -> bool:
    if left.is_floating_point():
        return bool(((left == right) | (left.isnan() & right.isnan())).all())
    return bool((left == right).all())
