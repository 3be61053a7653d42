"""Facts of runs in Parquet files, which DuckDB reads in a hundredth of the time that the database
takes.

The files repeat what the database has, so they may be deleted. Each holds the facts of hundreds of
runs, because opening twenty thousand files would take most of a query. Rows of deleted runs stay
until files are merged; readers therefore name the runs that count.
"""

from __future__ import annotations

import fcntl
import secrets
from collections.abc import Collection, Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import Executable, select
from sqlalchemy.orm import Session

from inductorscope.store.database.private import make_private_folder
from inductorscope.store.runs.compile_story import load_story
from inductorscope.store.tables.models import COMPLETE, Graph, Kernel, Run
from inductorscope.store.tables.times import LineCost

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MANIFEST = "manifest.json"
AT_ONCE = 500
"""Runs in one file."""
LEFT_TO_QUERY = 20
"""Up to this many new runs are left to the next query, which writes their facts faster than a
process starts."""
MOST_BATCHES = 50
"""If a table has more files than this, they are merged."""
ROWS_AT_ONCE = 10_000

TEXT, WHOLE, NUMBER, TIME = "VARCHAR", "BIGINT", "DOUBLE", "TIMESTAMP"
Columns = dict[str, str]
RUNS: Columns = {
    "run": TEXT, "name": TEXT, "tags": "VARCHAR[]", "origin": TEXT, "created_at": TIME,
    "torch_version": TEXT, "device": TEXT, "device_kind": TEXT, "graphs": WHOLE, "kernels": WHOLE,
    "graph_breaks": WHOLE, "recompiles": WHOLE, "compile_seconds": NUMBER, "eager_ms": NUMBER,
    "compiled_ms": NUMBER, "bytes_in": WHOLE, "bytes_stored": WHOLE, "failure": TEXT,
}  # fmt: skip
"""Columns of the table of runs. It is read from the database, because names and tags change."""
FACTS: dict[str, Columns] = {
    "kernels": {
        "run": TEXT, "graph": TEXT, "direction": TEXT, "kernel": TEXT, "kind": TEXT,
        "category": TEXT, "calls": WHOLE, "time_us": NUMBER, "time_calls": NUMBER,
    },
    "lines": {
        "run": TEXT, "path": TEXT, "line": WHOLE, "kernels": WHOLE, "inclusive_us": NUMBER,
        "shared_us": NUMBER,
    },
    "breaks": {
        "run": TEXT, "path": TEXT, "line": WHOLE, "title": TEXT, "explanation": TEXT,
    },
}  # fmt: skip
"""The other tables and their columns."""


class Batch(msgspec.Struct):
    """Files with the facts of some runs, one file a table."""

    id: str
    runs: dict[str, int]
    """Each run's stored size, which renewed links change: a later batch has its facts again."""


def available() -> bool:
    """Whether DuckDB is installed."""
    return find_spec("duckdb") is not None


def batches(folder: Path) -> list[Batch]:
    try:
        return msgspec.json.decode((folder / MANIFEST).read_bytes(), type=list[Batch])
    except (FileNotFoundError, msgspec.MsgspecError):
        return []


def rows_of(folder: Path, table: str) -> str | None:
    """Returns SQL that reads a table; None if it has no files."""
    parts: list[str] = []
    later: set[str] = set()
    for batch in reversed(batches(folder)):
        old = ", ".join(f"'{run}'" for run in batch.runs.keys() & later)
        where = f" WHERE run NOT IN ({old})" if old else ""
        parts.append(f"FROM read_parquet({_quoted(_file(folder, table, batch.id))}){where}")
        later |= batch.runs.keys()
    return f"FROM ({' UNION ALL '.join(parts)})" if parts else None


def missing(session: Session, folder: Path) -> dict[str, int]:
    """Returns the complete runs without facts, or with outdated ones, and their stored sizes."""
    known = _known(folder)
    return {run: size for run, size in _complete(session).items() if known.get(run) != size}


def _known(folder: Path) -> dict[str, int]:
    return {run: size for batch in batches(folder) for run, size in batch.runs.items()}


def due(session: Session, folder: Path) -> bool:
    """Returns whether it is worth starting a process: many runs to write, or files to merge."""
    return len(missing(session, folder)) > LEFT_TO_QUERY or len(batches(folder)) > MOST_BATCHES


