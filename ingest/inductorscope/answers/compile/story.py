"""Compile: the story of a run's compiles in words, and the evidence of each part of it."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.orm import Session

from inductorscope.analyze.compile.breaks import break_places
from inductorscope.analyze.compile.model import Story
from inductorscope.analyze.compile.recompiles import histories
from inductorscope.analyze.compile.words import (
    graph_count,
    overview,
    saved_seconds,
    total_seconds,
    work,
)
from inductorscope.answers.compile.parts import has_log, run_story
from inductorscope.answers.compile.rows import (
    BreakRow,
    CacheGroup,
    FailureRow,
    HistoryRow,
    RestartRow,
    SaidRow,
    WorkRow,
    break_rows,
    cache_groups,
    failure_rows,
    history_rows,
    restart_rows,
    said_row,
    work_rows,
)
from inductorscope.answers.compile.torch_says import ExplainedRow, explained, said_by_torch
from inductorscope.answers.parts import RunName
from inductorscope.answers.runs.watch import watch_key

MOST_PLACES = 50
MOST_HISTORIES = 50
MOST_FAILURES = 50


@dataclass(frozen=True, slots=True)
class CompilePage:
    run: RunName
    watch: str | None
    """Key of the folder that is being watched, if this is a reading of one."""
    reading: bool
    known: bool
    """Whether there is a story; runs read by older versions have none."""
    has_log: bool
    said: list[SaidRow]
    compiles: int
    graphs: int
    functions: int
    seconds: float | None
    breaks: int
    recompiles: int
    hits: int
    asked: int
    saved_seconds: float
    ranks: int
    logs: int
    work: list[WorkRow]
    break_places: list[BreakRow]
    more_places: int
    histories: list[HistoryRow]
    more_histories: int
    failures: list[FailureRow]
    more_failures: int
    restarts: list[RestartRow]
    caches: list[CacheGroup]
    symbols: int
    exported: bool
    beyond: dict[str, int]
    unread: dict[str, int]
    explained: ExplainedRow | None
    """`torch._dynamo.explain` of a capture."""
    explained_missing: str
    """Why there is none, if so."""
    dropped: int
    """Things in the run's files that could not be read."""


def story_in_words(session: Session, run_id: str) -> list[SaidRow]:
    """The overview alone; empty where there is no story."""
    found = run_story(session, run_id)
    if found.story is None:
        return []
    return [said_row(found, one) for one in overview(found.story)]


def compile_page(session: Session, run_id: str) -> CompilePage:
    found = run_story(session, run_id)
    story = found.story or Story()
    says = said_by_torch(session, run_id)
    places, changed = break_places(story), histories(story)
    failed = [one for one in story.failures if not one.restarted]
    hits = sum(one.outcome == "hit" for one in story.caches)
    asked = sum(one.outcome in {"hit", "miss", "bypass"} for one in story.caches)
    return CompilePage(
        run=found.name,
        watch=watch_key(found.run.tags),
        reading=found.run.state == "reading",
        known=found.story is not None,
        has_log=has_log(session, run_id),
        said=[said_row(found, one) for one in overview(story)],
        compiles=len(story.compiles),
        graphs=graph_count(story),
        functions=len({(one.file, one.function) for one in story.compiles if one.function}),
        seconds=total_seconds(story),
        breaks=len(story.breaks),
        recompiles=sum(one.recompile for one in story.compiles),
        hits=hits,
        asked=asked,
        saved_seconds=saved_seconds(story),
        ranks=len({log.rank for log in story.logs if log.rank is not None}),
        logs=len(story.logs),
        work=work_rows(work(story)),
        break_places=break_rows(found, places[:MOST_PLACES]),
        more_places=max(0, len(places) - MOST_PLACES),
        histories=history_rows(found, changed[:MOST_HISTORIES]),
        more_histories=max(0, len(changed) - MOST_HISTORIES),
        failures=failure_rows(found, failed[:MOST_FAILURES]),
        more_failures=max(0, len(failed) - MOST_FAILURES),
        restarts=restart_rows(found, [one for one in story.failures if one.restarted]),
        caches=cache_groups(found, story.caches),
        symbols=len(story.symbols),
        exported=any(one.outcome == "exported" for one in story.compiles),
        beyond=story.beyond,
        unread=story.unread,
        explained=explained(found, says),
        explained_missing=says.missing.get("explain", ""),
        dropped=found.run.dropped_count,
    )
