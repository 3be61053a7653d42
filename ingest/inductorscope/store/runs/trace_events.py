"""Stores the events of a trace as compressed columns in chunks of some thousands, so that a page
reads few events that it does not show."""

from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.store.contents.packing import compressor, decompressed
from inductorscope.store.runs.draft import EventChunk
from inductorscope.store.tables.times import TraceChunk

CHUNK = 16_384
LEVEL = 3
COLUMNS = (("ts", "<f8"), ("us", "<f8"), ("kernel", "<i4"), ("lane", "<i4"))
Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int32]


class EventColumns(msgspec.Struct):
    """Events in order of time: µs since the start of the first, duration, position of the kernel,
    number of the lane."""

    ts: Floats
    us: Floats
    kernel: Numbers
    lane: Numbers

    def __len__(self) -> int:
        return len(self.ts)


def pack_events(events: EventColumns) -> list[EventChunk]:
    """Sorts events by time and packs them in chunks."""
    order = np.argsort(events.ts, kind="stable")
    zstd = compressor(LEVEL)
    chunks = []
    for number, first in enumerate(range(0, len(order), CHUNK)):
        some = order[first : first + CHUNK]
        plain = b"".join(
            shuffled(getattr(events, name)[some].astype(kind)) for name, kind in COLUMNS
        )
        longest = float(events.us[some].max())
        payload = zstd.compress(plain)
        chunks.append(EventChunk(number, first, len(some), longest, payload))
    return chunks


def unpack_events(payload: bytes, count: int) -> EventColumns:
    plain = decompressed(payload)
    columns: list[np.ndarray[Any, Any]] = []
    at = 0
    for _, kind in COLUMNS:
        width = np.dtype(kind).itemsize
        columns.append(in_order(plain[at : at + width * count], width, kind))
        at += width * count
    return EventColumns(*columns)


def shuffled(column: np.ndarray[Any, Any]) -> bytes:
    """Puts the first bytes of all numbers first, then the second: similar bytes compress well."""
    return column.view(np.uint8).reshape(len(column), -1).T.tobytes()


def in_order(plain: bytes, width: int, kind: str) -> np.ndarray[Any, Any]:
    """Returns the column that `shuffled` made the bytes of."""
    stacked = np.frombuffer(plain, np.uint8).reshape(width, -1)
    return np.ascontiguousarray(stacked.T).view(kind).reshape(-1)


def read_chunk(session: Session, profile_id: int, number: int, count: int) -> EventColumns:
    payload = session.scalar(
        select(TraceChunk.payload).where(
            TraceChunk.profile_id == profile_id, TraceChunk.number == number
        )
    )
    return unpack_events(payload or b"", count)