def update(session: Session, folder: Path, most: int, *, merge: bool = False) -> int:
    """Writes the facts of up to `most` runs that the session sees; returns how many remain. Writes
    nothing while another process writes. `merge`: also merges many files, without the runs that the
    session does not see."""
    make_private_folder(folder)
    with (folder / "lock").open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return len(missing(session, folder))
        left = missing(session, folder)
        written = list(left.items())[:most]
        for start in range(0, len(written), AT_ONCE):
            _write(session, folder, dict(written[start : start + AT_ONCE]))
        if merge and len(batches(folder)) > MOST_BATCHES:
            _merge(folder, _complete(session).keys())
    return len(left) - len(written)


def read_rows(into: DuckDBPyConnection, table: str, columns: Columns, rows: Iterable[Any]) -> None:
    with NamedTemporaryFile(suffix=".json") as file:
        encode = msgspec.json.Encoder().encode_lines
        some: list[dict[str, Any]] = []
        for row in rows:
            some.append(dict(zip(columns, row, strict=True)))
            if len(some) >= ROWS_AT_ONCE:
                file.write(encode(some))
                some.clear()
        file.write(encode(some))
        file.flush()
        into.execute(
            f"CREATE TABLE {table} AS SELECT * FROM read_json(?, columns = ?, "  # noqa: S608
            "format = 'newline_delimited')",
            [file.name, columns],
        )


def _complete(session: Session) -> dict[str, int]:
    query = select(Run.id, Run.bytes_stored).where(Run.state == COMPLETE)
    return dict(session.execute(query.order_by(Run.created_at.desc())).all())


def _file(folder: Path, table: str, batch: str) -> Path:
    return folder / f"{table}-{batch}.parquet"


def _quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"


def _write(session: Session, folder: Path, runs: dict[str, int]) -> None:
    import duckdb

    batch = Batch(secrets.token_hex(8), runs)
    rows: dict[str, Iterable[Any]] = {
        "kernels": _rows(session, _kernels(runs)),
        "lines": _rows(session, _lines(runs)),
        "breaks": _breaks(session, runs),
    }
    with duckdb.connect() as database:
        for table, columns in FACTS.items():
            read_rows(database, table, columns, rows[table])
            _copy(database, f"FROM {table}", _file(folder, table, batch.id))
    _replace_manifest(folder, [*batches(folder), batch])


def _merge(folder: Path, complete: Collection[str]) -> None:
    import duckdb

    old = batches(folder)
    runs = {run: size for run, size in _known(folder).items() if run in complete}
    batch = Batch(secrets.token_hex(8), runs)
    with duckdb.connect() as database:
        read_rows(database, "kept", {"run": TEXT}, ((run,) for run in batch.runs))
        for table in FACTS:
            rows = f"{rows_of(folder, table)} SEMI JOIN kept USING (run)"
            _copy(database, rows, _file(folder, table, batch.id))
    _replace_manifest(folder, [batch])
    for gone in old:  # a process that has opened a file keeps reading it
        for table in FACTS:
            _file(folder, table, gone.id).unlink(missing_ok=True)


def _copy(database: DuckDBPyConnection, rows: str, to: Path) -> None:
    # Sorted, so that a query for one kernel reads few groups of rows.
    how = "(FORMAT parquet, COMPRESSION zstd)"
    database.execute(f"COPY ({rows} ORDER BY ALL) TO {_quoted(to)} {how}")


def _replace_manifest(folder: Path, now: list[Batch]) -> None:
    new = folder / f"{MANIFEST}.new"
    new.write_bytes(msgspec.json.encode(now))
    new.replace(folder / MANIFEST)


def _rows(session: Session, query: Executable) -> Iterator[Any]:
    return iter(session.execute(query.execution_options(yield_per=ROWS_AT_ONCE)))


def _kernels(runs: Collection[str]) -> Executable:
    return (
        select(
            Graph.run_id, Graph.slug, Graph.direction, Kernel.name, Kernel.kind, Kernel.category,
            Kernel.call_count, Kernel.time_us, Kernel.time_calls,
        )
        .join(Kernel, Kernel.graph_id == Graph.id)
        .where(Graph.run_id.in_(runs))
    )  # fmt: skip


def _lines(runs: Collection[str]) -> Executable:
    return select(
        LineCost.run_id, LineCost.path, LineCost.line, LineCost.kernels, LineCost.inclusive_us,
        LineCost.shared_us,
    ).where(LineCost.run_id.in_(runs))  # fmt: skip


def _breaks(session: Session, runs: Collection[str]) -> Iterator[Any]:
    for run in runs:
        story = load_story(session, run)
        for graph_break in story.breaks if story is not None else ():
            yield run, graph_break.file, graph_break.at, graph_break.title, graph_break.explanation
