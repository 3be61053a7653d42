"""The story of a run's compiles in sentences; each part links to its evidence."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from inductorscope.analyze.compile.breaks import BreakPlace, break_places
from inductorscope.analyze.compile.model import Story
from inductorscope.analyze.compile.recompiles import Change, History, alike, histories
from inductorscope.analyze.compile.resumptions import resumed
from inductorscope.analyze.ranks.hang import hang
from inductorscope.formats.errors.temporary import without_temporary
from inductorscope.formats.vocabulary import WORK_BY_ID
from inductorscope.units import percent, plural, seconds, some

Level = Literal["good", "note", "warn", "bad"]
Target = Literal["", "graphs", "breaks", "recompiles", "time", "caches", "failures", "symbols",
                 "ranks", "export", "tuning"]  # fmt: skip
SHOWN = 3
LONGEST = 160
"""Characters shown of a message."""
RANKS = ": the page of ranks shows where they differ."


class Phrase(msgspec.Struct, frozen=True):
    """A few words, and the part of the page with their evidence."""

    text: str
    to: Target = ""
    place: tuple[str, int] | None = None
    """A line of the user's program."""


class Sentence(msgspec.Struct):
    """One sentence."""

    level: Level
    label: str
    parts: list[Phrase] = msgspec.field(default_factory=list)
    advice: str = ""

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts)

    def say(self, text: str, to: Target = "", place: tuple[str, int] | None = None) -> None:
        self.parts.append(Phrase(text, to, place))


