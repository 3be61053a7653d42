"""The reasons for a line's references: a code and a sentence for each operation on it.

Reasons are not stored with the links. A request reads the graph again, and the result serves all of
its lines.
"""

from collections.abc import Iterator

import msgspec

from inductorscope.correlate.buffers.origins import OpKey
from inductorscope.correlate.code_lines import DOUBTFUL, Inference, certainty_of
from inductorscope.correlate.links.model import Confidence
from inductorscope.correlate.links.text_stages import op_entity
from inductorscope.correlate.links.texts import GraphTexts, ParsedTexts, parse_texts
from inductorscope.correlate.nodes.fx_graph import FxGraph
from inductorscope.correlate.scopes import Scope, scopes_of
from inductorscope.correlate.without_ir.lines import has_bodies, sure_below
from inductorscope.correlate.without_ir.walk import nodes_of_lines
from inductorscope.formats.code.output_code import OutputCode
from inductorscope.formats.graph.ir import IrText
from inductorscope.formats.graph.provenance import Provenance
from inductorscope.formats.vocabulary import IR_POST, IR_PRE


class Reason(msgspec.Struct):
    """Why one operation is on a line, and which node it belongs to."""

    code: str
    """`data_flow`, `ambiguous`, `doubtful`, `unknown` or `recorded`."""
    sentence: str
    certainty: str
    """How certain it is that the operation belongs to the first of `nodes`, as its link says."""
    operation: str = ""
    """`op:op7.mul_2`"""
    nodes: list[str] = msgspec.field(default_factory=list)
    """`fx:add_3`, …, the likeliest first."""
    calls: list[str] = msgspec.field(default_factory=list)
    """The calls that it holds for; empty for all."""


class Explainer:
    """Reasons for the lines of one graph."""

    def __init__(self, texts: GraphTexts) -> None:
        read = parse_texts(texts)
        self.scopes = [
            _ScopeReasons(scope, read)
            for scope in scopes_of(read.code or OutputCode(), texts.code or "", read.post_grad)
        ]

    def reasons(self, stage: str, line: int) -> list[Reason]:
        """One reason for each operation of the line; empty when nothing was inferred."""
        return [reason for scope in self.scopes for reason in scope.reasons(stage, line)]


class _ScopeReasons:
    """Reasons for the lines of one scope."""

    def __init__(self, scope: Scope, read: ParsedTexts) -> None:
        self.scope, self.read = scope, read
        self.inference = Inference(scope, read, set())
        self.nodes = self.inference.ir.by_name()
        self._raised: dict[int, list[Reason]] | None = None
        self._operations: dict[int, dict[OpKey, list[str]]] = {}
        """Line of the code → its operations → their calls."""
        for call, line, key in self.inference.lines():
            self._operations.setdefault(line, {}).setdefault(key, []).append(call)

    def reasons(self, stage: str, line: int) -> list[Reason]:
        if stage == "code" and not has_bodies(self.inference.ir):
            if self._raised is None:
                self._raised = raised_reasons(self.scope, self.read.provenance)
            return self._raised.get(line, [])
        if stage == "code":
            return [
                self._reason(key, calls) for key, calls in self._operations.get(line, {}).items()
            ]
        parsed = {IR_PRE: self.read.ir_pre, IR_POST: self.read.ir_post}.get(stage) or IrText()
        return [self._reason(key, []) for key in _operations(self.scope.ir(parsed), line)]

    def _reason(self, key: OpKey, calls: list[str]) -> Reason:
        origins = self.inference.origins
        node = origins.nodes.get(key)
        others = origins.others.get(key, [])
        cost = origins.costs.get(key[0])
        full = self.scope.full_name
        nodes = [full(f"fx:{name}") for name in dict.fromkeys([node, *others]) if name is not None]
        code, second = "data_flow", ""
        if not nodes or cost is None:
            code = "unknown"
            second = f"No node of the graph has the value that {key[0]}'s loop body computes."
        elif cost > DOUBTFUL:
            code = "doubtful"
            second = (
                f"{key[0]}'s loop body fits the graph only partly (cost {cost:.2f}, doubtful "
                f"above {DOUBTFUL:g}), so `{node}` is a guess."
            )
        elif others:
            code = "ambiguous"
            names = " and ".join(f"`{name}`" for name in [node, *others])
            second = f"{names} fit equally well; the order of nodes decides for `{node}`."
        else:
            second = (
                f"By its operands and the stored value it belongs to `{node}` (cost {cost:.2f})."
            )
            rule = origins.rules.get(key)
            second += f" The rule: {rule.partition('. ')[0].rstrip('.')}." if rule else ""
        name, block, operation = key
        where = f"{name}'s loop body" if block == "body" else f"{block} of {name}"
        sentence = f"Matched by operation and data flow: `{operation}` of {where}. "
        sentence += self._made_for(key) + second
        certainty = certainty_of(origins, key) if nodes else Confidence.kernel
        return Reason(code, sentence, certainty.name, full(op_entity(*key)), nodes, calls=calls)

    def _made_for(self, key: OpKey) -> str:
        node = self.nodes.get(key[0])
        for buffer in node.buffers if node is not None else ():
            name = self.inference.comments.made_for.get(buffer.name)
            if name is not None:
                return f"The kernel's comment says that {buffer.name} was made for `{name}`. "
        return ""


def raised_reasons(scope: Scope, provenance: Provenance) -> dict[int, list[Reason]]:
    """Line → reasons, for a graph without dumped loop bodies."""
    nodes = scope.nodes(provenance)
    result: dict[int, dict[tuple[str, str], Reason]] = {}
    found = nodes_of_lines(FxGraph(scope.post), scope.code, scope.lines, nodes)
    for (kernel, handle), raised in found.items():
        for cost in raised:
            sentence = (
                "There is no IR of this kernel, so loop bodies were reconstructed from the kernel. "
                f"By data flow, this `{cost.op}` belongs to `{cost.node}` (cost {cost.cost:.2f}"
            )
            sure = cost.cost <= sure_below(cost)
            sentence += ")." if sure else f", a guess above {sure_below(cost):g})."
            of_line = result.setdefault(cost.line, {})
            reason = of_line.setdefault(
                (cost.op, cost.node),
                Reason(
                    "data_flow" if sure else "doubtful",
                    sentence,
                    (Confidence.inferred if sure else Confidence.kernel).name,
                    "",
                    [scope.full_name(f"fx:{cost.node}")],
                ),
            )
            call = f"call:{kernel}:{handle}"
            if call not in reason.calls:
                reason.calls.append(call)
    return {line: list(reasons.values()) for line, reasons in result.items()}


def _operations(parsed: IrText, line: int) -> Iterator[OpKey]:
    for node in parsed.nodes:
        if node.body is None or not node.first_line <= line <= node.last_line:
            continue
        for block in node.body.blocks.values():
            for op in block.ops:
                if op.line == line and op.op != "get_index":
                    yield (node.name, block.name, op.name)
