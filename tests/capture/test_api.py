"""The Python interface, in a program of real torch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from inductorscope.answers.runs.runs import list_runs
from inductorscope.answers.time.time import time_page
from inductorscope.settings import Settings
from inductorscope.store.database.engine import make_engine, sessions
from inductorscope.store.tables.models import Run

SCRIPT = Path(__file__).with_name("api_script.py")


@pytest.mark.torch
def test_a_program_captures_parts_of_itself(tmp_path: Path, cache: Path) -> None:
    done = subprocess.run(
        [sys.executable, SCRIPT, tmp_path], capture_output=True, text=True,
        env=os.environ | {"TORCHINDUCTOR_CACHE_DIR": str(cache)}, timeout=200,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        "raised the end\nA capture runs in this process; end it before another one starts.\n"
    )
    engine = make_engine(Settings(data=tmp_path, database_url=""))
    with sessions(engine)() as session:
        runs = {row.name: row for row in list_runs(session).runs}
        assert set(runs) == {"api_script.py", "served", "profiled"}
        trained, served = (
            time_page(session, runs[name].id) for name in ("api_script.py", "served")
        )
        ended = session.get_one(Run, runs["served"].id)
        known = json.dumps(ended.report) + json.dumps(ended.environment)
    engine.dispose()
    assert trained.script is not None
    assert served.script is not None
    assert [one.step for one in trained.script.compiles] == [1, 4]
    assert served.script.compiles == []
    assert {"timed", "profiled"} <= {phase.kind for phase in served.script.phases}
    assert (str(SCRIPT), 21) in {(line.path, line.line) for line in trained.source_lines}
    assert "the end" in str(ended.failure)
    assert "Earlier compiles: the program compiled before" in known
