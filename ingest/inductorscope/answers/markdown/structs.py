"""Renders any answer as Markdown: figures as a list, rows as tables, texts as quotes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from inductorscope import urls
from inductorscope.analyze.verdicts import Verdict
from inductorscope.answers.compile.parts import CompileRef, FrameRow
from inductorscope.answers.compile.rows import SentenceRow
from inductorscope.answers.explorer.graph import SourceLine
from inductorscope.answers.parts import GraphName, RunName
from inductorscope.fields import HIDDEN, PROSE, UNIT_OF_ROW, marks_of
from inductorscope.formats.log.record import Frame
from inductorscope.markdown.figures import NAMED, label, with_unit
from inductorscope.markdown.text import block, code, link, prose, table
from inductorscope.units import DASH

Value = Any
"""A struct of an answer, or a value in one."""
LONGEST = 240
"""Most characters of a text within a line; longer texts become blocks."""
CELL = 120
"""Most characters of a text in a table; longer texts are cut."""
MOST_IN_LINE = 12
SMALL = 2
"""Most fields of a struct that shares a table cell with others."""
FEW_ROWS = 3
"""In tables of at least this many rows, a column with a single value is written once, above the
table."""
ANSWERS = frozenset(("yes", "no", DASH))
"""Values that do not make columns repetitions of each other, because they are equal by chance."""
DEEPEST = 12
"""Most spaces before the items of the innermost list."""
NAMES = (CompileRef, Frame, FrameRow, GraphName, RunName, SentenceRow, SourceLine, Verdict)
"""Structs that are written within a line."""
FAILED = "failed"
"""Label of the verdict that shows a failure's message."""
LINKED = ("name", "kernel", "slug", "title", "path", "line", "id")
"""Columns that can link to the page about the row; the first one in a table does."""


class Field(NamedTuple):
    """A field of a struct, or a key of a mapping in one."""

    name: str
    marks: frozenset[str] = frozenset()
    longest: int = LONGEST

    def unit(self, of_row: str) -> str:
        """Returns the unit that the field's mark gives; empty if its name says it. `of_row`: the
        unit of its row."""
        named = of_row if UNIT_OF_ROW in self.marks else ""
        return next((mark for mark in self.marks if mark in NAMED), named)


def struct_lines(page: Value, base: str = "") -> Iterator[str]:
    """Renders the answer of a page. `base`: the server's address, for links."""
    yield from _struct(page, links_of(page, base), "##", "")


def links_of(page: Value, base: str) -> Links:
    owner = getattr(page, "run", None)
    return Links(base, owner.id if isinstance(owner, RunName) else getattr(page, "id", ""))


class Links:
    """Returns the addresses of the objects that rows name."""

    def __init__(self, base: str, run: str) -> None:
        self._base = base
        self._run = run

    def of(self, row: Value) -> str:
        """Returns the address of the page about a row; empty if there is none."""
        owner = getattr(row, "run", None)
        run = owner.id if isinstance(owner, RunName) else self._run
        name = getattr(row, "kernel", None) or getattr(row, "name", None)
        graph, handle = getattr(row, "graph", None), getattr(row, "handle", None)
        slug = getattr(row, "slug", None)
        for field in ("url", "href", "evidence"):
            if getattr(row, field, None):
                return self.to(getattr(row, field))
        if isinstance(getattr(row, "verdict", None), Verdict):
            return self.to(urls.run(row.id))
        if run and graph and isinstance(graph, str) and name and handle is not None:
            return self.to(urls.kernel(run, graph, name, handle))
        return self.to(urls.graph(run, slug)) if run and slug else ""

    def to(self, address: str) -> str:
        return f"{self._base}{address}" if self._base and address.startswith("/") else ""


def _struct(struct: Value, links: Links, marks: str, unit: str) -> Iterator[str]:
    """Renders the figures of a struct as a list, then a section for each of its lists and parts.
    `unit`: the unit of its values, if it or its parent gives one."""
    unit = getattr(struct, "unit", None) or unit
    known = _known(struct)
    names = _labels(field.name for field, _ in known)
    for field, value in known:
        if _fits_in_line(value):
            yield f"- **{names[field.name]}**: {_inline(field, value, unit)}"
    yield ""
    for field, value in known:
        lines = [] if _fits_in_line(value) else list(_section(field, value, links, marks, unit))
        if any(lines):
            yield from (f"{marks} {names[field.name].capitalize()}", "", *lines, "")


def _labels(names: Iterable[str]) -> dict[str, str]:
    """Returns the labels of fields. Fields that would get the same label, such as `small` and
    `small_us`, keep different ones."""
    labels: dict[str, str] = {}
    for name in names:
        other = f"{label(name)} time" if name.endswith("_us") else name
        labels[name] = other if label(name) in labels.values() else label(name)
    return labels


