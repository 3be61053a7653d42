"""Many rows at once, by the quickest way each database has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from sqlalchemy import JSON, Column, Float, Integer, Table, insert
from sqlalchemy.orm import Session

from . import storable
from .models import Base

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Convert = Callable[[Any], Any]


def insert_records(
    session: Session, model: type[Base], records: Sequence[DataclassInstance], **fixed: int | str
) -> int:
    """Inserts records whose fields are called like the model's columns; returns how many.

    `fixed` are columns with one value for all, such as the graph they belong to. For columns of
    text, numbers, truth values and JSON.
    """
    if not records:
        return 0
    table = table_of(model)
    own = [field.name for field in fields(records[0])]
    columns = [*fixed, *own]
    convert = [_converter(table.c[name]) for name in own]
    constant = tuple(fixed.values())
    rows = [
        constant
        + tuple(
            None if (value := getattr(record, name)) is None else change(value)
            for name, change in zip(own, convert, strict=True)
        )
        for record in records
    ]
    if session.get_bind().dialect.name == "postgresql":
        _copy(session, table.name, columns, rows)
    else:
        marks = ", ".join("?" * len(columns))
        names = ", ".join(columns)
        statement = f"INSERT INTO {table.name} ({names}) VALUES ({marks})"  # noqa: S608  # our own
        session.connection().exec_driver_sql(statement, rows)
    return len(rows)


def table_of(model: type[Base]) -> Table:
    """Rows by the hundred need no objects of the model: statements on its table are quicker."""
    table = model.__table__
    assert isinstance(table, Table)
    return table


def insert_rows(session: Session, model: type[Base], rows: Sequence[Mapping[str, Any]]) -> None:
    if rows:
        session.connection().execute(insert(table_of(model)), rows)


def insert_returning(
    session: Session, model: type[Base], rows: Sequence[Mapping[str, Any]]
) -> list[int]:
    """Row numbers, in the order of the rows."""
    if not rows:
        return []
    table = table_of(model)
    statement = insert(table).returning(table.c.id, sort_by_parameter_order=True)
    return list(session.connection().execute(statement, rows).scalars())


def _copy(
    session: Session, table: str, columns: Sequence[str], rows: list[tuple[Any, ...]]
) -> None:
    from psycopg import sql  # here: SQLite's users need not load it

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
