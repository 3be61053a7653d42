"""Extracts nodes, kernels, calls and links from the texts of one graph, ready to be stored.

Pure: takes texts and returns records, so it runs in this process or in another.
"""

import re
from collections import Counter
from functools import partial

from inductorscope.analyze.bytes.graph import with_wrapper
from inductorscope.analyze.fusing.facts import facts_of
from inductorscope.correlate.graph import graph_links
from inductorscope.correlate.links.model import GraphLinks
from inductorscope.correlate.links.text_stages import fx_entity, main_class
from inductorscope.correlate.links.texts import GraphTexts, ParsedTexts
from inductorscope.correlate.scopes import scoped_nodes, scopes_of
from inductorscope.formats.code.output_code import OutputCode, parse_output_code
from inductorscope.formats.graph.fx import FxText, parse_fx
from inductorscope.formats.graph.ir import IrText, parse_ir
from inductorscope.formats.graph.provenance import Provenance, parse_provenance
from inductorscope.formats.text import plain_text
from inductorscope.formats.vocabulary import (
    CODE,
    DYNAMO,
    IR_POST,
    IR_PRE,
    KEPT_GRAPHS,
    POST_GRAD,
    PRE_GRAD,
    READABLE,
)
from inductorscope.reading.graphs.kernels import kernel_drafts
from inductorscope.reading.graphs.sources import Quotes, add_quotes
from inductorscope.reading.graphs.task import (
    BEFORE,
    FX_STAGES,
    IR_STAGES,
    PROVENANCES,
    Given,
    GraphContent,
    Outcome,
    Task,
    worth_reading,
)
from inductorscope.reading.notes import Notes
from inductorscope.reading.texts import check_length
from inductorscope.store.runs.links import packed
from inductorscope.store.runs.packing import PackedNodes, pack, pack_facts, pack_kernels
from inductorscope.units import plural

# f32[4, 256][256, 1]cuda:0
_KINDS = "cpu|cuda|xpu|mps|mtia|hpu|npu|privateuseone"
_DEVICE = re.compile(rf"\]({_KINDS})(?::\d+)?$")
# Before 2.7 graphs themselves name no devices, and code comes without a graph:
# ''', device_str='cuda')                 the end of a Triton kernel
# empty_strided_cuda((4, 256), …)         a buffer; CPU code too imports the function
# with torch.cuda._DeviceGuard(0):
# rand_strided((4, 256), (256, 1), device='cuda:0', …)
# aoti_torch_empty_strided(2, …, cached_torch_device_type_cuda, …)
_IN_CODE = re.compile(
    rf"(?:device_str='|\bdevice='|empty_strided_|torch\.|cached_torch_device_type_)({_KINDS})"
    r"(?='|:\d|\(|\._DeviceGuard|,)"
)


def read_texts(task: Task) -> Outcome:
    """Reads a task's texts. Each text is dropped from the task once decoded, to save memory."""
    reading = _Reading(task)
    return Outcome(reading.content(), reading.notes, reading.quotes)


