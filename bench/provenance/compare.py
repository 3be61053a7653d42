"""Torch's provenance beside our links and the recorded truth, call by call."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from inductorscope.correlate.directory import output_codes, read_texts
from inductorscope.correlate.graph import graph_links
from inductorscope.correlate.links.model import GraphLinks
from inductorscope.correlate.links.texts import GraphTexts, ParsedTexts, parse_texts
from inductorscope.correlate.nodes.fx_value import VIEWS
from inductorscope.formats.code.output_code import CodeCall, OutputCode
from inductorscope.formats.graph.fx_nodes import FxTextNode
from inductorscope.formats.vocabulary import CODE

CONSTANTS = {"full", "scalar_tensor", "iota", "arange", "empty", "lift_fresh_copy", "full_like"}

Nodes = frozenset[str]


@dataclass(frozen=True)
class Call:
    """One call, and the nodes of it by each record, under their subgraph's own names."""

    program: str
    graph: str
    kernel: str
    line: int
    library: bool
    inside: str
    written: bool
    """Whether torch's file has it too."""
    torch: Nodes | None
    """None if torch has no record of the call."""
    ours: Nodes
    """Of the files without torch's map of nodes, which our links would use as a hint."""
    given: Nodes
    """The same of all files."""
    truth: Nodes
    reused: Nodes
    """Nodes whose operations found their value computed by this call already."""


@dataclass
class Graph:
    """A graph's calls, and what judges their differences."""

    calls: list[Call]
    nodes: dict[str, dict[str, FxTextNode]]
    """Function of the wrapper → its nodes by name."""
    computed: dict[str, dict[str, list[Call]]] = field(default_factory=dict)
    """Function of the wrapper → node → calls that truly compute it."""

    def __post_init__(self) -> None:
        for call in self.calls:
            of = self.computed.setdefault(call.inside, defaultdict(list))
            for name in call.truth:
                of[name].append(call)

    def node(self, call: Call, name: str) -> FxTextNode | None:
        return self.nodes.get(call.inside, {}).get(name)

    def kept(self, call: Call, names: Nodes, level: str) -> Nodes:
        """The names that are compared at a level: `computed`, `calls` or `all`. A node whose value
        the call had computed already may be listed or not."""
        names -= call.reused
        if level == "all":
            return names
        names = frozenset(name for name in names if not self.moves_only(call, name))
        if level == "calls":
            return names
        somewhere = self.computed.get(call.inside, {})
        return frozenset(
            name for name in names if name in somewhere or self.node(call, name) is None
        )

    def moves_only(self, call: Call, name: str) -> bool:
        """Whether the node is a view, an input or an item: it seldom has operations of its own."""
        node = self.node(call, name)
        return node is not None and (node.kind != "call" or node.op in {*VIEWS, "getitem"})

    def too_many(self, call: Call, name: str) -> str:
        """Why a node is listed that the call does not compute."""
        node = self.node(call, name)
        if name in call.reused:
            return "its value was computed already in this call"
        if node is None:
            caller = any(name in nodes for nodes in self.nodes.values())
            return "a node of the graph that calls the region" if caller else "of another graph"
        if self.moves_only(call, name):
            return "a view, an input or an item"
        if others := self.computed[call.inside].get(name):
            earlier = "an earlier" if others[0].line < call.line else "a later"
            return f"computed by {earlier} call" + (", in a library's call" if call.library else "")
        if node.op in CONSTANTS:
            return "a constant, folded into its users"
        return "computed by no call: it changes nothing, or is folded into an index"

    def too_few(self, call: Call, name: str) -> str:
        """What a node is that the call computes and that is not listed."""
        if self.moves_only(call, name):
            return "a view, an input or an item, which is copied"
        others = self.computed[call.inside][name]
        if len(others) > 1:
            return "computed by several calls"
        return "computed by this call alone"


def graphs_of(folder: Path) -> Iterator[Graph]:
    """The graphs of a recorded program."""
    for code in output_codes(folder / "torch_compile_debug"):
        record = folder / f"{code.parent.name}.calls.json"
        if record.is_file():
            yield _graph(folder.name, code, json.loads(record.read_text()))


def _graph(program: str, file: Path, record: dict[str, Any]) -> Graph:
    texts = read_texts(file)
    read = parse_texts(texts)
    code = read.code or OutputCode()
    given = _nodes_of_calls(texts, read, code)
    alone = msgspec.structs.replace(texts, provenance=None)
    ours = _nodes_of_calls(alone, parse_texts(alone), code)
    library = {key.rpartition(":")[2]: (key, node) for key, node in record["library"].items()}
    wrote = {(kernel, nth): (own, reused) for kernel, nth, own, reused in record["kernels"]}
    counts: Counter[str] = Counter()
    calls: list[Call] = []
    for call in code.calls:
        counts[call.kernel] += 1
        key = f"{call.kernel}:{call.handle}"
        own, reused = wrote.get((call.kernel, counts[call.kernel]), ([], []))
        if call.extern and str(call.handle) in library:
            key, node = library[str(call.handle)]
            own = [node]
        if not call.handle_known or not own:
            continue
        entity = f"call:{call.kernel}:{call.handle}"
        listed = record["torch"].get(key)
        calls.append(
            Call(
                program, file.parent.name, call.kernel, call.line, call.extern, call.inside,
                (call.kernel, call.handle) in read.provenance.kernel_to_post,
                None if listed is None else frozenset(listed),
                ours[entity], given[entity], frozenset(own), frozenset(reused),
            )
        )  # fmt: skip
    classes = read.post_grad.graph_classes()
    nodes: dict[str, dict[str, FxTextNode]] = defaultdict(dict)
    for node in read.post_grad.nodes:
        inside = "" if node.graph_class == classes[0] else node.graph_class.replace("/", "_")
        nodes[inside][node.name] = node
    return Graph(calls, nodes)


def _nodes_of_calls(texts: GraphTexts, read: ParsedTexts, code: OutputCode) -> dict[str, Nodes]:
    """Call → the nodes of its lines; of each line, those of the highest certainty."""
    links = graph_links(texts, read)
    spans = {kernel.name: (kernel.first_line, kernel.last_line) for kernel in code.kernels}
    by_call = _by_line_and_call(links)
    return {
        f"call:{call.kernel}:{call.handle}": frozenset(_surest(by_call, call, spans))
        for call in code.calls
    }


def _by_line_and_call(links: GraphLinks) -> dict[int, list[tuple[str, str, int]]]:
    """Line → (call or "", node, certainty)."""
    found: dict[int, list[tuple[str, str, int]]] = defaultdict(list)
    stage = links.stages[CODE]
    columns = zip(stage.lines, stage.entities, stage.confidence, stage.call, strict=True)
    for line, entity, known, call in columns:
        name = links.entities[entity]
        if name.startswith("fx:"):
            own = name.removeprefix("fx:").rpartition("/")[2]
            found[line].append(("" if call < 0 else links.entities[call], own, known))
    return found


def _surest(
    by_line: dict[int, list[tuple[str, str, int]]],
    call: CodeCall,
    spans: dict[str, tuple[int, int]],
) -> Iterator[str]:
    entity = f"call:{call.kernel}:{call.handle}"
    if call.extern:
        first, last = call.line - 1, call.line
    else:
        first, last = spans.get(call.kernel, (0, 0))
    for line in range(first + 1, last + 1):  # a kernel's first has all nodes that torch lists
        own = [(known, name) for of, name, known in by_line.get(line, ()) if of in ("", entity)]
        best = max(own, default=(0, ""))[0]
        yield from (name for known, name in own if known == best)
