"""A compiled text next to its source: for each line, the kernel's lines that it comes from."""

from collections import Counter
from pathlib import PurePosixPath

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.analyze.machine.samples import Sampled
from inductorscope.analyze.machine.serving import is_around, serving
from inductorscope.answers.explorer.graph_texts import graph_links, graph_texts
from inductorscope.answers.machine.code import read_code, read_library
from inductorscope.answers.machine.compiled import Configuration, configurations
from inductorscope.answers.machine.profiled import KernelProfile, profiled
from inductorscope.answers.missing import NotAnalysed, NotHere, begin
from inductorscope.answers.parts import graph_of
from inductorscope.correlate.links.certainty import nodes_of_lines
from inductorscope.formats.machine.places import (
    Frames,
    Located,
    callers_of,
    completed,
    is_own,
    kernel_lines,
)
from inductorscope.formats.machine.ptx import gcn_spills, read_gcn, read_ptx
from inductorscope.formats.machine.sass import Sass
from inductorscope.formats.machine.triton_irs import read_llvm, read_mlir
from inductorscope.formats.sizes import MIB
from inductorscope.formats.vocabulary import (
    AMDGCN,
    ASSEMBLY,
    CODE,
    LLIR,
    PTX,
    SASS,
    TTGIR,
    TTIR,
)
from inductorscope.store.contents.texts import read_blob, stored_text, text_of
from inductorscope.store.tables.models import Artifact, Graph, Kernel

LARGEST = 32 * MIB
READERS = {
    TTIR: read_mlir,
    TTGIR: read_mlir,
    LLIR: read_llvm,
    PTX: read_ptx,
    AMDGCN: read_gcn,
}
NO_LINES = (
    "This kernel was compiled without line tables, which torch 2.13 writes; with earlier versions, "
    "set TORCHINDUCTOR_DEBUG_SYMBOL=1."
)
SURE = 2
"""Lowest certainty at which a line of a kernel is known to belong to a node."""


class MachinePlace(msgspec.Struct, frozen=True):
    """Where lines of a compiled text come from."""

    frames: list[str]
    """File and line of each frame, the innermost function first."""
    lines: list[int]
    """The kernel's lines in the output code."""


class MachineText(msgspec.Struct, frozen=True):
    """A stage of a compiled kernel."""

    kernel: str
    stage: str
    configuration: str
    text: str
    at: list[int]
    """For each line of the text an index into `places`, or -1."""
    places: list[MachinePlace]
    serves: dict[int, list[int]]
    """Line of the output code without nodes → the lines with nodes that need what it computes."""
    instructions: int
    placed: int
    """Instructions whose line in the kernel is known."""
    with_nodes: int
    """Instructions that belong to FX nodes, by their line or by those that it serves."""
    whole: int
    """Instructions of the kernel as a whole, which set it up, check, and end it."""
    live: list[int] = msgspec.field(default_factory=list)
    """Live registers at each line of machine code."""
    spills: list[int] = msgspec.field(default_factory=list)
    """Indices of lines that spill."""
    samples: list[int] = msgspec.field(default_factory=list)
    """Samples of each line of machine code, from a report of Nsight Compute."""
    stalls: dict[int, str] = msgspec.field(default_factory=dict)
    """Index of a line with samples → why warps waited there."""
    note: str = ""


class Reading(msgspec.Struct, frozen=True):
    """A compiled text after reading."""

    configuration: Configuration
    located: Located
    live: list[int]
    spills: list[bool]
    note: str


def read_stage(session: Session, configuration: Configuration, stage: str) -> Reading:
    """Reads a stage. Raises NotAnalysed."""
    file = configuration.files.get(stage)
    if file is None:
        raise NotHere(f"No {stage} came with this kernel.")
    note = ""
    located: Located
    live: list[int] = []
    spills: list[bool] = []
    if stage == SASS:
        ptx = configuration.files.get(PTX)
        text = "" if ptx is None else _text(session, ptx)
        begin(f"cubin {file.digest}", file.size)
        cubin = read_blob(session, file.digest) or b""
        located, live, spills = read_code(cubin, file.digest, text)
        note = "" if live else "nvdisasm cannot tell which registers are live in this kernel."
        inlined = next((ir for ir in (LLIR, PTX) if ir in configuration.files), None)
        if inlined is not None:
            text = _text(session, configuration.files[inlined])
            completed(located, callers_of(READERS[inlined](text).places))
        else:
            note += " Without its LLVM IR, code of inlined functions has no line of the kernel."
    elif stage == ASSEMBLY:
        begin(f"library {file.digest}", file.size)
        located, spills = read_library(read_blob(session, file.digest) or b"", file.digest)
        if located.lines and not located.places:
            note = NO_LINES
    else:
        located = READERS[stage](_text(session, file))
        if stage == AMDGCN:
            spills = gcn_spills(located)
    return Reading(configuration, located, live, spills, note.strip())


def _text(session: Session, file: Artifact) -> str:
    if file.size > LARGEST:
        raise NotAnalysed(
            f"{file.path} takes {file.size / MIB:.0f} MiB; only up to {LARGEST // MIB} MiB are "
            "analysed here. You can download it."
        )
    begin(f"text {file.digest}", file.size)
    return text_of(session, file.digest)


