"""What agents are told when they ask why."""

from pathlib import Path

import pytest
from inductorscope.agents.tools import Question, why
from inductorscope.cli.local import read_paths
from inductorscope.progress import silent
from inductorscope.settings import Settings
from inductorscope.store.database.engine import engine_of, sessions


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, fixtures: Path) -> tuple[Settings, list[str]]:
    settings = Settings(data=tmp_path_factory.mktemp("why") / "data", database_url="")
    return settings, [
        read_paths(
            settings, [fixtures / name], name=None, tags=[], origin="ingest", progress=silent
        ).run_id
        for name in ("dynamic", "neg-does-not-compile")
    ]


@pytest.mark.parametrize(
    ("question", "with_log", "without"),
    [
        ("graph break", "Failed to trace builtin operator", "No graph break is recorded."),
        ("recompiled", "`x.size(0)` changed 4 → 9", "No function compiled again."),
        ("not vectorised", "The run has no C++ kernel.", "0 of 1 loops are vectorised."),
    ],
)
def test_each_question_has_an_answer(
    runs: tuple[Settings, list[str]], question: Question, with_log: str, without: str
) -> None:
    settings, (dynamic, single) = runs
    with engine_of(settings) as engine, sessions(engine, read_only=True)() as session:
        for run, says in ((dynamic, with_log), (single, without)):
            told = why(session, run, base="http://x", question=question)
            assert told.startswith("# [Why ")
            assert f"](http://x/runs/{run}/compile" in told
            assert says in told
