"""An index of parts of words for SQLite's search of runs, digests of kernels, rules of projects."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"

WIDE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
FAILURES = (
    "UPDATE run_search SET text = text || '\n' ||"
    " (SELECT lower(failure) FROM runs WHERE id = run_id)"
    " WHERE run_id IN (SELECT id FROM runs WHERE failure IS NOT NULL)"
)
ON_SQLITE = (
    "CREATE TABLE numbered (id INTEGER NOT NULL, run_id VARCHAR(16) NOT NULL, text TEXT NOT NULL,"
    " CONSTRAINT pk_run_search PRIMARY KEY (id), CONSTRAINT uq_run_search_run_id UNIQUE (run_id),"
    " CONSTRAINT fk_run_search_run_id_runs FOREIGN KEY(run_id) REFERENCES runs (id)"
    " ON DELETE CASCADE)",
    "INSERT INTO numbered (run_id, text) SELECT run_id, text FROM run_search",
    "DROP TABLE run_search",
    "ALTER TABLE numbered RENAME TO run_search",
    "CREATE VIRTUAL TABLE run_index USING fts5(text, content='run_search', content_rowid='id',"
    " detail=none, columnsize=0, tokenize='trigram')",
    "INSERT INTO run_index(run_index) VALUES ('rebuild')",
    "CREATE TRIGGER run_search_inserted AFTER INSERT ON run_search BEGIN"
    " INSERT INTO run_index(rowid, text) VALUES (new.id, new.text); END",
    "CREATE TRIGGER run_search_deleted AFTER DELETE ON run_search BEGIN"
    " INSERT INTO run_index(run_index, rowid, text) VALUES ('delete', old.id, old.text); END",
    "CREATE TRIGGER run_search_updated AFTER UPDATE OF text ON run_search"
    " WHEN old.text <> new.text BEGIN"
    " INSERT INTO run_index(run_index, rowid, text) VALUES ('delete', old.id, old.text);"
    " INSERT INTO run_index(rowid, text) VALUES (new.id, new.text); END",
)  # fmt: skip
ON_POSTGRESQL = (
    "ALTER TABLE run_search DROP CONSTRAINT pk_run_search,"
    " ADD COLUMN id BIGSERIAL CONSTRAINT pk_run_search PRIMARY KEY,"
    " ADD CONSTRAINT uq_run_search_run_id UNIQUE (run_id)",
)


def upgrade() -> None:
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    for statement in (FAILURES, *(ON_SQLITE if is_sqlite else ON_POSTGRESQL)):
        op.get_bind().exec_driver_sql(statement)
    op.add_column("kernels", sa.Column("digest", WIDE, nullable=True))
    known = sa.text("digest IS NOT NULL")
    op.create_index(
        "ix_kernels_digest", "kernels", ["digest"], sqlite_where=known, postgresql_where=known
    )
    op.add_column("rules", sa.Column("project", sa.Text(), nullable=True))
