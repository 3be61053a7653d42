"""Links graphs without IR: loop bodies raised from kernels are read like those of an IR.

The wrapper is walked in its order. Each value that a kernel stores becomes the loop body of a
scheduler node, in order: a value stored earlier in the same kernel and used again is read like a
load. Each write to the same memory makes a new buffer.
"""

from __future__ import annotations

from copy import copy

import msgspec

from inductorscope.correlate.nodes.fx_graph import FxGraph, Root
from inductorscope.correlate.nodes.fx_value import FxValue
from inductorscope.correlate.nodes.lowerings import by_library, extern_name
from inductorscope.correlate.nodes.origins import Asked, Choice, OriginWalk
from inductorscope.correlate.nodes.region import Operation, Region
from inductorscope.correlate.replay.kernel_lines import read_kernel_text
from inductorscope.correlate.without_ir.bodies import Bodies, Site, pointers_of
from inductorscope.correlate.without_ir.kernel import raise_kernel
from inductorscope.correlate.without_ir.records import RaisedBlock, RaisedStore
from inductorscope.correlate.without_ir.wrapper import (
    Renaming,
    Wrapper,
    argument_buffers,
    output_of,
    read_wrapper,
)
from inductorscope.formats.code.output_code import CodeCall, CodeKernel, OutputCode
from inductorscope.formats.graph.ir import IrBuffer, IrText, IrTextNode

WORST = 3.0
"""The highest cost of a reading; others are mostly wrong and mislead later ones."""
_MOST_CANDIDATES = 64
_UNCOUNTED = frozenset(["load", "constant", "store", "set_indirect"])
_WITHIN = 0.06
_OUTSIDE = 0.3
"""Cost of a node outside the call's known nodes."""


class LineNode(msgspec.Struct):
    """One line of a call and the node it belongs to."""

    line: int
    node: str
    cost: float
    op: str = ""
    """The line's operation: `load`, `mul`, …"""
    cpp: bool = False


NodesOfLines = dict[tuple[str, int], list[LineNode]]
"""(kernel, handle) → its lines"""


