"""Stores the events of a trace as compressed columns in chunks of some thousands, so that a page
reads few events that it does not show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import zstandard
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.store.database import storable
from inductorscope.store.database.bulk import insert_rows
from inductorscope.store.runs.draft import EventChunk, TraceKernelDraft
from inductorscope.store.tables.times import TraceChunk, TraceKernel

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
    compressor = zstandard.ZstdCompressor(level=LEVEL)
    chunks = []
    for number, first in enumerate(range(0, len(order), CHUNK)):
        some = order[first : first + CHUNK]
        plain = b"".join(
            _shuffled(getattr(events, name)[some].astype(kind)) for name, kind in COLUMNS
        )
        longest = float(events.us[some].max())
        payload = compressor.compress(plain)
        chunks.append(EventChunk(number, first, len(some), longest, payload))
    return chunks


def unpack_events(payload: bytes, count: int) -> EventColumns:
    plain = zstandard.ZstdDecompressor().decompressobj().decompress(payload)
    columns: list[np.ndarray[Any, Any]] = []
    at = 0
    for _, kind in COLUMNS:
        width = np.dtype(kind).itemsize
        columns.append(_in_order(plain[at : at + width * count], width, kind))
        at += width * count
    return EventColumns(*columns)


def _shuffled(column: np.ndarray[Any, Any]) -> bytes:
    """Puts the first bytes of all numbers first, then the second: similar bytes compress well."""
    return column.view(np.uint8).reshape(len(column), -1).T.tobytes()


def _in_order(plain: bytes, width: int, kind: str) -> np.ndarray[Any, Any]:
    stacked = np.frombuffer(plain, np.uint8).reshape(width, -1)
    return np.ascontiguousarray(stacked.T).view(kind).reshape(-1)


def insert_trace(
    session: Session,
    profile_id: int,
    kernels: Sequence[TraceKernelDraft],
    chunks: Sequence[EventChunk],
) -> None:
    facts = [name for name in TraceKernelDraft.__struct_fields__ if name != "kernel"]
    rows = [
        {name: storable.plain(getattr(kernel, name)) for name in facts}
        | {"profile_id": profile_id, "kernel_id": kernel.kernel.id if kernel.kernel else None}
        for kernel in kernels
    ]
    insert_rows(session, TraceKernel, rows)
    packed = EventChunk.__struct_fields__
    insert_rows(
        session,
        TraceChunk,
        [
            {"profile_id": profile_id} | {name: getattr(chunk, name) for name in packed}
            for chunk in chunks
        ],
    )


def read_chunk(session: Session, profile_id: int, number: int, count: int) -> EventColumns:
    payload = session.scalar(
        select(TraceChunk.payload).where(
            TraceChunk.profile_id == profile_id, TraceChunk.number == number
        )
    )
    return unpack_events(payload or b"", count)
