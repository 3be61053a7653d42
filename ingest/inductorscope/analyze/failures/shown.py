"""A failure with its context: errors at their lines in kernels, nodes, and the cause."""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from inductorscope.analyze.failures.cpp import FaultyLine, Suspect, locate, suspects
from inductorscope.analyze.failures.cpp_types import definition
from inductorscope.analyze.failures.known import ChainStep, GraphKnown, chain_to, written
from inductorscope.analyze.failures.text import COMPONENTS, Explained, FailureFacts
from inductorscope.fields import Prose, view
from inductorscope.formats.errors.compilers import Diagnostic
from inductorscope.formats.errors.triton import TritonError
from inductorscope.formats.log.record import Frame

AROUND = 5
"""Lines of a kernel shown on each side of an error."""
MOST_PLACED = 10


class ShownLine(msgspec.Struct, frozen=True):
    number: int
    """Line of the output code."""
    text: str
    marked: bool


class SuspectRow(Suspect, frozen=True):
    what: Prose
    """The operation that wrote it: `neg`."""
    chain: list[ChainStep]


class PlacedError(msgspec.Struct, frozen=True):
    """A compiler's error at its line in a kernel."""

    severity: str
    message: str
    notes: list[Prose]
    graph: str
    kernel: str
    handle: int
    line: int
    start: int
    """Range of the marked columns, from 0."""
    end: int
    how: Prose
    sure: bool
    others: int
    """Number of other places that fit the text."""
    lines: list[ShownLine]
    chain: list[ChainStep]
    suspects: list[SuspectRow]


class LoweredNode(msgspec.Struct, frozen=True):
    """A node that could not be lowered."""

    graph: str
    name: str
    text: str
    line: int
    sure: bool
    chain: list[ChainStep]


class Shown(FailureFacts, kw_only=True):
    """One failure, explained and linked to graphs and kernels."""

    component_title: str
    command: str
    errors: list[PlacedError]
    unplaced: list[Diagnostic]
    nodes: list[LoweredNode]
    cause: str
    """The operation to blame, if known: `neg`."""
    sure: bool

    @property
    def cause_sentence(self) -> str:
        """The cause, with names between backticks; empty if it is not known."""
        if not self.cause:
            return ""
        why = ""
        if self.errors and self.errors[0].suspects:
            why = f": {self.errors[0].suspects[0].why}"
        elif self.nodes:
            why = f": `{self.nodes[0].text}`"
        return f"The cause is {'' if self.sure else 'probably '}`{self.cause}`{why}."


def show(
    read: Explained, graphs: Sequence[GraphKnown], at: tuple[str, int, str] | None = None
) -> Shown:
    """Explains a failure; `at` is the user's file, line and function in the log, if the text has
    none."""
    errors, unplaced = _place(read, graphs)
    nodes = _lowered(read, graphs)
    cause, sure = _cause(read, errors, nodes)
    return view(
        Shown,
        read,
        component_title=COMPONENTS[read.component],
        command=read.compiler.command if read.compiler is not None else "",
        errors=errors,
        unplaced=unplaced,
        nodes=nodes,
        user=read.user or (None if at is None else Frame(*at, "")),
        cause=cause,
        sure=sure,
    )


def _cause(
    read: Explained, errors: list[PlacedError], nodes: list[LoweredNode]
) -> tuple[str, bool]:
    """The operation, and whether that is certain."""
    for error in errors:
        if error.suspects and error.suspects[0].what:
            return error.suspects[0].what, error.suspects[0].sure
    if nodes:
        return nodes[0].name, nodes[0].sure
    lowering = read.lowering if read.component == "lowering" else None
    return ("", False) if lowering is None else (lowering.operator, True)


def _place(
    read: Explained, graphs: Sequence[GraphKnown]
) -> tuple[list[PlacedError], list[Diagnostic]]:
    """Errors at their lines in kernels, and those without a known line."""
    errors = read.compiler.errors() if read.compiler is not None else []
    if read.triton is not None and read.triton.excerpt:
        errors = [*errors, _of_triton(read.triton)]
    if read.component == "environment":
        return [], errors[:MOST_PLACED]
    kernels = [kernel for graph in graphs for kernel in graph.kernels]
    if read.triton is not None:  # its error names its kernel
        kernels = [kernel for kernel in kernels if kernel.name == read.triton.kernel] or kernels
    placed: list[PlacedError] = []
    unplaced: list[Diagnostic] = []
    for error in errors[:MOST_PLACED]:
        places = locate(error, kernels)
        if places:
            placed.append(_placed(error, places, graphs))
        else:
            unplaced.append(error)
    return placed, unplaced


