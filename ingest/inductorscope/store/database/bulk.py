"""Inserts many rows by the fastest way of each database."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any

import msgspec
from sqlalchemy import JSON, Column, Float, Integer, Table, func, insert, select
from sqlalchemy.orm import Session

from inductorscope.store.database import storable
from inductorscope.store.tables.models import Base

Convert = Callable[[Any], Any]


def insert_records(
    session: Session, model: type[Base], records: Sequence[msgspec.Struct], **fixed: int | str
) -> int:
    """Inserts records whose fields are named like the model's columns; returns their number.

    `fixed` are columns with the same value in all rows, such as their graph. Supports columns of
    text, numbers, booleans and JSON.
    """
    if not records:
        return 0
    table = table_of(model)
    own = records[0].__struct_fields__
    columns = [*fixed, *own]
    rows = _rows(table, records, own, tuple(fixed.values()))
    _insert(session, table, columns, rows)
    return len(rows)


def insert_numbered(
    session: Session, model: type[Base], records: Sequence[msgspec.Struct], **fixed: int | str
) -> list[int]:
    """Inserts records like `insert_records`; returns the ids of the rows, in their order. For
    tables that may reuse the ids of deleted rows."""
    if not records:
        return []
    if session.get_bind().dialect.name == "postgresql":
        own = records[0].__struct_fields__
        columns = [*fixed, *own]
        rows = _rows(table_of(model), records, own, tuple(fixed.values()))
        named = [dict(zip(columns, row, strict=True)) for row in rows]
        return insert_returning(session, model, named)
    # No other process writes during the transaction, so choosing the ids here is safe.
    table = table_of(model)
    own = records[0].__struct_fields__
    first = (session.scalar(select(func.max(table.c.id))) or 0) + 1
    numbers = list(range(first, first + len(records)))
    rows = _rows(table, records, own, tuple(fixed.values()))
    numbered = [(number, *row) for number, row in zip(numbers, rows, strict=True)]
    _insert(session, table, ["id", *fixed, *own], numbered)
    return numbers


def _rows(
    table: Table, records: Sequence[msgspec.Struct], own: tuple[str, ...], constant: tuple[Any, ...]
) -> list[tuple[Any, ...]]:
    columns = [
        [None if value is None else change(value) for value in map(attrgetter(name), records)]
        for name, change in ((name, _converter(table.c[name])) for name in own)
    ]
    return [constant + row for row in zip(*columns, strict=True)]


def _insert(
    session: Session, table: Table, columns: Sequence[str], rows: list[tuple[Any, ...]]
) -> None:
    if session.get_bind().dialect.name == "postgresql":
        _copy(session, table.name, columns, rows)
    else:
        marks = ", ".join("?" * len(columns))
        names = ", ".join(columns)
        statement = f"INSERT INTO {table.name} ({names}) VALUES ({marks})"  # noqa: S608  # constant names
        session.connection().exec_driver_sql(statement, rows)


def table_of(model: type[Base]) -> Table:
    """Returns the model's table: for hundreds of rows, statements on it are faster than objects."""
    table = model.__table__
    assert isinstance(table, Table)
    return table


def row_of(model: type[Base], record: object, **more: object) -> dict[str, Any]:
    """Returns the columns that a record has under the same names, and `more`, in a form that both
    databases can store."""
    columns = table_of(model).columns.keys()
    own = {name: getattr(record, name) for name in columns if hasattr(record, name)}
    return {name: storable.plain(value) for name, value in (own | more).items()}


def insert_rows(session: Session, model: type[Base], rows: Sequence[Mapping[str, Any]]) -> None:
    if rows:
        session.connection().execute(insert(table_of(model)), rows)


def insert_returning(
    session: Session, model: type[Base], rows: Sequence[Mapping[str, Any]]
) -> list[int]:
    """Inserts rows and returns their ids, in the same order."""
    if not rows:
        return []
    table = table_of(model)
    statement = insert(table).returning(table.c.id, sort_by_parameter_order=True)
    return list(session.connection().execute(statement, rows).scalars())


def _copy(
    session: Session, table: str, columns: Sequence[str], rows: list[tuple[Any, ...]]
) -> None:
    from psycopg import sql  # imported here: not needed with SQLite

    driver = session.connection().connection.driver_connection
    assert driver is not None
    statement = sql.SQL("COPY {} ({}) FROM STDIN").format(
        sql.Identifier(table), sql.SQL(", ").join(map(sql.Identifier, columns))
    )
    with driver.cursor() as cursor, cursor.copy(statement) as copy:
        for row in rows:
            copy.write_row(row)


def _converter(column: Column[Any]) -> Convert:
    if isinstance(column.type, JSON):
        return lambda value: storable.text(storable.json_text(value))
    if isinstance(column.type, Float):
        return storable.number
    if isinstance(column.type, Integer):
        return storable.whole
    if column.type.python_type is str:
        return storable.text
    return lambda value: value
