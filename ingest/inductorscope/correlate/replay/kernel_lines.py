"""Aligns the lines of a kernel with loop-body operations, for each call."""

import re

import msgspec

from inductorscope.correlate.buffers.origins import OpKey
from inductorscope.correlate.kernels import cpp as cpp_text
from inductorscope.correlate.kernels import triton as triton_text
from inductorscope.correlate.kernels.statements import Block, Statement
from inductorscope.correlate.replay.align import replay
from inductorscope.correlate.replay.schedule import CallSite
from inductorscope.correlate.replay.state import Accumulation, Alignment, ReplayState
from inductorscope.formats.code.output_code import CodeKernel
from inductorscope.formats.graph.ir import IrTextNode

NODE_TRIES = 6
"""The most nodes ahead to try when a block does not continue with the next one."""
MORE_TRIES = 24
"""The most nodes ahead to try when none of those fits."""


_FOR_A_STORE = "auto at_"
_WORD = re.compile(r"\w+")
"""`auto at_Half_tmp_acc0_vec = at::vec::convert<at::Half,1,float,2>(tmp_acc0_vec);`"""
FITS = 0.5
"""A scheduler node that costs less is written next."""
HARDLY_FITS = 0.9
"""Above, more nodes are tried."""
WRITTEN_BEFORE = 2.0
"""Cost of a node of which all expressions were written before, for other nodes."""
WRITTEN_ELSEWHERE = 5.0
"""The same, if it misses some of them; above, no node fits."""
NEVER = 1e6
STUCK = 0.5
"""Cost per statement above which a node hardly fits."""


class KernelText(msgspec.Struct):
    """A kernel's body, read once for all its calls."""

    kernel: CodeKernel
    blocks: list[Block]
    indices: list[Statement] = msgspec.field(default_factory=list)
    accumulations: list[Statement] = msgspec.field(default_factory=list)
    aliases: dict[str, str] = msgspec.field(default_factory=dict)
    helpers: dict[str, list[int]] = msgspec.field(default_factory=dict)

    @property
    def cpp(self) -> bool:
        return self.kernel.kind == "cpp"


class LineOps(msgspec.Struct):
    """Line of the output code → operations, for one call."""

    lines: dict[int, list[OpKey]] = msgspec.field(default_factory=dict)

    def add(self, lines: list[int], key: OpKey) -> None:
        for line in lines:
            keys = self.lines.setdefault(line, [])
            if key not in keys:
                keys.append(key)


def read_kernel_text(kernel: CodeKernel, lines: list[str]) -> KernelText:
    if kernel.kind == "cpp":
        read = cpp_text.read_kernel(lines, kernel.body_first, kernel.body_last)
        return KernelText(kernel, read.blocks, [], read.accumulations, read.aliases)
    blocks, indices = triton_text.read_blocks(lines, kernel.body_first, kernel.body_last)
    helpers = triton_text.helper_functions(lines, kernel.first_line, kernel.body_first)
    return KernelText(kernel, blocks, indices, helpers=helpers)


class _Fit(msgspec.Struct):
    """A block with the nodes that were replayed into it, in order."""

    block: Block
    state: ReplayState
    taken: list[IrTextNode]


def align_call(text: KernelText, site: CallSite) -> LineOps:
    """Replays the nodes of one call into the blocks of its kernel."""
    # `auto out_ptr3 = in_out_ptr0;`: a second name for the same memory
    pointers = {
        buffer: names | {alias for alias, target in text.aliases.items() if target in names}
        for buffer, names in site.pointers.items()
    }
    inside = _inside(site)
    result = LineOps()
    fits: list[_Fit] = []
    remaining = list(site.nodes)
    used: list[IrTextNode] = []
    for block in text.blocks:
        state = ReplayState(block, pointers, inside, text.cpp)
        if block.again and used:
            fit = _fit(_Fit(block, state, []), list(used), [])
        else:
            fit = _fit(_Fit(block, state, []), remaining, fits, alone=len(text.blocks) == 1)
            used = fit.taken
        fits.append(fit)
        _collect(result, block, state.result)
    done = [fit.state.result for fit in fits]
    records = [record for alignment in done for record in alignment.accumulations]
    stores = [store for alignment in done for store in alignment.stores]
    _outside(result, text.accumulations, records, stores, pointers)
    _helpers(result, text, done)
    _indices(result, text)
    return result


def _inside(site: CallSite) -> dict[str, bool]:
    """The buffers that a call makes → whether only the call reads them."""
    own = {node.name for node in site.nodes}
    return {
        buffer.name: bool(buffer.users) and own.issuperset(buffer.users)
        for node in site.nodes
        for buffer in node.buffers
    }


def _fit(fit: _Fit, waiting: list[IrTextNode], earlier: list[_Fit], *, alone: bool = False) -> _Fit:
    """Replays nodes until the block is explained, and removes them from `waiting`. Fused nodes may
    be written in another order. If this is the kernel's only block, the nodes fit nowhere else:
    then it also takes nodes that hardly fit, to lose only these."""
    while waiting and not (fit.taken and fit.state.result.complete(fit.block)):
        best, cost = 0, 0.0
        if len(waiting) > 1:
            best, cost = _next_node(fit, waiting, alone)
        passed_over = MORE_TRIES if cost >= STUCK else best
        if passed_over > 0 and _put_earlier(waiting, passed_over, earlier):
            continue
        if best < 0:
            break
        node = waiting.pop(best)
        replay(fit.state, node)
        fit.taken.append(node)
    return fit


