"""The two databases as we set them up: begins, times, the lock of bulk writes."""

import threading
import time
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from inductorscope.settings import Settings
from inductorscope.store.database.engine import bulk_write, database_url, sessions
from inductorscope.store.database.once import keep, once
from inductorscope.store.tables.models import Worker
from sqlalchemy import Engine, select, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from tests.conftest import ON_SQLITE


def beat(name: str, at: datetime) -> Worker:
    return Worker(id=name, host="here", pid=1, started_at=at, beat_at=at)


def test_postgres_urls_name_our_driver() -> None:
    for given in ("postgres://u:p@h:5/db", "postgresql://u:p@h:5/db"):
        url = database_url(Settings(data=Path("/nowhere"), database_url=given))
        assert url.render_as_string(hide_password=False) == "postgresql+psycopg://u:p@h:5/db"


def test_answers_are_kept_only_where_that_was_asked_for(engine: Engine) -> None:
    computed = []

    @once
    def square(_: Session, number: int) -> int:
        computed.append(number)
        return number * number

    kept, fresh = sessions(engine, read_only=True), sessions(engine, read_only=True)
    keep(kept)
    for number in (2, 3, 2, 3):
        for factory in (kept, fresh):
            with factory() as session:
                assert square(session, number) == number * number
    assert computed == [2, 2, 3, 3, 2, 3]


def test_times_keep_their_zone(engine: Engine) -> None:
    at = datetime(2025, 3, 1, 12, 30, tzinfo=timezone(timedelta(hours=9)))
    with sessions(engine).begin() as session:
        session.add(beat("a", at))
    with sessions(engine, read_only=True)() as session:
        kept = session.scalars(select(Worker)).one().beat_at
    assert kept == at
    assert kept.tzinfo is UTC


def test_a_time_without_zone_is_refused(engine: Engine) -> None:
    with pytest.raises(Exception, match="needs its time zone"), sessions(engine).begin() as session:
        session.add(beat("a", datetime(2025, 3, 1)))


def test_read_only_sessions_cannot_write(engine: Engine) -> None:
    session = sessions(engine, read_only=True)()
    with session:
        session.add(beat("a", datetime.now(UTC)))
        with pytest.raises(DBAPIError):
            session.flush()
    with sessions(engine).begin() as session:  # the pooled connection writes again
        session.add(beat("a", datetime.now(UTC)))


def test_writers_that_read_first_all_get_through(engine: Engine) -> None:
    with sessions(engine).begin() as session:
        session.add(beat("counter", datetime.now(UTC)))
    failures: list[Exception] = []

    def count() -> None:
        for _ in range(20):
            try:
                with sessions(engine).begin() as session:
                    row = session.scalars(select(Worker).with_for_update()).one()
                    row.pid += 1
            except DBAPIError as error:
                failures.append(error)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    with sessions(engine)() as session:
        assert session.scalars(select(Worker.pid)).one() == 81


@ON_SQLITE
def test_sqlite_is_in_wal_with_foreign_keys(engine: Engine) -> None:
    with engine.connect() as connection:
        assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
        assert connection.execute(text("PRAGMA foreign_keys")).scalar() == 1
        assert connection.execute(text("PRAGMA synchronous")).scalar() == 1


def test_bulk_writes_take_turns_on_sqlite(engine: Engine) -> None:
    inside = 0
    most = 0

    def write() -> None:
        nonlocal inside, most
        with bulk_write(engine):
            inside += 1
            most = max(most, inside)
            time.sleep(0.03)
            inside -= 1

    threads = [threading.Thread(target=write) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1 or engine.dialect.name == "postgresql"
