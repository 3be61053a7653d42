"""Symbolic sizes of a run: where they came from, and what Dynamo learned about them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from sqlalchemy.orm import Session

from inductorscope.analyze.compile.model import Expression, Story, Symbol, SymbolGuard
from inductorscope.analyze.compile.words import recompile_count
from inductorscope.answers.compile.parts import (
    CompileRef,
    CompilesPage,
    FrameRow,
    RunStory,
    read_run_story,
)
from inductorscope.fields import Hidden, view

MOST = 500


class SymbolRow(msgspec.Struct, frozen=True):
    """A symbolic size or number."""

    compile: CompileRef | None
    name: str
    subject: str
    source: str
    value: str | None
    range: str | None
    unbacked: bool
    frame: FrameRow | None
    guards: list[str]
    """Guards on it in this compile."""


class SymbolGuardRow(msgspec.Struct, frozen=True):
    """A guard or conclusion about symbols."""

    compile: CompileRef | None
    kind: str
    text: str
    value: str | None
    reason: str | None
    frame: FrameRow | None
    locals: dict[str, str]
    sources: dict[str, str]
    line: int
    made: list[ExpressionRow]
    """How the guard's expressions were made, starting with the guard's own."""


class ExpressionRow(msgspec.Struct, frozen=True):
    """A symbolic expression, and the arguments it was made from."""

    text: str
    method: str
    arguments: list[str]
    frame: FrameRow | None
    depth: Hidden[int]


class SymbolsPage(CompilesPage, frozen=True):
    """Symbols of a run, and the guards on them."""

    symbols: list[SymbolRow]
    more_symbols: int
    guards: list[SymbolGuardRow]
    more_guards: int
    recompiles: int


def symbols_page(session: Session, run_id: str) -> SymbolsPage:
    run_story = read_run_story(session, run_id)
    story = run_story.story_or_empty
    return view(
        SymbolsPage,
        run_story.page,
        symbols=symbol_rows(run_story, story.symbols[:MOST]),
        more_symbols=max(0, len(story.symbols) - MOST),
        guards=symbol_guard_rows(run_story, story.symbol_guards[:MOST]),
        more_guards=max(0, len(story.symbol_guards) - MOST),
        recompiles=recompile_count(story),
    )


def symbol_rows(run_story: RunStory, symbols: Sequence[Symbol]) -> list[SymbolRow]:
    story = run_story.story_or_empty
    guards: dict[int, list[str]] = {}
    for guard in story.symbol_guards:
        guards.setdefault(guard.compile, []).append(guard.text)
    return [
        view(
            SymbolRow,
            symbol,
            compile=run_story.ref(symbol.compile),
            frame=_frame(run_story, symbol.frame),
            guards=[text for text in guards.get(symbol.compile, ()) if _names(text, symbol.name)][
                :20
            ],
        )
        for symbol in symbols
    ]


def symbol_guard_rows(run_story: RunStory, guards: Sequence[SymbolGuard]) -> list[SymbolGuardRow]:
    story = run_story.story_or_empty
    by_text: dict[str, Expression] = {}
    for expression in story.expressions:
        by_text.setdefault(expression.text, expression)
    return [
        view(
            SymbolGuardRow,
            guard,
            compile=run_story.ref(guard.compile),
            frame=_frame(run_story, guard.frame),
            made=_made(run_story, story, by_text, guard.text),
        )
        for guard in guards
    ]


def _names(text: str, name: str) -> bool:
    words = "".join(letter if letter.isalnum() or letter == "_" else " " for letter in text)
    return name in words.split()


def _made(
    run_story: RunStory, story: Story, by_text: dict[str, Expression], text: str
) -> list[ExpressionRow]:
    """Follows the guard's expression back to its symbols."""
    begin = by_text.get(text)
    if begin is None:
        parts = sorted((part for part in by_text if part in text), key=len, reverse=True)
        begin = by_text[parts[0]] if parts else None
    rows: list[ExpressionRow] = []
    waiting = [] if begin is None else [(begin.number, 0)]
    seen: set[int] = set()
    while waiting and len(rows) < 50:
        number, depth = waiting.pop()
        if number in seen:
            continue
        seen.add(number)
        expression = story.expressions[number]
        frame = _frame(run_story, expression.frame)
        rows.append(view(ExpressionRow, expression, frame=frame, depth=depth))
        waiting += [(other, depth + 1) for other in reversed(expression.made_from)]
    return rows


def _frame(run_story: RunStory, number: int | None) -> FrameRow | None:
    return None if number is None else run_story.frames([number])[0]
