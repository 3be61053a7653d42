"""`key_averages()`: the table that torch prints, and the rows that a capture writes."""

import re
from collections import Counter
from dataclasses import dataclass, field

import msgspec

from inductorscope.formats.border import is_within, read_json
from inductorscope.formats.text import Problem

CUT = "..."

_GAP = re.compile(r" {2,}")
# ----------------------------  ------------  ------------
_RULE = re.compile(r"^-{4,}(?: +-{2,})* *$")
# 44.957ms, 0.000us, 1.200s, 12.5ns
_TIME = re.compile(r"^(-?\d+(?:\.\d+)?)\s*(ns|us|μs|µs|ms|s)$")
_UNITS = {"ns": 1e-3, "us": 1.0, "μs": 1.0, "µs": 1.0, "ms": 1e3, "s": 1e6}
# Self CUDA, CUDA total, Self XPU
_SELF_DEVICE = re.compile(r"^Self (?!CPU\b)([A-Za-z]\w*)$")
_DEVICE_TOTAL = re.compile(r"^(?!CPU\b)([A-Za-z]\w*) total$")


class KeyAverageRow(msgspec.Struct):
    """One row. Times are µs over all profiled steps; None if the table has no such column."""

    name: str
    calls: int = 0
    self_cpu_us: float | None = None
    cpu_us: float | None = None
    self_device_us: float | None = None
    device_us: float | None = None
    cut: bool = False
    """Whether the table cut the name short; `name` is then its beginning."""
    device: str | None = None
    """Where the row was measured: 'cpu', 'cuda'; None if unknown."""
    annotation: bool = msgspec.field(default=False, name="user_annotation")
    """Whether it is a span around other rows, with no work of its own."""


@dataclass(slots=True)
class KeyAverages(list[KeyAverageRow]):
    """The rows, and problems."""

    problems: list[Problem] = field(default_factory=list)
    steps: int | None = None
    """Number of profiled steps in the sums, if the file has it."""


class _CaptureFile(msgspec.Struct):
    rows: list[KeyAverageRow]
    steps: int | None = None


def parse_key_averages(data: bytes) -> KeyAverages:
    """Reads either form, recognised by its first character."""
    if data.lstrip()[:1] in {b"{", b"["}:
        return parse_rows(data)
    return parse_table(data.decode("utf-8", "replace"))


def parse_rows(data: bytes) -> KeyAverages:
    """Reads the JSON of a capture: an object with `rows`, or the rows alone."""
    table = KeyAverages()
    left_out: Counter[str] = Counter()
    try:
        content = read_json(data, left_out)
        whole = content if isinstance(content, dict) else {"rows": content}
        file = msgspec.convert(whole, _CaptureFile)
    except (ValueError, RecursionError) as error:
        table.problems.append(Problem(None, f"no rows of key_averages: {error}"))
        return table
    table.problems += [Problem(None, reason) for reason in left_out.elements()]
    table.steps = file.steps
    table.extend(file.rows)
    return table


def parse_table(text: str) -> KeyAverages:
    """Reads the first table in a text; ignores the rest."""
    lines = text.split("\n")
    for number in range(len(lines)):
        table = table_at(lines, number)
        if table is not None:
            return table
    return KeyAverages(problems=[Problem(None, "no table of key_averages was found")])


def table_at(lines: list[str], first: int) -> KeyAverages | None:
    """Reads the table whose first rule is the line at an index, if any.

    A rule, the headings, a rule, the rows, a rule. The rules' dashes give the columns' extents.
    """
    rule = lines[first].rstrip("\r")
    if not rule.startswith("----") or not _RULE.match(rule) or first + 2 >= len(lines):
        return None
    # Gaps part them: a heading wider than its column shifts the ones after it.
    headings = _GAP.split(lines[first + 1].strip())
    if headings[:1] != ["Name"] or "# of Calls" not in headings:
        return None
    table = KeyAverages()
    columns = [(match.start(), match.end()) for match in re.finditer(r"-+", rule)]
    for number in range(first + 3, len(lines)):
        line = lines[number].rstrip("\r")
        if _RULE.match(line):
            return table
        row = _row(dict(zip(headings, _cells(line, columns), strict=False)))
        if row is None:
            table.problems.append(Problem(number + 1, "not a row of the table"))
        else:
            table.append(row)
    table.problems.append(Problem(len(lines), "the table is cut short"))
    return table


def _cells(line: str, columns: list[tuple[int, int]]) -> list[str]:
    """Splits at gaps, or by the columns' extents where a name has gaps or a cell is empty."""
    parts = _GAP.split(line.strip())
    if len(parts) == len(columns):
        return parts
    return [line[start:end].strip() for start, end in columns]


def _row(cells: dict[str, str]) -> KeyAverageRow | None:
    name, calls = cells.get("Name", ""), cells.get("# of Calls", "")
    if not name or not calls.isascii() or not calls.isdigit() or len(calls) > 15:
        return None
    row = KeyAverageRow(
        name.removesuffix(CUT), int(calls),
        self_cpu_us=_microseconds(cells.get("Self CPU")),
        cpu_us=_microseconds(cells.get("CPU total")),
        cut=name.endswith(CUT),
    )  # fmt: skip
    device = None
    for heading, cell in cells.items():
        own = _SELF_DEVICE.match(heading)
        if own:
            device = own.group(1).lower()
            row.self_device_us = _microseconds(cell)
        elif _DEVICE_TOTAL.match(heading):
            row.device_us = _microseconds(cell)
    # An operator that launched a kernel also shows its device time, under the same name; only a row
    # without CPU time is the kernel.
    row.device = device if row.self_device_us and not row.cpu_us else "cpu"
    row.annotation = row.name.startswith(("## Call ", "ProfilerStep"))
    return row


def _microseconds(cell: str | None) -> float | None:
    match = _TIME.match(cell or "")
    time = float(match.group(1)) * _UNITS[match.group(2)] if match else None
    return time if time is not None and is_within("_us", time) else None
