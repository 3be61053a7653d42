"""The end of a reduction among the statements of a Triton kernel.

A persistent reduction sees its whole row at once: broadcast, mask, combine. A looped one keeps
partial results in accumulators (`_tmp5`, `tmp8_mean`) inside the loop and combines them after it.
"""

import re

from inductorscope.correlate.kernels.statements import TEMPORARY, Statement

_COMBINE = frozenset(
    [
        "sum", "max2", "min2", "any", "prod", "xor_sum", "max_with_index", "min_with_index",
        "reduce", "welford_combine", "welford", "argmax", "argmin", "max", "min",
    ]
)  # fmt: skip
_ACCUMULATOR = re.compile(
    r"\b_tmp(\d+)\b|\b_?tmp(\d+)(?:_(?:mean|m2|weight|max|sum|index|next))+\b"
)
# `[:, None]`, `[:, :, None]` beside tiles of two dimensions
_EXPANDS = re.compile(r"\[(?::, )+None\]")
_REACH = 40


def _combines(statement: Statement) -> bool:
    combined = bool(statement.tags & _COMBINE) and not statement.tags & {"where", "maximum"}
    return combined and "_tmp" not in statement.text


def persistent_end(
    numbered: list[Statement], start: int, kind: str
) -> tuple[int, list[str]] | None:
    """(last statement, results) of a persistent reduction that starts at `start`."""
    needed = {"welford_reduce": 2, "online_softmax_reduce": 2}.get(kind, 1)
    results: list[str] = []
    for position in range(start, min(start + _REACH, len(numbered))):
        statement = numbered[position]
        if statement.is_load or _ACCUMULATOR.search(statement.text):
            return None
        if not _combines(statement):
            continue
        last = _expanded(numbered, position)
        results += numbered[last].defines[:1] or [""]
        if "welford" in statement.tags:
            return last, _welford_results(numbered, position, last)
        needed -= 1
        if needed == 0:
            if kind == "welford_reduce" and len(results) == 2:
                # The two-pass variance divides its first sum: that quotient is the mean.
                divided = (at.defines[0] for at in numbered[start:position] if "/" in at.tags)
                results = [next(divided, ""), results[1], ""]
            return last, results
    return None


def _expanded(numbered: list[Statement], position: int) -> int:
    """The expanded results. Indices are taken from pairs: `tmp17 = tmp17_idx[:, None]`."""
    last = position
    names: set[str] = set()
    numbers = {numbered[position].number}
    while True:
        names.update(numbered[last].defines)
        defined = " ".join(numbered[last].defines)
        numbers.update(float(number) for number in TEMPORARY.findall(defined))
        if last + 1 == len(numbered):
            break
        following = numbered[last + 1]
        own = following.number in numbers or (_bare(following) and not following.tags)
        if not own or not set(following.uses) <= names:
            break
        last += 1
    return last


def _welford_results(numbered: list[Statement], position: int, last: int) -> list[str]:
    expanded = {
        statement.uses[0]: statement.defines[0]
        for statement in numbered[position + 1 : last + 1]
        if len(statement.uses) == 1
    }
    return [expanded.get(name, name) for name in numbered[position].defines]


def accumulation_end(numbered: list[Statement], start: int) -> tuple[int, list[str]] | None:
    """`persistent_end` for a looped reduction: all statements about its accumulators, in and after
    the loop."""
    first = -1
    names: set[str] = set()
    for position in range(start, min(start + _REACH, len(numbered))):
        statement = numbered[position]
        if statement.is_load:
            return None
        names = _accumulators(statement)
        if names:
            first = position
            break
    if first < 0:
        return None
    last = first
    defined: set[str] = set()
    for position in range(first, min(start + 2 * _REACH, len(numbered))):
        statement = numbered[position]
        accumulators = _accumulators(statement)
        if accumulators & names:
            names |= accumulators
        elif not (
            (statement.uses and set(statement.uses) <= defined and _bare(statement))
            or _adds(numbered, position, names)
        ):
            break
        defined |= {name for name in statement.defines if not name.startswith("_")}
        last = position
    own = {name for statement in numbered[first : last + 1] for name in statement.defines}
    results = [name for number in sorted(names, key=int) if (name := f"tmp{number}") in own]
    ordered = _by_helper(numbered, first, last)
    return last, ordered or results or [""]


def _bare(statement: Statement) -> bool:
    return _EXPANDS.search(statement.text) is not None


def _adds(numbered: list[Statement], position: int, names: set[str]) -> bool:
    """Whether a statement between two about the same accumulators belongs to them."""
    return any(
        _accumulators(following) & names for following in numbered[position + 1 : position + 6]
    )


def _accumulators(statement: Statement) -> set[str]:
    return {a or b for a, b in _ACCUMULATOR.findall(statement.text)}


def _by_helper(numbered: list[Statement], first: int, last: int) -> list[str]:
    """A helper with several results: `tmp9, tmp10, tmp11 = triton_helpers.welford(…)`."""
    for position in range(first, last + 1):
        statement = numbered[position]
        if len(statement.defines) > 1 and not any("_" in name for name in statement.defines):
            return _welford_results(numbered, position, last)
    return []
