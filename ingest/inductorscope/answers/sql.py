"""Runs SQL on the facts of runs: one SELECT, read-only, with limits on time, memory and rows."""

from __future__ import annotations

import json
import math
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from inductorscope.answers.missing import Exceeded, begin
from inductorscope.store.facts import (
    FACTS,
    RUNS,
    available,
    missing,
    read_rows,
    rows_of,
    update,
)
from inductorscope.store.tables.models import COMPLETE, Run

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MOST_ROWS = 1000
LONGEST_CELL = 2000
SECONDS = 5.0
MEMORY = "400 MB"
ASK_FOR_LESS = "Narrow it with WHERE, or group by less."
WRITTEN_AT_ONCE = 500
"""Most runs whose facts are written before a query; for more, workers write them."""
REFUSED = {
    "current_setting", "pg_get_viewdef", "pg_get_constraintdef", "format_type", "get_block_size",
}  # fmt: skip
"""Functions that tell where files are, or read DuckDB's catalog."""
SOURCES = {"range", "generate_series", "unnest"}
"""Functions that may be used as a table."""
FROM = {"BASE_TABLE", "TABLE_FUNCTION", "JOIN", "SUBQUERY", "EMPTY", "EXPRESSION_LIST", "PIVOT"}
"""What may follow FROM, by DuckDB's names."""

EXAMPLES = {
    "Kernels that take most time in all runs": """\
SELECT kernel, sum(time_us) / 1e3 AS ms, count(DISTINCT run) AS runs, median(time_us) AS median_us
FROM kernels GROUP BY kernel ORDER BY ms DESC NULLS LAST LIMIT 20""",
    "A step, month by month": """\
SELECT date_trunc('month', created_at) AS month, median(compiled_ms) AS median_ms, count(*) AS runs
FROM runs WHERE compiled_ms IS NOT NULL GROUP BY month ORDER BY month""",
    "Why graphs break": """\
SELECT title, count(*) AS breaks, count(DISTINCT run) AS runs
FROM breaks GROUP BY title ORDER BY runs DESC""",
    "Versions of torch": """\
SELECT torch_version, count(*) AS runs, median(compile_seconds) AS median_compile_s
FROM runs GROUP BY torch_version ORDER BY runs DESC""",
}


class SqlPage(msgspec.Struct, frozen=True):
    """A query and its rows, `/sql`. The address contains the query, so it is a permalink."""

    sql: str
    error: str | None = None
    columns: list[str] = msgspec.field(default_factory=list)
    rows: list[list[Any]] = msgspec.field(default_factory=list)
    numeric: list[int] = msgspec.field(default_factory=list)
    """Positions of numeric columns."""
    more: bool = False
    """Whether there are more rows than are shown."""
    seconds: float | None = None
    unwritten: int = 0
    """Number of runs that queries do not include yet, because many facts have to be written."""
    tables: dict[str, dict[str, str]] = msgspec.field(
        default_factory=lambda: {"runs": RUNS, **FACTS}
    )
    examples: dict[str, str] = msgspec.field(default_factory=lambda: EXAMPLES)


class _Refused(ValueError):
    """The query is not one SELECT on the facts; the message is a sentence."""


def sql_page(session: Session, _key: str, sql: str, folder: str) -> SqlPage:
    """Runs a query on the facts of the runs that the session may see. Raises Exceeded."""
    if not available():
        return SqlPage(sql, "Queries need DuckDB: `pip install 'inductorscope[facts]'`.")
    place = Path(folder)
    if not sql.strip():
        return SqlPage(sql, unwritten=max(0, len(missing(session, place)) - WRITTEN_AT_ONCE))
    unwritten = update(session, place, WRITTEN_AT_ONCE)

    import duckdb

    begun = time.monotonic()
    with duckdb.connect() as database:
        try:
            _prepare(database, session, place, _tables_of(database, sql))
            begin("the query", seconds=SECONDS)
            result = database.execute(sql)
            columns = [column[0] for column in result.description or ()]
            rows = result.fetchmany(MOST_ROWS + 1)
            shown = [[_cell(cell) for cell in row] for row in rows[:MOST_ROWS]]
            kinds = [{*map(type, cells)} - {type(None)} for cells in zip(*shown, strict=True)]
            numeric = [at for at, kind in enumerate(kinds) if kind and kind <= {int, float}]
            seconds = time.monotonic() - begun
            more = len(rows) > MOST_ROWS
            return SqlPage(
                sql, None, columns, shown, numeric, more=more, seconds=seconds, unwritten=unwritten
            )
        except _Refused as refused:
            error = str(refused)
        except duckdb.OutOfMemoryException:
            raise Exceeded(f"needs more than {MEMORY} of memory") from None
        except duckdb.Error as failed:
            error = str(failed)
    return SqlPage(sql, error, unwritten=unwritten)


