"""Matches collectives across the traces of ranks, to find which rank arrives last, and by how much.

Within a process group all ranks call the same collectives in the same order, so the n-th call of
one rank is the n-th of the others. Clocks of one host agree; those of other hosts are shifted to
agree as well as possible.
"""

from collections import defaultdict
from collections.abc import Sequence
from statistics import median

import msgspec

from inductorscope.fields import Hidden

MOST_APART_US = 10_000
"""A collective ends on all devices at about the same time; clocks and launches do not explain a
larger difference."""
OTHER_STEPS = (
    "the ends of one collective are {:.2f} s apart, so the traces are of different steps; profile "
    "the same steps on all ranks"
)


class Call(msgspec.Struct, frozen=True):
    """A collective as one rank called it."""

    name: str
    group: str
    compile_id: str | None
    start_us: float
    us: float
    elements: int | None


class RankCalls(msgspec.Struct):
    """The collectives in one rank's trace, in order."""

    rank: int
    host: str | None
    base_ns: int
    """Start of its times."""
    calls: list[Call]
    on_device: bool
    """Whether a call's duration lasts until the collective ends."""


class LateCall(msgspec.Struct, frozen=True):
    """A collective that all ranks of a group called, and the rank that came last."""

    number: int
    """Place among the collectives of its group, from 1."""
    name: str
    group: str
    elements: int | None
    ranks: int
    last: int
    """The last rank."""
    late_us: float
    """How long it arrived after the median of the other ranks."""
    waited_us: float
    """Total time that the other ranks waited for it."""
    compile_id: str | None
    """The compile that called it, on the last rank."""
    arrived_us: Hidden[float]
    """When the last rank arrived, by its own clock, since 1970."""


class LateRank(msgspec.Struct, frozen=True):
    """How often one rank came last, and by how much."""

    rank: int
    calls: int
    last: int
    late_us: float | None
    """Median lateness where it came last."""
    waited_us: float
    """Total time that others waited for it."""


class Lateness(msgspec.Struct):
    """All matched collectives, the latest first."""

    calls: list[LateCall] = msgspec.field(default_factory=list)
    ranks: list[LateRank] = msgspec.field(default_factory=list)
    parting: list[str] = msgspec.field(default_factory=list)
    """Where ranks of one group call different collectives."""
    clocks: str = "host"
    """How the clocks agree: 'host' (one host), 'ends' or 'starts' of collectives, or 'unknown'."""


def lateness(traces: Sequence[RankCalls]) -> Lateness:
    """Matches the collectives of at least two ranks; empty when they have none in common."""
    groups: dict[str, dict[int, list[Call]]] = defaultdict(dict)
    for trace in traces:
        for call in trace.calls:
            groups[call.group].setdefault(trace.rank, []).append(call)
    result = Lateness()
    matched: list[tuple[int, dict[int, Call]]] = []
    for group, by_rank in groups.items():
        if len(by_rank) < 2:
            continue
        for number, together in enumerate(zip(*by_rank.values(), strict=False), start=1):
            calls = dict(zip(by_rank, together, strict=True))
            if len({call.name for call in together}) > 1:
                result.parting.append(_parting(number, group, calls))
                break
            matched.append((number, calls))
    shifts, result.clocks = _shifts(traces, [calls for _, calls in matched])
    if all(trace.on_device for trace in traces):
        ends = (
            [call.start_us + call.us + shifts[rank] for rank, call in calls.items()]
            for _, calls in matched
        )
        apart = max((max(together) - min(together) for together in ends), default=0.0)
        if apart > MOST_APART_US:
            return Lateness(parting=[OTHER_STEPS.format(apart / 1e6)])
    bases = {trace.rank: trace.base_ns / 1000 for trace in traces}
    result.calls = [_late(number, calls, shifts, bases) for number, calls in matched]
    result.calls.sort(key=lambda call: -call.late_us)
    result.ranks = _ranks(traces, result.calls, matched)
    return result


def _parting(number: int, group: str, calls: dict[int, Call]) -> str:
    first, *others = sorted(calls)
    other = next(rank for rank in others if calls[rank].name != calls[first].name)
    where = f" of group {group}" if group else ""
    return (
        f"as collective {number}{where}, rank {first} calls {calls[first].name} and rank {other} "
        f"{calls[other].name}"
    )


def _shifts(
    traces: Sequence[RankCalls], matched: list[dict[int, Call]]
) -> tuple[dict[int, float], str]:
    """Returns the shift for each rank that makes their times comparable, and how it is known."""
    if not traces:
        return {}, "host"
    reference = traces[0]
    shifts = {
        trace.rank: (trace.base_ns - reference.base_ns) / 1000 for trace in traces
    }  # exact: differences of integers
    hosts = {trace.host for trace in traces}
    if len(hosts) == 1 and None not in hosts:
        return shifts, "host"
    by_end = all(trace.on_device for trace in traces)
    if not by_end and None in hosts:
        return shifts, "unknown"
    moments: dict[int, list[float]] = defaultdict(list)
    for calls in matched:
        at = {
            rank: call.start_us + (call.us if by_end else 0) + shifts[rank]
            for rank, call in calls.items()
        }
        middle = median(at.values())
        for rank, moment in at.items():
            moments[rank].append(moment - middle)
    for rank, apart in moments.items():
        shifts[rank] -= median(apart)
    return shifts, "ends" if by_end else "starts"


def _late(
    number: int, calls: dict[int, Call], shifts: dict[int, float], bases: dict[int, float]
) -> LateCall:
    at = {rank: call.start_us + shifts[rank] for rank, call in calls.items()}
    last = max(at, key=lambda rank: at[rank])
    others = [moment for rank, moment in at.items() if rank != last]
    call = calls[last]
    return LateCall(
        number, call.name, call.group, call.elements, len(calls), last=last,
        late_us=at[last] - median(others), waited_us=sum(at[last] - moment for moment in others),
        compile_id=call.compile_id, arrived_us=bases[last] + call.start_us,
    )  # fmt: skip


def _ranks(
    traces: Sequence[RankCalls], late: list[LateCall], matched: list[tuple[int, dict[int, Call]]]
) -> list[LateRank]:
    rows = []
    for trace in traces:
        mine = [call for call in late if call.last == trace.rank]
        rows.append(
            LateRank(
                trace.rank,
                sum(trace.rank in calls for _, calls in matched),
                len(mine),
                median(call.late_us for call in mine) if mine else None,
                sum(call.waited_us for call in mine),
            )
        )
    return sorted(rows, key=lambda row: (-row.waited_us, row.rank))
