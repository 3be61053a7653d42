"""The resources that a kernel uses: registers, occupancy, instructions by kind and line."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection

import msgspec
from msgspec.structs import replace
from sqlalchemy.orm import Session

from inductorscope.analyze.machine.figures import (
    TENSOR,
    Occupancy,
    mix_of,
    occupancy_of,
    widths_of,
)
from inductorscope.analyze.machine.loops import LoopFigures, loops_of
from inductorscope.analyze.machine.samples import Sampled
from inductorscope.analyze.machine.without import without
from inductorscope.answers.machine.compiled import Configuration, configurations
from inductorscope.answers.machine.profiled import KernelProfile
from inductorscope.answers.machine.text import (
    KernelLines,
    Reading,
    kernel_of,
    profile_of,
    read_stage,
)
from inductorscope.answers.missing import NotAnalysed
from inductorscope.disassembling.limited import NotDisassembled
from inductorscope.disassembling.tools import throughput
from inductorscope.fields import Bytes, Count, Hidden, Prose, view
from inductorscope.formats.machine.assembly import Assembly, Loop
from inductorscope.formats.machine.cubin import CubinFacts, read_cubin
from inductorscope.formats.machine.mca import NARROW, WIDE
from inductorscope.formats.machine.ptx import gcn_facts
from inductorscope.formats.machine.sass import Sass
from inductorscope.formats.vocabulary import AMDGCN, ASSEMBLY, SASS
from inductorscope.store.contents.texts import read_blob
from inductorscope.store.database.once import once
from inductorscope.store.database.storable import JsonObject
from inductorscope.store.tables.models import Graph
from inductorscope.units import percent

MOST_LINES = 40
MOST_LOOPS = 12
PROCESSORS = {WIDE: "Intel's Ice Lake", NARROW: "Intel's Haswell"}


class ConfigurationFigures(msgspec.Struct, frozen=True):
    """One configuration that Triton compiled."""

    key: str
    """The name of its folder in Triton's cache."""
    ran: bool
    options: JsonObject
    registers: int
    """Registers of one thread, as compiled; 0 if unknown."""
    local: Bytes
    """Bytes of local memory of one thread: the program's arrays, and spilled registers."""
    shared: Bytes
    """Bytes of shared memory of one block."""
    occupancy: Occupancy | None


class LineFigures(msgspec.Struct):
    """The resources of one line of the kernel."""

    line: int
    """Line of the output code."""
    text: str
    nodes: list[str]
    instructions: int = 0
    live: Count[int] = 0
    """The most registers that are live at one time."""
    spills: int = 0
    """Instructions that move a register to or from local memory."""
    samples: int = 0
    """In a profiled launch: how often a warp was found at this line."""
    waits: str = ""
    """The most frequent reason for waiting here, as Nsight Compute names it."""
    bytes: Bytes = 0
    """In a profiled launch: bytes of global memory that the line requests from the caches, in whole
    sectors."""
    without: Hidden[str] = ""
    """The line without its operation, if compiling it that way may show the operation's cost."""


class KernelMachine(msgspec.Struct, frozen=True):
    """Figures of the files that Triton compiled from a kernel."""

    configurations: list[ConfigurationFigures]
    """The one that ran comes first, if it is known."""
    instructions: int = 0
    placed: int = 0
    """Instructions whose line in the kernel is known."""
    mix: dict[str, int] = msgspec.field(default_factory=dict)
    """Instructions by kind; they sum to `instructions`."""
    tensor: int = 0
    spills: int = 0
    widths: dict[int, int] = msgspec.field(default_factory=dict)
    """Bits that a thread moves at once → number of loads and stores of global memory."""
    live: Count[int] = 0
    lines: list[LineFigures] = msgspec.field(default_factory=list)
    """Lines that were left out once, that spill, or that have the most live registers come first,
    then by samples and instructions. An instruction of a line that was inlined in several places
    counts for the first."""
    stage: Hidden[str] = SASS
    """The stage with the instructions."""
    profile: KernelProfile | None = None
    """Nsight Compute's measurements, if a report came with the run."""
    missing: Prose = ""
    """Why there are no instructions."""


class KernelAssembly(msgspec.Struct, frozen=True):
    """The instructions of a C++ kernel, in figures."""

    instructions: int = 0
    placed: int = 0
    with_nodes: int = 0
    """Instructions that compute FX nodes, or what these need."""
    whole: int = 0
    """Instructions that set the kernel up, check, and end it."""
    loops: list[LoopFigures] = msgspec.field(default_factory=list)
    """The innermost first, then by instructions."""
    estimate: Prose = ""
    """The cost of an iteration of the first loop, as llvm-mca models it; empty where llvm-mca is
    not installed."""
    lines: list[LineFigures] = msgspec.field(default_factory=list)
    """Lines that use the stack most first, then by instructions."""
    missing: Prose = ""
    """Why there are no instructions, or no lines."""


@once
def kernel_figures(
    session: Session, graph: Graph, kernel: str, left_out: frozenset[int] = frozenset()
) -> tuple[KernelMachine | None, KernelAssembly | None]:
    """Returns the figures of Triton's compiled files, or of the C++ library; None if they did not
    come with the run."""
    known = configurations(session, graph).get(kernel)
    if not known:
        return None, None
    if ASSEMBLY in known[0].files:
        return None, _assembly(session, graph, kernel, known, left_out)
    return _machine(session, graph, kernel, known, left_out), None


