"""One graph's texts → its nodes, kernels, calls and links, ready to be stored."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial

import msgspec

from ..correlate.graph import graph_links
from ..correlate.kernel_nodes import nodes_of_calls
from ..correlate.text_stages import fx_entity, main_class
from ..correlate.texts import GraphTexts, ParsedTexts
from ..formats.fx import FxText, parse_fx
from ..formats.ir import IrText, parse_ir
from ..formats.output_code import OutputCode, parse_output_code
from ..formats.provenance import parse_provenance
from ..store.draft import FxNodeDraft, GraphDraft, IrNodeDraft, KernelDraft, PackedLinks
from ..store.links import packed
from ..store.nodes import pack_nodes
from .graph_sources import GraphSource
from .kernels import kernel_drafts
from .notes import Notes
from .sources import Quotes, add_quotes
from .texts import check_length

FX_STAGES = {
    "dynamo_graph": "dynamo",
    "pre_grad": "pre_grad",
    "joint_graph": "joint",
    "aot_graph": "aot",
    "fx_readable": "readable",
    "fx_transformed": "post_grad",
}
KEPT_STAGES = ("readable", "post_grad")
"""FX stages whose nodes pages ask for."""
QUOTING = "dynamo_graph"
"""Read besides for the source lines it quotes: it has them all."""
IR_STAGES = {"ir_pre_fusion": "ir_pre", "ir_post_fusion": "ir_post"}
DIRECTIONS = ("forward", "backward", "inference")

# model__0_forward_1.0, or the AOT id 0_forward
_NUMBERED = re.compile(r"(\d+)_(forward|backward|inference|joint)")
# f32[4, 256][256, 1]cuda:0
_DEVICE = re.compile(r"\](cpu|cuda|xpu|mps|hpu|npu)(?::\d+)?$")


@dataclass(slots=True)
class GraphContent:
    """What is in the texts of a graph: the same for all graphs of the same texts."""

    aot_id: str | None = None
    node_count: int = 0
    wrapper: tuple[int | None, int | None] = (None, None)
    nodes: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    kernels: list[KernelDraft] = field(default_factory=list)
    links: PackedLinks | None = None
    sources: dict[str, int] = field(default_factory=dict)
    devices: set[str] = field(default_factory=set)


@dataclass(slots=True)
class GraphRead:
    """A graph and the draft of its rows."""

    source: GraphSource
    draft: GraphDraft
    devices: set[str] = field(default_factory=set)
    """Kinds of devices its nodes and kernels speak of."""

    def order(self) -> tuple[str, int, int, tuple[str, int]]:
        """Process, number of the graph, then forward before backward."""
        source = self.source
        found = _NUMBERED.search(self.draft.aot_id or "") or _NUMBERED.search(source.name)
        number = int(found.group(1)[:9]) if found else 1_000_000_000
        process = source.process or source.position[0]
        return process, number, int(self.draft.direction == "backward"), source.position


class GraphReader:
    """Reads graphs; texts that were read before are not read again."""

    MOST_KEPT = 64

    def __init__(self, notes: Notes, records: dict[str, dict[str, object]]) -> None:
        """`records`: the capture's exact record of lines, by the folder's name."""
        self._notes = notes
        self._records = records
        self._known: dict[object, GraphContent] = {}
        self.quotes: Quotes = {}
        """What stack comments quote of the user's files."""
        self._quoted: set[str] = set()
        """Digests of Dynamo's graphs whose quotes we have: several graphs share one."""

    def read(self, graph: GraphRead) -> None:
        """Fills the graph's draft."""
        source, draft = graph.source, graph.draft
        record = self._records.get(source.folder or "")
        key = source.key() if record is None else None
        content = self._known.get(key) if key is not None else None
        if content is None:
            content = _Texts(source, record, self._notes, self.quotes, self._quoted).content()
            if key is not None:
                if len(self._known) >= self.MOST_KEPT:
                    self._known.pop(next(iter(self._known)))
                self._known[key] = content
        draft.aot_id = content.aot_id
        draft.node_count = content.node_count
        draft.wrapper_first, draft.wrapper_last = content.wrapper
        draft.nodes = content.nodes
        draft.sources = content.sources
        draft.links = content.links
        # Each graph's kernels get times and rows of their own.
        draft.kernels = [replace(kernel) for kernel in content.kernels]
        draft.direction = direction_of(content.aot_id, source)
        graph.devices = content.devices


def direction_of(aot_id: str | None, source: GraphSource) -> str:
    for text in (aot_id or "", source.folder or "", source.name, source.direction or ""):
        for direction in DIRECTIONS:
            if direction in text:
                return direction
    return "unknown"


