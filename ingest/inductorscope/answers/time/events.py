"""Selects a page of a trace's events, which are stored as chunks of columns."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.store.runs.trace_events import EventColumns, read_chunk
from inductorscope.store.tables.times import TraceChunk

Picked = Iterable[tuple[int, float, float, int, int]]
"""Index among all events, start, duration, position of the kernel, and lane."""


def picked_events(
    session: Session,
    profile: int,
    wanted: Sequence[int] | None,
    *,
    by_length: bool,
    ascending: bool,
    first: int,
    last: int,
) -> tuple[int, Picked]:
    """Returns how many events match, and those from `first` to before `last`. Reads only the chunks
    that it needs. `wanted`: positions of kernels; None for all."""
    chunks = session.execute(
        select(TraceChunk.number, TraceChunk.first, TraceChunk.count, TraceChunk.longest_us)
        .where(TraceChunk.profile_id == profile)
        .order_by(TraceChunk.number)
    ).all()
    if not by_length and not ascending:
        chunks = chunks[::-1]
    total = 0
    places = np.zeros(0, np.int64)
    kept = EventColumns(*(np.zeros(0, kind) for kind in ("f8", "f8", "i4", "i4")))
    for number, begin, count, longest in chunks:
        full = len(places) >= last  # then shorter chunks have nothing that sorts before the last
        if (
            full
            and wanted is None
            and (not by_length or (not ascending and longest <= float(kept.us[-1])))
        ):
            total += count
            continue
        events = read_chunk(session, profile, number, count)
        indices = np.arange(begin, begin + count)
        if wanted is not None:
            match = np.isin(events.kernel, np.array(wanted, np.int32))
            events, indices = _taken(events, match), indices[match]
        total += len(indices)
        if full and not by_length:
            continue
        kept = EventColumns(
            *(
                np.concatenate((getattr(kept, name), getattr(events, name)))
                for name in EventColumns.__struct_fields__
            )
        )
        places = np.concatenate((places, indices))
        order = _order(kept, places, by_length=by_length, ascending=ascending)[:last]
        kept, places = _taken(kept, order), places[order]
    kept = _taken(kept, np.arange(len(places))[first:])
    return total, zip(
        places[first:last].tolist(), kept.ts.tolist(), kept.us.tolist(), kept.kernel.tolist(),
        kept.lane.tolist(), strict=True,
    )  # fmt: skip


def _order(
    events: EventColumns, places: np.ndarray[Any, Any], *, by_length: bool, ascending: bool
) -> np.ndarray[Any, Any]:
    if by_length:
        return np.lexsort((places, events.us if ascending else -events.us))
    return np.argsort(places if ascending else -places)


def _taken(events: EventColumns, which: np.ndarray[Any, Any]) -> EventColumns:
    return EventColumns(*(getattr(events, name)[which] for name in EventColumns.__struct_fields__))
