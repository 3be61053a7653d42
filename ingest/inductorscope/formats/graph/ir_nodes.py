"""Scheduler nodes, their buffers and loop bodies, as records with lines."""

import msgspec

from inductorscope.formats.text import Problem


class IrBuffer(msgspec.Struct):
    name: str
    kind: str = ""
    dtype: str = ""
    size: tuple[str, ...] | None = None
    stride: tuple[str, ...] | None = None
    device: str = ""
    mutations: list[str] = msgspec.field(default_factory=list)
    aliases: list[str] = msgspec.field(default_factory=list)
    users: list[str] = msgspec.field(default_factory=list)


class IrOp(msgspec.Struct):
    """One line of a loop body: `neg = ops.neg(load_1)`."""

    name: str
    op: str
    """`load`, `add`, …; `get_index`, `set_indirect`, `masked_subblock`, `scan`, `getitem`."""
    arguments: list[str]
    line: int
    block: str


class IrBlock(msgspec.Struct):
    name: str
    """`body`, `masked_subblock1`, `scan1`."""
    first_line: int
    last_line: int
    ops: list[IrOp] = msgspec.field(default_factory=list)
    result: str = ""


class IrLoopBody(msgspec.Struct):
    first_line: int
    last_line: int
    var_ranges: str = ""
    indexes: dict[str, str] = msgspec.field(default_factory=dict)
    blocks: dict[str, IrBlock] = msgspec.field(default_factory=dict)


class IrTextNode(msgspec.Struct):
    name: str
    kind: str
    """`SchedulerNode`, `FusedSchedulerNode`, `ExternKernelSchedulerNode`, …"""
    detail: str
    """`ComputedBuffer`, `ExternKernelOut`, `MultiOutput`, …"""
    members: list[str]
    """Names of a fused node's innermost members in order; of other nodes, just its name."""
    first_line: int
    last_line: int = 0
    parent: str | None = None
    buffers: list[IrBuffer] = msgspec.field(default_factory=list)
    reads: list[str] = msgspec.field(default_factory=list)
    writes: list[str] = msgspec.field(default_factory=list)
    accesses: list[tuple[str, str, str]] = msgspec.field(default_factory=list)
    """Buffer, index and ranges of each read and write, as written."""
    extern: str = ""
    sizes: str = ""
    iteration: str = ""
    """Sizes of its loops and of its reductions: `(65536, 1)`, in C++ `((129,), (257,))`."""
    body: IrLoopBody | None = None

    @property
    def is_call(self) -> bool:
        """Whether it calls what has no loop body, or does nothing."""
        return self.kind.startswith(("Extern", "Nop")) or "Template" in self.detail


class IrText(msgspec.Struct):
    nodes: list[IrTextNode] = msgspec.field(default_factory=list)
    layouts: dict[str, IrBuffer] = msgspec.field(default_factory=dict)
    """`arg0_1_layout = FixedLayout(…)`: the layouts that loop bodies give for the buffers they
    use."""
    problems: list[Problem] = msgspec.field(default_factory=list)

    def by_name(self) -> dict[str, IrTextNode]:
        return {node.name: node for node in self.nodes}

    def top(self) -> list[IrTextNode]:
        """Scheduled nodes in order, without members of others."""
        return [node for node in self.nodes if node.parent is None]
