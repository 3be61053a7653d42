"""Links of a listing that comes without IR: an old `output_code.py`, or one pasted from a page.

Without loop bodies, kernel lines are aligned with the FX graph itself: a node is looked for among
the statements that do its operation on the values of its arguments. A node that only copies is the
store of what it copies. Nodes that are not found keep the kernel's word for it.
"""

from __future__ import annotations

from inductorscope.correlate.collect import Collector
from inductorscope.correlate.emission import expected
from inductorscope.correlate.kernel_lines import read_kernel_text
from inductorscope.correlate.lowerings import MOVES, REDUCES, STRICT
from inductorscope.correlate.model import Confidence, GraphLinks
from inductorscope.correlate.statements import Block, Statement
from inductorscope.formats.fx import FxText, FxTextNode, parse_fx
from inductorscope.formats.output_code import CodeKernel, OutputCode, parse_output_code
from inductorscope.formats.scan import lines_of

SURE = 0.8
"""What part of a block's computing statements must be found for any of them to be believed."""

# They name a value anew; nothing is computed.
_PASS_ON = frozenset(
    ["view", "reshape", "_unsafe_view", "permute", "transpose", "t", "expand", "squeeze",
     "unsqueeze", "slice", "select", "alias", "detach", "as_strided", "getitem", "split"]
)  # fmt: skip


def lone_links(text: str, graph: FxText) -> GraphLinks:
    """Kernel lines ↔ nodes of the graph, all of them inferred."""
    collector = Collector()
    collector.stage("code")
    code = parse_output_code(text)
    lines = lines_of(text)
    pending = graph_nodes(graph)
    for kernel in code.kernels:
        quoted = set(kernel.fragment.nodes)
        mine = [node for node in pending if node.name in quoted] if quoted else pending
        only = bool(quoted) or len(code.kernels) == 1
        found = _Matcher(kernel, mine, only).match(lines)
        for line, name in found:
            collector.add("code", line, f"fx:{name}", Confidence.inferred)
        named = {name for _, name in found}
        for line in [kernel.first_line, *(c.line for c in code.calls if c.kernel == kernel.name)]:
            for node in mine if quoted else [node for node in mine if node.name in named]:
                collector.add("code", line, f"fx:{node.name}", Confidence.kernel)
        pending = [node for node in pending if node.name not in named]
    return collector.finish()


def graph_nodes(graph: FxText) -> list[FxTextNode]:
    """The calls of the class that holds most of them: a runnable file has other classes too."""
    counts: dict[str, int] = {}
    for node in graph.nodes:
        if node.target.startswith("torch.ops."):
            counts[node.graph_class] = counts.get(node.graph_class, 0) + 1
    best = max(counts, key=lambda name: counts[name], default="")
    return [node for node in graph.nodes if node.graph_class == best and node.kind == "call"]


def graph_in(text: str) -> FxText:
    """The FX graph that is pasted into the same file as the listing: what no kernel and no wrapper
    holds."""
    code: OutputCode = parse_output_code(text)
    taken: set[int] = set(range(code.wrapper_first, code.wrapper_last + 1))
    for kernel in code.kernels:
        taken.update(range(kernel.comment_line, kernel.last_line + 1))
    rest = [
        "" if number in taken else line for number, line in enumerate(text.split("\n"), start=1)
    ]
    parsed = parse_fx("\n".join(rest))
    return FxText([node for node in parsed.nodes if node.target.startswith("torch.ops.")])


class _Matcher:
    """Finds nodes in the blocks of one kernel."""

    def __init__(self, kernel: CodeKernel, nodes: list[FxTextNode], only: bool) -> None:
        self.kernel = kernel
        self.nodes = nodes
        self.only = only
        """The nodes are known to be this kernel's, by its comment or because there is no other."""
        self.found: list[tuple[int, str]] = []

    def match(self, lines: list[str]) -> list[tuple[int, str]]:
        remaining = self.nodes
        before: list[FxTextNode] = []
        for block in read_kernel_text(self.kernel, lines).blocks:
            again = block.again and bool(before)
            matched = self._block(block, before if again else remaining)
            if not again:
                before = [node for node in remaining if node.name in matched]
                remaining = [node for node in remaining if node.name not in matched]
        return self.found

    def _block(self, block: Block, nodes: list[FxTextNode]) -> set[str]:
        values: dict[str, set[str]] = {}
        used: set[int] = set()
        matched: set[str] = set()
        places: list[tuple[Statement, FxTextNode]] = []
        made = {name: s for s in block.numbered for name in s.defines}
        by_tag: dict[str, list[Statement]] = {}
        for statement in block.numbered + block.others:
            for tag in statement.tags:
                by_tag.setdefault(tag, []).append(statement)
        for node in nodes:
            inside = [values[name] for name in node.inputs if name in values]
            if node.op in _PASS_ON:
                if inside:
                    values[node.name] = inside[0]
                continue
            if node.op in MOVES:
                store = self._store_of(block, inside[0], made) if inside else None
                if store is not None:
                    places.append((store, node))
                if inside:
                    values[node.name] = inside[0]
                continue
            if not (self.only or inside or node.op.strip("_") in self.kernel.name):
                continue
            fitting = _computing(by_tag, node, inside, used, made)
            # Of several that would do, arguments decide; where none is known, nothing does.
            if len(fitting) == 1 or (inside and fitting):
                used.add(id(fitting[0]))
                values[node.name] = set(fitting[0].defines)
                places += [(fitting[0], node)]
        computing = [s for s in block.numbered if _computes(s)]
        if len(used) < SURE * len(computing):
            return set()  # a chance likeness
        for statement, node in places:
            matched.add(node.name)
            self.found += [(line, node.name) for line in statement.lines]
        return matched

    def _store_of(
        self, block: Block, value: set[str], made: dict[str, Statement]
    ) -> Statement | None:
        for statement in block.others:
            if statement.stores and _reaches(statement, value, made):
                return statement
        return None


def _computes(statement: Statement) -> bool:
    plain = statement.is_load or statement.is_cast or statement.is_leaf
    return not plain and not statement.stores


def _computing(
    by_tag: dict[str, list[Statement]],
    node: FxTextNode,
    inside: list[set[str]],
    used: set[int],
    made: dict[str, Statement],
) -> list[Statement]:
    """Statements that do the node's operation on the values it takes, in order."""
    operations = STRICT.get(node.op) or REDUCES.get(node.op) or frozenset((node.op,))
    tags = sorted({tag for operation in operations for tag in expected(operation)})
    candidates = {id(s): s for tag in tags for s in by_tag.get(tag, ())}
    fitting = [
        statement
        for key, statement in candidates.items()
        if key not in used
        and not statement.stores
        and not (node.op != "where" and _is_masked(statement))
        and (not statement.accumulators or node.op in REDUCES)
        and all(_reaches(statement, value, made) for value in inside)
    ]
    return sorted(fitting, key=lambda statement: statement.lines[0])


def _is_masked(statement: Statement) -> bool:
    """`tl.where(r0_mask & xmask, …)`: the loop's own masks are no operation of the graph."""
    return "mask" in statement.text and "where" in statement.tags


def _reaches(statement: Statement, value: set[str], made: dict[str, Statement]) -> bool:
    """Whether a statement takes a value, as it is or cast."""
    names = list(statement.uses)
    for _ in range(8):  # casts of casts are few
        if value & set(names):
            return True
        names = [
            used
            for name in names
            if (maker := made.get(name)) is not None and maker.is_cast
            for used in maker.uses
        ]
        if not names:
            return False
    return False
