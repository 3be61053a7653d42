"""`output_code.py` with comments that say what each line of a kernel computes.

The result runs as before: only comments are added, in places that allow them. Kernels are inside of
Python's strings, so a comment's text must not end the string or contain an escape.

    // Corresponding FX code line: neg = torch.ops.aten.neg.default(arg0_1);  arg0_1 = None
    auto tmp2 = tmp1.neg();
"""

import re
from collections import defaultdict

import msgspec

from inductorscope.correlate.links.certainty import certainty_of_line, nodes_of_lines
from inductorscope.correlate.links.model import Confidence, GraphLinks
from inductorscope.correlate.links.text_stages import fx_entity, main_class
from inductorscope.formats.code.output_code import CodeKernel, OutputCode, parse_output_code
from inductorscope.formats.graph.fx import FxText
from inductorscope.formats.text import lines_of

_OPENS = re.compile(r"'''|\"\"\"|/\*")
LONGEST = 300
"""The most characters of a comment's text; an FX node with many arguments has thousands."""
LABEL = "Corresponding FX code line"
OTHERS = 6
"""The most nodes of other calls that one comment lists."""
# `neg: "u8[1, 8][8, 1]cpu" = …`: the type says nothing about what is computed.
_ANNOTATION = re.compile(r'^(\w+): "[^"]*" = ')
_COUNT = re.compile(r"_\d+$")
# Operations that only move, cast or name values; a node's own lines are those that compute, if any.
_STORES = frozenset(["store", "store_reduction"])
_MINOR = frozenset(
    ["load", "load_seed", "index_expr", "constant", "to_dtype", "get_index", "set_indirect",
     "masked_subblock", "check_bounds", "load_input"]
)  # fmt: skip


class NodeText(msgspec.Struct, frozen=True):
    """The text that a comment quotes of an FX node."""

    code: str
    """Its line of FX code, without the type."""
    file: str = ""
    line: int = 0
    source: str = ""
    """The user's line that it came from."""

    def origin(self) -> str:
        return f"{self.file}:{self.line}  {self.source}" if self.file and self.line else ""


class _Reference(msgspec.Struct):
    calls: list[int] = msgspec.field(default_factory=list)
    operations: set[str] = msgspec.field(default_factory=set)


def node_texts(text: str, parsed: FxText) -> dict[str, NodeText]:
    """Entity → the text that comments quote of the node."""
    lines = lines_of(text)
    main = main_class(parsed)
    return {
        fx_entity(node, main): NodeText(
            _ANNOTATION.sub(r"\1 = ", lines[node.line - 1].strip()),
            node.stack_file,
            node.stack_line,
            node.stack_code.strip(),
        )
        for node in parsed.nodes
        if node.kind == "call"
    }


def annotate(text: str, links: GraphLinks, nodes: dict[str, NodeText]) -> str:
    """The text with comments; `links` are those of its graph, `nodes` the graph's FX nodes."""
    return _Annotator(text, links, nodes).annotated()


