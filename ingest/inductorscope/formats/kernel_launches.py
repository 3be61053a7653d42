"""Who launched each piece of device work.

By the id that the kernel shares with an operator, else by the driver's call of the same
correlation, which shares one. A recorded graph launches all of its kernels with one call, so that
their id says nothing of each; then a Triton kernel is told by its name, if one file has it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from inductorscope.formats.trace_columns import (
    NOWHERE,
    Integers,
    Numbers,
    TraceColumns,
    Truths,
)

BY_NONE, BY_EXTERNAL, BY_CORRELATION, BY_NAME = range(4)
_JOINS = (None, "external id", "correlation", "name")
_GRAPH_LAUNCH = "GraphLaunch"
"""In cudaGraphLaunch, cuGraphLaunch, hipGraphLaunch."""


@dataclass(slots=True)
class Launched:
    """For each event of the device; NOWHERE where nothing tells."""

    op: Numbers
    """The operator that launched it."""
    op_name: Numbers
    launch: Numbers
    """The Triton launch."""
    region: Numbers
    join: Numbers
    """How it was found: an index into `joins`."""
    call: Numbers
    """The driver's call."""
    replayed: Truths
    """Whether the driver's call launched a recorded graph."""
    joins: tuple[str | None, ...] = _JOINS


def find_launches(
    columns: TraceColumns, region_of_op: Numbers, region_of_span: Numbers
) -> Launched:
    device, ops, calls = columns.device, columns.ops, columns.calls
    call = _lookup(device.correlation, calls.correlation)
    known = call != NOWHERE
    external = np.where(
        (device.external < 0) & known, _taken(calls.external, call), device.external
    )
    op = _lookup(external, ops.external)
    found = op != NOWHERE
    join = np.where(found, np.where(device.external >= 0, BY_EXTERNAL, BY_CORRELATION), BY_NONE)
    launch = _taken(ops.kind, op)
    op_name = _taken(ops.name, op)
    region = _taken(region_of_op, op)
    region = _region_by_call(columns, external, region, region_of_span)
    by_name = _launch_by_name(columns)[device.name] if len(device) else launch
    named = (launch == NOWHERE) & (by_name != NOWHERE)
    launch = np.where(named, by_name, launch).astype(np.int32)
    join = np.where(named, BY_NAME, join).astype(np.int32)
    replays = np.array([_GRAPH_LAUNCH in name for name in [*columns.names, ""]])
    replayed: Truths = replays[_taken(calls.name, call)] & known
    return Launched(op, op_name, launch, region, join, call, replayed)


def _region_by_call(
    columns: TraceColumns, external: Integers, region: Numbers, region_of_span: Numbers
) -> Numbers:
    """Work that the graph's own span launched: no operator is in between."""
    if not len(region_of_span):
        return region
    spans = columns.graph_calls
    at = {(span.lane, span.ts): number for number, span in enumerate(spans)}
    marks = columns.annotations
    number_of = np.full(len(marks), NOWHERE, np.int32)
    for place, where in enumerate(zip(marks.lane.tolist(), marks.ts.tolist(), strict=True)):
        span = at.get(where)
        if span is not None:
            number_of[place] = region_of_span[span]
    found = _taken(number_of, _lookup(external, marks.external))
    return np.where(region == NOWHERE, found, region).astype(np.int32)


def _lookup(wanted: Integers, ids: Integers) -> Numbers:
    """For each wanted id the last event that has it, or NOWHERE; negative ids are none."""
    found = np.full(len(wanted), NOWHERE, np.int32)
    if not len(ids) or not len(wanted):
        return found
    order = np.argsort(ids, kind="stable")
    in_order = ids[order]
    place = np.searchsorted(in_order, wanted, side="right") - 1
    there = (place >= 0) & (wanted >= 0)
    there[there] = in_order[place[there]] == wanted[there]
    found[there] = order[place[there]]
    return found


def _taken(values: Numbers | Integers, at: Numbers) -> Numbers:
    """The values at these places, NOWHERE at no place."""
    if not len(values):
        return np.full(len(at), NOWHERE, np.int32)
    taken: Numbers = np.where(at == NOWHERE, NOWHERE, values[at])
    return taken


def _launch_by_name(columns: TraceColumns) -> Numbers:
    """For each name the launch of that name; none where two files have it."""
    found: dict[str, int] = {}
    for number, launch in enumerate(columns.launches):
        known = found.setdefault(launch.name, number)
        if known != NOWHERE and columns.launches[known].file != launch.file:
            found[launch.name] = NOWHERE
    return np.array([found.get(name, NOWHERE) for name in columns.names], np.int32)
