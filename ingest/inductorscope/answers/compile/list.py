"""The compiles of a run: filtered, sorted, a page at a time."""

from collections.abc import Callable
from typing import Literal

import msgspec
from sqlalchemy.orm import Session

from inductorscope.analyze.compile.model import Compile
from inductorscope.analyze.compile.resumptions import resumed
from inductorscope.answers.compile.parts import CompileRef, CompilesPage, read_run_story, ref_of
from inductorscope.answers.logs.log import CompileGraph, graphs_of_compiles
from inductorscope.fields import Hidden, Microseconds, view

PAGE = 100
Sort = Literal["number", "seconds", "guards", "nodes", "function"]
Only = Literal["", "broken", "recompiled", "failed", "restarted", "cached", "unfinished", "no code"]

_ONLY: dict[str, Callable[[Compile], bool]] = {
    "broken": lambda row: row.breaks > 0,
    "recompiled": lambda row: row.recompile,
    "failed": lambda row: row.outcome == "failed",
    "restarted": lambda row: row.attempts > 1,
    "cached": lambda row: row.hits > 0,
    "unfinished": lambda row: row.outcome == "unfinished",
    "no code": lambda row: row.outcome == "no code",
}


class CompileHead(msgspec.Struct, frozen=True):
    """What the list and the page of a compile show."""

    ref: CompileRef
    function: str
    resumed_at: int | None
    file: str | None
    outcome: str
    attempts: int
    seconds: float | None
    backward_seconds: float | None
    nodes: int | None
    ops: int | None
    graphs: list[CompileGraph]
    log: str


class CompileRow(CompileHead, frozen=True):
    """One compile."""

    line: int | None
    breaks: int
    recompile: bool
    hits: int
    guards: int | None
    codes: int
    work: dict[str, Microseconds]


class CompileList(CompilesPage, frozen=True):
    """A page of the list of compiles."""

    q: str
    only: str
    sort: str
    order: str
    page: int
    pages: int
    total: int
    """Number of compiles that match."""
    whole: int
    """Number of all compiles."""
    counts: dict[str, int]
    """Number of compiles by what can be filtered."""
    ranked: bool
    longest: Hidden[float]
    """Seconds of the longest compile, for the bars."""
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
    run_story = read_run_story(session, run_id)
    every = run_story.story_or_empty.compiles
    logs = [log.path for log in run_story.story_or_empty.logs]
    words = q.lower().split()
    matching = [
        compile_
        for compile_ in every
        if (not only or _ONLY[only](compile_)) and (not words or _holds(compile_, words))
    ]
    if sort != "number" or order == "desc":
        matching.sort(key=lambda compile_: _key(compile_, sort), reverse=order == "desc")
    pages = max(1, -(-len(matching) // PAGE))
    page = min(page, pages)
    shown = matching[(page - 1) * PAGE : page * PAGE]
    ids = {compile_.id for compile_ in shown if compile_.id is not None}
    graphs = graphs_of_compiles(session, run_id, logs, ids) if ids else {}
    return view(
        CompileList,
        run_story.page,
        q=q,
        only=only,
        sort=sort,
        order=order,
        page=page,
        pages=pages,
        total=len(matching),
        whole=len(every),
        counts={name: sum(map(test, every)) for name, test in _ONLY.items()},
        ranked=any(compile_.rank is not None for compile_ in every),
        longest=max((compile_.took_s for compile_ in every), default=0.0),
        compiles=[
            view(CompileRow, compile_head(compile_, logs, graphs), compile_,
                 line=compile_.first_line, work=compile_.phases)
            for compile_ in shown
        ],
    )  # fmt: skip


def _holds(compile_: Compile, words: list[str]) -> bool:
    parts = (compile_.id or "no id", compile_.function or "", compile_.file or "", compile_.outcome)
    text = " ".join(parts).lower()
    return all(word in text for word in words)


def _key(compile_: Compile, sort: Sort) -> tuple[float, str]:
    if sort == "function":
        return 0.0, compile_.function or ""
    if sort == "seconds":
        return compile_.took_s, ""
    value = {"number": compile_.number, "guards": compile_.guards, "nodes": compile_.nodes}[sort]
    return (-1.0 if value is None else float(value)), ""


def compile_head(
    compile_: Compile, logs: list[str], graphs: dict[tuple[str, str | None], list[CompileGraph]]
) -> CompileHead:
    name, at = resumed(compile_.function or "")
    log = logs[compile_.log]
    return view(
        CompileHead, compile_, ref=ref_of(compile_), function=name, resumed_at=at,
        graphs=graphs.get((log, compile_.id), []), log=log,
    )  # fmt: skip
