"""The story of a run's compiles in sentences, each part with where its evidence is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from inductorscope.analyze.compile.breaks import BreakPlace, break_places
from inductorscope.analyze.compile.model import Story
from inductorscope.analyze.compile.recompiles import Change, History, histories
from inductorscope.analyze.compile.settle import resumed
from inductorscope.formats.vocabulary import WORK_BY_ID
from inductorscope.units import plural

Level = Literal["good", "note", "warn", "bad"]
Target = Literal["", "graphs", "breaks", "recompiles", "time", "caches", "failures", "symbols",
                 "ranks", "export", "tuning"]  # fmt: skip
SHOWN = 3
RANKS = ": what they do differently is told on the page of ranks."


@dataclass(frozen=True, slots=True)
class Part:
    """Some words, and which part of the page shows what they say."""

    text: str
    to: Target = ""
    place: tuple[str, int] | None = None
    """A line of the user's program."""


@dataclass(slots=True)
class Said:
    """One sentence."""

    level: Level
    label: str
    parts: list[Part] = field(default_factory=list)
    advice: str = ""

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts)


def overview(story: Story) -> list[Said]:
    """The gravest first; what is as it should be comes last."""
    if not story.compiles:
        return []
    places, recompiled = break_places(story), histories(story)
    said = [
        *_failures(story),
        *_breaks(story, places),
        *_recompiles(recompiled),
        _graphs(story),
        *_time(story),
        *_caches(story),
        *_cudagraphs(story),
        *_export(story),
        *_ranks(story),
    ]
    order = ("bad", "warn", "note", "good")
    return sorted(said, key=lambda one: order.index(one.level))


def seconds(value: float) -> str:
    if value < 0.0995:
        return f"{value * 1000:.1f} ms" if value < 0.00995 else f"{value * 1000:.0f} ms"
    if value < 9.995:
        return f"{value:.2f} s"
    return f"{value:.1f} s" if value < 99.95 else f"{value:,.0f} s"


def _graphs(story: Story) -> Said:
    graphs = graph_count(story)
    names = Counter(resumed(one.function)[0] for one in story.compiles if one.function)
    pieces = {(one.file, one.function) for one in story.compiles if one.function}
    said = Said(
        "good", "compiled", [Part(plural(graphs, "graph") if graphs else "No graph", "graphs")]
    )
    if not graphs:
        said.level, said.label = "note", "no graph"
    if names:
        shown = ", ".join(f"`{name}`" for name, _ in names.most_common(SHOWN))
        more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
        said.parts.append(Part(f" from {plural(len(names), 'function')} ({shown}{more})"))
        if len(pieces) > len(names):
            said.parts.append(Part(f", which graph breaks cut into {plural(len(pieces), 'piece')}"))
    empty = sum(one.outcome == "no code" for one in story.compiles)
    if empty:
        said.parts.append(Part(f"; {plural(empty, 'compile')} came to no code of its own"))
    unfinished = sum(one.outcome == "unfinished" for one in story.compiles)
    if unfinished:
        said.level, said.label = "note", "compiles without an end"
        said.parts.append(
            Part(f"; of {plural(unfinished, 'compile')} the log does not tell the end")
        )
    said.parts.append(Part("."))
    return said


def graph_count(story: Story) -> int:
    """Codes; of a compile that a cache answered before codes were logged, one."""
    return sum(one.codes or (one.outcome == "compiled") for one in story.compiles)


def _failures(story: Story) -> list[Said]:
    failed = [one for one in story.failures if not one.restarted]
    if not failed:
        return []
    said = Said("bad", "failed", [Part(plural(len(failed), "compile") + " failed", "failures")])
    kinds = Counter((one.kind.rsplit(".", 1)[-1], one.message.strip().split("\n")[-1][:120])
                    for one in failed)  # fmt: skip
    causes = "; ".join(f"{kind}: {message}" if message else kind
                     for (kind, message), _ in kinds.most_common(SHOWN))  # fmt: skip
    said.parts.append(Part(f": {causes}"))
    place = next(((one.file, one.at) for one in failed if one.file and one.at), None)
    if place is not None:
        said.parts += [Part(", at "), Part(_name(*place), "failures", place)]
    said.parts.append(Part("."))
    return [said]