def _put_earlier(waiting: list[IrTextNode], most: int, earlier: list[_Fit]) -> bool:
    """Replays a reduction that repeats an earlier one into that one's block, as it has no separate
    block."""
    for node in waiting[:most]:
        if node.body is None or not any(
            op.op == "reduction" for block in node.body.blocks.values() for op in block.ops
        ):
            continue
        for fit in reversed(earlier):
            if fit.block.again:
                continue
            trial = _again(fit)
            before = len(trial.result.owner)
            if replay(trial, node) == 0.0 and len(trial.result.owner) == before:
                replay(fit.state, node)
                fit.taken.append(node)
                waiting.remove(node)
                return True
    return False


def _next_node(fit: _Fit, waiting: list[IrTextNode], alone: bool) -> tuple[int, float]:
    """Index of the next node, and its cost per explained statement. A later node is chosen only if
    it fits the next statements and the first one does not."""
    costs: list[float] = []
    cpp = fit.state.cpp
    makers = {buffer.name: node.name for node in waiting for buffer in node.buffers}
    for position, node in enumerate(waiting[:MORE_TRIES]):
        if position == NODE_TRIES and min(costs) < HARDLY_FITS:
            break
        if any(makers.get(name, node.name) != node.name for name in node.reads):
            costs.append(NEVER)  # it depends on nodes that are not written yet
            continue
        trial = _again(fit)
        cost = replay(trial, node)
        gained = sum(key[0] == node.name for key in trial.result.owner.values())
        if cost < FITS and (gained or len(waiting) == 1 or not cpp):
            return position, 0.0
        if gained:
            costs.append((cost + 1.0) / (gained + 1))
        else:  # all its expressions were written before, for other nodes
            costs.append(cost + (WRITTEN_BEFORE if cost <= 1.0 else WRITTEN_ELSEWHERE))
    best = min(range(len(costs)), key=lambda i: costs[i])
    if fit.taken and costs[best] >= WRITTEN_ELSEWHERE and not (alone and costs[best] < NEVER):
        return -1, costs[best]
    return best, costs[best]


def _again(fit: _Fit) -> ReplayState:
    state = ReplayState(fit.block, fit.state.pointers, fit.state.inside, fit.state.cpp)
    for node in fit.taken:
        replay(state, node)
    return state


def _collect(result: LineOps, block: Block, alignment: Alignment) -> None:
    """Collects lines. Statements without owner stay unexplained."""
    owner = alignment.owner
    for statement in [*block.numbered, *block.others]:
        key = owner.get(id(statement))
        if key is not None:
            result.add(statement.lines, key)


def _outside(
    result: LineOps,
    statements: list[Statement],
    records: list[Accumulation],
    stores: list[tuple[str, OpKey]],
    pointers: dict[str, frozenset[str]],
) -> None:
    """Assigns declarations, epilogues and stores of accumulators to the nearest reduction."""
    left = list(stores)
    for statement in statements:
        own = (record for record in records if record.name in statement.accumulators)
        nearest = max(own, key=lambda record: statement.shared_loops(record.scope), default=None)
        if nearest is None:
            continue
        if not statement.stores and not statement.text.startswith(_FOR_A_STORE):
            result.add(statement.lines, nearest.reduction)
            continue
        store = _store_of(statement, nearest, left, pointers)
        if store is not None:
            result.add(statement.lines, store)


def _store_of(
    statement: Statement,
    nearest: Accumulation,
    stores: list[tuple[str, OpKey]],
    pointers: dict[str, frozenset[str]],
) -> OpKey | None:
    same_node = [key for _, key in stores if key[0] == nearest.reduction[0]]
    same_place = [
        key for buffer, key in stores if statement.pointer in pointers.get(buffer, frozenset())
    ]
    both = [key for key in same_place if key in same_node]
    return next(iter(both or same_place or same_node), None)


def _helpers(result: LineOps, text: KernelText, done: list[Alignment]) -> None:
    """Assigns the combining function of a scan to the first scan that calls it, for which it is
    written."""
    waiting = dict(text.helpers)
    for block, alignment in zip(text.blocks, done, strict=True):
        for statement in block.numbered:
            key = alignment.owner.get(id(statement))
            if key is None or "_triton_helper_fn" not in statement.text:
                continue
            for name in [name for name in waiting if _names(statement.text, name)]:
                result.add(waiting.pop(name), key)


def _indices(result: LineOps, text: KernelText) -> None:
    """`x0 = xindex % 8` goes to the first load or store that needs it."""
    users = [s for block in text.blocks for s in [*block.numbered, *block.others]]
    users.sort(key=lambda statement: statement.lines[0])
    for index in text.indices:
        name = index.text.partition("=")[0].strip()
        if name.endswith(("mask", "offset", "index", "base", "numel")) or name.startswith("rn"):
            continue
        for statement in users:
            if _names(statement.text, name):
                for key in result.lines.get(statement.lines[0], [])[:1]:
                    result.add(index.lines[:1], key)
                break


def _names(text: str, name: str) -> bool:
    return name in text and name in _WORD.findall(text)