def _assembly(
    session: Session,
    graph: Graph,
    kernel: str,
    known: list[Configuration],
    left_out: Collection[int],
) -> KernelAssembly:
    try:
        reading = read_stage(session, known[0], ASSEMBLY)
    except NotAnalysed as error:
        return KernelAssembly(missing=str(error))
    located = reading.located
    assert isinstance(located, Assembly)
    code = kernel_of(session, graph, kernel)
    own = _own_lines(reading, code)
    loops = []
    found = loops_of(located)
    for loop, figures in found[:MOST_LOOPS]:
        lines = {own[number] for number in loop.lines} - {0}
        loops.append(replace(figures, lines=(min(lines), max(lines)) if lines else None))
    by_line = _by_line(reading, code, left_out)
    slow = [loop.lines for loop in loops if loop.scalar and loop.lines]
    _offer(by_line, lambda line: any(first <= line.line <= last for first, last in slow))
    return KernelAssembly(
        *located.instructions(),
        *code.charged(located, known[0].source),
        loops=loops,
        estimate=_estimate(located, found[0][0]) if found else "",
        lines=by_line,
        missing=reading.note,
    )


def _estimate(code: Assembly, loop: Loop) -> str:
    try:
        known, cpu = throughput(code, loop)
    except NotDisassembled as error:
        return str(error)
    if known is None:
        return ""
    limit = f", of which {percent(known.share)} wait for {known.limit}" if known.limit else ""
    return (
        f"An iteration of the first loop takes about {known.cycles:.1f} cycles{limit}. So says "
        f"llvm-mca’s model of {PROCESSORS[cpu]}, with all data in the L1 cache and 100 cycles for "
        "each call."
    )


def _machine(
    session: Session,
    graph: Graph,
    kernel: str,
    known: list[Configuration],
    left_out: Collection[int],
) -> KernelMachine:
    rows = [configuration_figures(session, configuration) for configuration in known]
    stage = AMDGCN if AMDGCN in known[0].files else SASS
    if stage not in known[0].files:
        return KernelMachine(rows, missing="Its machine code (.cubin) did not come with the run.")
    try:
        reading = read_stage(session, known[0], stage)
        profile, sampled = profile_of(session, graph.run_id, reading)
    except NotAnalysed as error:
        return KernelMachine(rows, missing=str(error))
    lines = _by_line(reading, kernel_of(session, graph, kernel), left_out, sampled)
    most = max(reading.live, default=0)
    if stage == SASS:
        _offer(lines, lambda line: line.live == most > 0)
    located = reading.located
    operations = [name for name in located.operations if name] if isinstance(located, Sass) else []
    mix = mix_of(operations)
    return KernelMachine(
        rows,
        *located.instructions(),
        mix=mix,
        tensor=mix.get(TENSOR, 0),
        spills=sum(reading.spills),
        widths=widths_of(operations),
        live=most,
        lines=lines,
        stage=stage,
        profile=profile,
    )


def _offer(lines: list[LineFigures], costly: Callable[[LineFigures], bool]) -> None:
    """Offers lines that spill, and other costly ones, for compiling without their operation."""
    for line in lines:
        if line.spills or costly(line):
            line.without = without(line.text)


def _own_lines(reading: Reading, code: KernelLines) -> list[int]:
    """Returns for each line of the text the kernel's line that it comes from, or 0."""
    source = reading.configuration.source
    own = [(code.lines_of(frames, source) or [0])[-1] for frames in reading.located.places]
    return [own[at] if at >= 0 else 0 for at in reading.located.at]


def _by_line(
    reading: Reading,
    code: KernelLines,
    left_out: Collection[int],
    sampled: Sampled | None = None,
) -> list[LineFigures]:
    instructions: dict[int, list[int]] = defaultdict(list)
    for at, line in enumerate(_own_lines(reading, code)):
        if line and reading.located.counted[at]:
            instructions[line].append(at)
    found = []
    for line, own in instructions.items():
        figures = LineFigures(
            line=line,
            text=code.text[line - code.first].strip(),
            nodes=sorted(code.nodes_of(line)),
            instructions=len(own),
            live=max(reading.live[at] for at in own) if reading.live else 0,
            spills=sum(reading.spills[at] for at in own) if reading.spills else 0,
        )
        if sampled is not None:
            stalls = sum((Counter(sampled.reasons[at]) for at in own), Counter())
            figures.samples = stalls.total()
            figures.waits = " ".join(reason for reason, _ in stalls.most_common(1))
            figures.bytes = sum(sampled.bytes[at] for at in own)
        found.append(figures)
    most = max(reading.live, default=0)
    return sorted(
        found,
        key=lambda row: (
            row.line not in left_out, -row.spills, row.live < most, -row.samples,
            -row.instructions, row.line,
        ),
    )[:MOST_LINES]  # fmt: skip


def configuration_figures(session: Session, configuration: Configuration) -> ConfigurationFigures:
    facts = CubinFacts()
    for stage, read in ((SASS, read_cubin), (AMDGCN, gcn_facts)):
        if stage in configuration.files:
            facts = read(read_blob(session, configuration.files[stage].digest) or b"")
    values = Counter(
        {name: value for name, value in configuration.options.items() if isinstance(value, int)}
    )
    warps, shared = values["num_warps"], values["shared"]
    return view(
        ConfigurationFigures,
        configuration,
        registers=facts.registers,
        local=facts.local,
        shared=shared,
        occupancy=occupancy_of(configuration.arch, warps, facts.registers, shared),
    )
