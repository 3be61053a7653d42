"""Nodes of a stage, packed: a row each would take more room than the texts they are in."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import zstandard
from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from . import storable
from .draft import FxNodeDraft, IrNodeDraft
from .models import GraphNodes

LEVEL = 9
IR_STAGES = ("ir_pre", "ir_post")

Nodes = Sequence[FxNodeDraft] | Sequence[IrNodeDraft]


def pack_nodes(nodes: Nodes) -> bytes:
    """zstd of columns, which compress better than records."""
    columns: dict[str, list[object]] = {}
    if nodes:
        for name in nodes[0].__dataclass_fields__:
            columns[name] = [getattr(node, name) for node in nodes]
    return zstandard.ZstdCompressor(level=LEVEL).compress(storable.json_text(columns).encode())


def _unpack(payload: bytes) -> list[dict[str, object]]:
    plain = zstandard.ZstdDecompressor().decompressobj().decompress(payload)
    columns = msgspec.json.decode(plain, type=dict[str, list[object]])
    names = list(columns)
    return [dict(zip(names, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def insert_nodes(session: Session, graph_id: int, packed: dict[str, tuple[int, bytes]]) -> None:
    """Stage → how many nodes, and the nodes packed."""
    rows = [
        {"graph_id": graph_id, "stage": stage, "count": count, "payload": payload}
        for stage, (count, payload) in packed.items()
    ]
    if rows:
        session.execute(insert(GraphNodes), rows)


def fx_nodes(session: Session, graph_id: int, stage: str = "post_grad") -> list[FxNodeDraft]:
    """The nodes of an FX stage, in the order of its lines."""
    return [msgspec.convert(node, FxNodeDraft) for node in _stored(session, graph_id, stage)]


def ir_nodes(session: Session, graph_id: int, stage: str = "ir_post") -> list[IrNodeDraft]:
    return [msgspec.convert(node, IrNodeDraft) for node in _stored(session, graph_id, stage)]


def fx_stages(session: Session, graph_id: int) -> list[str]:
    """The FX stages of which nodes are kept."""
    query = select(GraphNodes.stage).where(GraphNodes.graph_id == graph_id)
    return [stage for stage in session.scalars(query) if stage not in IR_STAGES]


def _stored(session: Session, graph_id: int, stage: str) -> list[dict[str, object]]:
    query = select(GraphNodes.payload).where(
        GraphNodes.graph_id == graph_id, GraphNodes.stage == stage
    )
    payload = session.scalar(query)
    return [] if payload is None else _unpack(payload)
