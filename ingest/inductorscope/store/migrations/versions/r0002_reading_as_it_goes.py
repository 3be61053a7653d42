"""Runs appear while they are read; texts in frames, records of logs, full-text search."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
import zstandard
from alembic import op

revision = "0002"
down_revision = "0001"

WIDE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
FX = ("name", "target", "line", "annotation", "stack_file", "stack_line")
IR = ("name", "kind", "first_line", "last_line", "buffers")


def upgrade() -> None:
    op.add_column("runs", sa.Column("state", sa.Text(), nullable=False, server_default="complete"))
    op.add_column("runs", sa.Column("reader", sa.Text(), nullable=True))
    op.add_column("runs", sa.Column("read_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("runs", sa.Column("step", sa.Text(), nullable=True))
    op.add_column("blobs", sa.Column("frames", sa.LargeBinary(), nullable=True))
    op.add_column("graphs", sa.Column("sources", sa.JSON(), nullable=False, server_default="{}"))
    _create_tables()
    _count_sources()
    _pack_nodes("fx_nodes", FX, "line")
    _pack_nodes("ir_nodes", IR, "first_line")
    op.drop_table("ir_nodes")
    op.drop_table("fx_nodes")
    _pack_calls()
    _pack_facts()
    _create_index()


def _create_tables() -> None:
    op.create_table(
        "blob_parts",
        sa.Column("blob", sa.String(length=64), nullable=False),
        sa.Column("part", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(
            ["blob"], ["blobs.digest"], name=op.f("fk_blob_parts_blob_blobs"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["part"], ["blobs.digest"], name=op.f("fk_blob_parts_part_blobs")),
        sa.PrimaryKeyConstraint("blob", "part", name=op.f("pk_blob_parts")),
    )
    op.create_index("ix_blob_parts_part", "blob_parts", ["part"])
    op.create_table(
        "text_frames",
        sa.Column("id", WIDE, nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("first_line", WIDE, nullable=False),
        sa.Column("lines", WIDE, nullable=False),
        sa.ForeignKeyConstraint(
            ["digest"],
            ["blobs.digest"],
            name=op.f("fk_text_frames_digest_blobs"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_text_frames")),
    )
    op.create_index("ix_text_frames_digest", "text_frames", ["digest"])
    op.create_table(
        "graph_nodes",
        sa.Column("graph_id", WIDE, nullable=False),
        sa.Column("stage", sa.Text(), nullable=False),
        sa.Column("count", WIDE, nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["graph_id"],
            ["graphs.id"],
            name=op.f("fk_graph_nodes_graph_id_graphs"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("graph_id", "stage", name=op.f("pk_graph_nodes")),
    )
    op.create_table(
        "log_entries",
        sa.Column("id", WIDE, nullable=False),
        sa.Column("run_id", sa.String(length=16), nullable=False),
        sa.Column("log", sa.Text(), nullable=False),
        sa.Column("line", WIDE, nullable=False),
        sa.Column("lines", WIDE, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=True),
        sa.Column("compile_id", sa.Text(), nullable=True),
        sa.Column("attempt", WIDE, nullable=True),
        sa.Column("rank", WIDE, nullable=True),
        sa.Column("pid", WIDE, nullable=False),
        sa.Column("artifact_id", WIDE, nullable=True),
        sa.ForeignKeyConstraint(
            ["run_id"], ["runs.id"], name=op.f("fk_log_entries_run_id_runs"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["artifact_id"],
            ["artifacts.id"],
            name=op.f("fk_log_entries_artifact_id_artifacts"),
            ondelete="SET NULL",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_log_entries")),
    )
    op.create_index("ix_log_entries_run_id_compile_id", "log_entries", ["run_id", "compile_id"])
    op.create_index("ix_log_entries_artifact_id", "log_entries", ["artifact_id"])


def _count_sources() -> None:
    connection = op.get_bind()
    query = sa.text(
        "SELECT graph_id, stack_file, count(*) FROM fx_nodes "
        "WHERE stack_file IS NOT NULL GROUP BY graph_id, stack_file"
    )
    counts: dict[int, dict[str, int]] = {}
    for graph_id, path, count in connection.execute(query):
        counts.setdefault(graph_id, {})[path] = count
    for graph_id, sources in counts.items():
        connection.execute(
            sa.text("UPDATE graphs SET sources = :sources WHERE id = :id"),
            {"id": graph_id, "sources": json.dumps(sources)},
        )


def _pack_nodes(table: str, columns: tuple[str, ...], order: str) -> None:
    """Packs nodes that earlier versions kept as rows. Imports nothing: a revision never changes."""
    names = ", ".join(columns)
    query = f"SELECT graph_id, stage, {names} FROM {table} ORDER BY graph_id, stage, {order}, id"  # noqa: S608  # constant names
    for graph_id, stage, nodes in _groups(op.get_bind().execute(sa.text(query)).fetchall()):
        values = {
            name: [_json(node[position]) if name == "buffers" else node[position] for node in nodes]
            for position, name in enumerate(columns)
        }
        _insert(graph_id, stage, len(nodes), values)


def _pack_calls() -> None:
    number = (
        "UPDATE kernel_calls SET number = (SELECT count(*) FROM kernel_calls AS other "
        "WHERE other.graph_id = kernel_calls.graph_id AND other.id < kernel_calls.id)"
    )
    op.add_column("kernel_calls", sa.Column("number", WIDE, nullable=False, server_default="0"))
    op.execute(number)
    query = "SELECT graph_id, 'calls', arguments, fx_nodes FROM kernel_calls ORDER BY graph_id, id"
    for graph_id, stage, rows in _groups(op.get_bind().execute(sa.text(query)).fetchall()):
        _insert(graph_id, stage, len(rows), [[_json(value) for value in row] for row in rows])
    op.drop_column("kernel_calls", "arguments")
    op.drop_column("kernel_calls", "fx_nodes")


def _pack_facts() -> None:
    query = "SELECT graph_id, 'kernel_facts', name, facts FROM kernels ORDER BY graph_id, id"
    for graph_id, stage, rows in _groups(op.get_bind().execute(sa.text(query)).fetchall()):
        facts = {name: _json(value) for name, value in rows}
        _insert(graph_id, stage, len(facts), {name: fact for name, fact in facts.items() if fact})
    op.drop_column("kernels", "facts")


def _insert(graph_id: int, stage: str, count: int, value: object) -> None:
    statement = sa.text(
        "INSERT INTO graph_nodes (graph_id, stage, count, payload) "
        "VALUES (:graph_id, :stage, :count, :payload)"
    )
    payload = zstandard.ZstdCompressor(level=9).compress(json.dumps(value).encode())
    op.get_bind().execute(
        statement, {"graph_id": graph_id, "stage": stage, "count": count, "payload": payload}
    )


def _groups(rows: Any) -> Iterator[tuple[int, str, list[Any]]]:  # noqa: ANN401  # a result
    key: tuple[int, str] | None = None
    nodes: list[Any] = []
    for row in rows:
        if (row[0], row[1]) != key:
            if key is not None:
                yield *key, nodes
            key, nodes = (row[0], row[1]), []
        nodes.append(row[2:])
    if key is not None:
        yield *key, nodes


def _json(value: Any) -> Any:  # noqa: ANN401  # any column
    """Decodes a JSON column, which is text if the query names no types."""
    return json.loads(value) if isinstance(value, str) else value


def _create_index() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER TABLE text_frames ADD COLUMN words tsvector")
        op.execute("CREATE INDEX text_frames_words ON text_frames USING gin (words)")
        # Already compressed; stored in pieces out of line, so that reading a few bytes is fast.
        op.execute("ALTER TABLE blobs ALTER COLUMN data SET STORAGE EXTERNAL")
    else:
        op.execute(
            "CREATE VIRTUAL TABLE text_index USING fts5("
            "body, content='', detail=none, tokenize='unicode61 remove_diacritics 0')"
        )
