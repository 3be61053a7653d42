"""One graph's folder → its nodes, kernels, calls and links."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from functools import partial

import msgspec

from ..correlate.graph import graph_links
from ..correlate.kernel_nodes import nodes_of_calls
from ..correlate.text_stages import fx_entity, main_class
from ..correlate.texts import GraphTexts
from ..formats.fx import FxText, parse_fx
from ..formats.ir import IrText, parse_ir
from ..formats.output_code import OutputCode, parse_output_code
from ..formats.provenance import parse_provenance
from ..intake.graphs import GraphFolder
from ..store.draft import FxNodeDraft, GraphDraft, IrNodeDraft
from .kernels import kernel_drafts
from .notes import Notes
from .texts import read_text

FX_STAGES = {
    "dynamo_graph": "dynamo",
    "pre_grad": "pre_grad",
    "joint_graph": "joint",
    "fx_readable": "readable",
    "fx_transformed": "post_grad",
}
IR_STAGES = {"ir_pre_fusion": "ir_pre", "ir_post_fusion": "ir_post"}
DIRECTIONS = ("forward", "backward", "inference")

# model__0_forward_1.0, or the AOT id 0_forward
_NUMBERED = re.compile(r"(\d+)_(forward|backward|inference|joint)")


@dataclass(slots=True)
class GraphRead:
    """A graph's folder, read."""

    folder: GraphFolder
    draft: GraphDraft
    texts: dict[str, str] = field(default_factory=dict)
    fx: dict[str, FxText] = field(default_factory=dict)
    code: OutputCode = field(default_factory=OutputCode)
    provenance: bytes | None = None

    def order(self) -> tuple[str, int, int]:
        """Process, number of the graph, then forward before backward."""
        found = _NUMBERED.search(self.draft.aot_id or "") or _NUMBERED.search(self.folder.name)
        number = int(found.group(1)[:9]) if found else 1_000_000_000
        return self.folder.process or "", number, int(self.draft.direction == "backward")


def read_graph(folder: GraphFolder, notes: Notes) -> GraphRead:
    """Parses every text of the folder; links come later, when the sources are known."""
    read = GraphRead(folder, GraphDraft(slug=folder.slug, name=folder.name, direction="unknown"))
    for role, path in folder.files.items():
        label = f"{folder.slug}/{path.name}"
        if role in FX_STAGES or role in IR_STAGES or role == "output_code":
            text = notes.attempt(label, "Reading", partial(read_text, path), None)
            if text is not None:
                read.texts[role] = text
        elif role == "provenance":
            read.provenance = path.read_bytes()
    for role in FX_STAGES:
        if role in read.texts:
            _read_fx(read, role, notes)
    for role in IR_STAGES:
        if role in read.texts:
            _read_ir(read, role, notes)
    if "output_code" in read.texts:
        _read_code(read, notes)
    _name_direction(read)
    return read


def link_graph(
    read: GraphRead, sources: dict[str, str], record: dict[str, object] | None, notes: Notes
) -> None:
    """Links the lines of all the graph's texts."""
    texts = GraphTexts(
        fx_transformed=read.texts.get("fx_transformed"),
        fx_readable=read.texts.get("fx_readable"),
        ir_pre=read.texts.get("ir_pre_fusion"),
        ir_post=read.texts.get("ir_post_fusion"),
        output_code=read.texts.get("output_code"),
        provenance=read.provenance,
        line_record=record,
        sources=sources,
    )
    read.draft.links = notes.attempt(
        read.folder.slug, "Linking the lines", lambda: graph_links(texts), None
    )


def _label(read: GraphRead, role: str) -> str:
    return f"{read.folder.slug}/{read.folder.files[role].name}"


def _read_fx(read: GraphRead, role: str, notes: Notes) -> None:
    label = _label(read, role)
    text = notes.attempt(label, "Reading the graph", lambda: parse_fx(read.texts[role]), FxText())
    notes.problems(label, text.problems)
    read.fx[role] = text
    main = main_class(text)
    read.draft.fx_nodes += [
        FxNodeDraft(
            stage=FX_STAGES[role],
            name=fx_entity(node, main).removeprefix("fx:"),
            target=node.target,
            line=node.line,
            annotation=node.annotation or None,
            stack_file=node.stack_file or None,
            stack_line=node.stack_line or None,
        )
        for node in text.nodes
    ]
    if role == "fx_transformed" or not read.draft.node_count:
        read.draft.node_count = sum(node.kind == "call" for node in text.nodes)


def _read_ir(read: GraphRead, role: str, notes: Notes) -> None:
    label = _label(read, role)
    text = notes.attempt(label, "Reading the IR", lambda: parse_ir(read.texts[role]), IrText())
    notes.problems(label, text.problems)
    read.draft.ir_nodes += [
        IrNodeDraft(
            stage=IR_STAGES[role],
            name=node.name,
            kind=f"{node.kind}({node.detail})" if node.detail else node.kind,
            first_line=node.first_line,
            last_line=node.last_line,
            buffers=[buffer.name for buffer in node.buffers],
        )
        for node in text.nodes
    ]


def _read_code(read: GraphRead, notes: Notes) -> None:
    label = _label(read, "output_code")
    text = read.texts["output_code"]
    read.code = notes.attempt(
        label, "Reading the code", lambda: parse_output_code(text), OutputCode()
    )
    notes.problems(label, read.code.problems)
    read.draft.wrapper_first = read.code.wrapper_first or None
    read.draft.wrapper_last = read.code.wrapper_last or None
    read.draft.wrapper_first = read.code.wrapper_first or None
    read.draft.wrapper_last = read.code.wrapper_last or None
    provenance = parse_provenance(read.provenance or b"{}")
    if "provenance" in read.folder.files:
        notes.problems(_label(read, "provenance"), provenance.problems)
    post = read.fx.get("fx_transformed", FxText())
    known = {f"fx:{node.name}" for node in post.main()}
    nodes = nodes_of_calls(read.code, provenance, known)
    # Of the file's bytes: a permalink must not depend on how we decode them.
    digest = hashlib.sha256(read.folder.files["output_code"].read_bytes()).hexdigest()
    read.draft.kernels = kernel_drafts(read.code, nodes, digest, label, notes)


def _name_direction(read: GraphRead) -> None:
    aot_id = read.code.aot_id or None
    read.draft.aot_id = aot_id
    for text in (aot_id or "", read.folder.name):
        for direction in DIRECTIONS:
            if direction in text:
                read.draft.direction = direction
                return


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
