"""The job engine's own tables."""

import sqlite3
from contextlib import closing
from pathlib import Path

from inductorscope.jobs.queue.engine import make_client, prepare
from inductorscope.settings import Settings


def test_data_that_a_newer_sqlite_made_can_be_served(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, database_url="")
    prepare(settings)
    with closing(sqlite3.connect(tmp_path / "inductorscope.db")) as connection, connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            "UPDATE sqlite_master SET sql = replace(sql, 'strftime(''%s'',''now'')', ?)",
            ("unixepoch('subsec')",),
        )
        query = "SELECT count(*) FROM sqlite_master WHERE instr(sql, 'subsec')"
        assert connection.execute(query).fetchone()[0] > 0
    prepare(settings)
    client = make_client(settings)
    try:
        client.register_queue("queue", worker_concurrency=1, polling_interval_sec=1.0)
    finally:
        client.destroy()
