"""Marks an answer's fields with what their names and types do not say, and fills them in."""

from collections.abc import Iterator
from functools import cache
from typing import Annotated, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec

T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)

HIDDEN, PROSE, UNIT_OF_ROW = "hidden", "prose", "unit of the row"
Hidden = Annotated[T, HIDDEN]
"""For scripts, forms and links; left out of Markdown."""
Prose = Annotated[str, PROSE]
"""Text that Inductorscope writes. Other texts come from the run, and are quoted."""
OfRow = Annotated[T, UNIT_OF_ROW]
"""A figure with the unit in the field `unit` of its struct, or of a struct around it."""
Bytes = Annotated[int, "bytes"]
Percent = Annotated[float, "percent"]
"""From 0 to 1."""
Microseconds = Annotated[float, "us"]
Flops = Annotated[float, "FLOP/s"]
Count = Annotated[T, "count"]
Number = Annotated[float, "number"]
"""A figure without a unit, which may be tiny."""


@cache
def marks_of(struct: type[msgspec.Struct]) -> dict[str, frozenset[str]]:
    """Returns the marks of each field of a struct."""
    hints = get_type_hints(struct, include_extras=True)
    return {name: frozenset(_marks(hints[name])) for name in struct.__struct_fields__}


def _marks(kind: object) -> Iterator[str]:
    if get_origin(kind) is Literal:
        yield PROSE
        return
    yield from (mark for mark in getattr(kind, "__metadata__", ()) if isinstance(mark, str))
    for part in get_args(kind):
        yield from _marks(part)


def view(kind: type[S], /, *records: object, **more: object) -> S:
    """Makes a struct of `more`, and of the fields that records have under the same names; an
    earlier record comes first."""
    for name in kind.__struct_fields__:
        owner = next((record for record in records if hasattr(record, name)), None)
        if name not in more and owner is not None:
            more[name] = getattr(owner, name)
    return kind(**more)
