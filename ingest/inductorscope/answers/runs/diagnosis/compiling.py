"""Causes in compiling: failures, graph breaks, recompiles, caches."""

from __future__ import annotations

from inductorscope import urls
from inductorscope.analyze.compile.breaks import break_places
from inductorscope.analyze.compile.recompiles import histories
from inductorscope.analyze.compile.words import change_in_words, total_seconds
from inductorscope.analyze.failures.fold import is_library
from inductorscope.analyze.failures.known import ChainStep
from inductorscope.analyze.failures.shown import Shown
from inductorscope.answers.runs.diagnosis.cause import Cause, CauseLine, Cleared
from inductorscope.answers.runs.diagnosis.evidence import Evidence
from inductorscope.formats.vocabulary import SOURCE
from inductorscope.units import plural, seconds

OF_TORCH = ("cpp", "triton", "lowering", "inductor", "aot", "dynamo")
"""Components whose failures are torch's own fault."""
_WORKAROUND = (
    "Until torch is fixed, keep this line's function uncompiled: `@torch.compiler.disable`. The "
    "page Failures finds the smallest program that fails, and has the text of an issue."
)
_EVIDENCE = "The page Failures has the whole message, and where it comes from."


def failure(evidence: Evidence) -> Cause | None:
    """The program failed."""
    page = evidence.failures
    if page is None or not page.failures:
        return None
    first = page.failures[0]
    more = len(page.failures) + page.more - 1
    why = first.cause_sentence or next(iter(first.sentences), "")
    fix = _WORKAROUND if first.component in OF_TORCH else _EVIDENCE
    if first.fix is not None:
        fix = first.fix.do
    return Cause(
        "failure",
        f"{first.title.rstrip('.')}." + (f" {plural(more, 'more failure')}." if more else ""),
        fix,
        urls.failures(evidence.id),
        why=why,
        urgent=True,
        lines=_failed_line(evidence, first),
    )


def _failed_line(evidence: Evidence, shown: Shown) -> list[CauseLine]:
    chains: list[list[ChainStep]] = []
    for error in shown.errors:
        chains += [*(each.chain for each in error.suspects), error.chain]
    chains += [node.chain for node in shown.nodes]
    for chain in chains:
        for step in chain:
            if step.stage == SOURCE:
                return evidence.line(step.path, step.line, step.text)
    user = shown.user
    return [] if user is None else evidence.line(user.file, user.line, user.code)


def graph_breaks(evidence: Evidence) -> Cause | Cleared | None:
    """Dynamo cuts a function into several graphs."""
    story = evidence.story.story
    if story is None:
        return Cleared(
            "No log of compiling was read: graph breaks and recompiles are unknown.", judged=False
        )
    places = break_places(story)
    if not places:
        known = all(log.complete for log in story.logs)
        return Cleared("No graph breaks.") if known else None
    first = next((place for place in places if place.advice), places[0])
    total = sum(place.count for place in places)
    library = first.file is not None and is_library(first.file)
    own = evidence.own_line(first.stack) if library else []
    return Cause(
        "graph breaks",
        f"{plural(total, 'graph break')} at {plural(len(places), 'place')}"
        f"{': ' if len(places) == 1 else ', first of all '}{first.short}.",
        first.advice or next(iter(first.hints), "See the reason that torch gives."),
        urls.compile_story(evidence.id) + "#breaks",
        why="Each ends a graph: nothing fuses across it, and guards are checked again after it.",
        lines=[*evidence.line(first.file, first.line, first.code), *own],
    )


def recompiles(evidence: Evidence) -> Cause | Cleared | None:
    """Dynamo compiles a function again."""
    story = evidence.story.story
    if story is None:
        return None
    changed = histories(story)
    again = [each for each in story.compiles if each.recompile]
    if not again:
        return Cleared("No recompiles.")
    us = 1e6 * sum((each.seconds or 0.0) + (each.backward_seconds or 0.0) for each in again)
    whole = total_seconds(story)
    first = changed[0] if changed else None
    changes = [] if first is None else first.changes
    limit = first is not None and first.reached_limit
    name = "" if first is None else f" of `{first.function}`"
    reasons = "; ".join(map(change_in_words, changes[:2])) or "for reasons not in the log"
    return Cause(
        "recompiles",
        f"{plural(len(again), 'recompile')}{name}"
        + (f" took {seconds(us / 1e6)} of {seconds(whole)} of compile time" if us else "")
        + ".",
        next((each.advice for each in changes if each.advice), "")
        or "Keep what the guard checks the same between calls.",
        urls.compile_story(evidence.id) + "#recompiles",
        why=f"Because {reasons}."
        + (" At the recompile limit Dynamo gives up and runs it uncompiled." if limit else ""),
        wins_us=us or None,
        share=us / 1e6 / whole if us and whole else None,
        of="compile time",
        known="measured" if us else "unknown",
        urgent=limit,
        lines=[] if first is None else evidence.line(first.file, first.line),
    )


def caches(evidence: Evidence) -> Cause | Cleared | None:
    """A cache is bypassed, so every start compiles again."""
    story = evidence.story.story
    if story is None or not story.caches:
        return None
    bypassed = [each for each in story.caches if each.outcome == "bypass"]
    if not bypassed:
        return Cleared("No cache is bypassed.")
    numbers = {each.compile for each in bypassed}
    us = 1e6 * sum(each.seconds or 0.0 for each in story.compiles if each.number in numbers)
    whole = total_seconds(story)
    why = next((each.reason for each in bypassed if each.reason), "")
    return Cause(
        "caches",
        f"The {bypassed[0].cache} cache is bypassed for {plural(len(numbers), 'compile')}: every "
        "start of the program compiles them again.",
        "Remove what the cache cannot hold, which the reason names.",
        urls.compile_story(evidence.id) + "#caches",
        why=f"Torch's reason: {why[:200]}" if why else "",
        wins_us=us or None,
        share=us / 1e6 / whole if us and whole else None,
        of="compile time",
        known="at most" if us else "unknown",
    )


CHECKS = (failure, graph_breaks, recompiles, caches)
