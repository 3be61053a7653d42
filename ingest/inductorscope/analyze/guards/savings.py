"""Counts the compiles of a function that a call would not have needed if some values were no
reason to compile again."""

import re
from collections.abc import Collection, Mapping, Sequence

import msgspec

from inductorscope.analyze.guards.values import examine, tensor_sizes
from inductorscope.formats.call_shapes import Value
from inductorscope.formats.log.guard_failures import GuardFailure
from inductorscope.formats.log.guard_tree import GuardTree

_EQUAL = re.compile(r"^L\['(\w{1,200})'\] == (-?[\d.]+(?:e[+-]?\d+)?)$")
_SIZE = re.compile(r"^(\w{1,200})\.(size|stride)\((\d{1,6})\)$")


class Compiled(msgspec.Struct):
    """A compile with its guards, why the compiles before it did not serve its call, and what is
    known of that call."""

    id: str
    tree: GuardTree
    failures: list[GuardFailure]
    hints: Mapping[str, str]
    """Values of dynamic sizes and numbers, by subject."""


def needed(compiles: Sequence[Compiled], free: Collection[str]) -> list[int]:
    """Returns the places of the compiles that are needed if the subjects `free` have any value. A
    size of 0 or 1 is not free: it has a compile of its own."""
    kept: list[int] = []
    for at, compiled in enumerate(compiles):
        values = call_of(compiled)
        earlier = [compiles[place] for place in kept]
        if all(_fails(other, compiled, values, free) for other in earlier):
            kept.append(at)
    return kept


def call_of(compiled: Compiled) -> dict[str, Value]:
    """Returns the arguments of the call that a compile was made for, as far as they are known."""
    values: dict[str, Value] = {}
    for node in compiled.tree.nodes:
        asked, equal = tensor_sizes(node), _EQUAL.match(node.text)
        if asked is not None:
            name, sizes, _ = asked
            known = [
                compiled.hints.get(f"{name}.size({at})") if size is None else str(size)
                for at, size in enumerate(sizes)
            ]
            if all(size is not None and size.isdecimal() for size in known):
                values[name] = tuple(int(size or 0) for size in known)
        elif equal is not None:
            values[equal[1]] = _number(equal[2])
    for subject, text in compiled.hints.items():
        if subject.isidentifier() and re.fullmatch(r"-?[\d.]+(?:e[+-]?\d+)?", text):
            values.setdefault(subject, _number(text))
    return values


def _number(text: str) -> int | float:
    return int(text) if re.fullmatch(r"-?\d+", text) else float(text)


def _fails(
    earlier: Compiled, compiled: Compiled, values: dict[str, Value], free: Collection[str]
) -> bool:
    """Whether an earlier compile does not serve the call although some subjects are free."""
    why = next((failure for failure in compiled.failures if failure.earlier == earlier.id), None)
    if why is None or why.subject not in free:
        return True
    rest = dict(values)
    made_for, lying = call_of(earlier), set[str]()
    for subject in free:
        size = _SIZE.match(subject)
        if size is None:
            rest.pop(subject, None)
            continue
        given, made = rest.get(size[1]), made_for.get(size[1])
        if not isinstance(given, tuple) or not isinstance(made, tuple) or len(given) != len(made):
            return True
        at = int(size[3])
        if size[2] == "stride" and given == made:
            lying.add(size[1])
            continue
        if size[2] == "stride" or given[at] < 2 or made[at] < 2:
            return True
        rest[size[1]] = (*given[:at], made[at], *given[at + 1 :])
    for name in lying:
        del rest[name]  # `examine` takes tensors to be contiguous
    return examine(earlier.tree, rest).serves is False
