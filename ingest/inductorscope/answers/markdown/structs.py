"""Any answer as Markdown: figures as a list, rows as tables, texts as quotes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any

from inductorscope import urls
from inductorscope.analyze.verdicts import Verdict
from inductorscope.answers.compile.parts import CompileRef, FrameRow
from inductorscope.answers.compile.rows import SentenceRow
from inductorscope.answers.explorer.graph import SourceLine
from inductorscope.answers.parts import GraphName, RunName
from inductorscope.formats.log.record import Frame
from inductorscope.markdown.figures import label, with_unit
from inductorscope.markdown.text import block, code, link, prose, table
from inductorscope.units import DASH

Value = Any
"""A struct of an answer, or a value in one."""
LONGEST = 240
"""Characters of a text that stands in a line; longer ones become blocks, and are cut in tables."""
MOST_IN_LINE = 12
SMALL = 2
"""Fields of a struct that stands in a cell with others."""
FEW = 3
"""Rows from which a column with one value is written once, above the table."""
DEEPEST = 12
"""Spaces before the items of the innermost list."""
HIDDEN = frozenset(
    {
        "artifact_id", "record",
        "previous", "next_cursor", "map", "points", "lives", "drawn", "spans", "dots", "marks",
        "x_us", "lane", "depth", "first_row", "roles", "offered", "config", "modes",
        "dtypes", "sorts", "any_runs", "kept", "watch", "profile_labels", "href", "url", "to",
        "evidence", "joined_by", "content_digest", "guards_earlier",
        "panels", "can_resume", "markdown", "defaults",
    }
)  # fmt: skip
"""Fields for scripts, forms and links, which tell a reader nothing."""
HIDDEN_OF = frozenset(
    {
        ("FusingPage", "names"), ("History", "names"), ("TimelinePage", "names"),
        ("TimelinePage", "bars"), ("TimelinePage", "categories"), ("TimesTable", "categories"),
        ("KernelCallRow", "permalink"), ("RunsPage", "devices"), ("MinifyChart", "line"),
        ("MemoryPage", "kinds"), ("MemoryPage", "graphs"), ("BesideSide", "graphs"),
        ("BesidePage", "runs"), ("RooflinePage", "graphs"), ("RooflinePage", "sources"),
        ("Selected", "around"), ("ProfileTable", "facts"), ("LogPage", "after"),
        ("CompileList", "longest"), ("PlayPage", "config"), ("MemoryPage", "code"),
        ("MemoryPage", "lines_from"), ("MemoryPage", "buffers_from"),
        ("MemoryPage", "shown"), ("RooflinePage", "first"), ("RooflinePage", "shown"),
        ("NumbersPage", "first"), ("NumbersPage", "shown"), ("ValuesPage", "first"),
        ("ValuesPage", "shown"), ("HistoryRow", "frame"), ("CapturePage", "defaults"),
    }
)  # fmt: skip
SENTENCES = frozenset(
    {
        "what", "why", "fix", "trade", "advice", "meaning", 
        "sentences", "notes", "answers", "how", "spoken", "sentence", "reasons",
        "refusal", "why_not", "missing", "work_missing", "held_up", "over", "said", "differs",
        "do", "words", "times_missing", "loops_missing", "explained_missing", "shapes_problem",
        "step_from", "steps_from", "shows", "look",
    }
)  # fmt: skip
"""Fields with sentences of ours. Other texts are the run's, and are quoted."""
SAYING = frozenset({"Verdict", "Said", "Cleared", "ChangeRow", "MeasuredShown"})
"""Structs whose `text` is a sentence of ours."""
NAMES = (CompileRef, Frame, FrameRow, GraphName, RunName, SentenceRow, SourceLine, Verdict)
"""Structs that stand in a line."""
VALUE = "value"
VALUES = frozenset((VALUE, "values", "was", "now", "levels"))
"""Fields whose unit a row or what holds it names."""
OF_VALUES = {"matmul": "FLOP/s", "work": "us", "parts": "us", "other_devices": "bytes"}
"""Units of the values of fields that map names to figures."""
UNITS_OF = {
    **dict.fromkeys(
        (
            ("BytesMoved", "total"), ("ConfigurationFigures", "local"),
            ("ConfigurationFigures", "shared"), ("Installation", "disk_free"),
            ("Installation", "disk_total"), ("MeasuredPeak", "before"),
            ("MeasuredPeak", "elsewhere"), ("MeasuredPeak", "here"), ("Point", "inputs"),
            ("Shares", "own"), ("Shares", "shared"), ("Shares", "unused"), ("Step", "inputs"),
            ("Traffic", "reads"), ("Traffic", "writes"),
        ),
        "bytes",
    ),
    **dict.fromkeys(
        (("Judged", "high"), ("Judged", "low"), ("Judged", "shift"), ("Share", "high"),
         ("Share", "low")),
        "percent",
    ),
    ("KernelMachine", "live"): "count", ("LineFigures", "live"): "count",
}  # fmt: skip
"""Units of fields whose names do not say them."""
FAILED = "failed"
"""Label of the verdict with the message of a failure."""
LINKED = ("name", "kernel", "slug", "title", "path", "line", "id")
"""Columns that link to the page about the row; the first that a table has."""


