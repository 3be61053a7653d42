"""The Python interface, in a program and a notebook of real torch."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from inductorscope.answers.runs.runs import list_runs
from inductorscope.answers.time.time import time_page
from inductorscope.api.read import read_folder
from inductorscope.settings import Settings
from inductorscope.store.database.engine import make_engine, sessions
from inductorscope.store.tables.models import Run
from sqlalchemy.orm import Session

from tests.support.places import ROOT
from tests.support.serving import Served

SCRIPT = Path(__file__).with_name("api_script.py")


@contextmanager
def database(data: Path) -> Iterator[Session]:
    engine = make_engine(Settings(data=data, database_url=""))
    with sessions(engine)() as session:
        yield session
    engine.dispose()


@pytest.mark.torch
def test_a_program_captures_parts_of_itself(
    tmp_path: Path, cache: Path, server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    done = subprocess.run(
        [sys.executable, SCRIPT, data, server.url], capture_output=True, text=True,
        env=os.environ | {"TORCHINDUCTOR_CACHE_DIR": str(cache)}, timeout=200,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    run, ended = done.stdout.splitlines()
    assert ended == "A capture runs in this process; end it before another one starts."
    monkeypatch.setenv("INDUCTORSCOPE_PATIENCE_SECONDS", "1")
    nobody = "http://127.0.0.1:1"
    with pytest.warns(match=f"The recording is in {data}, but was not read: .*did not answer"):
        assert read_folder(data, "refused", "capture", server=nobody, data=None)[0] is None
    with database(data) as session:
        (trained,) = (time_page(session, row.id) for row in list_runs(session).runs)
    assert trained.script is not None
    assert [process.rank for process in trained.script.processes] == [0, 1]
    compiles = [(compiled.rank, compiled.step) for compiled in trained.script.compiles]
    assert compiles == [(0, 1), (0, 4), (1, 1), (1, 4)]
    assert (str(SCRIPT), 23) in {(line.path, line.line) for line in trained.source_lines}
    with database(server.data) as session:
        script = time_page(session, run).script
        stored = session.get_one(Run, run)
        known = f"{stored.report}{stored.environment}"
    assert script is not None
    assert script.compiles == []
    assert {"timed", "profiled"} <= {phase.kind for phase in script.phases}
    assert "the end" in str(stored.failure)
    assert "Earlier compiles: the program compiled before" in known


@pytest.mark.torch
def test_a_notebook_runs_the_page_on_python(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nbclient import NotebookClient
    from nbformat.v4 import new_code_cell, new_notebook

    page = ROOT / "docs" / "python.md"
    model = page.read_text().split("```python\n")[2].partition("```")[0]
    (tmp_path / "model.py").write_text(model)
    for name in ("INDUCTORSCOPE_DATA", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(cache))
    tested = f"doctest.testfile({str(page)!r}, module_relative=False, optionflags=doctest.ELLIPSIS)"
    cells = (
        f"import doctest\n{tested}",
        "%load_ext inductorscope",
        "%%inductorscope my cell\nimport torch\n"
        "@torch.compile\ndef double(x):\n    return x + x  # <b>\ny = double(torch.rand(8))",
    )
    notebook = new_notebook(cells=list(map(new_code_cell, cells)))  # type: ignore[no-untyped-call]
    NotebookClient(notebook, timeout=200, resources={"metadata": {"path": tmp_path}}).execute()
    examples, _, shown = (
        [output.data for output in cell.outputs if "data" in output] for cell in notebook.cells
    )
    assert examples[0]["text/plain"].startswith("TestResults(failed=0"), notebook.cells[0].outputs
    assert shown[0]["text/plain"].startswith("my cell: 1 graph, 1 kernel, 0 graph breaks")
    html = shown[0]["text/html"]
    assert "return x + x  # &lt;b&gt;</div>" in html
    assert "tmp0 + tmp0" in html
