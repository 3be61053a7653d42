"""Symbolic sizes of a run: where they came from, what was found out about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from inductorscope.analyze.compile.model import Expression, Story, Symbol, SymbolGuard
from inductorscope.answers.compile.parts import CompileRef, FrameRow, RunStory, run_story
from inductorscope.answers.parts import RunName

MOST = 500


@dataclass(frozen=True, slots=True)
class SymbolRow:
    compile: CompileRef | None
    name: str
    subject: str
    source: str
    value: str | None
    range: str | None
    unbacked: bool
    frame: FrameRow | None
    guards: list[str]
    """What was demanded of it, in this compile."""


@dataclass(frozen=True, slots=True)
class SymbolGuardRow:
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
    """How the expressions in it came about, the first first."""


@dataclass(frozen=True, slots=True)
class ExpressionRow:
    text: str
    method: str
    arguments: list[str]
    frame: FrameRow | None
    depth: int


@dataclass(frozen=True, slots=True)
class SymbolsPage:
    run: RunName
    known: bool
    symbols: list[SymbolRow]
    more_symbols: int
    guards: list[SymbolGuardRow]
    more_guards: int
    expressions: int


def symbols_page(session: Session, run_id: str) -> SymbolsPage:
    found = run_story(session, run_id)
    story = found.story or Story()
    return SymbolsPage(
        run=found.name,
        known=found.story is not None,
        symbols=symbol_rows(found, story.symbols[:MOST]),
        more_symbols=max(0, len(story.symbols) - MOST),
        guards=symbol_guard_rows(found, story.symbol_guards[:MOST]),
        more_guards=max(0, len(story.symbol_guards) - MOST),
        expressions=len(story.expressions),
    )


def symbol_rows(found: RunStory, symbols: Sequence[Symbol]) -> list[SymbolRow]:
    story = found.story
    if story is None:
        return []
    guards: dict[int, list[str]] = {}
    for guard in story.symbol_guards:
        guards.setdefault(guard.compile, []).append(guard.text)
    return [
        SymbolRow(
            found.ref(one.compile), one.name, one.subject, one.source, one.value, one.range,
            one.unbacked, _frame(found, one.frame),
            [text for text in guards.get(one.compile, ()) if _names(text, one.name)][:20],
        )
        for one in symbols
    ]  # fmt: skip


def symbol_guard_rows(found: RunStory, guards: Sequence[SymbolGuard]) -> list[SymbolGuardRow]:
    story = found.story
    if story is None:
        return []
    by_text: dict[str, Expression] = {}
    for expression in story.expressions:
        by_text.setdefault(expression.text, expression)
    return [
        SymbolGuardRow(
            found.ref(one.compile), one.kind, one.text, one.value, one.reason,
            _frame(found, one.frame), one.locals, one.sources, one.line,
            _made(found, story, by_text, one.text),
        )
        for one in guards
    ]  # fmt: skip


def _names(text: str, name: str) -> bool:
    return any(word == name for word in _words(text))


def _words(text: str) -> list[str]:
    return "".join(each if each.isalnum() or each == "_" else " " for each in text).split()


def _made(
    found: RunStory, story: Story, by_text: dict[str, Expression], text: str
) -> list[ExpressionRow]:
    """What the condition is about, and what that was made from, down to the symbols."""
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
        one = story.expressions[number]
        rows.append(
            ExpressionRow(one.text, one.method, one.arguments, _frame(found, one.frame), depth)
        )
        waiting += [(other, depth + 1) for other in reversed(one.made_from)]
    return rows


def _frame(found: RunStory, number: int | None) -> FrameRow | None:
    if number is None or found.story is None:
        return None
    return found.frame(found.story.frames[number])
