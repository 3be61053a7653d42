"""The collectives of one trace: when its rank arrived at each, and from which compile.

A device's kernel starts when its rank arrives, and ends for all ranks together. On processors, the
operator starts when the rank arrives, and another thread does the work.
"""

import numpy as np

from inductorscope.analyze.time.facts import CollectiveCalls
from inductorscope.formats.trace.event_columns import NOWHERE, Floats, Integers, Numbers, Span
from inductorscope.formats.trace.kineto import ChromeTrace, TraceEvents
from inductorscope.formats.trace.regions import innermost
from inductorscope.formats.vocabulary import COMMUNICATION

MOST = 5_000
LONGEST_ID = 100
OPERATORS = "c10d::"

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
        return _of_device(trace.detail, which)
    return _of_operators(trace.detail)


def name_of(text: str) -> str:
    """The collective that a kernel, an operator or an argument names: 'all_reduce'."""
    plain = text.lower().replace("_", "")
    return next((name for word, name in _WORDS if word in plain), text[:80])


def _of_device(detail: TraceEvents, which: Integers) -> CollectiveCalls:
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
    return _calls(rows, ts, us, innermost_texts(columns.compiled, op_lane, moment), on_device=True)


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
    return _calls(rows, ts, us, innermost_texts(columns.compiled, lane, ts), on_device=False)


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
    result.names, result.groups, result.compiles = list(names), list(groups), list(inside)
    return result