def struct_lines(page: Value, base: str = "") -> Iterator[str]:
    """The answer of a page. `base`: the server's address, for links."""
    owner = getattr(page, "run", None)
    run = owner.id if isinstance(owner, RunName) else getattr(page, "id", "")
    yield from _struct(page, Links(base, run), "##", "")


class Links:
    """Addresses of what rows name."""

    def __init__(self, base: str, run: str) -> None:
        self._base = base
        self._run = run

    def of(self, row: Value) -> str:
        """The address of the page about a row; empty if there is none."""
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
    """The figures of a struct as a list, then a section for each of its lists and parts. `unit`: of
    its values, where it or what holds it names one."""
    unit = getattr(struct, "unit", None) or unit
    known = _known(struct)
    names = _labels(name for name, _ in known)
    for name, value in known:
        if _fits_in_line(value):
            yield f"- **{names[name]}**: {_inline(name, value, struct, unit)}"
    yield ""
    for name, value in known:
        lines = [] if _fits_in_line(value) else list(_section(name, value, links, marks, unit))
        if any(lines):
            yield from (f"{marks} {names[name].capitalize()}", "", *lines, "")


def _labels(names: Iterable[str]) -> dict[str, str]:
    """What fields are called; `small` and `small_us` stay apart."""
    labels: dict[str, str] = {}
    for name in names:
        labels[name] = f"{label(name)} time" if label(name) in labels.values() else label(name)
    return labels


def _section(name: str, value: Value, links: Links, marks: str, unit: str) -> Iterator[str]:
    if isinstance(value, str):
        yield block(value)
    elif is_dataclass(value):
        yield from _struct(value, links, f"{marks}#", unit)
    elif isinstance(value, Mapping):
        unit = OF_VALUES.get(name, "")
        yield from (
            f"- {code(key)}: {_inline(VALUE if unit else str(key), each, None, unit)}"
            for key, each in value.items()
        )
    elif all(is_dataclass(each) and not isinstance(each, SentenceRow) for each in value):
        yield from rows(value, links, unit)
    else:
        yield from (f"- {_inline(name, each, None, unit)}" for each in value)


def rows(values: Sequence[Value], links: Links, unit: str = "") -> Iterator[str]:
    """Rows of one kind: as code, as a table, or as a list if they hold rows themselves."""
    names = [name for name, _ in _fields(values[0])]
    if _is_code(values):
        lines = (f"{each.number:>5} {'>' if each.marked else ' '} {each.text}" for each in values)
        yield block("\n".join(lines))
    elif "changed" in names and "before" in names:
        signs = {"gone": "-", "new": "+"}
        yield block("\n".join(signs.get(each.kind, " ") + each.text for each in values), "diff")
    elif all(_is_flat(value) for each in values for _, value in _fields(each)):
        yield from _table(values, names, links, unit)
    else:
        for each in values:
            yield from _item(each, "", unit)


def _table(values: Sequence[Value], names: Sequence[str], links: Links, unit: str) -> Iterator[str]:
    """Columns that repeat another are left out; one value of all rows stands above."""
    columns = {
        name: tuple(_inline(name, getattr(each, name), each, unit) for each in values)
        for name in names
        if any(not _is_empty(getattr(each, name)) for each in values)
    }
    once = {column: name for name, column in reversed(columns.items())}
    own = [name for name in columns if once[columns[name]] == name]
    alike = [name for name in own if len(values) >= FEW and len(set(columns[name])) == 1]
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