def _breaks(story: Story, places: Sequence[BreakPlace]) -> list[Said]:
    if not places:
        return [Said("good", "no graph breaks", [Part("No graph breaks.")])] if any(
            one.id is not None for one in story.compiles
        ) else []  # fmt: skip
    total = sum(place.count for place in places)
    said = Said(
        "warn", plural(total, "graph break"), [Part(plural(total, "graph break"), "breaks")]
    )
    said.parts.append(Part(f" at {plural(len(places), 'place')}: "))
    for number, place in enumerate(places[:SHOWN]):
        if number:
            said.parts.append(Part(", "))
        said.parts.append(Part(f"{place.short} at "))
        at = (place.file, place.line) if place.file and place.line else None
        said.parts.append(Part(place.name, "breaks", at))
    if len(places) > SHOWN:
        said.parts.append(Part(f" and {len(places) - SHOWN:,} more"))
    said.parts.append(Part("."))
    said.advice = next((place.advice for place in places if place.advice), "")
    return [said]


def _recompiles(recompiled: Sequence[History]) -> list[Said]:
    total = sum(history.recompiles for history in recompiled)
    if not total:
        return []
    said = Said(
        "warn", plural(total, "recompile"), [Part("Recompiled "), Part(_times(total), "recompiles")]
    )
    groups: dict[str, list[str]] = {}
    for history in recompiled:
        reason = "; ".join(map(change_in_words, history.changes)) or "for reasons not in the log"
        name = f"`{history.function}`" + (
            f" after line {history.resumed_at}" if history.resumed_at else ""
        )
        groups.setdefault(reason, []).append(name)
    clauses = []
    for reason, names in list(groups.items())[:SHOWN]:
        several = (
            f"{names[0]}"
            if len(names) == 1
            else f"{', '.join(names[:2])}{' and more' if len(names) > 2 else ''}"
        )
        why = reason if reason.startswith("for ") else f"because {reason}"
        clauses.append(f"{several} {why}")
    said.parts.append(Part(f": {'; '.join(clauses)}"))
    if len(groups) > SHOWN:
        said.parts.append(Part(f"; and {len(groups) - SHOWN:,} more reasons"))
    said.parts.append(Part("."))
    said.advice = next(
        (one.advice for history in recompiled for one in history.changes if one.advice), ""
    )
    if any(history.reached_limit for history in recompiled):
        said.level = "bad"
        said.parts.append(Part(
            " One was compiled 8 times or more: at torch._dynamo.config.recompile_limit (8 unless"
            " changed) Dynamo gives up and runs it uncompiled."
        ))  # fmt: skip
    return [said]


def change_in_words(change: Change) -> str:
    """`x.size(0)` changed 4 → 9 → 17, then became dynamic."""
    subject = f"`{change.subject}`" if change.subject else ""
    if not subject:
        return f"a guard failed: {change.text[:120]}"
    values = change.values
    if len(values) > 6:
        values = [*values[:4], "…", values[-1]]
    said = f"{subject} changed {' → '.join(values)}" if len(values) > 1 else (
        f"{subject} was no longer {values[0]}" if values else f"{subject} changed"
    )  # fmt: skip
    return said + (", then became dynamic" if change.became_dynamic else "")


def _times(number: int) -> str:
    return "once" if number == 1 else "twice" if number == 2 else f"{number:,} times"


def total_seconds(story: Story) -> float | None:
    known = [log.seconds for log in story.logs if log.seconds is not None]
    return sum(known) if known else None


def work(story: Story) -> dict[str, float]:
    """Microseconds by kind of work, over all compiles, the most first."""
    sums: Counter[str] = Counter()
    for compile_ in story.compiles:
        sums.update(compile_.phases)
    return dict(sums.most_common())


