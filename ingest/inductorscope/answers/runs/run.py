"""The page of one run."""

from threading import Lock
from typing import Any

import msgspec
from cachetools import LRUCache, cached
from msgspec.structs import replace
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.analyze.verdicts import Verdict, verdicts
from inductorscope.answers.compile.rows import SentenceRow
from inductorscope.answers.compile.story import story_in_words
from inductorscope.answers.parts import (
    CategoryTime,
    GraphRow,
    KernelRow,
    categories,
    graph_rows,
    kernel_rows,
    kernel_time,
    previous_run,
    run_of,
    share,
    state_of,
    summed,
)
from inductorscope.answers.runs.diagnosis.cause import Diagnosis
from inductorscope.answers.runs.diagnosis.diagnose import diagnose
from inductorscope.answers.runs.diagnosis.evidence import gather
from inductorscope.answers.runs.instances import instances, once
from inductorscope.answers.runs.runs import RunRow, facts_of, run_row
from inductorscope.answers.runs.state import RunState, run_state
from inductorscope.answers.time.lines import source_times
from inductorscope.answers.time.profiles import (
    CopyTime,
    ProfileShown,
    busy_of,
    copy_times,
    kernel_time_is_of,
    profile_tables,
    shown_profile,
)
from inductorscope.answers.time.tables import TraceRow
from inductorscope.answers.time.time import slowest_of_trace
from inductorscope.correlate.links.model import Coverage
from inductorscope.fields import Hidden, Prose, view
from inductorscope.formats.vocabulary import SOURCE
from inductorscope.store.tables.models import Artifact, Graph, Run

TOP_KERNELS = 100
KEPT = 256
"""Diagnoses to cache: they take most of the time of an overview, which people open often."""
PARTS = {"failure": "failures", "graph breaks": "breaks"}
"""Kind of cause → its name in a sentence on the same subject, if the names differ."""


class SourceRow(msgspec.Struct, frozen=True):
    """One of the user's files."""

    path: str
    artifact: Hidden[int]
    graph: str | None
    line_count: int | None
    derived: bool
    time_us: float | None
    share: float | None


class RunPage(RunRow, frozen=True):
    """Run `/runs/{run}`."""

    previous: Hidden[str | None]
    """The previous run of this name."""
    content_digest: Hidden[str]
    torch_git: str | None
    timings: dict[str, Any]
    environment: dict[str, Any]
    bytes_in: int
    bytes_stored: int
    reading: RunState | None
    """Progress of reading; None once the run is complete."""
    aligning: RunState | None
    """Progress of aligning kernel lines of a complete run; None once it is done."""
    verdicts: list[Verdict]
    """Further verdicts."""
    missing: dict[str, str]
    """What a capture could not record, and why; `Kernel times`, for instance."""
    diagnosis: Diagnosis | None
    """What to change first; None while the run is being read."""
    said: list[SentenceRow]
    """What compiling did, in words, except what the diagnosis says; empty without a log."""
    graphs: list[GraphRow]
    kernels: list[KernelRow]
    """The slowest first; without times, in the order of the code."""
    categories: list[CategoryTime]
    profile: ProfileShown | None
    """The trace's own figures, if no profile gives the code's kernels a time; `categories` then
    belong to that trace."""
    trace_kernels: list[TraceRow]
    """The slowest kernels of that trace."""
    copies: list[CopyTime]
    """Its memory copies and fills, the slowest first."""
    profile_labels: Hidden[list[str]]
    """All profiles whose events were read; the page of times can show each of them."""
    sources: list[SourceRow]
    coverage: Coverage | None
    """Summed over the graphs; None if nothing was linked."""
    kernel_time_us: float | None
    """Kernel time of one step, or of what `kernel_time_of` says."""
    kernel_time_of: Prose
    file_count: int
    dropped_count: int
    """Parts of the upload that could not be read; the page "What was read" lists them."""


