"""Loop bodies of one call: a block's operations with the buffers of its pointers."""

import msgspec

from inductorscope.correlate.without_ir.records import RaisedBlock, RaisedOp, RaisedStore
from inductorscope.formats.code.output_code import CodeCall
from inductorscope.formats.graph.ir import IrBlock, IrLoopBody, IrOp

MOST_OPERATIONS = 4000
"""The most steps of a value that is read."""


class Site(msgspec.Struct):
    call: CodeCall
    cpp: bool
    pointers: dict[str, str]
    """Parameter → the name of its memory."""
    versions: dict[str, str] = msgspec.field(default_factory=dict)
    """Memory → buffer at the start of this block."""
    stored: dict[str, list[tuple[int, str]]] = msgspec.field(default_factory=dict)
    """Memory → (line, buffer) of this block's stores."""
    cuts: dict[str, str] = msgspec.field(default_factory=dict)
    """Values that are already in a buffer."""
    owned: set[int] = msgspec.field(default_factory=set)

    def memory(self, pointer: str) -> str:
        """The memory of a parameter; memory inside the kernel is named after the call."""
        return self.pointers.get(pointer, f"{self.call.handle}.{pointer}")


class Bodies:
    """Makes the loop bodies, store by store."""

    def __init__(self, block: RaisedBlock, site: Site) -> None:
        self.block, self.site = block, site
        self.picked: dict[str, int] = {}
        self.reads: list[str] = []
        self.used: list[RaisedOp] = []

    def body(self, store: RaisedStore, name: str) -> IrLoopBody | None:
        self.reads, self.used = [], []
        order = self._order(store)
        if order is None:
            return None
        body = IrLoopBody(0, 0)
        block = body.blocks["body"] = IrBlock("body", 0, 0)
        self.picked = {}
        for call in order:
            if call in self.site.cuts:
                buffer = self.site.cuts[call]
                block.ops.append(IrOp(call, "load", [f"'{buffer}'"], 0, "body"))
                continue
            self._emit(self.block.ops[call], body, block)
        index = self._index(store.index, store.picks, "store", body, block)
        value = store.value
        if store.part:
            value = f"{value}[{store.part}]"
            block.ops.append(IrOp(value, "getitem", [store.value, store.part], 0, "body"))
        arguments = [f"'{name}'", index, value]
        block.ops.append(IrOp("store", "store", arguments, 0, "body"))
        return body

    def _order(self, store: RaisedStore) -> list[str] | None:
        """Orders operations: operands before users."""
        done: dict[str, bool] = {}
        order: list[str] = []
        stack = [(name, False) for name in [*store.picks, store.value]]
        ops, cuts = self.block.ops, self.site.cuts
        while stack:
            name, ready = stack.pop()
            if ready:
                order.append(name)
                continue
            if name in done or name not in ops:
                continue
            done[name] = True
            if len(done) > MOST_OPERATIONS:
                return None
            stack.append((name, True))
            if name not in cuts:
                stack += [(use, False) for use in (*ops[name].uses, *ops[name].picks)]
        return order

    def _emit(self, raised: RaisedOp, body: IrLoopBody, block: IrBlock) -> None:
        self.used.append(raised)
        op = raised.op
        arguments = list(raised.uses)
        if op in ("load", "load_seed"):
            buffer = self._buffer(raised)
            self.reads.append(buffer)
            index = self._index(raised.index, raised.picks, raised.name, body, block)
            arguments = [f"'{buffer}'", index]
        elif op == "constant":
            arguments = [raised.detail, "torch.float32"]
        elif op == "reduction":
            arguments = ["", "", f"'{raised.detail}'", *arguments]
        elif op == "getitem" or op == "to_dtype":
            arguments = [*arguments[:1], raised.detail]
        elif op == "set_indirect":
            number = self.picked[raised.name] = len(self.picked)
            arguments = [f"set_indirect{number}", *arguments]
        block.ops.append(IrOp(raised.name, op, arguments, 0, "body"))

    def _index(
        self, index: str, picks: list[str], name: str, body: IrLoopBody, block: IrBlock
    ) -> str:
        text = index
        for pick in dict.fromkeys(picks):
            if pick not in self.block.ops:
                continue
            number = self.picked.get(pick)
            if number is None:
                number = self.picked[pick] = len(self.picked)
                arguments = [f"set_indirect{number}", pick]
                block.ops.append(IrOp(f"{pick}.pick", "set_indirect", arguments, 0, "body"))
            text += f" + indirect{number}"
        body.indexes[name] = text
        block.ops.append(IrOp(f"{name}.index", "get_index", [f"'{name}'"], 0, "body"))
        return f"{name}.index"

    def _buffer(self, raised: RaisedOp) -> str:
        site = self.site
        memory = site.memory(raised.pointer)
        line = raised.lines[-1] if raised.lines else 0
        for stored, version in reversed(site.stored.get(memory, [])):
            if stored < line:
                return version
        return site.versions.get(memory, memory)
