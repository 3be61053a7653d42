"""Errors of Inductor's lowering: which operator, with which arguments, from which line.

    LoweringException: AssertionError:
      target: aten._foobar.default
      args[0]: TensorBox(StorageBox(
        Pointwise(
          origin_node=add,
          origins=OrderedSet([add]),
    Found from :
       File "/home/user/models/models.py", line 16, in forward
        a = torch.ops.aten._foobar(z)

`missing lowering` and `missing decomposition` are followed by the same list.
"""

import re

import msgspec

from inductorscope.formats.errors.tracebacks import quoted_frames
from inductorscope.formats.log.record import Frame

LONGEST = 1_000_000
MOST_ARGUMENTS = 200

_WHY = re.compile(r"LoweringException: ([\w.]{1,200})(?:: ?(.*))?$")
_MISSING = re.compile(r"\b(missing lowering|missing decomposition)\b")
_TARGET = re.compile(r"^target: (\S.{0,400})$")
_ARGUMENT = re.compile(r"^\s*(args\[\d{1,5}\]|kwargs): (.*)$")
_ORIGIN = re.compile(r"^\s*origin_node=([A-Za-z_]\w*)")


class LoweringArgument(msgspec.Struct):
    """One argument, as Inductor had it at the failure."""

    name: str
    text: str
    """Its first line."""
    origin: str = ""
    """The FX node that produced it."""


class LoweringError(msgspec.Struct):
    target: str
    """`aten._foobar.default`."""
    kind: str = ""
    """`missing lowering`, `missing decomposition`, or the type of the exception."""
    message: str = ""
    arguments: list[LoweringArgument] = msgspec.field(default_factory=list)
    user: list[Frame] = msgspec.field(default_factory=list)
    """Frames of the user's program, innermost last."""

    @property
    def operator(self) -> str:
        """`_foobar` of `aten._foobar.default`."""
        parts = self.target.removeprefix("torch.ops.").split(".")
        return parts[1] if len(parts) > 1 else parts[0]


def read_lowering_error(text: str) -> LoweringError | None:
    """The first lowering error in the text, or None."""
    kind = message = ""
    error: LoweringError | None = None
    facts = False
    for line in text[:LONGEST].split("\n"):
        why = _WHY.search(line)
        missing = _MISSING.search(line)
        if (why is not None or missing is not None) and error is None:
            facts = True
            if missing is not None:
                kind = missing.group(1)
            elif why is not None:
                kind, message = why.group(1), (why.group(2) or "").strip()
            continue
        target = _TARGET.match(line.strip()) if facts else None
        if target is not None:
            if error is not None:
                break  # torch prints the list twice
            error = LoweringError(target.group(1), kind, message)
            continue
        if error is not None:
            _argument(error, line)
    if error is not None:
        error.user = quoted_frames(text)
    return error


def _argument(error: LoweringError, line: str) -> None:
    argument = _ARGUMENT.match(line)
    if argument is not None and len(error.arguments) < MOST_ARGUMENTS:
        error.arguments.append(LoweringArgument(argument.group(1), argument.group(2)[:300]))
    elif error.arguments and (origin := _ORIGIN.match(line)):
        error.arguments[-1].origin = error.arguments[-1].origin or origin.group(1)
