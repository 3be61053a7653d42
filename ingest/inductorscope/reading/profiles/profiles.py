"""Reads profiles of a run: Chrome traces and key_averages tables, paired by what they profile."""

import re
from functools import partial
from pathlib import Path

import msgspec

from inductorscope.analyze.time.breakdown import category_sums
from inductorscope.analyze.time.facts import ProfileFacts, TraceFigures
from inductorscope.analyze.time.kernel_names import category_of, generated_category
from inductorscope.analyze.time.timeline import SelfTime, cpu_category
from inductorscope.fields import view
from inductorscope.formats.capture_facts import CaptureFacts
from inductorscope.formats.printed.key_averages import (
    CUT,
    KeyAverageRow,
    KeyAverages,
    parse_key_averages,
)
from inductorscope.formats.trace.kineto import ChromeTrace, read_chrome_trace
from inductorscope.formats.vocabulary import (
    ANNOTATION,
    CHROME_TRACE,
    CPU_OP,
    KERNEL,
    KEY_AVERAGES,
    MEMCPY,
    MEMSET,
)
from inductorscope.intake.files import File
from inductorscope.reading.notes import Notes
from inductorscope.reading.profiles.traces import LONGEST_NAME, TraceRead, keep_trace
from inductorscope.store.runs.draft import ProfileDraft, ProfilerRowDraft, TraceKernelDraft


def figures_of_rows(
    rows: list[ProfilerRowDraft],
) -> tuple[TraceFigures, list[TraceKernelDraft]] | None:
    """Returns the times of kernels, or of a table without them the self times of operators; None
    if no row has a time. A table does not say what launched a kernel, nor when it ran."""
    on_device = any(row.self_device_us and row.category != CPU_OP for row in rows)
    compiled = any(generated_category(row.name) for row in rows)
    kernels: list[TraceKernelDraft] = []
    for row in rows:
        us = row.self_device_us if on_device else row.self_cpu_us
        if not us or row.category == ANNOTATION or on_device == (row.category == CPU_OP):
            continue
        category = (
            category_of(row.name, row.category, compiled=compiled)
            if on_device
            else cpu_category(row.name, compiled=compiled)
        )
        kernels.append(TraceKernelDraft(
            position=0, name=row.name, category=category, op=None, region=None, joined=None,
            calls=row.calls, total_us=us, min_us=None, max_us=None,
        ))  # fmt: skip
    if not kernels:
        return None
    kernels.sort(key=lambda kernel: -kernel.total_us)
    for position, kernel in enumerate(kernels):
        kernel.position = position
    sums = category_sums([(row.category, row.name, row.calls, row.total_us) for row in kernels])
    return TraceFigures(on_device, sum(row.total_us for row in kernels), None, sums), kernels


EAGER, COMPILED = "eager", "compiled"
LABELS = (EAGER, COMPILED)
NO_DURATIONS = "a kernel has hardware counters instead of a duration"
# rank3.trace.json, rank-3.Jul_15.pt.trace.json.gz, rank_3/trace.json
_RANK = re.compile(r"rank[-_ ]?(\d{1,6})", re.I)
MOVES = (MEMCPY, MEMSET)
"""Work of a device that is not a kernel, as the events of a trace call it."""


class ProfileRead(msgspec.Struct):
    """One profiled execution, as far as its files were readable."""

    label: str
    trace_file: File | None = None
    trace: ChromeTrace | None = None
    table_file: File | None = None
    rows: KeyAverages | None = None
    graph: str | None = None
    kept: TraceRead | None = None
    """The part of the trace that is stored."""
    facts: ProfileFacts = msgspec.field(default_factory=ProfileFacts)

    @property
    def steps(self) -> int | None:
        """Returns how many steps the rows and the trace cover, if known."""
        steps = self.rows.steps if self.rows is not None else None
        return steps or (self.trace.steps if self.trace is not None else None)

    @property
    def shows_compiled_code(self) -> bool:
        trace = self.trace
        return trace is not None and bool(
            trace.regions
            or trace.cpu_kernels
            or any(kernel.kernel_file or "triton_" in kernel.name for kernel in trace.kernels)
        )


def read_profiles(
    files: list[File], facts: CaptureFacts | None, notes: Notes, folder: Path | None
) -> list[ProfileRead]:
    """Reads the profiles: eager first, then compiled, then the rest by path. `folder`: for large
    temporary files."""
    profiles = _paired(files, facts)
    for profile in profiles:
        if (file := profile.trace_file) is not None:
            read = notes.attempt(
                file.path, "Reading the trace", partial(_read_trace, file, folder), None
            )
            if read is not None:
                profile.trace, profile.kept = read
            for repair in profile.trace.repairs if profile.trace is not None else []:
                notes.add(file.path, f"{repair.reason} (such as {repair.example})", repair.count)
            if profile.trace is not None and profile.trace.counted:
                notes.add(file.path, NO_DURATIONS, profile.trace.counted)
        if (file := profile.table_file) is not None:
            profile.rows = notes.attempt(
                file.path, "Reading the table", partial(_read_rows, file), None
            )
            notes.problems(file.path, profile.rows.problems if profile.rows is not None else [])
    order = {label: number for number, label in enumerate(LABELS)}
    return sorted(profiles, key=lambda profile: (order.get(profile.label, 9), profile.label))