class KernelLines(msgspec.Struct, frozen=True):
    """The lines of a kernel's definition in the output code."""

    first: int
    """The line at which the kernel's own file begins."""
    text: list[str]
    """The text from that line on."""
    nodes: dict[int, set[str]]
    """Line of the output code → FX nodes that it is known to belong to."""
    serves: dict[int, list[int]]

    def lines_of(self, frames: Frames, source: str) -> list[int]:
        """Returns the lines of the output code that a place belongs to, the outermost first."""
        own = kernel_lines(frames, source)
        return [self.first + line - 1 for line in own if line <= len(self.text)]

    def charged(self, located: Located, source: str) -> tuple[int, int]:
        """Counts the instructions that belong to FX nodes, and those of the kernel as a whole."""
        charges = [self._charge(self.lines_of(frames, source)) for frames in located.places]
        pairs = zip(located.at, located.counted, strict=True)
        counts = Counter(charges[at] for at, counted in pairs if counted and at >= 0)
        return counts["nodes"], counts["whole"]

    def _charge(self, lines: list[int]) -> str:
        if any(map(self.nodes_of, lines)):
            return "nodes"
        return "whole" if lines and is_around(self.text[lines[-1] - self.first]) else ""

    def nodes_of(self, line: int) -> set[str]:
        """Returns the nodes of a line, or of the lines that it serves."""
        return self.nodes.get(line) or set().union(
            *(self.nodes.get(number, ()) for number in self.serves.get(line, ()))
        )


def kernel_of(session: Session, graph: Graph, name: str) -> KernelLines:
    kernel = session.scalars(
        select(Kernel).where(Kernel.graph_id == graph.id, Kernel.name == name)
    ).one_or_none()
    digest = graph_texts(session, graph.id).digests.get(CODE)
    stored = stored_text(session, digest) if digest is not None else None
    if kernel is None or stored is None or kernel.first_line is None or kernel.last_line is None:
        raise NotHere(f"This graph defines no kernel {name}.")
    text = b"".join(stored.lines(1, kernel.last_line)).decode(errors="replace")
    lines = text.split("\n")
    # Without quotes, the code is the very file that the kernel was compiled from.
    own = range(kernel.first_line - 1, len(lines))
    start = next((at for at in own if "'''" in lines[at]), 0)
    first, lines = start + 1, lines[start:]
    nodes = {
        line: sure
        for line, known in nodes_of_lines(graph_links(session, graph.id)).items()
        if first <= line <= kernel.last_line
        and (sure := {node.removeprefix("fx:") for node in known if known[node] >= SURE})
    }
    body = next((at for at, line in enumerate(lines) if line.startswith("def ")), 0) + 1
    served = serving(lines[body:], {line - first - body for line in nodes if line >= first + body})
    base = first + body
    serves = {base + line: [base + number for number in lines] for line, lines in served.items()}
    return KernelLines(first, lines, nodes, serves)


def machine_text(session: Session, run: str, slug: str, kernel: str, stage: str) -> MachineText:
    graph = graph_of(session, run, slug)
    known = configurations(session, graph).get(kernel)
    if not known:
        raise NotHere(f"Nothing that was compiled came with {kernel}.")
    reading = read_stage(session, known[0], stage)
    code = kernel_of(session, graph, kernel)
    located = reading.located
    places = [_place(frames, known[0].source, code) for frames in located.places]
    _, sampled = profile_of(session, run, reading)
    reasons = sampled.reasons if sampled is not None else []
    instructions, placed = located.instructions()
    with_nodes, whole = code.charged(located, known[0].source)
    note = reading.note
    if len(known) > 1 and not known[0].ran and sampled is None:
        note = f"{len(known)} configurations were compiled; which of them ran is unknown. {note}"
    return MachineText(
        kernel=kernel, stage=stage, configuration=known[0].key, text="\n".join(located.lines),
        at=located.at, places=places, serves=code.serves, instructions=instructions,
        placed=placed, with_nodes=with_nodes, whole=whole, live=reading.live,
        spills=[number for number, spilled in enumerate(reading.spills) if spilled],
        samples=[sum(reason.values()) for reason in reasons],
        stalls={number: _in_words(reason) for number, reason in enumerate(reasons) if reason},
        note=note.strip(),
    )  # fmt: skip


def profile_of(
    session: Session, run: str, reading: Reading
) -> tuple[KernelProfile | None, Sampled | None]:
    """Returns Nsight Compute's measurements of the kernel; None for all stages but SASS."""
    if not isinstance(reading.located, Sass):
        return None, None
    return profiled(session, run, reading.configuration, reading.located)


def _in_words(reasons: dict[str, int]) -> str:
    ordered = sorted(reasons.items(), key=lambda pair: -pair[1])
    return ", ".join(f"{count:,} {reason.replace('_', ' ')}" for reason, count in ordered)


def _place(frames: Frames, source: str, code: KernelLines) -> MachinePlace:
    lines = dict.fromkeys(code.lines_of(frames, source))
    named = [
        f"line {code.first + line - 1}"
        if lines and is_own(file, source)
        else f"{PurePosixPath(file).name}:{line}"
        for file, line in frames
    ]
    return MachinePlace(named, list(lines))
