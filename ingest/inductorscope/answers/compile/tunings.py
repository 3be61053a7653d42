"""Autotunings as max-autotune prints them: all candidates with their times."""

from __future__ import annotations

from dataclasses import dataclass

from inductorscope.analyze.compile.model import Choice, TunedTable
from inductorscope.answers.compile.parts import CompileRef, RunStory, ref_of

MOST_TABLES = 500


@dataclass(frozen=True, slots=True)
class CandidateRow:
    """A candidate and its time."""

    name: str
    us: float | None
    slower: float | None
    """Time divided by that of the fastest."""
    what: str


@dataclass(frozen=True, slots=True)
class TableRow:
    """One autotuning with all candidates."""

    compile: CompileRef | None
    op: str
    shapes: str
    strides: str
    dtypes: str
    seconds: float | None
    precompile_seconds: float | None
    count: int
    candidates: list[CandidateRow]
    log: int | None
    """The stored file with the text."""
    line: int


def tables(run_story: RunStory) -> list[TableRow]:
    """Autotunings, the longest first; equally long ones in the order of the text."""
    story = run_story.story
    if story is None:
        return []
    ids = {
        compile_.id: ref_of(compile_)
        for compile_ in reversed(story.compiles)
        if compile_.id is not None
    }
    rows = [
        _row(table, ids.get(table.compile_id or ""), run_story.texts_spoken.get(log.path))
        for log in story.spoken
        for table in log.tables
    ]
    return sorted(rows, key=lambda row: -(row.seconds or 0.0))[:MOST_TABLES]


def _row(table: TunedTable, ref: CompileRef | None, log: int | None) -> TableRow:
    known = [choice.us for choice in table.choices if choice.us is not None]
    best = min(known, default=None)
    return TableRow(
        ref, table.op, table.shapes, table.strides, table.dtypes, table.seconds,
        table.precompile_seconds, table.count,
        [_candidate(choice, best) for choice in table.choices], log, table.line,
    )  # fmt: skip


def _candidate(choice: Choice, best: float | None) -> CandidateRow:
    slower = choice.us / best if choice.us is not None and best else None
    return CandidateRow(choice.name, choice.us, slower, choice.what)