class _Reading:
    """One reading of one graph's texts."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.notes = Notes()
        self.quotes: Quotes = {}
        self.fx: dict[str, FxText] = {}
        self.ir: dict[str, IrText] = {}
        self.code: OutputCode | None = None
        self.result = GraphContent()
        self.texts: dict[str, str] = {}
        for role in worth_reading(task.texts, align=task.align) - set(PROVENANCES):
            given = task.texts[role]
            self.texts[role] = (given.data or b"").decode("utf-8", "replace")
            given.data = b""  # graphs are large: keep only one of the two

    def content(self) -> GraphContent:
        for role in FX_STAGES:
            if role in self.texts:
                self._read_fx(role)
        for role in IR_STAGES:
            if role in self.texts:
                self._read_ir(role)
        provenance = self._provenance()
        if CODE in self.texts:
            self._read_code(provenance)
        self._link(provenance)
        self.result.nodes |= pack_kernels(self.result.kernels)
        if self.task.align:
            self._work_out_facts()
        return self.result

    def _label(self, role: str) -> str:
        return self.task.texts[role].label

    def _provenance(self) -> Provenance:
        """Returns the first file that says what kernels compute; records of a backward can be
        empty."""
        found: Provenance | None = None
        for role in PROVENANCES:
            given = self.task.texts.get(role)
            if given is None:
                continue
            read = parse_provenance(given.data or b"")
            self.notes.problems(given.label, read.problems)
            if read.kernel_to_post:
                return read
            found = found or read
        return found or Provenance()

    def _read_fx(self, role: str) -> None:
        label, plain = self._label(role), self.texts[role]
        # Often no pass after the first changes anything; then both texts are the same.
        alike = next((text for other, text in self.fx.items() if self.texts[other] == plain), None)
        text = alike or self.notes.attempt(
            label, "Reading the graph", lambda: parse_fx(plain), FxText()
        )
        self.notes.problems(label, text.problems)
        add_quotes(self.quotes, text)
        self.fx[role] = text
        result = self.result
        if role not in BEFORE or not result.sources:
            counts = Counter(node.stack_file for node in text.nodes if node.stack_file)
            result.sources = dict(counts) or result.sources
        if role in KEPT_GRAPHS:
            columns = _fx_columns(text, inputs=role == POST_GRAD)
            result.nodes[role] = (len(text.nodes), pack(columns))
            for annotation in {node.annotation for node in text.nodes}:
                found = _DEVICE.search(annotation)
                if found:
                    result.devices.add(found.group(1))
        if role == POST_GRAD or not result.node_count:
            result.node_count = sum(node.kind == "call" for node in text.nodes)

    def _read_ir(self, role: str) -> None:
        label, plain = self._label(role), self.texts.pop(role)  # its lines are not needed again
        text = self.notes.attempt(label, "Reading the IR", lambda: parse_ir(plain), IrText())
        self.notes.problems(label, text.problems)
        self.ir[role] = text

    def _read_code(self, provenance: Provenance) -> None:
        label, plain, result = self._label(CODE), self.texts[CODE], self.result
        code = self.notes.attempt(
            label, "Reading the code", lambda: parse_output_code(plain), OutputCode()
        )
        self.notes.problems(label, code.problems)
        self.code = code
        result.aot_id = code.aot_id or None
        result.wrapper = (code.wrapper_first or None, code.wrapper_last or None)
        post = self.fx.get(POST_GRAD, FxText())
        nodes = scoped_nodes(scopes_of(code, plain, post), provenance)
        # Hash the file's bytes: a permalink must not depend on how we decode them.
        digest = self.task.texts[CODE].digest
        lines = plain_text(plain).split("\n")  # as the code's reader counts lines
        result.kernels = kernel_drafts(code, lines, nodes, digest, label, self.notes)
        if any(kernel.kind == "cpp" for kernel in result.kernels):
            result.devices.add("cpu")
        result.devices.update(_IN_CODE.findall(plain))

    def _link(self, provenance: Provenance) -> None:
        texts = GraphTexts(
            post_grad=self.texts.get(POST_GRAD),
            readable=self.texts.get(READABLE),
            code=self.texts.get(CODE),
            dynamo=self.texts.get(DYNAMO),
            pre_grad=self.texts.get(PRE_GRAD),
            line_record=self.task.record,
        )
        parsed = ParsedTexts(
            post_grad=self.fx.get(POST_GRAD, FxText()),
            readable=self.fx.get(READABLE),
            ir_pre=self.ir.get(IR_PRE),
            ir_post=self.ir.get(IR_POST),
            code=self.code,
            provenance=provenance,
            dynamo=self.fx.get(DYNAMO),
            pre_grad=self.fx.get(PRE_GRAD),
        )
        links = self.notes.attempt(
            self.task.slug,
            "Linking the lines",
            lambda: graph_links(texts, parsed, align=self.task.align),
            None,
        )
        if links is not None:
            self._find_nodes(links)
            nodes = self.fx.get(POST_GRAD, FxText()).nodes
            takers = {node.name for node in nodes if ".higher_order." in node.target}
            calls = [call for call in (self.code or OutputCode()).calls if call.inside]
            listed = [provenance.kernel_to_post.get((call.kernel, call.handle)) for call in calls]
            if mixed := sum(not takers.isdisjoint(names or ()) for names in listed):
                links.notes.append(
                    f"Of {plural(mixed, 'call')} in subgraphs, Inductor's record also lists nodes "
                    "of the caller, which they do not compute; these are left out here."
                )
            for name, stage in links.stages.items():
                given = self.task.texts.get(name)
                stage.digest = "" if given is None else given.digest
            self.result.links = packed(links)

    def _work_out_facts(self) -> None:
        """Works out the calls' facts. Comes last, because it changes the arguments of the code's
        calls."""
        code, ir, fx = self.code, self.ir.get(IR_POST), self.fx.get(POST_GRAD)
        if code is None:
            return
        none: PackedNodes = {}
        self.result.nodes |= self.notes.attempt(
            self._label(CODE),
            "Working out what was not fused",
            lambda: pack_facts(
                facts_of(with_wrapper(self.texts[CODE], code, ir, fx), ir=ir is not None)
            ),
            none,
        )

    def _find_nodes(self, links: GraphLinks) -> None:
        """Gives calls the nodes that their lines were aligned with, where provenance lists none, or
        in a subgraph, where it mixes up its nodes with those of its caller."""
        calls = {
            f"call:{kernel.name}:{call.handle}": call
            for kernel in self.result.kernels
            for call in kernel.calls
            if not call.fx_nodes or "/" in call.fx_nodes[0]
        }
        stage = links.stages.get(CODE)
        if not calls or stage is None:
            return
        found: dict[str, dict[str, None]] = {}
        for entity, call in zip(stage.entities, stage.call, strict=True):
            name = links.entities[entity]
            if call >= 0 and name.startswith("fx:") and links.entities[call] in calls:
                found.setdefault(links.entities[call], {})[name.removeprefix("fx:")] = None
        unknown = sum(not calls[name].fx_nodes for name in found)
        for name, nodes in found.items():
            calls[name].fx_nodes = list(dict.fromkeys([*calls[name].fx_nodes, *nodes]))
        if unknown:
            links.notes.append(
                f"Of {unknown:,} calls Inductor tells no nodes; "
                "theirs are those that their kernels' lines were aligned with."
            )


def _fx_columns(text: FxText, *, inputs: bool) -> dict[str, list[object]]:
    main, nodes = main_class(text), text.nodes
    if not nodes:
        return {}
    return {
        "name": [fx_entity(node, main).removeprefix("fx:") for node in nodes],
        "target": [node.target for node in nodes],
        "line": [node.line for node in nodes],
        "annotation": [node.annotation or None for node in nodes],
        "stack_file": [node.stack_file or None for node in nodes],
        "stack_line": [node.stack_line or None for node in nodes],
        "inputs": [node.inputs if inputs else [] for node in nodes],
    }


def read_task(task: Task) -> Outcome:
    """Reads the texts from their files or unpacks them, then parses them."""
    notes = Notes()
    failed = ""
    for given in task.texts.values():
        if given.data is None:
            read = partial(check_length, partial(_data, given), given.size)
            given.data = notes.attempt(given.label, "Reading", read, None)
            if given.data is None:
                failed = f"{given.label} could not be read"
    task.texts = {role: given for role, given in task.texts.items() if given.data is not None}
    outcome = read_texts(task)
    notes.merge(outcome.notes)
    return Outcome(outcome.content, notes, outcome.quotes, failed)


def _data(given: Given) -> bytes:
    if given.file is not None:
        return given.file.read_bytes()
    if given.packed is None:
        raise RuntimeError("It is no longer stored. Read its run again.")
    data = given.packed.plain()
    if len(data) != given.size:
        raise RuntimeError(f"It is stored with {len(data):,} of {given.size:,} bytes.")
    return data
