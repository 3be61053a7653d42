"""Which node each operation of a loop body belongs to, in its cheapest reading."""

from __future__ import annotations

from dataclasses import dataclass

from inductorscope.correlate.nodes.by_place import Choice
from inductorscope.correlate.nodes.reading_costs import Costs
from inductorscope.correlate.nodes.region import Operation, Place


class Unifier(Costs):
    """Owners of operations, once costs are known."""

    def owners(self, place: Place, name: str) -> dict[Place, str]:
        """Node by operation, of the cheapest reading of `place` as written by `name`."""
        result: dict[Place, str] = {}
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
            known = self.operands if visit.role == "operand" else self.choices
            choices = known.get((where, node))
            base = visit.base
            own = operation.indirect and self._indexes(node) and base != node
            if own:
                base, indexers = node, indexers[:-1] if indexers[-1:] == (node,) else indexers
            for index, child in enumerate(operation.children):
                if operation.indirect and indexers and not own:
                    outer = indexers[-1]
                    self.inside(child, self.graph.values[outer])
                    pending.append(_Visit(child, outer, indexers[:-1], outer, "inside"))
                    continue
                choice = choices[index] if choices and index < len(choices) else ("inside", node)
                owner, role = self._owner_of(child, choice, node)
                pending.append(_Visit(child, owner, indexers, base, role))
        return result

    def _looked_through(self, visit: _Visit) -> tuple[str, tuple[str, ...]]:
        """The node behind copies that compute nothing, and what indices reach down from them."""
        node, indexers = visit.node, visit.indexers
        for _ in range(20 if visit.role not in ("operand", "loaded") else 0):
            if self._indexes(node) and node != visit.base and indexers[-1:] != (node,):
                indexers = (*indexers, node)
            through = self.passes.get((visit.place, node))
            if through is None:
                break
            node = self.graph.root(through)[0]
        return node, indexers

    def _offsets(self, operation: Operation, node: str) -> str | None:
        """Indices that were stored as offsets within a window are made of them by a node of its
        own, whose arithmetic becomes part of its user's index: what reads them is that node's."""
        value = self.graph.values.get(node)
        if operation.op != "set_indirect" or value is None:
            return None
        children = (self.region.operations[child] for child in operation.children)
        read = {held[0] for each in children if (held := self.held(each.buffer)) is not None}
        for name in value.inputs:
            maker = self.graph.values.get(self.graph.root(name)[0])
            if maker is None or not maker.op.endswith("_offsets_to_indices"):
                continue
            if read.intersection(self.graph.root(each)[0] for each in maker.inputs):
                return maker.name
        return None

    def _owner_of(self, child: Place, choice: Choice, node: str) -> tuple[str, str]:
        """A value that is merely loaded belongs to the node that asked for it."""
        if choice[0] != "value":
            return node, choice[0]
        operation = self.region.operations[child]
        root = self.graph.root(choice[1])
        if operation.op == "load":
            held = self.held(operation.buffer)
            if held is not None and held[0] == root[0]:
                return node, "loaded"
        return root[0], "value"


@dataclass(frozen=True, slots=True)
class _Visit:
    """An operation to be given to a node."""

    place: Place
    node: str
    indexers: tuple[str, ...]
    """The nodes whose indices reach down to loads below it, outermost first."""
    base: str
    """The node whose index it belongs to."""
    role: str
    """`inside`, `operand`, `value`, or `loaded`: the node asked for what is only loaded."""