def overview(story: Story) -> list[Sentence]:
    """The sentences, the most serious first."""
    if not story.compiles:
        return []
    places, recompiled = break_places(story), histories(story)
    sentences = [
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
    return sorted(sentences, key=lambda sentence: order.index(sentence.level))


def _graphs(story: Story) -> Sentence:
    graphs = graph_count(story)
    own = [done for done in story.compiles if done.outcome != "failed" or not graphs]
    pieces = Counter((done.file, done.function) for done in own if done.function)
    names: Counter[str] = Counter()
    for (_, function), number in pieces.items():
        names[resumed(function)[0]] += number
    functions = {(file, resumed(function)[0]) for file, function in pieces}
    sentence = Sentence("good", "compiled")
    sentence.say(plural(graphs, "graph") if graphs else "No code", "graphs")
    if not graphs:
        sentence.level, sentence.label = "note", "no graph"
    elif any(not failure.restarted for failure in story.failures):
        sentence.level, sentence.label = "note", "compiled in part"
    if names:
        shown = some([f"`{name}`" for name, _ in names.most_common()], SHOWN)
        sentence.say(f" from {plural(len(functions), 'function')} ({shown})")
        if len(pieces) > len(functions):
            sentence.say(f", which graph breaks cut into {plural(len(pieces), 'piece')}")
    empty = sum(compile_.outcome == "no code" for compile_ in story.compiles)
    if empty:
        sentence.say(f"; {plural(empty, 'compile')} ended without a graph")
    unfinished = sum(compile_.outcome == "unfinished" for compile_ in story.compiles)
    if unfinished:
        sentence.level, sentence.label = "note", "unfinished compiles"
        sentence.say(f"; {plural(unfinished, 'compile')} did not finish in the log")
    sentence.say(".")
    return sentence


def graph_count(story: Story) -> int:
    """Returns the number of output codes; a compile that a cache answered before codes were logged
    counts as one."""
    return sum(compile_.codes or (compile_.outcome == "compiled") for compile_ in story.compiles)


def _failures(story: Story) -> list[Sentence]:
    failed = [failure for failure in story.failures if not failure.restarted]
    if not failed:
        return []
    sentence = Sentence(
        "bad", "failed", [Phrase(plural(len(failed), "compile") + " failed", "failures")]
    )
    if ranks := ranks_in_words(story, (failure.compile for failure in failed)):
        sentence.say(f" on {ranks}")
    causes: dict[str, str] = {}
    for failure in failed:
        kind = failure.kind.rsplit(".", 1)[-1]
        message = _telling_line(failure.message)
        cause = f"{kind}: {message}" if message else kind
        causes.setdefault(without_temporary(cause), cause)
    sentence.say(": " + "; ".join(list(causes.values())[:SHOWN]))
    place = next(
        ((failure.file, failure.at) for failure in failed if failure.file and failure.at), None
    )
    if place is not None:
        sentence.say(", at ")
        sentence.say(f"{place[0].rsplit('/', 1)[-1]}:{place[1]}", "failures", place)
    sentence.say(".")
    return [sentence]


def ranks_in_words(story: Story, compiles: Iterable[int]) -> str:
    """Names the ranks of compiles, `ranks 2, 3`; empty if the run does not have several."""
    ranks = sorted({rank for at in compiles if (rank := story.compiles[at].rank) is not None})
    if not ranks or len({log.rank for log in story.logs}) < 2:
        return ""
    more = " and more" if len(ranks) > SHOWN else ""
    return f"rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks[:SHOWN]))}{more}"


def _telling_line(message: str) -> str:
    """Returns the line that says what went wrong: a compiler's first error, Dynamo's reason, else
    the last line with words."""
    if "\n  Explanation: " in message:
        message = message.partition("\n")[0]
    lines = [line.strip() for line in message.split("\n") if any(map(str.isalpha, line))]
    errors = [line.partition(" error: ")[2] for line in lines if " error: " in line]
    telling = (errors[:1] or lines[-1:] or [""])[0]
    return telling if len(telling) <= LONGEST else f"{telling[:LONGEST].rpartition(' ')[0]} …"


def _breaks(story: Story, places: Sequence[BreakPlace]) -> list[Sentence]:
    if not places:
        known = all(log.complete for log in story.logs)
        if not known or all(compile_.id is None for compile_ in story.compiles):
            return []
        if any(compile_.outcome == "failed" for compile_ in story.compiles):
            return []  # others may occur once it compiles
        return [Sentence("good", "no graph breaks", [Phrase("Dynamo traced each function whole.")])]
    total = sum(place.count for place in places)
    sentence = Sentence(
        "warn", plural(total, "graph break"), [Phrase(plural(total, "graph break"), "breaks")]
    )
    sentence.say(f" at {plural(len(places), 'place')}: ")
    for number, place in enumerate(places[:SHOWN]):
        if number:
            sentence.say(", ")
        sentence.say(f"{place.short} at ")
        at = (place.file, place.line) if place.file and place.line else None
        sentence.say(place.name, "breaks", at)
    if len(places) > SHOWN:
        sentence.say(f" and {len(places) - SHOWN:,} more")
    sentence.say(".")
    sentence.advice = next((place.advice for place in places if place.advice), "")
    return [sentence]


def _recompiles(recompiled: Sequence[History]) -> list[Sentence]:
    total = sum(history.recompiles for history in recompiled)
    if not total:
        return []
    sentence = Sentence(
        "warn",
        plural(total, "recompile"),
        [Phrase("Recompiled "), Phrase(_times(total), "recompiles")],
    )
    groups: dict[str, list[str]] = {}
    for history in recompiled:
        reason = "; ".join(map(change_in_words, alike(history.changes)))
        reason = reason or "for reasons not in the log"
        name = f"`{history.function}`" + (
            f" after line {history.resumed_at}" if history.resumed_at else ""
        )
        groups.setdefault(reason, []).append(name)
    clauses = []
    for reason, names in list(groups.items())[:SHOWN]:
        several = f"{', '.join(names[:2])}{' and more' if len(names) > 2 else ''}"
        why = reason if reason.startswith("for ") else f"because {reason}"
        clauses.append(f"{several} {why}")
    sentence.say(f": {'; '.join(clauses)}")
    if len(groups) > SHOWN:
        sentence.say(f"; and {len(groups) - SHOWN:,} more reasons")
    sentence.say(".")
    sentence.advice = next(
        (change.advice for history in recompiled for change in history.changes if change.advice), ""
    )
    if any(history.reached_limit for history in recompiled):
        sentence.level = "bad"
        sentence.say(
            " One was compiled 8 times or more. At torch._dynamo.config.recompile_limit (8 unless"
            " changed) Dynamo gives up and runs it uncompiled."
        )
    return [sentence]


def change_in_words(change: Change) -> str:
    """`x.size(0)` changed 4 → 9 → 17, then became dynamic."""
    subject = change.named
    if not subject:
        return f"a guard failed: {change.text[:120]}"
    if change.kind == "size 1":
        return f"{subject} became {change.values[-1] if change.values else '1 or 0'}"
    values = change.values
    if len(values) > 6:
        values = [*values[:4], "…", values[-1]]
    text = f"{subject} changed {' → '.join(values)}" if len(values) > 1 else (
        f"{subject} was no longer {values[0]}" if values else f"{subject} changed"
    )  # fmt: skip
    return text + (", then became dynamic" if change.became_dynamic else "")


def _times(number: int) -> str:
    return "once" if number == 1 else "twice" if number == 2 else f"{number:,} times"


def recompile_count(story: Story) -> int:
    return sum(compile_.recompile for compile_ in story.compiles)


def compile_seconds(story: Story) -> float | None:
    """Returns the compile time of the slowest process: they compile side by side."""
    return max((log.seconds for log in story.logs if log.seconds is not None), default=None)


def work(story: Story) -> dict[str, float]:
    """Microseconds by kind of work, summed over all compiles, the largest first."""
    sums: Counter[str] = Counter()
    for compile_ in story.compiles:
        sums.update(compile_.phases)
    return dict(sums.most_common())


def _time(story: Story) -> list[Sentence]:
    total = compile_seconds(story)
    if total is None:
        return []
    sentence = Sentence("note", "compile time", [Phrase(seconds(total), "time")])
    if len(story.logs) > 1:
        sentence.say(f" in the slowest of {len(story.logs)} processes")
    kinds = work(story)
    busy = sum(kinds.values())
    if busy:
        kind, most = next(iter(kinds.items()))
        sentence.say(f", {percent(most / busy)} of the work in {WORK_BY_ID[kind].title}")
    slowest = max(story.compiles, key=lambda compile_: compile_.took_s)
    if len(story.compiles) > 1 and slowest.seconds:
        who = f"the longest compile, {slowest.id or 'without an id'}"
        sentence.say(f"; {who}, took {seconds(slowest.took_s)}")
    sentence.say(".")
    return [sentence]


def _caches(story: Story) -> list[Sentence]:
    if not story.caches:
        return []
    asked = [event for event in story.caches if event.outcome in {"hit", "miss", "bypass"}]
    hits = [event for event in asked if event.outcome == "hit"]
    if not asked:
        sentence = Sentence("note", "caches off", [Phrase("Caches were off", "caches")])
        sentence.say(", so each compile did all of its work.")
        return [sentence]
    saved = saved_seconds(story)
    sentence = Sentence("good" if hits else "note", "caches")
    if hits:
        sentence.say(plural(len(hits), "cache hit"), "caches")
        sentence.say(f" of {plural(len(asked), 'look-up')}")
        if saved:
            sentence.say(f", which saved {seconds(saved)}")
    else:
        sentence.say("No cache hits", "caches")
        sentence.say(f" in {plural(len(asked), 'look-up')}")
    bypassed = [event for event in asked if event.outcome == "bypass"]
    if bypassed:
        why = next((event.reason for event in bypassed if event.reason), None)
        sentence.say(f"; {plural(len(bypassed), 'bypass', 'bypasses')}")
        if why:
            sentence.say(f" ({why[:100]}{'…' if len(why) > 100 else ''})")
    sentence.say(".")
    return [sentence]


def saved_seconds(story: Story) -> float:
    """Seconds saved; AOTAutograd's cache contains the FX graph's, so only the larger saving of a
    compile counts."""
    most: dict[int, float] = {}
    for event in story.caches:
        if event.outcome == "hit" and event.saved_ms:
            most[event.compile] = max(most.get(event.compile, 0.0), event.saved_ms)
    return sum(most.values()) / 1000


def _cudagraphs(story: Story) -> list[Sentence]:
    skips = Counter(
        compile_.cudagraph_skip for compile_ in story.compiles if compile_.cudagraph_skip
    )
    if not skips:
        return []
    reason, number = skips.most_common(1)[0]
    text = f"CUDA graphs were skipped for {plural(number, 'compile')}: {reason[:200]}."
    return [Sentence("warn", "no CUDA graph", [Phrase(text, "graphs")])]


def _export(story: Story) -> list[Sentence]:
    exported = sum(compile_.outcome == "exported" for compile_ in story.compiles)
    if not exported:
        return []
    kinds = Counter(guard.kind for guard in story.symbol_guards)
    sentence = Sentence("note", "export", [Phrase(plural(exported, "exported program"), "export")])
    failed = kinds["real tensors"] + kinds["missing fake kernel"] + kinds["mismatched fake kernel"]
    if failed:
        sentence.level, sentence.label = "bad", "export would fail"
        sentence.say(f" with {plural(failed, 'failure')} that draft export skipped")
    if kinds["guard"]:
        sentence.say(f"; {plural(kinds['guard'], 'guard')} on data-dependent sizes")
    sentence.say(".")
    return [sentence]


def _ranks(story: Story) -> list[Sentence]:
    ranks = sorted({log.rank for log in story.logs if log.rank is not None})
    if len(ranks) < 2:
        return []
    ranked = plural(len(ranks), "rank")
    if different := hang(story):
        return [Sentence("bad", "ranks hang", [Phrase(different, "ranks")])]
    return [Sentence("note", ranked, [Phrase(ranked, "ranks"), Phrase(RANKS)])]
