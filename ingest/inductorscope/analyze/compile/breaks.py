"""Graph breaks by place and reason, with what they split and what helps."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from inductorscope.analyze.compile.advice import advice_for_break
from inductorscope.analyze.compile.model import Frame, GraphBreak, Story
from inductorscope.analyze.compile.settle import resumed

_QUOTED = re.compile(r"`([^`\n]{1,80})`")
_CALLED = re.compile(r"([A-Za-z_][\w.]{0,80})\(")
MOST_EXAMPLES = 50


@dataclass(slots=True)
class BreakPlace:
    """One place where graphs break for one reason."""

    file: str | None
    line: int | None
    function: str
    title: str
    short: str
    """The reason in a word or two: the name of what is not traced, where it is one."""
    explanation: str
    hints: list[str]
    context: str
    link: str | None
    code: str | None
    count: int
    compiles: list[int]
    """Compiles that met it, in order."""
    stack: list[Frame]
    """Of the first."""
    resumed: list[int] = field(default_factory=list)
    """Compiles of what comes after the break."""
    advice: str = ""
    records: list[tuple[int, int]] = field(default_factory=list)
    """Logs and lines."""

    @property
    def name(self) -> str:
        return f"{(self.file or 'an unknown file').rsplit('/', 1)[-1]}:{self.line or '?'}"


def break_places(story: Story) -> list[BreakPlace]:
    """The most frequent first."""
    places: dict[tuple[str | None, int | None, str], BreakPlace] = {}
    for one in story.breaks:
        place = places.get((one.file, one.at, one.title))
        if place is None:
            place = places[one.file, one.at, one.title] = _place(story, one)
        place.count += 1
        if one.compile >= 0 and one.compile not in place.compiles:
            place.compiles.append(one.compile)
        if len(place.records) < MOST_EXAMPLES:
            place.records.append((one.log, one.line))
    _resumptions(story, places.values())
    return sorted(places.values(), key=lambda place: -place.count)


def _place(story: Story, one: GraphBreak) -> BreakPlace:
    stack = [story.frames[number] for number in one.stack]
    function, code = "", None
    if stack:
        function, code = resumed(stack[-1].function)[0], stack[-1].code
    return BreakPlace(
        one.file, one.at, function, one.title, _short(one, code), one.explanation, one.hints,
        one.context, one.link, code, 0, [], stack, advice=advice_for_break(one),
    )  # fmt: skip


def _short(one: GraphBreak, code: str | None) -> str:
    """What the user wrote that breaks: `print`, `item()`; else the reason."""
    for text in (one.explanation.split("\n")[0], *one.hints[:1]):
        if "function" in text or "operator" in text or "method" in text or "builtin" in text:
            quoted = _QUOTED.search(text)
            if quoted is not None:
                return f"`{quoted.group(1)}`"
    if code and "call" in one.title.lower():
        called = _CALLED.findall(code)
        if called:
            return f"`{called[-1]}`"
    title = one.title.split(":")[0].strip() or "a reason the log does not tell"
    return title[:1].lower() + title[1:] if title[:2].istitle() else title


def _resumptions(story: Story, places: Iterable[BreakPlace]) -> None:
    """`torch_dynamo_resume_in_f_at_113` is what comes after a break in line 113 of f."""
    after: dict[tuple[str | None, int | None], list[int]] = {}
    for compile_ in story.compiles:
        _name, line = resumed(compile_.function or "")
        if line is not None:
            after.setdefault((compile_.file, line), []).append(compile_.number)
    for place in places:
        place.resumed = after.get((place.file, place.line), [])