def _section(field: Field, value: Value, links: Links, marks: str, unit: str) -> Iterator[str]:
    if isinstance(value, str):
        yield block(value)
    elif isinstance(value, msgspec.Struct):
        yield from _struct(value, links, f"{marks}#", unit)
    elif isinstance(value, Mapping):
        yield from (f"- {pair}" for pair in _pairs(field, value, ": "))
    elif all(
        isinstance(item, msgspec.Struct) and not isinstance(item, SentenceRow) for item in value
    ):
        yield from rows(value, links, unit)
    else:
        yield from (f"- {_inline(field, item, unit)}" for item in value)


def _pairs(field: Field, values: Mapping[Any, Value], between: str = " ") -> Iterator[str]:
    for key, value in values.items():
        yield f"{code(key)}{between}{_inline(field._replace(name=str(key)), value)}"


def rows(
    values: Sequence[Value], links: Links, unit: str = "", only: Sequence[str] = ()
) -> Iterator[str]:
    """Renders rows of one kind: as code, as a table, or as a list if they contain rows themselves.
    `only`: the columns of a table."""
    if not values:
        return
    columns = [field for field, _ in fields_of(values[0]) if not only or field.name in only]
    names = {field.name for field in columns}
    if _is_code(values):
        lines = (f"{line.number:>5} {'>' if line.marked else ' '} {line.text}" for line in values)
        yield block("\n".join(lines))
    elif {"changed", "before"} <= names:
        signs = {"gone": "-", "new": "+"}
        yield block("\n".join(signs.get(value.kind, " ") + value.text for value in values), "diff")
    elif only or all(_is_flat(value) for row in values for _, value in fields_of(row)):
        yield from _table(values, columns, links, unit, chosen=bool(only))
    else:
        for value in values:
            yield from _item(value, "", unit)


def _table(
    values: Sequence[Value], fields: Sequence[Field], links: Links, unit: str, *, chosen: bool
) -> Iterator[str]:
    """Renders a table. Leaves out columns that repeat another unless they are chosen; a value that
    all rows share is written above."""
    columns = {
        name: tuple(
            _inline(field._replace(longest=CELL), part, getattr(value, "unit", None) or unit)
            for value, part in zip(values, parts, strict=True)
        )
        for name, field, parts in _columns(values, fields)
        if not all(map(_is_empty, parts))
    }
    once = {column: name for name, column in reversed(columns.items())}
    own = [
        name
        for name, column in columns.items()
        if chosen or once[column] == name or ANSWERS.issuperset(column)
    ]
    alike = [name for name in own if len(values) >= FEW_ROWS and len(set(columns[name])) == 1]
    shown = [name for name in own if name not in alike[: len(own) - 1]]
    labels = _labels(own)
    if len(shown) < len(own):
        same = (f"{labels[name]} {columns[name][0]}" for name in own if name not in shown)
        yield f"All rows: {', '.join(same)}."
        yield ""
    linked = next((name for name in LINKED if name in shown), "")
    cells = [columns[name] for name in shown]
    if linked:
        at = shown.index(linked)
        cells[at] = tuple(map(link, cells[at], map(links.of, values)))
    yield from table((labels[name] for name in shown), zip(*cells, strict=True))


def _columns(
    values: Sequence[Value], fields: Sequence[Field]
) -> Iterator[tuple[str, Field, list[Value]]]:
    """Returns name, field and values of each column; a struct in rows becomes a column for each of
    its fields."""
    taken = {field.name for field in fields}
    for field in fields:
        parts = [getattr(value, field.name) for value in values]
        kinds = {type(part) for part in parts if part is not None}
        kind: type = kinds.pop() if len(kinds) == 1 else object
        if not issubclass(kind, msgspec.Struct) or issubclass(kind, NAMES) or hasattr(kind, "unit"):
            yield field.name, field, parts
            continue
        for name, marks in marks_of(kind).items():
            if HIDDEN not in marks:
                inner = [None if part is None else getattr(part, name) for part in parts]
                yield f"{field.name}_{name}" if name in taken else name, Field(name, marks), inner
                taken.add(name)


def _item(row: Value, indent: str, unit: str) -> Iterator[str]:
    """Renders a row as an item of a list, with its own rows below it."""
    unit = getattr(row, "unit", None) or unit
    known = _known(row)
    short = [part for part in known if _is_flat(part[1]) and not _is_long(part[1])]
    texts = (f"{label(field.name)} {_inline(field, value, unit)}" for field, value in short)
    yield f"{indent}- {'; '.join(texts)}"
    below = f"{indent}  "
    if len(below) > DEEPEST:
        return
    for field, value in known:
        if _is_long(value):
            yield from _indented([f"{label(field.name)}:", "", block(value), ""], below)
        elif not _is_flat(value):
            yield f"{below}- {label(field.name)}:"
            listed = [value] if isinstance(value, msgspec.Struct) else list(value)
            if _is_code(listed):
                yield from _indented(["", *rows(listed, Links("", "")), ""], f"{below}  ")
                continue
            for item in listed:
                if isinstance(item, msgspec.Struct):
                    yield from _item(item, f"{below}  ", unit)
                else:
                    yield f"{below}  - {_inline(field, item, unit)}"


