"""Torch's text about a graph break: place, reason, hints and stack.

    Graph break in user code at /home/user/models/models.py:113
    Graph Break Reason: Encountered graph break when attempting to trace CALL: a function call:

    Failed to trace builtin operator
      Explanation: Dynamo does not know how to trace builtin operator `print` …
      Hint: Avoid calling builtin `print` …
      Developer debug context: builtin print […]
     For more details about this graph break, please visit: https://…/gb0059.html

    User code traceback:
      File "/home/user/models/models.py", line 113, in f
        print("graph break")

Builds before 2.7 write `Reason: Unsupported: …` and no hints. Until 2.4 the stack comes first:

    Graph break: from user code at:
      File "/home/user/models/models.py", line 113, in f
        print("graph break")
    Traceback (most recent call last):
      …
    torch._dynamo.exc.Unsupported: call_function BuiltinVariable(print) [ConstantVariable(str)] {}
"""

import re
from itertools import takewhile

import msgspec

from inductorscope.formats.errors.tracebacks import stack_frames
from inductorscope.formats.log.record import Frame

LONGEST = 100_000
"""Most characters read of one text."""
MOST_FRAMES = 200

_PLACE = re.compile(
    r"^Graph break(?:[^\n]{0,80}?) (?:in user code )?at (.{1,1000}?):(\d{1,9})$", re.M
)
_REASON = re.compile(r"^(?:Graph Break )?Reason: ?", re.M)
_STACK = re.compile(r"^User (?:code traceback|stack trace):$", re.M)
# `Graph break: from user code at:`, until 2.1 with the reason before `from`, on the same line
_OLD = re.compile(r"^Graph break: (?:([^\n]{1,4000}?) )?from user code at:?[ \n]", re.M)
_RAISED = re.compile(r"^(?:torch\._dynamo\.exc\.)?(?:Unsupported|UserError): (.{1,4000})$", re.M)
_TRACEBACK = re.compile(r"^(?:Traceback \(most recent call last\):|NoneType: None)$", re.M)
_LINK = re.compile(r"https?://[^\s)]{1,300}")
_FIELD = re.compile(r"^ {1,4}(Explanation|Hint|Developer debug context): ?(.*)$")


class BreakText(msgspec.Struct):
    """One graph break, as torch describes it."""

    file: str | None = None
    line: int | None = None
    title: str = ""
    """The reason in one line."""
    explanation: str = ""
    hints: list[str] = msgspec.field(default_factory=list)
    context: str = ""
    """The context for torch's developers."""
    link: str | None = None
    stack: list[Frame] = msgspec.field(default_factory=list)
    """Frames of the user's program, innermost last."""
    instruction: str = ""
    """What Dynamo was about to do, such as `CALL: a function call`."""


# Reasons in the form of torch until 2.6: `builtin: print [<class '…'>] False`.
_OLD_REASONS = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (r"builtin: ([\w.]{1,100}) \[", r"builtin `\1`"),
        (r"call_function BuiltinVariable\(([\w.]{1,100})\)", r"builtin `\1`"),
        (r"call_method TensorVariable\([^)]{0,200}\) (\w{1,100})", r"`Tensor.\1`"),
        (r"call_method .{1,200}?\) (\w{1,100}) [\[(]", r"method `\1`"),
        (r"^(Tensor\.\w{1,100})", r"`\1`"),
        (r"call_function \w{1,60}Variable\((?:<[\w -]{1,40} '?)?([\w.]{1,200})", r"function `\1`"),
        (r"inline in skipfiles: (?:[\w.]{1,200}\.)?(\w{1,100})", r"skipped function `\1`"),
        (r"'?skip function (\w{1,100})", r"skipped function `\1`"),
        (r"call torch\._dynamo\.disable\(\) wrapped function <function ([\w.<>]{1,200}) at",
         r"function `\1`, which torch._dynamo.disable marks"),
        (r"generic_jump TensorVariable", "branch that depends on a tensor"),
        (r"(data dependent|dynamic shape) operator: (\S{1,200})", r"\1 operator `\2`"),
    )
)  # fmt: skip
_LONGEST_REASON = 120


def plain_reason(title: str) -> str:
    """Returns a reason without types of arguments and addresses. Reasons from current torch stay
    unchanged."""
    reason = title.removeprefix("torch._dynamo.exc.").removeprefix("Unsupported: ")
    for pattern, words in _OLD_REASONS:
        match = pattern.search(reason[:1000])
        if match is not None:
            return match.expand(words)
    return reason if len(reason) <= _LONGEST_REASON else f"{reason[:_LONGEST_REASON]}…"


def read_graph_break(text: str) -> BreakText:
    """Reads the text of a graph break; missing parts stay empty."""
    text = text[:LONGEST]
    result = BreakText()
    old = _OLD.search(text)
    if old is not None:
        return _read_old(text, old)
    place = _PLACE.search(text)
    if place is not None:
        result.file, result.line = place.group(1), int(place.group(2))
    stack = _STACK.search(text)
    reason = _REASON.search(text)
    start = reason.end() if reason else (place.end() if place else 0)
    ends = [match.start() for match in (stack, _TRACEBACK.search(text)) if match]
    body = text[start : min(ends)] if ends and min(ends) > start else text[start:]
    _reason(body, result)
    if stack is not None:
        result.stack = _frames(text[stack.end() :])
    if result.file is None and result.stack:
        result.file, result.line = result.stack[-1].file, result.stack[-1].line
    return result


def _read_old(text: str, head: re.Match[str]) -> BreakText:
    result = BreakText()
    raised = _RAISED.search(text, head.end())
    result.title = head.group(1) or (raised.group(1).strip() if raised else "")
    result.stack = _frames(text[head.end() :])
    if result.stack:
        result.file, result.line = result.stack[-1].file, result.stack[-1].line
    return result


def _reason(body: str, result: BreakText) -> None:
    link = _LINK.search(body)
    if link is not None:
        result.link = link.group().rstrip(".")
    paragraphs: list[list[str]] = [[], []]
    fields: list[tuple[str, list[str]]] = []
    for line in body.split("\n"):
        named = _FIELD.match(line)
        if named is not None:
            fields.append((named.group(1), [named.group(2).strip()]))
        elif line.lstrip().startswith("For more details"):
            fields.append(("link", []))
        elif line.strip():
            (fields[-1][1] if fields else paragraphs[-1]).append(line.strip())
        elif paragraphs[-1] and not fields:
            paragraphs.append([])
    before, title = paragraphs[-2:]  # the activity; the reason follows
    whole = title or before
    result.title = whole[0] if whole else ""
    if title and before:
        result.instruction = before[0].removeprefix("Encountered graph break when ").rstrip(":")
    texts = [(name, "\n".join(lines)) for name, lines in fields]
    last = dict(texts)
    result.explanation = last.get("Explanation") or "\n".join(whole[1:])
    result.context = last.get("Developer debug context", "")
    result.hints = [text for name, text in texts if name == "Hint"]


def _frames(text: str) -> list[Frame]:
    lines = text.lstrip("\n").split("\n")
    own = takewhile(lambda line: line.strip() and not _TRACEBACK.match(line), lines)
    return stack_frames(own, MOST_FRAMES)
