"""The collectives of one trace: when its rank arrived at each, and from which compile.

A device's kernel starts when its rank arrives, and ends for all ranks together. On processors, the
operator starts when the rank arrives, and another thread does the work, which the backend marks.
"""

import numpy as np

from inductorscope.analyze.time.facts import CollectiveCalls
from inductorscope.analyze.time.intervals import cover
from inductorscope.formats.trace.event_columns import (
    KERNEL,
    NOWHERE,
    Events,
    Floats,
    Integers,
    Numbers,
    Span,
    Truths,
)
from inductorscope.formats.trace.kineto import ChromeTrace, TraceEvents
from inductorscope.formats.trace.regions import innermost
from inductorscope.formats.vocabulary import COMMUNICATION

MOST = 5_000
LONGEST_ID = 100
OPERATORS = "c10d::"
WAIT = "_c10d_functional::wait_tensor"
WORK = ("gloo:", "mpi:", "ucc:")

_WORDS = (
    ("allreduce", "all_reduce"), ("reducescatter", "reduce_scatter"), ("allgather", "all_gather"),
    ("alltoall", "all_to_all"), ("broadcast", "broadcast"), ("barrier", "barrier"),
    ("sendrecv", "send_recv"), ("send", "send"), ("recv", "recv"), ("gather", "gather"),
    ("scatter", "scatter"), ("crossdevicereduce", "all_reduce"), ("reduce", "reduce"),
)  # fmt: skip


def collective_calls(trace: ChromeTrace, category: list[str]) -> CollectiveCalls:
    """Returns the collectives. `category` is that of each kernel of the trace."""
    if trace.detail is None:
        return CollectiveCalls()
    talks = np.array([kind == COMMUNICATION for kind in category] or [False])
    device = trace.detail.columns.device
    which = np.flatnonzero(talks[trace.detail.row]) if len(device) else np.zeros(0, np.int64)
    if len(which):
        return _of_device(trace.detail, which, talks[trace.detail.row])
    return _of_operators(trace.detail)


def name_of(text: str) -> str:
    """The collective that a kernel, an operator or an argument names: 'all_reduce'."""
    plain = text.lower().replace("_", "")
    return next((name for word, name in _WORDS if word in plain), text[:80])


def _of_device(detail: TraceEvents, which: Integers, talks: Truths) -> CollectiveCalls:
    columns, launched = detail.columns, detail.launched
    ts, us, lane = columns.device.ts[which], columns.device.us[which], columns.device.lane[which]
    op = launched.op[which]
    known = op != NOWHERE
    op_lane = np.full(len(which), NOWHERE, np.int32)
    moment = np.full(len(which), np.nan)
    op_lane[known], moment[known] = columns.ops.lane[op[known]], columns.ops.ts[op[known]]
    said = {(collective.lane, collective.ts): collective for collective in columns.collectives}
    texts = [columns.names[number] for number in columns.device.name[which].tolist()]
    rows = []
    for text, *place in zip(texts, lane.tolist(), ts.tolist(), strict=True):
        more = said.get((place[0], place[1]))
        if more is None:
            rows.append((name_of(text), "", -1))
        else:
            rows.append(
                (name_of(more.name), more.group, -1 if more.elements is None else more.elements)
            )
    computing = (columns.device.kind == KERNEL) & ~talks
    hidden = _covered(columns.device, computing, ts, us)
    inside = innermost_texts(columns.compiled, op_lane, moment)
    return _calls(rows, ts, us, inside, (us, hidden), on_device=True)


def _of_operators(detail: TraceEvents) -> CollectiveCalls:
    columns, ops = detail.columns, detail.columns.ops
    wanted = [
        name.startswith(OPERATORS) and "wait" not in name and "monitored" not in name
        for name in columns.names
    ]
    if not any(wanted):
        return CollectiveCalls()
    which = np.flatnonzero(np.array(wanted)[ops.name])
    texts = [columns.names[number] for number in ops.name[which].tolist()]
    ts, us, lane = ops.ts[which], ops.us[which], ops.lane[which]
    rows = [(name_of(text.removeprefix(OPERATORS)), "", -1) for text in texts]
    inside = innermost_texts(columns.compiled, lane, ts)
    return _calls(rows, ts, us, inside, _work(detail, ts), on_device=False)


def _covered(events: Events, which: Truths, ts: Floats, us: Floats) -> Floats:
    """The part of each stretch of time during which any of some events runs."""
    return cover(events.ts[which], events.us[which]).within(ts, ts + us)


def _named(events: Events, names: list[str], start: str | tuple[str, ...]) -> Truths:
    return np.array([name.startswith(start) for name in names] or [False])[events.name]


def _work(detail: TraceEvents, called: Floats) -> tuple[Floats, Floats] | None:
    """How long the work of each operator took, and how much of that was hidden. Threads take the
    work in the order of the operators."""
    columns = detail.columns
    works, place = columns.annotations, np.argsort(called, kind="stable")
    which = np.flatnonzero(_named(works, columns.names, WORK))
    which = which[np.argsort(works.ts[which], kind="stable")]
    ts, us = works.ts[which], works.us[which]
    if len(ts) != len(called) or (ts < called[place]).any():
        return None
    kernels = columns.device.kind == KERNEL
    if kernels.any():
        hidden = _covered(columns.device, kernels, ts, us)
    else:
        hidden = us - _covered(columns.ops, _named(columns.ops, columns.names, WAIT), ts, us)
    took = np.empty((2, len(us)))
    took[:, place] = us, hidden
    return took[0], took[1]


def innermost_texts(spans: list[Span], lane: Numbers, moment: Floats) -> list[str | None]:
    """The text of the innermost span around each moment of a thread."""
    if not spans:
        return [None] * len(lane)
    around = innermost(spans, lane, moment).tolist()
    return [None if number == NOWHERE else spans[number].text for number in around]


def _calls(
    rows: list[tuple[str, str, int]],
    ts: Floats,
    us: Floats,
    compiles: list[str | None],
    took: tuple[Floats, Floats] | None,
    *,
    on_device: bool,
) -> CollectiveCalls:
    order = np.argsort(ts, kind="stable").tolist()
    result = CollectiveCalls(on_device=on_device, cut=len(order) > MOST)
    names: dict[str, int] = {}
    groups: dict[str, int] = {}
    inside: dict[str, int] = {}
    for place in order[:MOST]:
        name, group, elements = rows[place]
        compile_id = None if compiles[place] is None else str(compiles[place])[:LONGEST_ID]
        result.calls.append((
            names.setdefault(name, len(names)), groups.setdefault(group, len(groups)),
            -1 if compile_id is None else inside.setdefault(compile_id, len(inside)),
            float(ts[place]), float(us[place]), elements,
        ))  # fmt: skip
        if took is not None:
            result.took.append((float(took[0][place]), float(took[1][place])))
    result.names, result.groups, result.compiles = list(names), list(groups), list(inside)
    return result