def _time(story: Story) -> list[Said]:
    total = total_seconds(story)
    if total is None:
        return []
    said = Said(
        "note",
        f"compile time {seconds(total)}",
        [Part("Compile time "), Part(seconds(total), "time")],
    )
    kinds = work(story)
    busy = sum(kinds.values())
    if busy:
        kind, most = next(iter(kinds.items()))
        said.parts.append(Part(f", {100 * most / busy:.0f} % of it in {WORK_BY_ID[kind].title}"))
    if len(story.logs) > 1:
        said.parts.append(Part(f", over {len(story.logs)} processes"))
    slowest = max(story.compiles, key=lambda one: (one.seconds or 0) + (one.backward_seconds or 0))
    if len(story.compiles) > 1 and slowest.seconds:
        own = slowest.seconds + (slowest.backward_seconds or 0)
        said.parts.append(
            Part(f"; the longest compile, {slowest.id or 'without an id'}, took {seconds(own)}")
        )
    said.parts.append(Part("."))
    return [said]


def _caches(story: Story) -> list[Said]:
    if not story.caches:
        return []
    asked = [one for one in story.caches if one.outcome in {"hit", "miss", "bypass"}]
    hits = [one for one in asked if one.outcome == "hit"]
    if not asked:
        return [
            Said(
                "note",
                "caches off",
                [Part("No cache hits: "), Part("caches were off", "caches"), Part(".")],
            )
        ]
    saved = saved_seconds(story)
    said = Said("good" if hits else "note", "caches")
    if hits:
        said.parts = [
            Part(plural(len(hits), "cache hit"), "caches"),
            Part(f" of {plural(len(asked), 'look-up')}"),
        ]
        if saved:
            said.parts.append(Part(f", which saved {seconds(saved)}"))
    else:
        said.parts = [Part("No cache hits", "caches"), Part(f" in {plural(len(asked), 'look-up')}")]
    bypassed = [one for one in asked if one.outcome == "bypass"]
    if bypassed:
        why = next((one.reason for one in bypassed if one.reason), None)
        said.parts.append(Part(f"; {plural(len(bypassed), 'bypass', 'bypasses')}"))
        if why:
            said.parts.append(Part(f" ({why[:100]}{'…' if len(why) > 100 else ''})"))
    said.parts.append(Part("."))
    return [said]


def saved_seconds(story: Story) -> float:
    """AOTAutograd's cache holds the FX graph's: of one compile the larger saving counts."""
    most: dict[int, float] = {}
    for one in story.caches:
        if one.outcome == "hit" and one.saved_ms:
            most[one.compile] = max(most.get(one.compile, 0.0), one.saved_ms)
    return sum(most.values()) / 1000


def _cudagraphs(story: Story) -> list[Said]:
    skips = Counter(one.cudagraph_skip for one in story.compiles if one.cudagraph_skip)
    if not skips:
        return []
    reason, number = skips.most_common(1)[0]
    text = f"CUDA graphs were skipped for {plural(number, 'compile')}: {reason[:200]}."
    return [Said("warn", "no CUDA graph", [Part(text, "graphs")])]


def _export(story: Story) -> list[Said]:
    exported = sum(one.outcome == "exported" for one in story.compiles)
    if not exported:
        return []
    kinds = Counter(one.kind for one in story.symbol_guards)
    said = Said("note", "export", [Part(plural(exported, "exported program"), "export")])
    failed = kinds["real tensors"] + kinds["missing fake kernel"] + kinds["mismatched fake kernel"]
    if failed:
        said.level, said.label = "bad", "export would fail"
        said.parts.append(Part(f" with {plural(failed, 'failure')} that draft export stepped over"))
    if kinds["guard"]:
        said.parts.append(
            Part(f"; {plural(kinds['guard'], 'guard')} on sizes that only data decide")
        )
    said.parts.append(Part("."))
    return [said]


def _ranks(story: Story) -> list[Said]:
    ranks = sorted({log.rank for log in story.logs if log.rank is not None})
    if len(ranks) < 2:
        return []
    ranked = plural(len(ranks), "rank")
    return [Said("note", ranked, [Part(ranked, "ranks"), Part(RANKS)])]


def _name(file: str, line: int) -> str:
    return f"{file.rsplit('/', 1)[-1]}:{line}"