def _of_triton(error: TritonError) -> Diagnostic:
    """A Triton error as a compiler's, so that both are shown alike."""
    quoted = [line for line in error.excerpt if line.strip()]
    code = quoted[-1] if quoted else ""
    column = (error.column or 0) + 1
    return Diagnostic(
        severity="error", message=error.message or "Triton rejected this line", line=0,
        file="kernel", at=error.line or 1, column=column, code=code, marks=" " * (column - 1) + "^",
    )  # fmt: skip


def _placed(
    error: Diagnostic, places: list[FaultyLine], graphs: Sequence[GraphKnown]
) -> PlacedError:
    place = places[0]
    known = next(graph for graph in graphs if place.kernel in graph.kernels)
    others = len(places) - 1
    start, end = _marks(error, place.text)
    first = max(place.kernel.first, place.line - AROUND)
    last = min(place.kernel.first + len(place.kernel.lines) - 1, place.line + AROUND)
    texts = place.kernel.lines[first - place.kernel.first : last + 1 - place.kernel.first]
    margin = min((len(text) - len(text.lstrip(" ")) for text in texts if text.strip()), default=0)
    rows = [_suspect(known, suspect) for suspect in suspects(error, place, known.expected)]
    return PlacedError(
        severity=error.severity, message=error.message,
        notes=[note.message.strip() for note in error.notes if note.message.strip()],
        graph=known.slug, kernel=place.kernel.name,
        handle=known.handles.get(place.kernel.name, 1), line=place.line, start=start - margin,
        end=end - margin, how=place.how, sure=place.sure and not others, others=others,
        lines=[
            ShownLine(number, text[margin : margin + 1000], number == place.line)
            for number, text in enumerate(texts, first)
        ],
        chain=known.chain(place.line, place.text.strip()), suspects=rows,
    )  # fmt: skip


def _marks(error: Diagnostic, text: str) -> tuple[int, int]:
    """The marked columns of the line; the quoted line may be indented differently."""
    shift = (len(text) - len(text.lstrip())) - (len(error.code) - len(error.code.lstrip()))
    marks = [at for at, mark in enumerate(error.marks) if mark in "~^"]
    if marks and error.code.strip() == text.strip():
        start, end = marks[0] + shift, marks[-1] + 1 + shift
    else:
        start = (error.column or 1) - 1
        end = start + 1
    start = min(max(0, start), max(0, len(text) - 1))
    return start, min(max(start + 1, end), max(start + 1, len(text)))


def _suspect(known: GraphKnown, each: Suspect) -> SuspectRow:
    operations = [name.rpartition(".")[2] for name in known.operations(each.line)]
    nodes = [node.op for node, _ in known.fx_nodes(each.line)]
    # An operation's name in the IR counts repeats: `neg_1` is the second `neg`.
    what = nodes[0] if len(nodes) == 1 else ""
    if not what and operations:
        stem, _, tail = operations[0].rpartition("_")
        what = stem if tail.isdecimal() and stem else operations[0]
    if not what and definition(each.text) is not None:
        what = each.name
    return view(SuspectRow, each, what=what, chain=known.chain(each.line, each.text))


def _lowered(read: Explained, graphs: Sequence[GraphKnown]) -> list[LoweredNode]:
    """Nodes that call the operator; the one on the line that torch names comes first."""
    error = read.lowering
    if error is None or read.component != "lowering":
        return []
    target = error.target.removeprefix("torch.ops.")
    user = error.user[-1] if error.user else None
    taken = {argument.origin for argument in error.arguments if argument.origin}
    nodes: list[tuple[int, LoweredNode]] = []
    seen: set[tuple[str, str]] = set()
    for known in graphs:
        for node in known.nodes.values():
            called = node.target.removeprefix("torch.ops.")
            if called != target and called.rpartition(".")[0] != target:
                continue
            on_line = user is None or (user.file, user.line) == (node.stack_file, node.stack_line)
            fits = on_line + (not taken or bool(taken.intersection(node.inputs)))
            text = written(node)
            if (node.name, text) in seen:
                continue  # the log repeats the graph in the debug folder
            seen.add((node.name, text))
            chain = [*chain_to(node), ChainStep("", "Inductor's IR", read.title, None)]
            lowered = LoweredNode(known.slug, node.name, text, node.line, sure=True, chain=chain)
            nodes.append((fits, lowered))
    best = max((fits for fits, _ in nodes), default=0)
    likely = [node for fits, node in nodes if fits == best]
    if len(likely) > 1:
        likely = [replace(suspect, sure=False) for suspect in likely]
    return likely[:MOST_PLACED]
