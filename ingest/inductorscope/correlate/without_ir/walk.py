"""Links graphs without IR: loop bodies raised from kernels are read like those of an IR.

The wrapper is walked in its order. Each value that a kernel stores becomes the loop body of a
scheduler node, in order: a value stored earlier in the same kernel and used again is read like a
load. Each write to the same memory makes a new buffer.
"""

from collections.abc import Iterator

import msgspec

from inductorscope.correlate.buffers.candidates import Hints, Offer
from inductorscope.correlate.buffers.memory import Memory
from inductorscope.correlate.buffers.origins import Comments
from inductorscope.correlate.buffers.walk import Walk
from inductorscope.correlate.nodes.fx_graph import FxGraph, Root
from inductorscope.correlate.nodes.fx_value import FxValue
from inductorscope.correlate.replay.kernel_lines import read_kernel_text
from inductorscope.correlate.replay.schedule import RENAMES, pointers_of
from inductorscope.correlate.without_ir.bodies import Bodies, Site
from inductorscope.correlate.without_ir.kernel import raise_kernel
from inductorscope.correlate.without_ir.records import RaisedBlock, RaisedStore
from inductorscope.correlate.without_ir.wrapper import argument_buffers, buffers_of, output_of
from inductorscope.formats.code.output_code import CodeCall, CodeKernel, OutputCode
from inductorscope.formats.code.wrapper_lines import WrapperLine, parse_wrapper
from inductorscope.formats.graph.ir import IrBuffer, IrTextNode

WORST = 3.0
"""The highest cost of a reading; others are mostly wrong and mislead later ones."""


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

HintedNode = tuple[IrTextNode, Hints | None]


def nodes_of_lines(
    graph: FxGraph,
    code: OutputCode,
    lines: list[str],
    nodes: dict[tuple[str, int], list[str]],
    calls: list[CodeCall] | None = None,
) -> NodesOfLines:
    """`nodes`: call → its nodes, where known. `calls`: possible calls of the kernels, for a listing
    without a wrapper."""
    if calls is None:
        wrapper = parse_wrapper("\n".join(lines), code)
    else:
        wrapper = [WrapperLine(call.line, "call", call=call) for call in calls]
    walk = Walk(Memory(graph, {}, {}), {}, Comments(), WORST)
    bodies = RaisedBodies(code, lines, nodes, wrapper, walk)
    walk.run(bodies.nodes())
    return bodies.lines_of_calls