def _indented(lines: Iterable[str], indent: str) -> Iterator[str]:
    yield from (f"{indent}{line}" for text in lines for line in text.split("\n"))


# --- what kind a value is ---


def fields_of(struct: Value) -> list[tuple[Field, Value]]:
    return [
        (Field(name, marks), getattr(struct, name))
        for name, marks in marks_of(type(struct)).items()  # type: ignore[arg-type]  # mypy: types are hashable
        if HIDDEN not in marks
    ]


def _known(struct: Value) -> list[tuple[Field, Value]]:
    """Returns the fields with a value, without counts of zero omitted rows."""
    return [
        (field, value)
        for field, value in fields_of(struct)
        if not _is_empty(value) and not (value == 0 and field.name.startswith(("more", "left_out")))
    ]


def _is_empty(value: Value) -> bool:
    return value is None or value is False or (isinstance(value, Sequence | Mapping) and not value)


def _is_long(value: Value) -> bool:
    return isinstance(value, str) and ("\n" in value.strip() or len(value) > LONGEST)


def _is_code(values: Sequence[Value]) -> bool:
    """Whether these are lines of code, some of them marked."""
    return hasattr(values[0], "marked") and hasattr(values[0], "text")


def _fits_in_line(value: Value) -> bool:
    if isinstance(value, list | tuple):
        plain = all(isinstance(item, str | int | float) and not _is_long(item) for item in value)
        return plain and len(value) <= MOST_IN_LINE and sum(map(len, map(str, value))) <= LONGEST
    return not isinstance(value, Mapping) and not _is_long(value) and (
        not isinstance(value, msgspec.Struct) or isinstance(value, NAMES)
    )  # fmt: skip


def _is_flat(value: Value) -> bool:
    """Whether the value fits in a table cell, where long texts are cut."""
    if isinstance(value, Mapping):
        return all(map(_is_flat, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_is_small, value))
    if isinstance(value, str):
        return value.count("\n") < FEW_ROWS
    return not isinstance(value, msgspec.Struct) or all(
        _is_flat(part) for _, part in fields_of(value)
    )


def _is_small(value: Value) -> bool:
    """Whether several such values fit in a table cell."""
    if not isinstance(value, msgspec.Struct) or isinstance(value, NAMES):
        return True
    known = fields_of(value)
    return len(known) <= SMALL and not any(isinstance(part, msgspec.Struct) for _, part in known)


# --- a value within a line ---


def _inline(field: Field, value: Value, unit: str = "") -> str:
    if value is None or value == "":
        return DASH
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return with_unit(field.name, value, field.unit(unit))
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M} UTC"
    if isinstance(value, str):
        cut = value[: field.longest] + "…" * (len(value) > field.longest)
        return prose(value) if PROSE in field.marks else code(cut)
    if isinstance(value, Mapping):
        return "; ".join(_pairs(field, value)) or DASH
    if isinstance(value, list | tuple):
        return ", ".join(_inline(field, item, unit) for item in value) or DASH
    return named(value, unit)


def named(struct: Value, unit: str = "") -> str:
    """Renders a struct within a line."""
    match struct:
        case RunName():
            return f"{code(struct.name)} ({code(struct.id)})"
        case GraphName():
            return code(struct.slug)
        case CompileRef():
            return code(struct.id)
        case Verdict():  # a failure's text is a message of the program
            text = code(struct.text) if struct.label == FAILED else prose(struct.text)
            return f"**{prose(struct.label)}** {text}"
        case SentenceRow():
            words = "".join(part.text for part in struct.parts)
            text = prose(f"{words} {struct.advice}")
            is_label_said = words.lower().startswith(struct.label.lower())
            return text if is_label_said else f"**{prose(struct.label)}** {text}"
        case SourceLine():
            return code(f"{struct.path}:{struct.line}")
        case FrameRow() | Frame():
            end = f": {struct.code}" if struct.code else ""
            return code(f"{struct.file}:{struct.line} in {struct.function}{end}")
    unit = getattr(struct, "unit", None) or unit
    texts = (
        f"{label(field.name)} {_inline(field, value, unit)}" for field, value in _known(struct)
    )
    return ", ".join(texts) or DASH
