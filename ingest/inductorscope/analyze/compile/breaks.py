"""Graph breaks by place and reason, with the compiles they cause and advice."""

import re
from collections.abc import Iterable

import msgspec

from inductorscope.analyze.compile.advice import advice_for_break
from inductorscope.analyze.compile.model import Frame, GraphBreak, Story
from inductorscope.analyze.compile.resumptions import resumed
from inductorscope.fields import view
from inductorscope.formats.log.graph_breaks import plain_reason

_QUOTED = re.compile(r"`([^`\n]{1,80})`")
_CALLED = re.compile(r"([A-Za-z_][\w.]{0,80})\(")
MOST_EXAMPLES = 50
UNKNOWN = "a reason that is not in the log"


class Break(msgspec.Struct, kw_only=True):
    """What is said of a place where graphs break for one reason."""

    file: str | None
    line: int | None
    function: str
    title: str
    short: str
    """The reason in a word or two: if possible, the name of the thing that cannot be traced."""
    explanation: str
    hints: list[str]
    context: str
    link: str | None
    count: int


class BreakPlace(Break, kw_only=True):
    """One place where graphs break for one reason."""

    code: str | None
    compiles: list[int]
    """Compiles with this break, in order."""
    stack: list[Frame]
    """Stack of the first break."""
    resumed: list[int] = msgspec.field(default_factory=list)
    """Compiles of the code after the break."""
    advice: str = ""
    records: list[tuple[int, int]] = msgspec.field(default_factory=list)
    """Logs and lines of the records."""
    skipped: int | None = None
    """The compile whose function Dynamo runs uncompiled from there on; -1 if it is unknown."""

    @property
    def skips(self) -> bool:
        """Whether Dynamo runs the rest of the function uncompiled."""
        return self.skipped is not None

    @property
    def name(self) -> str:
        if not self.file:
            return f"an unknown line of `{self.function}`" if self.function else "an unknown line"
        end = self.file.rsplit("/", 1)[-1]
        return f"{end}:{self.line}" if self.line else f"an unknown line of {end}"


def break_places(story: Story) -> list[BreakPlace]:
    """The most frequent break first."""
    places: dict[tuple[str | None, int | None, str], BreakPlace] = {}
    for graph_break in story.breaks:
        key = graph_break.file, graph_break.at, plain_reason(graph_break.title)
        place = places.get(key)
        if place is None:
            place = places[key] = _place(story, graph_break)
        place.count += 1
        if place.skipped is None and _skips(graph_break):
            place.skipped = graph_break.compile
        if graph_break.compile >= 0 and graph_break.compile not in place.compiles:
            place.compiles.append(graph_break.compile)
        if len(place.records) < MOST_EXAMPLES:
            place.records.append((graph_break.log, graph_break.line))
    _resumptions(story, places.values())
    return sorted(places.values(), key=lambda place: -place.count)


def _skips(graph_break: GraphBreak) -> bool:
    in_loop = "for/while loop" in graph_break.explanation
    return in_loop or graph_break.context.startswith("frame skipped")


def _place(story: Story, graph_break: GraphBreak) -> BreakPlace:
    stack = [story.frames[number] for number in graph_break.stack]
    function, code = "", None
    title = plain_reason(graph_break.title) or UNKNOWN
    if not stack and graph_break.compile >= 0:
        function = resumed(story.compiles[graph_break.compile].function or "")[0]
    if stack:
        function, code = resumed(stack[-1].function)[0], stack[-1].code
    return view(
        BreakPlace,
        graph_break,
        line=graph_break.at,
        function=function,
        title=title,
        short=_short(graph_break, title, code),
        context=graph_break.context or ("" if title == graph_break.title else graph_break.title),
        code=code,
        count=0,
        compiles=[],
        stack=stack,
        advice=advice_for_break(graph_break, code),
    )


def _short(graph_break: GraphBreak, title: str, code: str | None) -> str:
    """Returns the user's code that breaks: `print`, `item()`; otherwise the reason."""
    if title != graph_break.title and (quoted := _QUOTED.search(title)):
        return f"`{quoted.group(1)}`"
    for text in (graph_break.explanation.split("\n")[0], *graph_break.hints[:1]):
        if "function" in text or "operator" in text or "method" in text or "builtin" in text:
            quoted = _QUOTED.search(text)
            if quoted is not None and not quoted.group(1).startswith("torch._dynamo.config"):
                return f"`{quoted.group(1)}`"
    if code and re.search("call|method", graph_break.title, re.I):
        called = _CALLED.findall(code)
        # torch.mm(x, y.t()): the context has <built-in method mm of type object>.
        named = re.findall(r"\w+", graph_break.context)
        told = [name for name in called if name.rpartition(".")[2] in named]
        if called:
            return f"`{(told or called)[-1]}`"
    title = title.split(":")[0].strip()
    return title[:1].lower() + title[1:] if title[:2].istitle() else title


def _resumptions(story: Story, places: Iterable[BreakPlace]) -> None:
    """Assigns compiles to breaks: `torch_dynamo_resume_in_f_at_113` is the code after a break in
    line 113 of f."""
    after: dict[tuple[str | None, int | None], list[int]] = {}
    for compile_ in story.compiles:
        _name, line = resumed(compile_.function or "")
        if line is not None:
            after.setdefault((compile_.file, line), []).append(compile_.number)
    known = {(place.file, place.line) for place in places}
    for place in places:
        place.resumed = after.get((place.file, place.line), [])
        broken = {_function(story, number) for number in place.compiles}
        if not place.resumed:  # it broke in what the function calls, in a line of its own
            place.resumed = [
                number
                for at, numbers in after.items()
                if at not in known
                for number in numbers
                if _function(story, number) in broken
            ]


def _function(story: Story, compile_: int) -> tuple[str | None, str]:
    compiled = story.compiles[compile_]
    return compiled.file, resumed(compiled.function or "")[0]


def cut_lines(story: Story, place: BreakPlace) -> list[tuple[str | None, int | None]]:
    """Returns the lines in which compiled functions break: that of the break, and those of calls
    that lead to it, which run uncompiled."""
    after = [story.compiles[number] for number in place.resumed]
    lines = [(compiled.file, resumed(compiled.function or "")[1]) for compiled in after]
    return list(dict.fromkeys([(place.file, place.line), *lines]))