class RaisedBodies:
    """Loop bodies raised from the kernels, in the order of their calls."""

    def __init__(
        self,
        code: OutputCode,
        lines: list[str],
        nodes: dict[tuple[str, int], list[str]],
        wrapper: list[WrapperLine],
        walk: Walk,
    ) -> None:
        self.lines, self.nodes_of, self.wrapper = lines, nodes, wrapper
        self.memory, self.origins, self.graph = walk.memory, walk.result, walk.graph
        self.buffers = buffers_of(wrapper)
        self.kernels = code.by_name()
        self.raised: dict[str, list[RaisedBlock]] = {}
        self.versions: dict[str, str] = {}
        """Memory → the buffer that was written to it last."""
        self.count = 0
        self.lines_of_calls: NodesOfLines = {}
        self.joined: dict[str, str] = {}
        """View of memory that nothing is written to yet → the concatenation that it is a piece of.
        """
        self.refilled: set[str] = set()
        """Memory that atomic stores add to, which is filled for that."""

    def nodes(self) -> Iterator[HintedNode]:
        for line in self.wrapper:
            if line.call is not None and line.call.kernel in self.kernels:
                self._look_ahead(line.call, self.kernels[line.call.kernel])
        for line in self.wrapper:
            call = line.call
            for whole in argument_buffers(call) if call is not None else ():
                joined = self.memory.nodes.pop(f"{whole}.cat", None)
                if joined is not None:
                    joined.buffers = [self._buffer(whole)]
                    joined.reads = [self._version(piece) for piece in joined.reads]
                    yield joined, None
            if call is None:
                if line.kind in RENAMES or line.kind == "unpack":
                    self._rename(line)
            elif call.kernel in self.kernels and not call.extern:
                yield from self._call(call, self.kernels[call.kernel])
            else:
                yield from self._extern_call(call)

    # -- the wrapper -----------------------------------------------------------------------------

    def _version(self, name: str) -> str:
        return self.versions.get(name, name)

    def _rename(self, line: WrapperLine) -> None:
        (name,), (named,) = line.defines, line.uses
        source = self._version(named)
        whole = self.buffers.get(named)
        unwritten = named == source and self.memory.value_in(named) is None
        if unwritten and whole and line.layout and whole.size != line.layout.shape:
            joined = IrTextNode(f"{named}.cat", "NopKernelSchedulerNode", "ConcatKernel", [], 0)
            self.memory.nodes.setdefault(joined.name, joined).reads.append(name)
            self.joined[name] = joined.name
        if not line.offset or line.kind != "unpack":
            self.versions[name] = source
            value = self.graph.values.get(named)
            if value is not None and value.placeholder:
                self._sized_as(name, value)
            return
        part = int(line.offset)
        held = self.memory.value_in(source)
        if held is None:
            return
        self.memory.held[name] = (held.name, part)
        for user in self.memory.users(held):
            if self.graph.root(user.name) == (held.name, part):
                self._sized_as(name, user)
                break

    def _sized_as(self, name: str, value: FxValue) -> None:
        """Adds a buffer made by a library, which the wrapper does not describe."""
        made = IrBuffer(name, "ComputedBuffer", value.dtype, value.shape)
        self.buffers.setdefault(name, made)

    def _extern_call(self, call: CodeCall) -> Iterator[HintedNode]:
        outputs = output_of(call)
        inputs = [name for name in argument_buffers(call) if name not in outputs]
        reads = [self._version(name) for name in inputs]
        buffers: list[IrBuffer] = []
        for name in outputs or inputs[:1]:  # without outputs it writes to its first argument
            version = name if outputs and name not in self.versions else self._fresh(name)
            buffers.append(self._buffer(version))
            self.versions[name] = version
        if not outputs and inputs:
            buffers[0].mutations = [reads[0]]
        self.count += 1
        node = IrTextNode(f"op{self.count}", "ExternKernelSchedulerNode", "ExternKernelOut", [], 0)
        node.buffers, node.reads, node.extern = buffers, reads, call.kernel
        yield node, Hints(self._named(call), None)
        for name, buffer in zip(outputs, buffers, strict=False):
            held = self.memory.value_in(buffer.name)
            if held is not None:
                self._sized_as(name, held)

    def _named(self, call: CodeCall) -> set[str]:
        return set(self.nodes_of.get((call.kernel, call.handle), ()))

    def _fresh(self, name: str) -> str:
        self.count += 1
        return f"{name}#{self.count}"

    def _buffer(self, name: str) -> IrBuffer:
        memory = name.partition("#")[0]
        known, value = self.buffers.get(memory), self.graph.values.get(memory)
        if known is None and value is not None and value.placeholder:
            return IrBuffer(name, "ComputedBuffer", value.dtype, value.shape)
        if known is None:
            return IrBuffer(name, "ComputedBuffer")
        return IrBuffer(name, known.kind, known.dtype, known.size)

    def _look_ahead(self, call: CodeCall, kernel: CodeKernel) -> None:
        """Finds memory that later atomic adds write to."""
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

    def _call(self, call: CodeCall, kernel: CodeKernel) -> Iterator[HintedNode]:
        blocks = self._blocks(kernel)
        named = self._named(call)
        hints = Hints(named, self._computed(named), loops=kernel.kind == "cpp")
        site = Site(call, kernel.kind == "cpp", pointers_of(call, kernel))
        main: dict[tuple[str, int], Root] = {}
        used = {op.pointer for block in blocks for op in block.ops.values() if op.pointer}
        used.update(store.pointer for block in blocks for store in block.stores)
        memories = {site.memory(pointer) for pointer in used}
        for position, block in enumerate(blocks):
            again = block.again and position > 0
            if not again:
                site.versions = {name: self._version(name) for name in memories}
                main = {}
            yield from self._block(site, block, main, again, hints)

    def _computed(self, names: set[str]) -> list[FxValue] | None:
        """The nodes that the call computes, with all outputs."""
        values: dict[str, FxValue] = {}
        for name in names:
            value = self.graph.values.get(name)
            if value is None or value.placeholder:
                continue
            values[name] = value
            for user in self.memory.users(value):
                if user.op == "getitem" or user.owner == name:
                    values[user.name] = user
        return sorted(values.values(), key=lambda value: value.order) or None

    def _block(
        self,
        site: Site,
        block: RaisedBlock,
        main: dict[tuple[str, int], Root],
        again: bool,
        hints: Hints,
    ) -> Iterator[HintedNode]:
        """`main`: what the stores of a loop hold, which its remainder repeats."""
        site.cuts, site.stored, site.owned = {}, {}, set()
        after: dict[str, str] = {}
        seen: dict[str, int] = {}
        builder = Bodies(block, site)
        for store in block.stores:
            memory = site.memory(store.pointer)
            ordinal = seen[store.pointer] = seen.get(store.pointer, -1) + 1
            key = (store.pointer, ordinal)
            self.count += 1
            name = f"{memory}#{self.count}"
            body = builder.body(store, name)
            if body is None:
                continue
            node = IrTextNode(f"op{self.count}", "SchedulerNode", "ComputedBuffer", [], 0)
            node.buffers = [self._written(site, store, memory, name)]
            node.body, node.reads = body, builder.reads
            self.memory.nodes[node.name] = node
            root = main.get(key) if again else None
            hints.only = None if root is None else Offer(self.graph.values[root[0]], root[1], 0.0)
            yield node, hints
            root = self.memory.held.get(name)
            if root is not None and not again:
                main[key] = root
            self._take(site, builder, node, store)
            if root is not None:
                value = self.graph.values[root[0]]
                if value.op == "copy_" and len(value.inputs) > 1:  # later reads: the copied value
                    root = self.memory.held[name] = self.graph.root(value.inputs[1])
                self._cut(site, node, store, name, root)
            site.stored.setdefault(memory, []).append((store.lines[0], name))
            after[memory] = name
        if not again:
            self.versions.update(after)

    def _written(self, site: Site, store: RaisedStore, memory: str, name: str) -> IrBuffer:
        """The buffer that a store makes."""
        buffer = self._buffer(name)
        buffer.users = [user for user in [self.joined.get(memory)] if user]
        before = site.versions.get(memory, self._version(memory))
        held = self.memory.value_in(before)
        if store.atomic or (held is not None and held.placeholder):
            buffer.mutations = [before]
        elif memory in self.refilled:
            self.memory.refilled.add(name)
        return buffer

    def _cut(
        self, site: Site, node: IrTextNode, store: RaisedStore, name: str, root: tuple[str, int]
    ) -> None:
        """Makes later reads of a stored value refer to the computed value, not its copy."""
        owner = self.origins.nodes.get((node.name, "body", store.value))
        if owner is None or store.value in site.cuts or store.part:
            return
        inner = f"{name}.value"
        if owner != self.graph.values[root[0]].owner:
            value = self.graph.values.get(owner)
            if value is None or value.op.startswith("_foreach_"):
                return
            root = self.graph.root(owner)
        self.memory.held[inner] = root
        site.cuts[store.value] = inner

    def _take(self, site: Site, builder: Bodies, node: IrTextNode, store: RaisedStore) -> None:
        """Adds the lines of a body, unless an earlier body had the same statement."""
        cost = self.origins.costs.get(node.name)
        if cost is None:
            return
        nodes = self.lines_of_calls.setdefault((site.call.kernel, site.call.handle), [])
        owner = self.origins.nodes.get((node.name, "body", "store"))
        if owner is not None:
            nodes += [LineNode(line, owner, cost, "store", site.cpp) for line in store.lines]
        for raised in builder.used:
            own = self.origins.nodes.get((node.name, "body", raised.name))
            if own is None or id(raised) in site.owned:
                continue
            site.owned.add(id(raised))
            nodes += [LineNode(line, own, cost, raised.op, site.cpp) for line in raised.lines]
