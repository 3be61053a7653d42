"""What torch's passes over collectives did to a graph, and the times that they expected."""

import re
from collections import defaultdict
from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

import msgspec

from inductorscope.analyze.time.collectives import name_of
from inductorscope.fields import Prose
from inductorscope.formats.graph.fx import parse_fx
from inductorscope.formats.graph.fx_nodes import short_name
from inductorscope.formats.log import kinds
from inductorscope.units import plural, some

MOST_AT_ONCE = 64
"""Most collectives on their way at once that computing is shared out to."""

_FIGURE = re.compile(r"\d{1,12}\.\d{1,9}")


class Planned(msgspec.Struct):
    """A collective of a graph, as torch's passes left it."""

    name: str
    op: str
    """As traces name it: `all_reduce`."""
    done: Prose
    """What the pass did to it."""
    expected_us: float | None = None
    expected_hidden_us: float | None = None
    """The part of that which fits behind the computing between its start and its wait."""
    traced_us: float | None = None
    """What it takes in a trace, on average."""
    traced_hidden_us: float | None = None


class _Step(NamedTuple):
    """A call of a graph: a collective if it has an `op`, a wait if it `waits` for one."""

    name: str
    op: str
    waits: str


def planned(records: dict[str, str]) -> list[Planned]:
    """The collectives of one graph in the order in which they start, from the texts of its records
    by name."""
    before = _steps(records.get(kinds.OVERLAP_BEFORE, ""))
    after = _steps(records.get(kinds.OVERLAP_AFTER, ""))
    costs = dict(_estimates(records.get(kinds.TIMES_OF_NODES, "")))
    # Estimates of collectives name none; they follow the order of the waits.
    times: dict[str, float] = {}
    for record, steps in zip(kinds.TIMES_OF_COLLECTIVES, (after, before, before), strict=True):
        waited = dict.fromkeys(step.waits for step in steps if step.waits)
        for name, (_, ms) in zip(waited, _estimates(records.get(record, "")), strict=False):
            times.setdefault(name, ms * 1000)
    was, now = _flights(before, {}, {}), {step.name for step in after}
    gone: dict[str, list[str]] = defaultdict(list)
    added: dict[str, list[str]] = defaultdict(list)
    for steps, others, found in ((before, now, gone), (after, was, added)):
        for step in steps:
            if step.op and step.name not in others:
                found[step.op].append(step.name)
    for op, names in added.items():
        parts = [times.get(name, 0.0) for name in gone[op]]
        if len(names) == 1 and all(parts):
            times.setdefault(names[0], sum(parts))
    collectives = []
    for name, (op, between, hidden) in _flights(after, times, costs).items():
        into = f" into {len(added[op])}" if len(added[op]) > 1 else ""
        done = f"{was[name][1]} → " if name in was else f"{some(gone[op])} joined{into}; "
        done += f"{plural(between, 'operation')} before its wait"
        us = times.get(name) or None
        collectives.append(Planned(name, op, done, us, hidden if us and costs else None))
    return collectives


def _steps(text: str) -> list[_Step]:
    read = parse_fx(text)
    calls = [node for node in read.nodes if node.kind == "call"]
    inner = {node.graph_class: node.target for node in reversed(calls)}
    steps = []
    for node in read.main():
        target, arguments = node.target, node.arguments
        if node.op == "control_deps" and len(arguments) > 1:
            target, arguments = inner.get(arguments[1], ""), arguments[2:]
        waits = "_c10d_functional.wait_tensor" in target
        op = name_of(short_name(target)) if "c10d_functional." in target and not waits else ""
        if node.kind == "call":
            steps.append(_Step(node.name, op, arguments[0] if waits and arguments else ""))
    return steps


def _flights(
    steps: list[_Step], times: dict[str, float], costs: dict[str, float]
) -> dict[str, tuple[str, int, float]]:
    """Of each collective its kind, the computing calls until its wait, and the µs of it that they
    hide: they hide what is on its way one after the other, as one stream would run it."""
    computed = 0
    flying: dict[str, float] = {}
    found: dict[str, tuple[str, int, float]] = {}
    for step in [*steps, *(_Step("", "", step.name) for step in steps if step.op)]:
        if step.op:
            flying[step.name] = times.get(step.name, 0.0)
            found[step.name] = step.op, computed, flying[step.name]
        elif step.waits in flying:
            op, start, us = found[step.waits]
            found[step.waits] = op, computed - start, us - flying.pop(step.waits)
        elif not step.waits:
            computed += 1
            cost = costs.get(step.name, 0.0)
            for name in tuple(islice(flying, MOST_AT_ONCE)) if cost else ():
                hides = min(cost, flying[name])
                flying[name], cost = flying[name] - hides, cost - hides
    return found


def _estimates(text: str) -> Iterable[tuple[str, float]]:
    """The name of each line, and the first of its two estimates that there is."""
    head, *lines = [line for line in text.strip().split("\n") if not line.startswith("#")] or [""]
    commas = head.count(",")
    for line in lines:
        name, *cells = line.rsplit(",", commas)
        known = [float(cell) for cell in cells[:2] if _FIGURE.fullmatch(cell)]
        yield name.partition(" ")[0], next(filter(None, known), 0.0)