def _paired(files: list[File], facts: CaptureFacts | None) -> list[ProfileRead]:
    """Makes a profile of each trace, with the table of the same label, preferably of the same
    folder, and one of each table without a trace. If several share a label, the first has it; the
    others are labelled with their paths."""
    profiles: list[ProfileRead] = []
    shared: dict[str, list[ProfileRead]] = {}

    def add(file: File, label: str) -> ProfileRead:
        alike = shared.setdefault(label, [])
        profile = ProfileRead(file.path if alike else label, graph=file.graph)
        alike.append(profile)
        profiles.append(profile)
        return profile

    for file in files:
        if file.role == CHROME_TRACE:
            add(file, _label(file, facts)).trace_file = file
    for file in files:
        if file.role == KEY_AVERAGES:
            label = _label(file, facts)
            free = [own for own in shared.get(label, []) if own.table_file is None]
            beside = [
                own
                for own in free
                if own.trace_file is not None
                and own.trace_file.absolute.parent == file.absolute.parent
            ]
            profile = next(iter(beside or free), None) or add(file, label)
            profile.table_file = file
    return profiles


def compiled_profile(profiles: list[ProfileRead]) -> ProfileRead | None:
    """Returns the profile whose kernel times are joined to the code."""
    whole = [profile for profile in profiles if profile.graph is None and profile.trace is not None]
    for profile in whole:
        if profile.label == COMPILED:
            return profile
    others = [profile for profile in whole if profile.label != EAGER]
    return next((profile for profile in others if profile.shows_compiled_code), None)


def draft_of(profile: ProfileRead) -> ProfileDraft:
    """Returns the profile as rows. The caller adds the trace's artifact."""
    trace, facts = profile.trace, profile.facts
    if trace is not None:
        facts.events, facts.joined_us = trace.events, trace.joined_us()
        facts.device, facts.stacks = trace.device, trace.stacks
        facts.shapes = [(at, ran.shape) for at, ran in enumerate(trace.kernels) if ran.shape]
    if profile.kept is not None and trace is not None:
        facts.breakdown = profile.kept.figures()
        if (rank := rank_of_profile(profile)) is not None and profile.kept.collectives.calls:
            facts.collectives = profile.kept.collectives
            facts.collectives.rank = rank
            facts.collectives.host, facts.collectives.base_ns = trace.host, trace.base_ns
    rows = [_row(row) for row in profile.rows or []]
    if not rows and trace is not None:
        rows = _rows_of_trace(trace, profile.kept.breakdown.cpu if profile.kept else [])
    device = trace.device_kind if trace is not None and trace.kernels else None
    if device is None and (rows or trace is not None):
        on_device = any(row.self_device_us for row in rows)
        device = "cuda" if on_device else "cpu"
    # Steps counted from the calls of the code are better than none.
    steps = profile.steps or facts.steps_used
    draft = ProfileDraft(profile.label, device, steps, rows, facts)
    if profile.kept is not None:
        draft.kernels, draft.timeline = profile.kept.kernels, profile.kept.timeline
    elif trace is None and (found := figures_of_rows(rows)) is not None:
        facts.breakdown, draft.kernels = found
    return draft


def rank_of_profile(profile: ProfileRead) -> int | None:
    """Returns the rank, from the trace or else from the name of its file."""
    if profile.trace is not None and profile.trace.rank is not None:
        return profile.trace.rank
    found = _RANK.search(profile.trace_file.path) if profile.trace_file is not None else None
    return int(found.group(1)) if found else None


def _label(file: File, facts: CaptureFacts | None) -> str:
    name = file.absolute.name
    for label, profile in (facts.profiles if facts is not None else {}).items():
        if name in {profile.trace, profile.key_averages}:
            return label
    if file.graph is None:
        start = name.lower().partition(".")[0]
        for label in LABELS:
            if start == label or start.startswith((f"{label}_", f"{label}-")):
                return label
    return file.path


def _read_trace(file: File, folder: Path | None) -> tuple[ChromeTrace, TraceRead]:
    trace = read_chrome_trace(file.absolute, folder=folder)
    return trace, keep_trace(trace)


def _read_rows(file: File) -> KeyAverages:
    return parse_key_averages(file.absolute.read_bytes())


def _row(row: KeyAverageRow) -> ProfilerRowDraft:
    return view(
        ProfilerRowDraft,
        row,
        name=(row.name + (CUT if row.cut else ""))[:LONGEST_NAME],
        category=_category(row),
    )


def _category(row: KeyAverageRow) -> str:
    if row.annotation or row.name.startswith(("ProfilerStep", "## Call CompiledFxGraph")):
        return ANNOTATION
    # Without a device in the row: device work takes no time on the CPU.
    on_device = row.device != "cpu" if row.device else row.self_device_us and not row.cpu_us
    if not on_device:
        return CPU_OP
    # Recognised by the profiler's names: "Memcpy HtoD (Pageable -> Device)", "Memset (Device)".
    return next((kind for kind in MOVES if row.name.lower().startswith(kind)), KERNEL)


def _rows_of_trace(trace: ChromeTrace, own: list[SelfTime]) -> list[ProfilerRowDraft]:
    device: dict[tuple[str, str], ProfilerRowDraft] = {}
    for kernel in trace.kernels:
        key = (kernel.name[:LONGEST_NAME], kernel.kind)
        row = device.setdefault(key, ProfilerRowDraft(key[0], category=kernel.kind))
        row.calls += kernel.calls
        row.self_device_us = row.device_us = (row.device_us or 0.0) + kernel.total_us
    self_us: dict[str, float] = {}
    for time in own:
        self_us[time.name] = self_us.get(time.name, 0.0) + time.self_us
    operators = [
        ProfilerRowDraft(
            op.name[:LONGEST_NAME], op.calls, self_us.get(op.name), op.total_us, category=CPU_OP
        )
        for op in trace.ops
    ]
    return [*device.values(), *operators]
