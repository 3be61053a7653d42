"""The compiles of a run: filtered, sorted, a page at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from sqlalchemy.orm import Session

from inductorscope.analyze.compile.model import Compile
from inductorscope.analyze.compile.settle import resumed
from inductorscope.answers.compile.parts import CompileRef, ref_of, run_story
from inductorscope.answers.logs.log import CompileGraph, graphs_of_compiles
from inductorscope.answers.parts import RunName
from inductorscope.answers.runs.watch import watch_key

PAGE = 100
Sort = Literal["number", "seconds", "guards", "nodes", "function"]
Only = Literal["", "broken", "recompiled", "failed", "restarted", "cached", "unfinished", "no code"]

_ONLY: dict[str, Callable[[Compile], bool]] = {
    "broken": lambda one: one.breaks > 0,
    "recompiled": lambda one: one.recompile,
    "failed": lambda one: one.outcome == "failed",
    "restarted": lambda one: one.attempts > 1,
    "cached": lambda one: one.hits > 0,
    "unfinished": lambda one: one.outcome == "unfinished",
    "no code": lambda one: one.outcome == "no code",
}


@dataclass(frozen=True, slots=True)
class CompileRow:
    """One compile."""

    ref: CompileRef
    function: str
    resumed_at: int | None
    file: str | None
    line: int | None
    outcome: str
    attempts: int
    breaks: int
    recompile: bool
    hits: int
    seconds: float | None
    backward_seconds: float | None
    guards: int | None
    nodes: int | None
    ops: int | None
    codes: int
    graphs: list[CompileGraph]
    work: dict[str, float]
    log: str


@dataclass(frozen=True, slots=True)
class CompileList:
    run: RunName
    watch: str | None
    known: bool
    q: str
    only: str
    sort: str
    order: str
    page: int
    pages: int
    total: int
    """How many match."""
    whole: int
    """How many there are."""
    counts: dict[str, int]
    """How many there are of what can be chosen."""
    ranked: bool
    longest: float
    """Seconds of the longest, for the bars."""
    compiles: list[CompileRow]


def compile_list(
    session: Session,
    run_id: str,
    q: str = "",
    only: Only = "",
    sort: Sort = "number",
    order: Literal["asc", "desc"] = "asc",
    page: int = 1,
) -> CompileList:
    found = run_story(session, run_id)
    every = found.story.compiles if found.story is not None else []
    logs = [log.path for log in found.story.logs] if found.story is not None else []
    words = q.lower().split()
    matching = [
        one for one in every if (not only or _ONLY[only](one)) and (not words or _holds(one, words))
    ]
    if sort != "number" or order == "desc":
        matching.sort(key=lambda one: _key(one, sort), reverse=order == "desc")
    pages = max(1, -(-len(matching) // PAGE))
    page = min(page, pages)
    shown = matching[(page - 1) * PAGE : page * PAGE]
    ids = {one.id for one in shown if one.id is not None}
    graphs = graphs_of_compiles(session, run_id, logs, ids) if ids else {}
    return CompileList(
        run=found.name,
        watch=watch_key(found.run.tags),
        known=found.story is not None,
        q=q,
        only=only,
        sort=sort,
        order=order,
        page=page,
        pages=pages,
        total=len(matching),
        whole=len(every),
        counts={name: sum(map(test, every)) for name, test in _ONLY.items()},
        ranked=any(one.rank is not None for one in every),
        longest=max((_seconds(one) for one in every), default=0.0),
        compiles=[_row(one, logs, graphs) for one in shown],
    )


def _holds(one: Compile, words: list[str]) -> bool:
    text = f"{one.id or 'no id'} {one.function or ''} {one.file or ''} {one.outcome}".lower()
    return all(word in text for word in words)


def _seconds(one: Compile) -> float:
    return (one.seconds or 0.0) + (one.backward_seconds or 0.0)


def _key(one: Compile, sort: Sort) -> tuple[float, str]:
    if sort == "function":
        return 0.0, one.function or ""
    if sort == "seconds":
        return _seconds(one), ""
    value = {"number": one.number, "guards": one.guards, "nodes": one.nodes}[sort]
    return (-1.0 if value is None else float(value)), ""


def _row(
    one: Compile, logs: list[str], graphs: dict[tuple[str, str | None], list[CompileGraph]]
) -> CompileRow:
    name, at = resumed(one.function or "")
    return CompileRow(
        ref_of(one), name, at, one.file, one.first_line, one.outcome, one.attempts, one.breaks,
        one.recompile, one.hits, one.seconds, one.backward_seconds, one.guards, one.nodes,
        one.ops, one.codes, graphs.get((logs[one.log], one.id), []), one.phases, logs[one.log],
    )  # fmt: skip