def _item(row: Value, indent: str, unit: str) -> Iterator[str]:
    """A row as an item of a list, with its own rows below it."""
    unit = getattr(row, "unit", None) or unit
    known = _known(row)
    short = [(name, value) for name, value in known if _is_flat(value) and not _is_long(value)]
    texts = (f"{label(name)} {_inline(name, value, row, unit)}" for name, value in short)
    yield f"{indent}- {'; '.join(texts)}"
    below = f"{indent}  "
    if len(below) > DEEPEST:
        return
    for name, value in known:
        if _is_long(value):
            yield from _indented([f"{label(name)}:", "", block(value), ""], below)
        elif not _is_flat(value):
            yield f"{below}- {label(name)}:"
            listed = [value] if is_dataclass(value) else list(value)
            if _is_code(listed):
                yield from _indented(["", *rows(listed, Links("", "")), ""], f"{below}  ")
                continue
            for each in listed:
                if is_dataclass(each):
                    yield from _item(each, f"{below}  ", unit)
                else:
                    yield f"{below}  - {_inline(name, each, None, unit)}"


def _indented(lines: Iterable[str], indent: str) -> Iterator[str]:
    yield from (f"{indent}{line}" for each in lines for line in each.split("\n"))


# --- what a value is ---


def _fields(struct: Value) -> list[tuple[str, Value]]:
    kind = type(struct).__name__
    return [
        (field.name, getattr(struct, field.name))
        for field in fields(struct)
        if field.name not in HIDDEN
        and not field.name.endswith("artifact")
        and (kind, field.name) not in HIDDEN_OF
    ]


def _known(struct: Value) -> list[tuple[str, Value]]:
    """The fields with a value; that no rows were left out says nothing."""
    return [
        (name, value)
        for name, value in _fields(struct)
        if not _is_empty(value) and not (value == 0 and name.startswith(("more", "left_out")))
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
        plain = all(isinstance(each, str | int | float) and not _is_long(each) for each in value)
        return plain and len(value) <= MOST_IN_LINE and sum(map(len, map(str, value))) <= LONGEST
    return not isinstance(value, Mapping) and not _is_long(value) and (
        not is_dataclass(value) or isinstance(value, NAMES)
    )  # fmt: skip


def _is_flat(value: Value) -> bool:
    """Whether the value fits in a cell, where long texts are cut."""
    if isinstance(value, Mapping):
        return all(map(_is_flat, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_is_small, value))
    if isinstance(value, str):
        return value.count("\n") < FEW
    return not is_dataclass(value) or all(_is_flat(each) for _, each in _fields(value))


def _is_small(value: Value) -> bool:
    """Whether several such values fit in a cell."""
    if not is_dataclass(value) or isinstance(value, NAMES):
        return True
    return len(_fields(value)) <= SMALL and not any(
        is_dataclass(each) for _, each in _fields(value)
    )


# --- a value in a line ---


def _inline(name: str, value: Value, owner: Value = None, unit: str = "") -> str:
    unit = getattr(owner, "unit", None) or unit
    if value is None or value == "":
        return DASH
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        own = UNITS_OF.get((type(owner).__name__, name), "")
        return with_unit(name, value, own or (unit if name in VALUES else ""))
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M} UTC"
    if isinstance(value, str):
        ours = name in SENTENCES or (name == "text" and type(owner).__name__ in SAYING)
        return prose(value) if ours else code(value[:LONGEST] + "…" * (len(value) > LONGEST))
    if isinstance(value, Mapping):
        own = OF_VALUES.get(name, "")
        each = (
            f"{code(key)} {_inline(VALUE if own else str(key), item, None, own)}"
            for key, item in value.items()
        )
        return "; ".join(each) or DASH
    if isinstance(value, list | tuple):
        return ", ".join(_inline(name, each, owner, unit) for each in value) or DASH
    return _named(value, unit)


def _named(struct: Value, unit: str = "") -> str:
    match struct:
        case RunName():
            return f"{code(struct.name)} ({code(struct.id)})"
        case GraphName():
            return code(struct.slug)
        case CompileRef():
            return code(struct.id)
        case Verdict():
            return verdict(struct)
        case SentenceRow():
            words = "".join(part.text for part in struct.parts)
            return f"**{prose(struct.label)}** {prose(f'{words} {struct.advice}')}"
        case SourceLine():
            return code(f"{struct.path}:{struct.line}")
        case FrameRow() | Frame():
            end = f": {struct.code}" if struct.code else ""
            return code(f"{struct.file}:{struct.line} in {struct.function}{end}")
    texts = [f"{label(name)} {_inline(name, value, struct, unit)}"
             for name, value in _known(struct)]  # fmt: skip
    return ", ".join(texts) or DASH


def verdict(given: Verdict) -> str:
    """A verdict; what failed is told by the program."""
    text = code(given.text) if given.label == FAILED else prose(given.text)
    return f"**{prose(given.label)}** {text}"
