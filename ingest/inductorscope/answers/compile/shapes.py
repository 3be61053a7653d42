"""Which compile of a run serves which shapes, from its recorded guards."""

from collections.abc import Iterator

import msgspec
from sqlalchemy import select

from inductorscope.analyze.compile.model import Compile
from inductorscope.analyze.compile.recompiles import histories
from inductorscope.analyze.guards.conditions import conditions
from inductorscope.analyze.guards.forecast import Forecast, forecast
from inductorscope.answers.compile.parts import RunStory
from inductorscope.fields import view
from inductorscope.formats.call_shapes import Value, shape_text
from inductorscope.formats.log.guard_tree import GuardTree, read_guard_tree
from inductorscope.formats.log.kinds import GUARD_TREE
from inductorscope.store.contents.texts import read_blob
from inductorscope.store.tables.models import Artifact, LogEntry
from inductorscope.units import plural

MOST_BYTES = 16 * 1024 * 1024
"""Longest record of guards that is read."""


class FunctionForecast(msgspec.Struct, frozen=True):
    """A function of the run, and the cost of the calls in compiles."""

    function: str
    file: str | None
    line: int | None
    compiles: list[str]
    """Ids of its recorded compiles."""
    missing: str
    """Why there is no forecast; empty if there is one."""
    forecast: Forecast | None


def guard_trees(run_story: RunStory) -> Iterator[tuple[Compile, GuardTree]]:
    """The compiles with their guards, in order; those without a record are left out."""
    story = run_story.story_or_empty
    query = (
        select(LogEntry.log, LogEntry.compile_id, LogEntry.line, Artifact.digest)
        .join(Artifact, Artifact.id == LogEntry.artifact_id)
        .where(
            LogEntry.run_id == run_story.run.id,
            LogEntry.kind == GUARD_TREE,
            Artifact.size <= MOST_BYTES,
        )
        .order_by(LogEntry.line)
    )
    texts: dict[tuple[str, str | None], list[tuple[int, str]]] = {}
    for log, compile_id, line, digest in run_story.session.execute(query):
        texts.setdefault((log, compile_id), []).append((line, digest))
    for compile_ in story.compiles:
        own = texts.get((story.logs[compile_.log].path, compile_.id), [])
        of_compile = [digest for line, digest in own if compile_.line <= line <= compile_.last_line]
        text = read_blob(run_story.session, of_compile[-1]) if of_compile else None
        if text is not None:
            yield compile_, read_guard_tree(text.decode("utf-8", "replace"))


def shape_forecasts(run_story: RunStory, calls: list[dict[str, Value]]) -> list[FunctionForecast]:
    """Returns one forecast for each function of the run, in the order of their first compile."""
    if not calls:
        return []
    trees = {compile_.number: tree for compile_, tree in guard_trees(run_story)}
    options = run_story.run.environment.get("options")
    automatic = not (isinstance(options, dict) and options.get("dynamic") is False)
    found = histories(run_story.story_or_empty, only_recompiled=False)
    rows = []
    for history in sorted(found, key=lambda history: history.steps[0].compile.number):
        steps = [step.compile for step in history.steps]
        known = [(step.id or "", trees[step.number]) for step in steps if step.number in trees]
        cost, missing = None, ""
        if len(known) < len(steps):
            missing = "the log has no guards of some of its compiles"
        elif history.resumed_at:
            missing = (
                "it is the rest of a function after a graph break, and its arguments are computed "
                "before the break"
            )
        else:
            tests = conditions(run_story.source_text(history.file), history.line or 0)
            cost = forecast(known, calls, conditions=tests, automatic=automatic)
        ids = [step.id or "" for step in steps]
        rows.append(view(FunctionForecast, history, compiles=ids, missing=missing, forecast=cost))
    return rows


def forecast_text(row: FunctionForecast) -> Iterator[str]:
    """Returns the lines of a function's forecast."""
    at = f" ({row.file.rpartition('/')[2]}:{row.line})" if row.file and row.line else ""
    cost = row.forecast
    if cost is None:
        yield f"{row.function}{at}: {row.missing}."
        return
    yield (
        f"{row.function}{at}: {plural(len(cost.calls), 'call')}, "
        f"{plural(cost.compiles, 'new compile')}"
        + (f", {cost.unknown} unknown" if cost.unknown else "")
    )
    for call in cost.calls:
        new = call.by.startswith("new compile") and not call.compiles
        by = f"{call.by}, if it adds no condition on sizes" if new else call.by
        yield f"  {shape_text(call.values)}: {by or 'unknown'}"
        if call.failed and (call.compiles or not call.by):
            place = (call.failed.place or "").partition(" (")[0].rpartition("/")[2]
            why = [call.failed.text, call.failed.code, place]
            yield f"    {'  # '.join(filter(None, why))}"
        yield from (f"    not evaluated: {text}" for text in call.unknown)
    warm = [shape_text(call.values) for call in cost.calls if call.compiles]
    if warm:
        yield f"  To warm up: {'; '.join(warm)}"
    if cost.dynamic and cost.compiles:
        yield f"  They change: {', '.join(cost.dynamic)}. Mark them: torch._dynamo.mark_dynamic."
    if cost.unguarded:
        yield f"  No guard names {', '.join(cost.unguarded)}."
    yield (
        f"  {plural(cost.assumed, 'guard')} on other things, dtypes and devices are taken to hold; "
        "shapes are taken to be contiguous."
    )