def run_page(session: Session, run_id: str) -> RunPage:
    run = run_of(session, run_id)
    busy = busy_of(session, [run_id]).get(run_id)
    row = run_row(run, busy)
    graphs = graph_rows(session, run_id)
    kernels_us = kernel_time(session, run_id)
    profiles = profile_tables(session, run)
    profile = shown_profile(run_id, profiles) if kernels_us is None else None
    if profile is not None and profile.breakdown is None:
        profile = None
    facts = replace(facts_of(run, busy), kernel_us=kernels_us)
    state = run_state(session, run_id)
    shown = once(instances(session, run_id, graphs))
    repeated = {slug for row in shown for slug in row.others}
    kernels = kernel_rows(session, run_id, TOP_KERNELS)
    diagnosis, story = (None, []) if facts.reading else _concluded(session, run, graphs)
    if story:
        facts = replace(facts, graph_breaks=None, recompiles=None)
    return view(
        RunPage,
        row,
        run,
        previous=previous_run(session, run),
        reading=state if facts.reading else None,
        aligning=state if state.lines is not None else None,
        verdicts=[verdict for verdict in verdicts(facts) if verdict.label != row.verdict.label],
        missing=_missing(run),
        diagnosis=diagnosis,
        said=[] if diagnosis is None else _further(story, diagnosis),
        graphs=shown,
        kernels=[kernel for kernel in kernels if kernel.time_us or kernel.graph not in repeated],
        categories=categories(session, run_id) if profile is None else _kinds(profile),
        profile=profile,
        trace_kernels=slowest_of_trace(session, run_id, profile),
        copies=[] if profile is None else copy_times(session, profile),
        profile_labels=[table.label for table in profiles if table.facts.breakdown is not None],
        sources=_sources(session, run_id),
        coverage=summed([graph.coverage for graph in graphs]),
        kernel_time_us=kernels_us,
        kernel_time_of=kernel_time_is_of(profiles),
        file_count=len(run.report.files),
        dropped_count=facts.dropped,
    )


@cached(LRUCache(KEPT), lambda session, run, graphs: state_of(session, run), Lock())
def _concluded(
    session: Session, run: Run, graphs: list[GraphRow]
) -> tuple[Diagnosis, list[SentenceRow]]:
    """Returns the diagnosis, and what compiling did."""
    evidence = gather(session, run, graphs)
    return diagnose(evidence), story_in_words(evidence.story)


def _further(story: list[SentenceRow], diagnosis: Diagnosis) -> list[SentenceRow]:
    """Returns the sentences about everything that is not a cause, without those that a check
    already says."""
    known = {PARTS.get(cause.kind, cause.kind) for cause in (*diagnosis.causes, *diagnosis.more)}
    cleared = {check.text for check in diagnosis.cleared}
    return [
        said
        for said in story
        if known.isdisjoint(part.to for part in said.parts)
        and "".join(part.text for part in said.parts) not in cleared
    ]


def _missing(run: Run) -> dict[str, str]:
    """Splits `Kernel times: profiling was switched off.` into what is missing, and why."""
    sentences = run.environment.get("missing") or []
    pairs = (str(sentence).partition("\n")[0].partition(": ") for sentence in sentences)
    return {what: why or "not recorded" for what, _, why in pairs}


def _kinds(profile: ProfileShown) -> list[CategoryTime]:
    """Returns time by category of everything in a trace."""
    breakdown = profile.breakdown
    return [
        CategoryTime(
            category=kind.category,
            kernels=kind.kernels,
            calls=kind.calls / profile.by,
            time_us=kind.us / profile.by,
            share=kind.us / breakdown.total_us,
        )
        for kind in (breakdown.categories if breakdown is not None else ())
        if breakdown is not None and breakdown.total_us
    ]


def _sources(session: Session, run: str) -> list[SourceRow]:
    """Returns the user's files, each once; a real file is preferred to one rebuilt from
    comments."""
    times = source_times(session, run)
    whole = kernel_time(session, run)
    query = (
        select(Artifact, Graph.slug)
        .outerjoin(Graph, Graph.id == Artifact.graph_id)
        .where(Artifact.run_id == run, Artifact.role == SOURCE)
        .order_by(Artifact.derived, Artifact.id)
    )
    sources: dict[str, SourceRow] = {}
    for artifact, slug in session.execute(query):
        if artifact.path not in sources:
            spent = times.get(artifact.path)
            sources[artifact.path] = view(
                SourceRow, artifact, artifact=artifact.id, graph=slug, time_us=spent,
                share=share(spent, whole),
            )  # fmt: skip
    return sorted(sources.values(), key=lambda row: (-(row.time_us or 0.0), row.path))
