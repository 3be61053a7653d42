"""Inserts many rows by the fastest way of each database."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import JSON, Column, Connection, Float, Integer, Table, func, insert, select
from sqlalchemy.orm import Session

from inductorscope.store.database import storable
from inductorscope.store.tables.models import Base

if TYPE_CHECKING:
    import psycopg

Convert = Callable[[Any], Any]


def insert_records(
    session: Session, model: type[Base], records: Sequence[msgspec.Struct], **fixed: int | str
) -> None:
    """Inserts what records have under the names of the model's columns.

    `fixed` are columns with the same value in all rows, such as their graph. Supports columns of
    text, numbers, booleans and JSON.
    """
    if records:
        columns, rows = _rows(model, records)
        constant = tuple(fixed.values())
        _insert(session, model, [*fixed, *columns], [constant + row for row in rows])


def insert_numbered(
    session: Session, model: type[Base], records: Sequence[msgspec.Struct]
) -> list[int]:
    """Inserts records like `insert_records`; returns the ids of the rows, in their order. For
    tables that may reuse the ids of deleted rows."""
    if not records:
        return []
    columns, rows = _rows(model, records)
    if session.get_bind().dialect.name == "postgresql":
        named = [dict(zip(columns, row, strict=True)) for row in rows]
        return insert_returning(session, model, named)
    # No other process writes during the transaction, so choosing the ids here is safe.
    first = (session.scalar(select(func.max(table_of(model).c.id))) or 0) + 1
    numbered = [(number, *row) for number, row in enumerate(rows, first)]
    _insert(session, model, ["id", *columns], numbered)
    return [number for number, *_ in numbered]


def _rows(
    model: type[Base], records: Sequence[msgspec.Struct]
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Returns the columns that the records have, but their ids, and the values of each row."""
    columns = [
        column
        for column in table_of(model).c
        if column.name != "id" and hasattr(records[0], column.name)
    ]
    values = [
        [None if value is None else change(value) for value in map(attrgetter(name), records)]
        for name, change in ((column.name, _converter(column)) for column in columns)
    ]
    return [column.name for column in columns], list(zip(*values, strict=True))


def _insert(
    session: Session, model: type[Base], columns: Sequence[str], rows: list[tuple[Any, ...]]
) -> None:
    table = table_of(model)
    if session.get_bind().dialect.name == "postgresql":
        with copying_rows(session.connection(), table.name, columns, "FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
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


@contextmanager
def copying_rows(
    connection: Connection, table: str, columns: Sequence[str], way: str
) -> Iterator[psycopg.Copy]:
    """Copies rows of PostgreSQL to a stream or from one. `table`: with its schema or without."""
    from psycopg import sql  # imported here: not needed with SQLite

    driver = connection.connection.driver_connection
    assert driver is not None
    statement = sql.SQL(f"COPY {{}} ({{}}) {way}").format(
        sql.Identifier(*table.split(".")), sql.SQL(", ").join(map(sql.Identifier, columns))
    )
    with driver.cursor() as cursor, cursor.copy(statement) as copy:
        yield copy


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
