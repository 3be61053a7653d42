"""Bytes of a large run's kernels, worked out while somebody looks at its first page."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

import pytest
from inductorscope.analyze.bytes.graph import CallWork, graph_work
from inductorscope.answers.explorer.graph_texts import Remembered
from inductorscope.answers.time import roofline
from inductorscope.settings import Settings
from inductorscope.store.database.engine import make_engine, sessions
from inductorscope.store.database.migrate import migrate
from inductorscope_server.web import ahead
from inductorscope_server.web.ahead import Ahead
from inductorscope_server.web.parts import Parts
from sqlalchemy import text
from starlette.testclient import TestClient


def test_who_opens_a_run_finds_its_bytes_worked_out(
    filled: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = str(filled.get("/api/").json()["runs"][0]["id"])
    parts: Parts = filled.app.state.parts  # type: ignore[attr-defined]  # the test client's type hides it
    asked: list[str] = []

    def counted(texts: dict[str, str]) -> list[CallWork]:
        asked.append("graph")
        return graph_work(texts["code"], texts.get("ir_post"), texts.get("post_grad"))

    monkeypatch.setattr(roofline, "_WORK", Remembered(counted))
    assert filled.get(f"/runs/{run}").status_code == 200
    parts.ahead.wait()
    assert asked == [], "few kernels are worked out when they are asked for"
    monkeypatch.setattr(ahead, "MANY", 1)
    for _ in range(2):
        assert filled.get(f"/runs/{run}").status_code == 200
    parts.ahead.wait()
    assert asked == ["graph"]
    (row,) = filled.get(f"/api/runs/{run}/roofline").json()["kernels"]
    assert row["bytes"] == 134248.0
    assert asked == ["graph"]


def test_what_is_wrong_with_one_run_keeps_no_other_from_being_worked_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = Settings(data=tmp_path, database_url="")
    migrate(settings)
    engine = make_engine(settings)
    with engine.begin() as connection:
        connection.execute(text("ALTER TABLE graphs RENAME TO gone"))
    there = Ahead(sessions(engine, read_only=True), threading.Event())
    with caplog.at_level(logging.WARNING):
        for run in ("a", "b"):
            there.opened(run, ahead.MANY)
        there.wait()
    told = [record.getMessage() for record in caplog.records if record.name == ahead.__name__]
    assert told == [f"The bytes of run {run} were not worked out ahead." for run in ("a", "b")]
    engine.dispose()
