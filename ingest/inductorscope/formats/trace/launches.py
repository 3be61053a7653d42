"""The launch of each piece of device work.

A kernel and its operator share an external id; or the driver's call of the same correlation has
that id; or the operator ran on the driver call's thread at that time. A recorded graph launches all
its kernels with one call, so the id does not identify them; then a Triton kernel is recognised by
its name, if only one file has it.
"""

import re

import msgspec
import numpy as np
import numpy.typing as npt

from inductorscope.formats.trace.event_columns import (
    NOWHERE,
    Integers,
    Numbers,
    TraceColumns,
    Truths,
)
from inductorscope.formats.trace.regions import innermost, innermost_of

BY_NONE, BY_EXTERNAL, BY_CORRELATION, BY_NAME, BY_TIME = range(5)
_JOINS = (None, "external id", "correlation", "name", "enclosing operator")
# triton_poi_fused_add_0, and triton__0d1d2d of 2023
_GENERATED = re.compile(
    r"^(?:\w*?_)?triton_(?:poi|red|per|tem|for|spl|unk|fused)_|^triton_(?:$|_\d)"
)
_GRAPH_LAUNCH = "GraphLaunch"
"""In cudaGraphLaunch, cuGraphLaunch, hipGraphLaunch."""


class Launched(msgspec.Struct):
    """The launch of each device event; NOWHERE if unknown."""

    op: Numbers
    """The operator that launched it."""
    launch: Numbers
    """The Triton launch."""
    region: Numbers
    join: npt.NDArray[np.int8]
    """How it was identified: an index into `joins`."""
    call: Numbers
    """The driver's call."""
    replayed: Truths
    """Whether the driver's call launched a recorded graph."""
    compiled: Truths
    """Whether compiled code launched it."""
    joins: tuple[str | None, ...] = _JOINS


def find_launches(
    columns: TraceColumns, region_of_op: Numbers, region_of_span: Numbers
) -> Launched:
    device, ops, calls = columns.device, columns.ops, columns.calls
    call = _lookup(device.correlation, calls.correlation)
    known = call != NOWHERE
    external = np.where(
        (device.external < 0) & known, values_at(calls.external, call), device.external
    )
    op = _lookup(external, ops.external)
    identified = op != NOWHERE
    join = np.where(
        identified, np.where(device.external >= 0, BY_EXTERNAL, BY_CORRELATION), BY_NONE
    )
    around = np.flatnonzero(~identified & known)
    if len(around):
        made = call[around]
        op[around] = innermost_of(
            ops.lane, ops.ts, ops.end, values_at(calls.lane, made), calls.ts[made]
        )
        join[around] = np.where(op[around] == NOWHERE, BY_NONE, BY_TIME)
    launch = values_at(ops.kind, op)
    region = values_at(region_of_op, op)
    region = _region_by_call(columns, external, region, region_of_span)
    by_name = _launch_by_name(columns)[device.name] if len(device) else launch
    named = (launch == NOWHERE) & (by_name != NOWHERE)
    launch = np.where(named, by_name, launch).astype(np.int32)
    join = np.where(named, BY_NAME, join).astype(np.int8)
    replays = np.array([_GRAPH_LAUNCH in name for name in [*columns.names, ""]])
    replayed: Truths = replays[values_at(calls.name, call)] & known
    compiled = _compiled(columns, op, call, region, replayed)
    return Launched(op, launch, region, join=join, call=call, replayed=replayed, compiled=compiled)


def _compiled(
    columns: TraceColumns, op: Numbers, call: Numbers, region: Numbers, replayed: Truths
) -> Truths:
    """Whether compiled code launched it, by the spans around the launch. A recorded graph with an
    Inductor kernel is entirely compiled code; so is a trace of a single module, which has such
    kernels and no spans."""
    device = columns.device
    generated = np.array([bool(_GENERATED.match(name)) for name in [*columns.names, ""]])
    of_inductor: Truths = generated[device.name]
    spans = columns.compiled_code
    if not spans:
        return np.full(len(device), bool(of_inductor.any()))
    lane = values_at(columns.ops.lane, op)
    lane = np.where(lane == NOWHERE, values_at(columns.calls.lane, call), lane).astype(np.int32)
    moment = np.full(len(device), np.nan)
    for events, at in ((columns.ops, op), (columns.calls, call)):
        known = at != NOWHERE
        moment[known] = events.ts[at[known]]
    inside = innermost(spans, lane, moment) != NOWHERE
    recorded = np.unique(device.correlation[replayed & of_inductor])
    in_recorded = replayed & np.isin(device.correlation, recorded)
    compiled: Truths = of_inductor | inside | in_recorded | (region != NOWHERE)
    return compiled


def _region_by_call(
    columns: TraceColumns, external: Integers, region: Numbers, region_of_span: Numbers
) -> Numbers:
    """Regions of work launched directly by the graph's span, without an operator in between."""
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
    by_call = values_at(number_of, _lookup(external, marks.external))
    return np.where(region == NOWHERE, by_call, region).astype(np.int32)


def _lookup(wanted: Integers, ids: Integers) -> Numbers:
    """For each wanted id the last event that has it, or NOWHERE; negative ids mean no id."""
    events = np.full(len(wanted), NOWHERE, np.int32)
    if not len(ids) or not len(wanted):
        return events
    order = np.argsort(ids, kind="stable")
    in_order = ids[order]
    place = np.searchsorted(in_order, wanted, side="right") - 1
    hits = (place >= 0) & (wanted >= 0)
    hits[hits] = in_order[place[hits]] == wanted[hits]
    events[hits] = order[place[hits]]
    return events


def values_at(values: Numbers | Integers, at: Numbers) -> Numbers:
    """Returns the values at these indices, and NOWHERE for NOWHERE."""
    if not len(values):
        return np.full(len(at), NOWHERE, np.int32)
    taken: Numbers = np.where(at == NOWHERE, NOWHERE, values[at])
    return taken


def _launch_by_name(columns: TraceColumns) -> Numbers:
    """For each name its launch, or NOWHERE when two files have it."""
    numbers: dict[str, int] = {}
    for number, launch in enumerate(columns.launches):
        known = numbers.setdefault(launch.name, number)
        if known != NOWHERE and columns.launches[known].file != launch.file:
            numbers[launch.name] = NOWHERE
    return np.array([numbers.get(name, NOWHERE) for name in columns.names], np.int32)