class RaisedWalk(OriginWalk):
    def __init__(
        self,
        graph: FxGraph,
        code: OutputCode,
        lines: list[str],
        nodes: dict[tuple[str, int], list[str]],
        calls: list[CodeCall] | None = None,
    ) -> None:
        """`calls`: possible calls of the kernels, for a listing without a wrapper."""
        super().__init__(graph, IrText(), {})
        self.code, self.lines, self.nodes_of = code, lines, nodes
        self.kernels = code.by_name()
        self.raised: dict[str, list[RaisedBlock]] = {}
        self.versions: dict[str, str] = {}
        self.count = 0
        self.lines_of_calls: NodesOfLines = {}
        self.wrapper = Wrapper(list(calls)) if calls is not None else read_wrapper(code, lines)
        self.mine: list[FxValue] | None = None
        self.only: tuple[str, int] | None = None
        """Stores of a loop, which its remainder repeats."""
        self.named: set[str] = set()
        self.inner: set[str] = set()
        """Operations that reductions of the current body need."""
        self.refilled: set[str] = set()
        """Memory that atomic stores add to."""

    def walk(self) -> NodesOfLines:
        for name, value in self.graph.values.items():
            if value.placeholder:
                self.result.held[name] = (name, 0)
        for step in self.wrapper.steps:
            if isinstance(step, CodeCall) and step.kernel in self.kernels:
                self._look_ahead(step, self.kernels[step.kernel])
        for step in self.wrapper.steps:
            if isinstance(step, Renaming):
                self._rename(step)
            elif step.kernel in self.kernels and not step.extern:
                self._call(step, self.kernels[step.kernel])
            else:
                self._extern_call(step)
        return self.lines_of_calls

    # -- the wrapper -----------------------------------------------------------------------------

    def _version(self, name: str) -> str:
        return self.versions.get(name, name)

    def _rename(self, step: Renaming) -> None:
        source = self._version(step.source)
        if step.part < 0:
            self.versions[step.name] = source
            value = self.graph.values.get(step.source)
            if step.source in self.wrapper.buffers:
                self.wrapper.buffers.setdefault(step.name, self.wrapper.buffers[step.source])
            elif value is not None and value.placeholder:
                self._sized_as(step.name, value)
            return
        held = self._held(source)
        if held is None:
            return
        self.result.held[step.name] = (held[0], step.part)
        for user in self.graph.values[held[0]].users:
            if user in self.graph.values and self.graph.root(user) == (held[0], step.part):
                self._sized_as(step.name, self.graph.values[user])
                break

    def _sized_as(self, name: str, value: FxValue) -> None:
        """Adds a buffer made by a library, which the wrapper does not describe."""
        if name not in self.wrapper.buffers:
            made = IrBuffer(name, "ComputedBuffer", value.dtype, value.shape)
            self.wrapper.buffers[name] = made

    def _extern_call(self, call: CodeCall) -> None:
        outputs = output_of(call)
        inputs = [name for name in argument_buffers(call) if name not in outputs]
        reads = [self._version(name) for name in inputs]
        buffers: list[IrBuffer] = []
        for name in outputs:
            known = self.wrapper.buffers.get(name)
            version = self._fresh(name) if name in self.versions else name
            buffers.append(self._buffer(version, known))
            self.versions[name] = version
        if not buffers and inputs:  # it writes to its first argument
            version = self._fresh(inputs[0])
            buffers.append(self._buffer(version, self.wrapper.buffers.get(inputs[0])))
            buffers[0].mutations = [reads[0]]
            self.versions[inputs[0]] = version
        self.count += 1
        node = IrTextNode(
            f"op{self.count}", "ExternKernelSchedulerNode", "ExternKernelOut", [], 0, 0
        )
        node.buffers, node.reads, node.extern = buffers, reads, call.kernel
        self.named = self._members(call)
        self._extern(node)
        for name, buffer in zip(outputs, buffers, strict=False):
            held = self._held(buffer.name)
            if held is not None:
                self._sized_as(name, self.graph.values[held[0]])

    def _extern_node(self, node: IrTextNode) -> FxValue | None:
        kernel = extern_name(node.extern)
        named = [
            value
            for name in self.named
            if (value := self.graph.values.get(name)) is not None
            and name not in self.used
            and self._called(kernel, node, value)
        ]
        return named[0] if len(named) == 1 else super()._extern_node(node)

    def _members(self, call: CodeCall) -> set[str]:
        return set(self.nodes_of.get((call.kernel, call.handle), ()))

    def _fresh(self, name: str) -> str:
        self.count += 1
        return f"{name}#{self.count}"

    def _buffer(self, name: str, known: IrBuffer | None) -> IrBuffer:
        value = self.graph.values.get(name.partition("#")[0])
        if known is None and value is not None and value.placeholder:
            return IrBuffer(name, "ComputedBuffer", value.dtype, value.shape)
        if known is None:
            return IrBuffer(name, "ComputedBuffer")
        return IrBuffer(name, known.kind, known.dtype, known.size)

    def _look_ahead(self, call: CodeCall, kernel: CodeKernel) -> None:
        """Finds memory that later atomic adds write to, which is filled for that."""
        atomic = {s.pointer for block in self._blocks(kernel) for s in block.stores if s.atomic}
        if atomic:
            pointers = pointers_of(call, kernel)
            self.refilled.update(pointers[name] for name in atomic if name in pointers)

    def _blocks(self, kernel: CodeKernel) -> list[RaisedBlock]:
        blocks = self.raised.get(kernel.name)
        if blocks is None:
            text = read_kernel_text(kernel, self.lines)
            aliases = text.aliases
            blocks = self.raised[kernel.name] = raise_kernel(text)
            for block in blocks:
                for store in block.stores:
                    store.pointer = aliases.get(store.pointer, store.pointer)
                for op in block.ops.values():
                    op.pointer = aliases.get(op.pointer, op.pointer)
        return blocks

    # -- one call --------------------------------------------------------------------------------

    def _call(self, call: CodeCall, kernel: CodeKernel) -> None:
        blocks = self._blocks(kernel)
        pointers = pointers_of(call, kernel)
        self.named = self._members(call)
        self.mine = self._values(self.named)
        site = Site(call, kernel.kind == "cpp", pointers, self.named)
        main: dict[tuple[str, int], Root] = {}
        memories = _memories(site, blocks)
        for position, block in enumerate(blocks):
            again = block.again and position > 0
            if not again:
                site.versions = {name: self._version(name) for name in memories}
                main = {}
            self._block(site, block, main, again)
        self.mine = None

    def _values(self, names: set[str]) -> list[FxValue] | None:
        """The nodes that the call computes, with all outputs."""
        values: dict[str, FxValue] = {}
        for name in names:
            value = self.graph.values.get(name)
            if value is None or value.placeholder:
                continue
            values[name] = value
            for user in value.users:
                child = self.graph.values.get(user)
                if child is not None and (child.op == "getitem" or child.owner == name):
                    values[user] = child
        return sorted(values.values(), key=lambda value: value.order) or None

    def _refilled(self, buffer: IrBuffer) -> bool:
        return not buffer.mutations and buffer.name.partition("#")[0] in self.refilled

    def _reachable(self, region: Region) -> list[FxValue] | None:
        return self.mine if self.mine is not None else super()._reachable(region)

    def _candidates(
        self, node: IrTextNode, buffer: IrBuffer, region: Region, operation: Operation
    ) -> list[tuple[FxValue, int, float]]:
        if self.only is not None:
            name, index = self.only
            return [(self.graph.values[name], index, 0.0)]
        if buffer.size is None:
            return [
                (value, 0, _WITHIN if self._within(value) else 0.0)
                for value in (self._reachable(region) or [])[:_MOST_CANDIDATES]
                if not (value.view or value.placeholder or by_library(value.op))
                and value.op not in ("getitem", "copy_", "output")
            ]
        loaded = {held[0] for name in region.loads() if (held := self._held(name)) is not None}
        candidates = [
            each
            for each in super()._candidates(node, buffer, region, operation)
            if not by_library(each[0].op) or each[0].name in loaded
        ]
        if self.mine is not None:
            names = {value.name for value in self.mine}
            candidates = [(v, i, p if v.name in names else p + _OUTSIDE) for v, i, p in candidates]
        return candidates

    def _store_owner(
        self,
        buffer: IrBuffer,
        operation: Operation,
        producer: FxValue,
        index: int,
        region: Region,
    ) -> str:
        """The owner of a store. Operations that a reduction needs belong to another body and do not
        make this one too large."""
        own = copy(region)
        own.operations = {
            place: each for place, each in region.operations.items() if place[1] not in self.inner
        }
        own._distinct = sum(each.op not in _UNCOUNTED for each in own.operations.values())
        return super()._store_owner(buffer, operation, producer, index, own)

    def _within(self, value: FxValue) -> bool:
        """Whether only the call uses the value, which is then seldom stored."""
        return self.mine is not None and all(user in self.named for user in value.users)

    def _best(self, asked: Asked) -> Choice | None:
        best = super()._best(asked)
        return None if best is None or best.cost > WORST else best

    def _block(
        self,
        site: Site,
        block: RaisedBlock,
        main: dict[tuple[str, int], Root],
        again: bool,
    ) -> None:
        site.cuts, site.stored, site.owned = {}, {}, set()
        after: dict[str, str] = {}
        seen: dict[str, int] = {}
        builder = Bodies(block, site)
        for store in block.stores:
            memory = site.memory(store.pointer)
            self.count += 1
            ordinal = seen[store.pointer] = seen.get(store.pointer, -1) + 1
            key = (store.pointer, ordinal)
            name = f"{memory}#{self.count}"
            buffer = self._buffer(name, self.wrapper.buffers.get(memory))
            before = site.versions.get(memory, self._version(memory))
            held = self._held(before)
            if store.atomic or (held is not None and self.graph.values[held[0]].placeholder):
                buffer.mutations = [before]
            node = IrTextNode(f"op{self.count}", "SchedulerNode", "ComputedBuffer", [], 0, 0)
            node.buffers = [buffer]
            body = builder.body(store, name)
            if body is None:
                continue
            node.body = body
            self.inner = builder.below_reductions()
            node.reads = builder.reads
            self.by_name[node.name] = node
            self.only = main.get(key) if again else None
            self._computed(node)
            self.only = None
            root = self._held(name)
            if root is not None and not again:
                main[key] = root
            self._take(site, builder, node, store)
            if root is not None:
                root = self._as_read(name, root)
            if root is not None:
                self._cut(site, node, store, name, root)
            site.stored.setdefault(memory, []).append((store.lines[0], name))
            after[memory] = name
        if not again:
            self.versions.update(after)

    def _as_read(self, name: str, root: Root) -> Root:
        """Maps the memory of a copy to the copied value for later reads."""
        value = self.graph.values[root[0]]
        if value.op == "copy_" and len(value.inputs) > 1:
            root = self.result.held[name] = self.graph.root(value.inputs[1])
        return root

    def _cut(
        self, site: Site, node: IrTextNode, store: RaisedStore, name: str, root: tuple[str, int]
    ) -> None:
        """Makes later reads of a stored value refer to the computed value, not its copy."""
        owner = self.result.nodes.get((node.name, "body", store.value))
        if owner is None or store.value in site.cuts or store.part:
            return
        inner = f"{name}.value"
        if owner != self.graph.values[root[0]].owner:
            value = self.graph.values.get(owner)
            if value is None or value.op.startswith("_foreach_"):
                return
            root = self.graph.root(owner)
        self.result.held[inner] = root
        site.cuts[store.value] = inner

    def _take(
        self,
        site: Site,
        builder: Bodies,
        node: IrTextNode,
        store: RaisedStore,
    ) -> None:
        """Adds the lines of a body, unless an earlier body had the same statement."""
        cost = self.result.costs.get(node.name)
        if cost is None:
            return
        nodes = self.lines_of_calls.setdefault((site.call.kernel, site.call.handle), [])
        owner = self.result.nodes.get((node.name, "body", "store"))
        if owner is not None:
            nodes += [LineNode(line, owner, cost, "store", site.cpp) for line in store.lines]
        for raised in builder.used:
            own = self.result.nodes.get((node.name, "body", raised.name))
            if own is None or id(raised) in site.owned:
                continue
            site.owned.add(id(raised))
            nodes += [LineNode(line, own, cost, raised.op, site.cpp) for line in raised.lines]


def _memories(site: Site, blocks: list[RaisedBlock]) -> set[str]:
    used = {op.pointer for block in blocks for op in block.ops.values() if op.pointer}
    used.update(store.pointer for block in blocks for store in block.stores)
    return {site.memory(pointer) for pointer in used}