class _Texts:
    """One reading of one graph's texts."""

    def __init__(
        self,
        source: GraphSource,
        record: dict[str, object] | None,
        notes: Notes,
        quotes: Quotes,
        quoted: set[str],
    ) -> None:
        self.source = source
        self.record = record
        self.notes = notes
        self.quotes = quotes
        self.quoted = quoted
        self.fx: dict[str, FxText] = {}
        self.ir: dict[str, IrText] = {}
        self.texts: dict[str, str] = {}
        self.code: OutputCode | None = None
        self.result = GraphContent()

    def content(self) -> GraphContent:
        for role, text in self.source.texts.items():
            if role in FX_STAGES or role in IR_STAGES or role == "output_code":
                read = partial(check_length, text.read, text.size)
                data = self.notes.attempt(text.label, "Reading", read, None)
                if data is not None:
                    self.texts[role] = data.decode("utf-8", "replace")
        for role in self._worth_reading():
            self._read_fx(role)
        for role in IR_STAGES:
            if role in self.texts:
                self._read_ir(role)
        provenance = self._provenance()
        if "output_code" in self.texts:
            self._read_code(provenance)
        self._link(provenance)
        return self.result

    def _worth_reading(self) -> list[str]:
        """FX texts that links or quotes need; where there are none, whatever FX text there is."""
        needed = [role for role in FX_STAGES if FX_STAGES[role] in KEPT_STAGES]
        found = [role for role in needed if role in self.texts]
        if not found:
            return [role for role in FX_STAGES if role in self.texts]
        quoting = self.source.texts.get(QUOTING)
        if QUOTING in self.texts and quoting is not None and quoting.digest not in self.quoted:
            self.quoted.add(quoting.digest)
            found.insert(0, QUOTING)
        return found

    def _label(self, role: str) -> str:
        return self.source.texts[role].label

    def _provenance(self) -> bytes | None:
        for role in ("provenance", "provenance_kernels", "provenance_nodes"):
            text = self.source.texts.get(role)
            if text is not None:
                return self.notes.attempt(text.label, "Reading", text.read, None)
        return None

    def _read_fx(self, role: str) -> None:
        label, plain = self._label(role), self.texts[role]
        text = self.notes.attempt(label, "Reading the graph", lambda: parse_fx(plain), FxText())
        self.notes.problems(label, text.problems)
        add_quotes(self.quotes, text)
        self.fx[role] = text
        result, stage = self.result, FX_STAGES[role]
        if role != QUOTING or not result.sources:
            counts = Counter(node.stack_file for node in text.nodes if node.stack_file)
            result.sources = dict(counts) or result.sources
        if stage in KEPT_STAGES:
            nodes = _fx_drafts(text, inputs=stage == "post_grad")
            result.nodes[stage] = (len(nodes), pack_nodes(nodes))
            for node in nodes:
                found = _DEVICE.search(node.annotation or "")
                if found:
                    result.devices.add(found.group(1))
        if role == "fx_transformed" or not result.node_count:
            result.node_count = sum(node.kind == "call" for node in text.nodes)

    def _read_ir(self, role: str) -> None:
        label, plain = self._label(role), self.texts[role]
        text = self.notes.attempt(label, "Reading the IR", lambda: parse_ir(plain), IrText())
        self.notes.problems(label, text.problems)
        self.ir[role] = text
        nodes = [
            IrNodeDraft(
                name=node.name,
                kind=f"{node.kind}({node.detail})" if node.detail else node.kind,
                first_line=node.first_line,
                last_line=node.last_line,
                buffers=[buffer.name for buffer in node.buffers],
            )
            for node in text.nodes
        ]
        self.result.nodes[IR_STAGES[role]] = (len(nodes), pack_nodes(nodes))

    def _read_code(self, data: bytes | None) -> None:
        label, plain, result = self._label("output_code"), self.texts["output_code"], self.result
        code = self.notes.attempt(
            label, "Reading the code", lambda: parse_output_code(plain), OutputCode()
        )
        self.notes.problems(label, code.problems)
        self.code = code
        result.aot_id = code.aot_id or None
        result.wrapper = (code.wrapper_first or None, code.wrapper_last or None)
        provenance = parse_provenance(data or b"{}")
        if "provenance" in self.source.texts:
            self.notes.problems(self._label("provenance"), provenance.problems)
        post = self.fx.get("fx_transformed", FxText())
        known = {f"fx:{node.name}" for node in post.main()}
        nodes = nodes_of_calls(code, provenance, known)
        # Of the file's bytes: a permalink must not depend on how we decode them.
        digest = self.source.texts["output_code"].digest
        result.kernels = kernel_drafts(code, nodes, digest, label, self.notes)
        if any(kernel.kind == "cpp" for kernel in result.kernels):
            result.devices.add("cpu")

    def _link(self, provenance: bytes | None) -> None:
        texts = GraphTexts(
            fx_transformed=self.texts.get("fx_transformed"),
            fx_readable=self.texts.get("fx_readable"),
            ir_pre=self.texts.get("ir_pre_fusion"),
            ir_post=self.texts.get("ir_post_fusion"),
            output_code=self.texts.get("output_code"),
            provenance=provenance,
            line_record=self.record,
        )
        parsed = ParsedTexts(
            self.fx.get("fx_transformed", FxText()),
            self.fx.get("fx_readable"),
            self.ir.get("ir_pre_fusion"),
            self.ir.get("ir_post_fusion"),
            self.code,
        )
        links = self.notes.attempt(
            self.source.slug, "Linking the lines", lambda: graph_links(texts, parsed), None
        )
        self.result.links = None if links is None else packed(links)


def _fx_drafts(text: FxText, *, inputs: bool) -> list[FxNodeDraft]:
    main = main_class(text)
    return [
        FxNodeDraft(
            name=fx_entity(node, main).removeprefix("fx:"),
            target=node.target,
            line=node.line,
            annotation=node.annotation or None,
            stack_file=node.stack_file or None,
            stack_line=node.stack_line or None,
            inputs=node.inputs if inputs else [],
        )
        for node in text.nodes
    ]


def line_records(data: bytes) -> dict[str, dict[str, object]]:
    """The capture's exact record: graph folder name → record of its lines."""
    try:
        found = msgspec.json.decode(data, type=dict[str, object])
    except msgspec.DecodeError:
        return {}
    graphs = found.get("graphs", found)
    if not isinstance(graphs, dict):
        return {}
    return {name: record for name, record in graphs.items() if isinstance(record, dict)}
