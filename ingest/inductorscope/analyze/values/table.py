"""A table of the values that kernels read and wrote, and the first bad value in it."""

import math
from collections.abc import Iterable

import msgspec

from inductorscope.formats.printed.intermediate_values import (
    IntermediateValue,
    IntermediateValues,
)
from inductorscope.units import plural

INPUTS = "model inputs"
"""Stands for the model's inputs in place of a kernel's name."""
_INPUTS = ("arg", "primals", "tangents")


class ValueRow(msgspec.Struct):
    """One argument of one launch."""

    launch: int
    """Launches count from 1; 0 is before the first."""
    kernel: str
    argument: str
    before: IntermediateValue | None = None
    after: IntermediateValue | None = None
    bad: str = ""
    """`NaN`, `Inf`, or empty."""
    zeros: bool = False
    """Whether all elements are zero after the launch: not wrong in itself, but worth a look."""


class ValueTable(msgspec.Struct):
    rows: list[ValueRow] = msgspec.field(default_factory=list)
    launches: int = 0
    kernels: list[str] = msgspec.field(default_factory=list)
    """Each name once, in the order of first launches."""
    names_only: bool = False
    """Whether only names of kernels were printed (level 3)."""
    mean_as_dtype: bool = False
    """Whether the printer has torch's bug that writes the mean under the label of the type."""
    first_bad: int | None = None
    """Index of the first row with a bad value."""
    sentence: str = ""


def table_of(values: IntermediateValues) -> ValueTable:
    table = ValueTable(mean_as_dtype=values.mean_as_dtype)
    rows: dict[str, ValueRow] = {}
    kernel, over = "", True
    for value in values.values:
        name = value.kernel or INPUTS
        starts = value.when == "before_launch" and over
        if value.when == "aoti_model_inputs" or starts or name != kernel:
            if value.when != "aoti_model_inputs":
                table.launches += 1
            if name != kernel or starts:
                rows = {}
            kernel = name
        over = value.when == "after_launch"
        row = rows.get(value.argument)
        if row is None:
            launch = 0 if value.when == "aoti_model_inputs" else table.launches
            row = rows[value.argument] = ValueRow(launch, name, value.argument)
            table.rows.append(row)
        if over:
            row.after = value
        else:
            row.before = value
    _judge(table)
    return table


def _judge(table: ValueTable) -> None:
    table.kernels = list(dict.fromkeys(row.kernel for row in table.rows if row.kernel != INPUTS))
    table.names_only = bool(table.rows) and all(not row.argument for row in table.rows)
    for index, row in enumerate(table.rows):
        is_input = row.kernel == INPUTS or row.argument.startswith(_INPUTS)
        judged = row.after or (row.before if is_input else None)
        if judged is None:  # before its first launch a buffer has arbitrary content
            continue
        row.bad = bad_kind(judged)
        row.zeros = judged.least == 0.0 == judged.largest and (judged.elements or 0) > 1
        if row.bad and table.first_bad is None:
            table.first_bad = index
    table.sentence = _sentence(table)


def bad_kind(value: IntermediateValue) -> str:
    """`NaN` comes before `Inf`, since the sum of infinities can be NaN."""
    figures = (value.mean, value.least, value.largest)
    if value.nan or (
        value.nan is None and any(figure is not None and figure != figure for figure in figures)
    ):
        return "NaN"
    if value.inf or any(
        bound is not None and math.isinf(bound) for bound in (value.least, value.largest)
    ):
        return "Inf"
    return "NaN" if any(figure is not None and math.isnan(figure) for figure in figures[1:]) else ""


def _sentence(table: ValueTable) -> str:
    if not table.rows:
        return "The text has no value of a kernel."
    if table.names_only:
        last = table.rows[-1]
        done = last.after is not None
        return (
            f"{plural(table.launches, 'launch', 'launches')} printed by name only; the last, "
            f"{last.kernel}, "
            + ("ended." if done else "did not end: it failed or was still running.")
        )
    if table.first_bad is None:
        return "No value after a launch has NaN or Inf, and neither have the model's inputs."
    row = table.rows[table.first_bad]
    judged = row.after or row.before
    where = f"argument {row.argument} of {row.kernel}"
    if row.kernel == INPUTS:
        where = f"the model's input {row.argument}"
    many = ""
    count = (judged.nan if row.bad == "NaN" else judged.inf) if judged is not None else None
    if judged is not None and count and judged.elements:
        many = f" ({count:,} of {judged.elements:,} elements)"
    if row.after is None or row.kernel == INPUTS:
        return f"The first bad value is {where}: {row.bad}{many}, before any kernel changed it."
    return (
        f"The first bad value is {row.bad}{many} in {where}, after launch {row.launch} of "
        f"{table.launches}."
    )


def shown(rows: Iterable[ValueRow], kernel: str, only: str) -> list[ValueRow]:
    """Rows of kernels with `kernel` in their names; `bad` or `zeros` narrow further."""
    wanted = kernel.lower()
    return [
        row for row in rows
        if wanted in row.kernel.lower()
        and (only != "bad" or row.bad) and (only != "zeros" or row.zeros)
    ]  # fmt: skip
