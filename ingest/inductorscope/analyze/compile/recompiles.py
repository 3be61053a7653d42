"""How often each function was compiled, and what changed between compiles."""

import re

import msgspec
from msgspec.structs import replace

from inductorscope.analyze.compile.model import BecameDynamic, Compile, Story
from inductorscope.analyze.compile.remedies import REMEDIES, kind_of, remedy_for
from inductorscope.analyze.compile.resumptions import resumed
from inductorscope.analyze.totals import known_sum
from inductorscope.formats.log.guard_failures import GuardFailure, in_words
from inductorscope.units import some

USUAL_LIMIT = 8
"""Default of torch._dynamo.config.recompile_limit."""
_OF_ATTRIBUTE = re.compile(r"[^.]+\.[^.]+\..*size\(")
"""A size of a parameter, for instance: torch keeps these constant."""


class NeededCompile(msgspec.Struct):
    """One compile of a function, and why it was needed."""

    compile: Compile
    failures: list[GuardFailure]
    became: list[BecameDynamic]
    record: tuple[int, int] | None
    """Log and line of the record with the reasons."""


class Change(msgspec.Struct):
    """What changed between calls, in the order of the compiles."""

    subject: str
    kind: str
    values: list[str]
    became_dynamic: bool
    advice: str
    text: str = ""
    """The guard in torch's words, if it has no subject."""
    source: str = ""
    """The subject as the guards name it."""
    also: list["Change"] = msgspec.field(default_factory=list)
    """Others like it, such as the sizes of the other layers' caches."""

    @property
    def named(self) -> str:
        """The subjects in a sentence: names in backticks, or words."""
        if self.kind == "stack" or not self.subject:
            return self.subject
        return some([f"`{change.subject}`" for change in (self, *self.also)], 2)

    @property
    def sources(self) -> list[str]:
        return [change.source for change in (self, *self.also)]


class History(msgspec.Struct):
    """A function, or the rest of one after a graph break."""

    function: str
    """Name in the user's program."""
    resumed_at: int | None
    """Line after which it resumes, if it is the rest of a function."""
    file: str | None
    line: int | None
    frame: str
    """Number that Dynamo gave to the frame."""
    log: int
    rank: int | None
    steps: list[NeededCompile] = msgspec.field(default_factory=list)
    changes: list[Change] = msgspec.field(default_factory=list)
    reached_limit: bool = False

    @property
    def recompiles(self) -> int:
        return sum(step.compile.recompile for step in self.steps)

    @property
    def seconds(self) -> float | None:
        return known_sum(step.compile.seconds for step in self.steps)


def histories(story: Story, *, only_recompiled: bool = True) -> list[History]:
    """The most recompiled function first."""
    reasons = {recompile.compile: recompile for recompile in story.recompiles}
    by_function: dict[tuple[int, str, str | None, int | None], History] = {}
    for compile_ in story.compiles:
        if compile_.id is None:
            continue
        frame = compile_.id.rpartition("/")[0]
        name, at = resumed(compile_.function or "(unknown)")
        key = (compile_.log, frame, compile_.function, compile_.first_line)
        history = by_function.get(key)
        if history is None:
            history = by_function[key] = History(
                name, at, compile_.file, compile_.first_line, frame, log=compile_.log,
                rank=compile_.rank,
            )  # fmt: skip
        reason = reasons.get(compile_.number)
        history.steps.append(
            NeededCompile(
                compile_,
                list(reason.failures) if reason is not None else [],
                list(story.became.get(compile_.number, ())),
                (reason.log, reason.line) if reason is not None else None,
            )
        )
    facts = [
        history for history in by_function.values() if history.recompiles or not only_recompiled
    ]
    for history in facts:
        history.changes = changes_of(history)
        history.reached_limit = len(history.steps) >= USUAL_LIMIT
    return sorted(facts, key=lambda history: -history.recompiles)


def changes_of(history: History) -> list[Change]:
    """Compares with the previous compile: older ones mostly failed for the same reason."""
    changes: dict[tuple[str, str], Change] = {}
    for step in history.steps:
        for failed in step.failures[:1]:
            if failed.new is None:  # the guard of an older compile may tell it
                told = (guard.new for guard in step.failures if guard.subject == failed.subject)
                failed = replace(failed, new=next(filter(None, told), None))
            change = _change(changes, failed, history)
            change.became_dynamic = False  # or not to the end: the code may use its value
            _extend(change.values, failed.old, failed.new)
        for became in step.became:
            kind = next(
                (kind for kind in ("size", "stride") if f".{kind}(" in became.subject), "value"
            )
            failed = GuardFailure(None, "", became.subject, kind, became.old)
            change = _change(changes, failed, history)
            if not change.values:
                _extend(change.values, became.old, became.new)
            change.became_dynamic = True
    tried = any(step.became for step in history.steps)
    for change in changes.values():
        if len(change.values) > 2 and not change.became_dynamic and _may_be_dynamic(change):
            change.kind = "fixed size" if tried or _OF_ATTRIBUTE.match(change.source) else "static"
            change.advice = REMEDIES[change.kind]
    return list(changes.values())


def alike(changes: list[Change]) -> list[Change]:
    """Joins changes of one kind that have the same values."""
    groups: dict[tuple[object, ...], Change] = {}
    for change in changes:
        dimension = change.subject.rpartition("(")[2] if ".size(" in change.subject else ""
        subject = "" if change.subject else change.text
        key = (change.kind, subject, dimension, change.became_dynamic, *change.values)
        first = groups.setdefault(key, replace(change))
        if change.subject != first.subject:
            first.also = [*first.also, change]
    return list(groups.values())


def _may_be_dynamic(change: Change) -> bool:
    """Whether torch makes it dynamic at its second value, unless told otherwise."""
    numbers = all(re.fullmatch(r"-?\d+", value) for value in change.values)
    return change.kind == "size" or (change.kind == "number" and numbers)


def _change(
    changes: dict[tuple[str, str], Change], failed: GuardFailure, history: History
) -> Change:
    kind = kind_of(failed, history.file or "")
    words = in_words(failed.subject)
    if kind == "stack" and history.resumed_at is not None:
        words = f"the result of line {history.resumed_at}"
    return changes.setdefault(
        (failed.subject or failed.text, kind),
        Change(
            subject=words,
            kind=kind,
            values=[],
            became_dynamic=False,
            advice=remedy_for(failed, history.file or ""),
            text=in_words(failed.text),
            source=failed.subject,
        ),
    )


def _extend(values: list[str], old: str | None, new: str | None) -> None:
    for value in (old, new):
        if value not in (None, "AutoDynamic.token") and (not values or values[-1] != value):
            values.append(value)