def _prepare(
    database: DuckDBPyConnection, session: Session, folder: Path, wanted: set[str]
) -> None:
    """Creates the tables that a query names, then closes everything else."""
    for name, value in (
        ("memory_limit", MEMORY), ("threads", "2"), ("temp_directory", ""),
        ("autoinstall_known_extensions", "false"), ("autoload_known_extensions", "false"),
        ("python_enable_replacements", "false"), ("allowed_directories", [f"{folder}/"]),
    ):  # fmt: skip
        database.execute(f"SET {name} = ?", [value])
    device = func.coalesce(Run.device_name, Run.device_kind)
    runs = select(
        Run.id, Run.name, Run.tags, Run.origin, Run.created_at, Run.torch_version, device,
        Run.device_kind, Run.graph_count, Run.kernel_count, Run.graph_breaks, Run.recompiles,
        Run.compile_seconds, Run.eager_ms, Run.compiled_ms, Run.bytes_in, Run.bytes_stored,
        Run.failure,
    ).where(Run.state == COMPLETE)  # fmt: skip
    # Other tables need the runs too, but only their ids.
    columns = RUNS if "runs" in wanted else {"run": RUNS["run"]}
    query = runs if "runs" in wanted else select(Run.id).where(Run.state == COMPLETE)
    read_rows(database, "runs", columns, session.execute(query))
    for table in wanted & FACTS.keys():
        rows = rows_of(folder, table) or _empty(table)
        database.execute(f"CREATE VIEW {table} AS {rows} SEMI JOIN runs USING (run)")
    database.execute("SET enable_external_access = false; SET lock_configuration = true")


def _empty(table: str) -> str:
    columns = ", ".join(f"NULL::{kind} AS {name}" for name, kind in FACTS[table].items())
    return f"FROM (SELECT {columns} LIMIT 0)"


def _tables_of(database: DuckDBPyConnection, sql: str) -> set[str]:
    """Returns the names of the tables that a query reads. Raises _Refused unless it is one SELECT
    that reads only the tables of facts."""
    (text,) = database.execute("SELECT json_serialize_sql(?)", [sql]).fetchone() or ("{}",)
    read: set[str] = set()
    try:
        parsed = json.loads(text)
        if parsed.get("error"):
            raise _Refused(str(parsed.get("error_message", "This is no SELECT.")))
        if len(parsed["statements"]) != 1:
            raise _Refused("Ask one SELECT at a time.")
        _check(parsed, frozenset({"runs", *FACTS}), read)
    except RecursionError:
        raise _Refused("The query is nested too deeply.") from None
    return read


def _check(part: Any, known: frozenset[str], read: set[str]) -> None:  # noqa: ANN401  # any JSON
    """Adds the tables that a part of a query reads, all of them among `known`. Raises _Refused."""
    if isinstance(part, list):
        for item in part:
            _check(item, known, read)
    if not isinstance(part, dict):
        return
    if part.get("type") == "BASE_TABLE":
        read.add(part["table_name"].lower())
    _check_node(part, known)
    # A name that WITH gives holds in the queries that it gives later, and in its own one.
    for given in part.get("cte_map", {"map": []})["map"]:
        _check(given["value"], known, read)
        known |= {given["key"].lower()}
    for key, value in part.items():
        if key == "right" and "cte_name" in part:  # the part of a recursive query that repeats
            _check(value, known | {part["cte_name"].lower()}, read)
        elif key != "cte_map":
            _check(value, known, read)


def _check_node(node: dict[str, Any], known: frozenset[str]) -> None:
    kind = node.get("type")
    if "alias" in node and "sample" in node and kind not in FROM:  # allowed after FROM
        raise _Refused(f"Only these tables can be read: {', '.join(['runs', *FACTS])}.")
    if kind == "BASE_TABLE" and (
        node["schema_name"] or node["catalog_name"] or node["table_name"].lower() not in known
    ):
        raise _Refused(f"There is no table {node['table_name']}.")
    if kind == "TABLE_FUNCTION" and node["function"]["function_name"] not in SOURCES:
        raise _Refused(f"{node['function']['function_name']} reads no facts of runs.")
    if str(node.get("function_name")).lower() in REFUSED:
        raise _Refused(f"{node['function_name']} tells nothing about runs.")


def _cell(value: object) -> object:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int):
        return value
    text = value.isoformat(" ") if isinstance(value, datetime) else str(value)
    return text[:LONGEST_CELL]
