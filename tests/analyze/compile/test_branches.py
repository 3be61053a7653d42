"""Branches on data written without the branch: they compile whole, and compute the same."""

import textwrap
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inductorscope.analyze.compile.branches import (
    ends_loop,
    function_end,
    only_checks,
    without_branch,
)

SOURCES = (
    """
    def f(x):
        y = x.sin()
        if y.sum() > 0:
            return y * 2
        return y - 1
    """,
    """
    def f(x):
        for step in range(3):
            x = x + step
            if x.abs().max().item() > 2:
                x = x.clamp(-2, 2)
        return x
    """,
    """
    def f(x):
        if float(x.mean()) < 0.5:
            y = x * 3
        else:
            y = x / 3
        return y
    """,
    """
    def f(x):
        return x * 2 if x.sum() > 0 else x * 4
    """,
)


@pytest.mark.torch
@pytest.mark.parametrize("source", SOURCES)
def test_without_its_branch_a_function_compiles_whole(source: str) -> None:
    import torch

    source = textwrap.dedent(source)
    lines = source.split("\n")
    at = next(number for number, line in enumerate(lines, 1) if "if " in line)
    instead = without_branch(source, at)
    assert instead
    end = function_end(source, at)
    assert lines[(end or 0) - 1].strip().startswith("return")
    depth = len(lines[at - 1]) - len(lines[at - 1].lstrip())
    rest = lines[at:]
    while (rest and len(rest[0]) - len(rest[0].lstrip()) > depth) or rest[0].strip() == "else:":
        rest.pop(0)
    changed = "\n".join([*lines[: at - 1], " " * depth + instead, *rest])
    found: dict[str, Any] = {"torch": torch}
    exec(source, found)
    before = found["f"]
    exec(changed, found)
    whole = torch.compile(found["f"], backend="eager", fullgraph=True)
    for x in (torch.full((4,), 0.4), torch.full((4,), 3.0), torch.full((4,), -1.0)):
        torch.testing.assert_close(whole(x), before(x))


def test_what_is_not_one_value_is_no_suggestion() -> None:
    assert without_branch("if x.sum() > 0:\n    print(x)\n    x = 1\n", 1) == ""
    assert without_branch("if x is None and y:\n    x = 1\n", 1) == ""
    assert without_branch("while x.sum() > 0:\n    x = x - 1\n", 1) == ""
    assert without_branch("x = y.item()\n", 1) is None


@given(st.text(max_size=80), st.integers(-3, 10))
def test_no_source_makes_it_raise(source: str, line: int) -> None:
    without_branch(source, line)
    function_end(source, line)


def test_what_ends_a_loop_is_told_from_what_branches_inside_of_it() -> None:
    source = """
for sweep in range(9):
    change = (new - old).abs().max().item()
    if change > 1:
        old = old / 2
    if change < 1e-6:
        break
while rest.sum() > 0:
    rest = rest - 1
if rest.max() < 3:
    print(rest)
"""
    lines = [line for line in range(1, 13) if ends_loop(source, line)]
    assert lines == [3, 6, 8, 9]


def test_a_line_that_only_checks_is_told_from_one_that_chooses() -> None:
    source = """
for step in range(9):
    if not torch.isfinite(
        x
    ).all():
        print(step)
        raise FloatingPointError(step)
    assert x.sum() > 0
    if x.sum() > 9:
        raise ValueError
    else:
        x = x / 2
    if x.min() < 0:
        x = x.abs()
"""
    assert [line for line in range(1, 15) if only_checks(source, line)] == [3, 4, 5, 8]
