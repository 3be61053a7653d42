"""The node of each operation of a loop body, in the cheapest reading."""

from __future__ import annotations

import msgspec

from inductorscope.correlate.nodes.body import Body, Choice
from inductorscope.correlate.nodes.reading_costs import Costs
from inductorscope.correlate.nodes.region import Operation, OpId


class Unifier:
    """Assigns operations to nodes, once costs are known."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self.graph = body.graph
        self.region = body.region
        self.costs = Costs(body)

    def owners(self, place: OpId, name: str) -> dict[OpId, str]:
        """Operation → node, in the cheapest reading of `place` as written by `name`."""
        result: dict[OpId, str] = {}
        pending = [_Visit(place, name, (), "", "inside")]
        while pending:
            visit = pending.pop()
            where = visit.place
            if where in result:
                continue
            node, indexers = self._looked_through(visit)
            operation = self.region.operations[where]
            maker = self._offsets(operation, node)
            if maker is not None:
                result.update(dict.fromkeys((where, *operation.children), maker))
                continue
            result[where] = node
            known = self.costs.operands if visit.role == "operand" else self.costs.choices
            choices = known.get((where, node))
            base = visit.base
            own = operation.indirect and self.body.looks_up(node) and base != node
            if own:
                base, indexers = node, indexers[:-1] if indexers[-1:] == (node,) else indexers
            for index, child in enumerate(operation.children):
                if operation.indirect and indexers and not own:
                    inner = indexers[-1]
                    pending.append(_Visit(child, inner, indexers[:-1], inner, "inside"))
                    continue
                choice = choices[index] if choices and index < len(choices) else ("inside", node)
                owner, role = self._owner_of(child, choice, node)
                pending.append(_Visit(child, owner, indexers, base, role))
        return result

    def _looked_through(self, visit: _Visit) -> tuple[str, tuple[str, ...]]:
        """The node behind mere copies, and the indices that pass down from them."""
        node, indexers = visit.node, visit.indexers
        held = self.body.held(self.region.operations[visit.place].buffer)
        loaded = held[0] if held is not None else None
        for _ in range(20 if visit.role not in ("operand", "loaded") else 0):
            if self.body.looks_up(node) and node != visit.base and indexers[-1:] != (node,):
                indexers = (*indexers, node)
            through = self.costs.passes.get((visit.place, node))
            source = self.graph.root(through)[0] if through is not None else None
            if source is None or self.graph.values[source].placeholder or source == loaded:
                break  # the last copy asked for what memory holds
            node = source
        return node, indexers

    def _offsets(self, operation: Operation, node: str) -> str | None:
        """The node that converts stored offsets within a window to indices. Its arithmetic becomes
        part of its user's index, so loads of the offsets belong to that node."""
        value = self.graph.values.get(node)
        if operation.op != "set_indirect" or value is None:
            return None
        children = (self.region.operations[child] for child in operation.children)
        read = {held[0] for child in children if (held := self.body.held(child.buffer)) is not None}
        for name in value.inputs:
            root = self.graph.root(name)
            maker = self.graph.values.get(root[0])
            if maker is None or not maker.op.endswith("_offsets_to_indices"):
                continue
            if read.intersection(self.graph.root(source)[0] for source in maker.inputs):
                return maker.name
        return None

    def _owner_of(self, child: OpId, choice: Choice, node: str) -> tuple[str, str]:
        """The owner: a value that is only loaded belongs to the node that requested it."""
        if choice[0] != "value":
            return node, choice[0]
        operation = self.region.operations[child]
        root = self.graph.root(choice[1])
        if operation.op == "load":
            held = self.body.held(operation.buffer)
            if held is not None and held[0] == root[0]:
                return node, "loaded"
        return root[0], "value"


class _Visit(msgspec.Struct, frozen=True):
    """An operation to assign to a node."""

    place: OpId
    node: str
    indexers: tuple[str, ...]
    """The nodes whose indices pass down to loads below it, outermost first."""
    base: str
    """The node whose index it is a part of."""
    role: str
    """`inside`, `operand`, `value`, or `loaded`: the node requested a value that is only loaded."""
