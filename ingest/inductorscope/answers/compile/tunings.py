"""Autotunings: the known candidates with their times and configurations, and the winner's kernel.

The output of max-autotune lists all candidates; a TORCH_TRACE log has only the fastest, and the
fastest Triton kernel if that is a different one.
"""

from collections.abc import Mapping

import msgspec
from sqlalchemy.orm import Session

from inductorscope.analyze.compile.model import Tuning
from inductorscope.analyze.fusing.chosen import Chosen, sizes_of
from inductorscope.answers.compile.parts import CompileRef, RunStory, read_run_story, ref_of
from inductorscope.answers.parts import RunName
from inductorscope.answers.runs.state import RunState, unfinished
from inductorscope.answers.time.graph_facts import facts_of_graphs, slowest_graphs
from inductorscope.fields import Hidden, Prose
from inductorscope.formats.printed.autotune_tables import Choice, TunedTable

MOST_TUNINGS = 500


class CandidateRow(msgspec.Struct, frozen=True):
    """A candidate and its time."""

    name: str
    us: float | None
    slower: float | None
    """Time divided by that of the fastest."""
    what: Prose


class ChosenRow(msgspec.Struct, frozen=True):
    """A kernel that runs a candidate."""

    candidate: str
    """The fastest candidate, unless another became faster through what is fused into it."""
    graph: str
    kernel: str
    handle: int
    """Handle of its first call."""
    calls: int


class TunedRow(msgspec.Struct, frozen=True):
    """One autotuning."""

    compile: CompileRef | None
    op: str
    shapes: str
    strides: str
    dtypes: Hidden[str]
    seconds: float | None
    """Time of running the candidates."""
    precompile_seconds: float | None
    count: int | None
    """Number of candidates; only the fastest may be known."""
    candidates: list[CandidateRow]
    """The fastest first."""
    chosen: list[ChosenRow]
    log: int | None
    """The stored file that lists the candidates."""
    line: int


class TunedPage(msgspec.Struct, frozen=True):
    """Autotuned `/runs/{run}/kernels/tuned`."""

    run: RunName
    tunings: list[TunedRow]
    more_tunings: int
    q: str
    unfinished: RunState | None


def tuned_page(session: Session, run_id: str, q: str = "") -> TunedPage:
    """Returns the page. `q`: words in operations, shapes, kernels and candidates."""
    run_story = read_run_story(session, run_id)
    facts = dict(facts_of_graphs(session, slowest_graphs(session, run_id), []))
    chosen = {graph.slug: (graph.compile_id, known.chosen) for graph, known in facts.items()}
    words = q.lower().split()
    tunings = [row for row in tuned_rows(run_story, calls=chosen) if _mentions(row, words)]
    return TunedPage(
        run_story.name, tunings[:MOST_TUNINGS], max(0, len(tunings) - MOST_TUNINGS), q,
        unfinished(session, run_id),
    )  # fmt: skip


def _mentions(row: TunedRow, words: list[str]) -> bool:
    kernels = [choice.kernel for choice in row.chosen]
    text = " ".join([row.op, row.shapes, *kernels, *(own.name for own in row.candidates)]).lower()
    return all(word in text for word in words)


def tuned_rows(
    run_story: RunStory,
    only: int | None = None,
    calls: Mapping[str, tuple[str | None, list[Chosen]]] | None = None,
) -> list[TunedRow]:
    """Returns the autotunings of one compile or of all, the longest first. `calls`: graph → its
    compile's id and the calls that may run a winner."""
    story = run_story.story_or_empty
    ids = {
        compile_.id: ref_of(compile_)
        for compile_ in reversed(story.compiles)
        if compile_.id is not None
    }
    rows = [
        _row(ids.get(table.compile_id or ""), table, table.seconds, calls or {},
             run_story.texts_spoken.get(log.path))
        for log in story.spoken for table in log.tables
    ]  # fmt: skip
    printed = {(row.compile, row.op, row.shapes) for row in rows}
    for tuning in story.tunings:
        ref = run_story.ref(tuning.compile)
        if (ref, tuning.what, tuning.shapes) not in printed:
            seconds = None if tuning.us is None else tuning.us / 1e6
            rows.append(_row(ref, tuning, seconds, calls or {}))
    mine = [row for row in rows if only is None or (row.compile and row.compile.number == only)]
    return sorted(mine, key=lambda row: -(row.seconds or 0.0))


def _row(
    ref: CompileRef | None,
    tuned: TunedTable | Tuning,
    seconds: float | None,
    calls: Mapping[str, tuple[str | None, list[Chosen]]],
    log: int | None = None,
) -> TunedRow:
    printed = tuned if isinstance(tuned, TunedTable) else None
    op = tuned.op if isinstance(tuned, TunedTable) else tuned.what
    best = min((choice.us for choice in tuned.choices if choice.us is not None), default=None)
    return TunedRow(
        compile=ref, op=op, shapes=tuned.shapes, strides=printed.strides if printed else "",
        dtypes=tuned.dtypes, seconds=seconds,
        precompile_seconds=printed.precompile_seconds if printed else None, count=tuned.count,
        candidates=[_candidate(choice, best) for choice in tuned.choices],
        chosen=_chosen(ref, tuned.choices, tuned.shapes, calls), log=log, line=tuned.line,
    )  # fmt: skip


def _chosen(
    ref: CompileRef | None,
    choices: list[Choice],
    shapes: str,
    calls: Mapping[str, tuple[str | None, list[Chosen]]],
) -> list[ChosenRow]:
    """Returns the kernels of the fastest candidate that any kernel runs."""
    sizes = sizes_of(shapes.split(","))
    possible = [
        (graph, kernel)
        for graph, (compile_id, of_graph) in calls.items()
        if ref is None or compile_id in (None, ref.id)
        for kernel in of_graph
        if kernel.sizes == sizes
    ]
    for choice in choices:
        handles: dict[tuple[str, str], list[int]] = {}
        for graph, kernel in possible:
            if kernel.runs(choice.name, choice.what):
                handles.setdefault((graph, kernel.kernel), []).append(kernel.handle)
        if handles:
            return [
                ChosenRow(choice.name, graph, kernel, min(ran), len(ran))
                for (graph, kernel), ran in handles.items()
            ]
    return []


def _candidate(choice: Choice, best: float | None) -> CandidateRow:
    slower = choice.us / best if choice.us is not None and best else None
    return CandidateRow(choice.name, choice.us, slower, choice.what)
