"""Forecasts which compile would serve which call, and how often a list of calls would compile."""

import ast
from collections.abc import Mapping, Sequence

import msgspec

from inductorscope.analyze.compile.recompiles import USUAL_LIMIT
from inductorscope.analyze.guards.values import Failed, Verdict, examine, tensor_sizes, truth
from inductorscope.formats.call_shapes import Value
from inductorscope.formats.log.guard_tree import GuardTree

Seen = int | float | None
"""The only value that a size or number has had; None if it has changed and become dynamic."""


class Served(msgspec.Struct):
    """One call of a list, and the compile that serves it."""

    values: dict[str, Value]
    by: str = ""
    """The compile's id, `a new compile` or `nothing`; empty if unknown."""
    compiles: bool = False
    failed: Failed | None = None
    """Why the newest compile that does not serve it fails to."""
    unknown: list[str] = msgspec.field(default_factory=list)


class Forecast(msgspec.Struct):
    """The cost of a list of calls of a function."""

    calls: list[Served]
    assumed: int
    """Number of guards of the recorded compiles that do not depend on the given arguments."""
    unguarded: list[str]
    """Given arguments that no guard mentions."""
    dynamic: list[str]
    """Sizes and numbers that change. If they are marked as dynamic at the first call, they cost no
    compile."""

    @property
    def compiles(self) -> int:
        return sum(call.compiles for call in self.calls)

    @property
    def unknown(self) -> int:
        return sum(not call.by for call in self.calls)


class _New(msgspec.Struct):
    """A future compile: what it would require of each size and number."""

    name: str
    fixed: dict[tuple[str, int], int | float]
    ranks: dict[str, int]
    truths: list[tuple[ast.expr, bool | None]]
    """Conditions of the program → whether they hold."""

    def why_not(self, values: dict[str, Value]) -> Failed | None:
        parts = dict(_parts(values))
        for name, value in values.items():
            if self.ranks[name] != _rank(value):
                return Failed("", f"{name} has another number of dimensions", None, None)
        for key, size in parts.items():
            if key in self.fixed and self.fixed[key] != size:
                return Failed(
                    "", f"{_word(key)} == {self.fixed[key]}, and it is {size}", None, None
                )
            if key not in self.fixed and key[1] >= 0 and size < 2:
                return Failed("", f"2 <= {_word(key)}, and it is {size}", None, None)
        for test, was in self.truths:
            if was is not None and truth(test, values) is (not was):
                text = f"{ast.unparse(test)} is {was}, and here {not was}"
                return Failed("", text, None, None)
        return None


def forecast(
    compiles: Sequence[tuple[str, GuardTree]],
    calls: Sequence[dict[str, Value]],
    *,
    conditions: Sequence[ast.expr] = (),
    automatic: bool = True,
    limit: int = USUAL_LIMIT,
) -> Forecast:
    """Forecasts calls. `compiles`: the compiles of one function with their guards, in order. New
    compiles are assumed to treat sizes as Dynamo's automatic dynamic shapes do, and to guard on the
    program's `conditions`; any other guards of theirs are unknown."""
    seen: dict[tuple[str, int], Seen] = {}
    for _, tree in compiles:
        for node in tree.nodes:
            asked = tensor_sizes(node)
            if asked is not None:
                _see(seen, {(asked[0], at): size for at, size in enumerate(asked[1])})
    verdicts: list[Verdict] = []
    new: list[_New] = []
    served = []
    for values in calls:
        call = Served(values)
        for made in reversed(new):
            failed = made.why_not(values)
            if failed is None:
                call.by = made.name
                break
            call.failed = call.failed or failed
        for name, tree in reversed(compiles) if not call.by else ():
            verdict = examine(tree, values)
            verdicts.append(verdict)
            if verdict.serves is not False:
                call.by, call.unknown = name if verdict.serves else "", verdict.unknown
                break
            call.failed = call.failed or verdict.failed
        else:
            if not call.by:
                call.compiles = len(compiles) + len(new) < limit
                call.by = "nothing: the recompile limit is reached"
                if call.compiles:
                    call.by = f"new compile {len(new) + 1}"
                    truths = [(test, truth(test, values)) for test in conditions]
                    new.append(_compile(call.by, values, seen, truths, automatic))
        served.append(call)
    named = {name for verdict in verdicts for name in verdict.named}
    return Forecast(
        served,
        max((verdict.assumed for verdict in verdicts), default=0),
        sorted({name for values in calls for name in values} - named) if verdicts else [],
        [_word(key) for key, value in sorted(seen.items()) if value is None and key[1] >= 0],
    )


def _compile(
    name: str, values: dict[str, Value], seen: dict[tuple[str, int], Seen],
    truths: list[tuple[ast.expr, bool | None]], automatic: bool,
) -> _New:  # fmt: skip
    for argument, value in values.items():
        _see(seen, dict(_parts({argument: value})))
    fixed = {
        key: value
        for key, value in _parts(values)
        if not automatic
        or seen[key] is not None
        or isinstance(value, bool)
        or (key[1] >= 0 and value < 2)
    }
    return _New(name, fixed, {key: _rank(value) for key, value in values.items()}, truths)


def _see(seen: dict[tuple[str, int], Seen], parts: Mapping[tuple[str, int], Seen]) -> None:
    """Records the sizes of one argument. If the number of dimensions changes, all become
    dynamic."""
    argument = next((name for name, _ in parts), "")
    known = {key for key in seen if key[0] == argument}
    other_rank = bool(known) and known != parts.keys()
    for key, value in parts.items():
        seen[key] = None if other_rank or seen.get(key, value) != value else value
    if other_rank:
        seen.update(dict.fromkeys(known, None))


def _parts(values: dict[str, Value]) -> list[tuple[tuple[str, int], int | float]]:
    """Yields every size, and numbers, with -1 in place of a dimension."""
    parts: list[tuple[tuple[str, int], int | float]] = []
    for name, value in values.items():
        if isinstance(value, tuple):
            parts += [((name, at), size) for at, size in enumerate(value)]
        else:
            parts.append(((name, -1), value))
    return parts


def _rank(value: Value) -> int:
    return len(value) if isinstance(value, tuple) else -1


def _word(key: tuple[str, int]) -> str:
    return f"{key[0]}.size({key[1]})" if key[1] >= 0 else key[0]