class _Annotator:
    def __init__(self, text: str, links: GraphLinks, nodes: dict[str, NodeText]) -> None:
        self.raw = text.split("\n")
        self.lines = lines_of(text)
        self.code: OutputCode = parse_output_code(text)
        self.links = links
        self.nodes = nodes
        self.order = {name: position for position, name in enumerate(nodes)}
        # AOTInductor's text is all C++.
        self.sign = "//" if self.code.cpp else "#"
        self.comments: dict[int, list[str]] = defaultdict(list)
        """Line (from 1) → comments that go before it."""
        self.counts = {Confidence.exact: 0, Confidence.inferred: 0}
        self.known = {
            line: {name: known for name, known in of_line.items() if name in nodes}
            for line, of_line in nodes_of_lines(links).items()
        }
        """Line of the code → FX nodes it refers to, with the certainty of each."""
        self.references = self._references()

    def annotated(self) -> str:
        for kernel in self.code.kernels:
            self._kernel_lines(kernel)
        self._library_calls()
        exact, inferred = self.counts[Confidence.exact], self.counts[Confidence.inferred]
        result = [
            f"{self.sign} Annotated by Inductorscope: only comments were added, it runs as before.",
            f"{self.sign} Comments above lines of kernels show what they compute: "
            f"{exact} lines are known exactly, {inferred} inferred by operation and data flow.",
        ]
        for number, line in enumerate(self.raw, 1):
            new = self.comments.get(number, [])
            # Those that the text already has there are not repeated.
            above = self.raw[max(0, number - 1 - len(new)) : number - 1]
            there = {comment.strip() for comment in above}
            result += [comment for comment in new if comment.strip() not in there]
            result.append(line)
        return "\n".join(result)

    def _references(self) -> dict[int, dict[str, _Reference]]:
        """Line of the code → FX nodes it refers to, with the operations on that line."""
        stage = self.links.stages.get("code")
        result: dict[int, dict[str, _Reference]] = defaultdict(dict)
        if stage is None:
            return result
        operations: dict[tuple[int, int], set[str]] = defaultdict(set)
        references: list[tuple[int, str, int]] = []
        for line, entity, call in zip(stage.lines, stage.entities, stage.call, strict=True):
            name = self.links.entities[entity]
            if name.startswith("op:"):
                operations[line, call].add(_COUNT.sub("", name.rpartition(".")[2]))
            elif name in self.nodes:
                references.append((line, name, call))
        for line, name, call in references:
            reference = result[line].setdefault(name, _Reference())
            reference.calls.append(call)
            reference.operations |= operations[line, call]
        return result

    def _kernel_lines(self, kernel: CodeKernel) -> None:
        own = self._own_lines(kernel)
        allowed = open_lines(self.lines, kernel.body_first, kernel.body_last)
        sign = "//" if kernel.kind == "cpp" else "#"
        last: tuple[list[str], int] = ([], 0)
        origin = ""
        for number in sorted(own):
            names = own[number]
            if number not in allowed:
                continue
            self.counts[certainty_of_line(self.known[number])] += 1
            previous, at = last
            last = (names, number)
            # Comments before another loop or branch do not apply to it.
            between = self.lines[at : number - 1]
            if names == previous and not any(
                line.lstrip().startswith(("for", "if", "else")) for line in between
            ):
                continue
            indent = indent_of(self.lines[number - 1])
            first = self._first_call(number, names)
            for name in first:
                node = self.nodes[name]
                if node.origin() and node.origin() != origin:
                    origin = node.origin()
                    self.comments[number].append(f"{indent}{sign} {plain(origin)}")
                self.comments[number].append(f"{indent}{sign} {LABEL}: {plain(node.code)}")
            others = [name for name in names if name not in first]
            if others:
                listed = ", ".join(name.removeprefix("fx:") for name in others[:OTHERS])
                more = f" and {len(others) - OTHERS} more" if len(others) > OTHERS else ""
                self.comments[number].append(f"{indent}{sign}   in other calls: {listed}{more}")

    def _own_lines(self, kernel: CodeKernel) -> dict[int, list[str]]:
        """Line → the nodes it computes. A node's lines are those that compute; if none does, those
        that cast or store; else those that load."""
        best: dict[str, int] = {}
        ranks: dict[int, dict[str, int]] = {}
        for number in range(kernel.body_first, kernel.body_last + 1):
            references = self.references.get(number)
            if not references:
                continue
            known = self.known[number]
            certainty = certainty_of_line(known)
            if certainty == Confidence.kernel:
                continue
            ranks[number] = {}
            for name, reference in references.items():
                if known[name] < certainty:
                    continue
                rank = _rank(reference.operations)
                ranks[number][name] = rank
                best[name] = max(best.get(name, 0), rank)
        own = {
            number: [name for name, rank in ranked.items() if rank == best[name]]
            for number, ranked in ranks.items()
        }
        return {number: names for number, names in own.items() if names}

    def _first_call(self, number: int, names: list[str]) -> dict[str, None]:
        """The nodes of a line at the first call of its kernel that has it."""
        references = self.references[number]
        first = min(min(references[name].calls) for name in names)
        return {name: None for name in names if first in references[name].calls}

    def _library_calls(self) -> None:
        """Adds comments above calls of library kernels."""
        generated = self.code.by_name()
        for call in self.code.calls:
            if call.kernel in generated or not 1 <= call.line <= len(self.lines):
                continue
            indent = indent_of(self.lines[call.line - 1])
            names = sorted(self.references.get(call.line, ()), key=self.order.__getitem__)
            for name in names[:OTHERS]:
                code = plain(self.nodes[name].code)
                self.comments[call.line].append(f"{indent}{self.sign} {LABEL}: {code}")


def _rank(operations: set[str]) -> int:
    """3 computes, 2 stores, 1 loads, casts or names an index; unknown operations compute."""
    if not operations or operations - _MINOR - _STORES:
        return 3
    return 2 if operations & _STORES or operations & {"to_dtype"} else 1


def plain(text: str) -> str:
    """The text without characters that could end a comment or the string around it.

    A backslash would be an escape of the string, or continue a C++ comment on the next line, as
    would its trigraph.
    """
    text = text.lstrip()[: 4 * LONGEST]
    text = "".join(letter if letter.isprintable() else " " for letter in text).strip()
    text = text.replace("\\", "/").replace("'''", "'").replace('"""', '"').replace("??/", "??")
    return text if len(text) <= LONGEST else text[: LONGEST - 2].rstrip() + " …"


def indent_of(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def open_lines(lines: list[str], first: int, last: int) -> set[int]:
    """Lines from `first` to `last` (from 1) that allow a comment before them.

    Excludes lines that continue another one with a backslash, and lines inside a string or block
    comment of the kernel.
    """
    allowed: set[int] = set()
    closing = ""
    carried = False
    for number in range(first, last + 1):
        line = lines[number - 1]
        if not closing and not carried:
            allowed.add(number)
        carried = line.endswith("\\")
        closing = _still_open(line, closing)
    return allowed


def _still_open(line: str, closing: str) -> str:
    """The closing sign that a line leaves open: `*/` of a C++ comment, or quotes of a Python
    string."""
    at = 0
    while True:
        if closing:
            end = line.find(closing, at)
            if end < 0:
                return closing
            at = end + len(closing)
            closing = ""
            continue
        opens = _OPENS.search(line, at)
        if opens is None:
            return ""
        closing, at = opens.group(), opens.end()
        if closing == "/*":
            closing = "*/"
