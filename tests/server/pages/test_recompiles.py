"""How many compiles the remedies of a run save, counted from its guards, and by compiling."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from inductorscope.answers.parts import graph_rows, run_of
from inductorscope.answers.runs.diagnosis.cause import Cause
from inductorscope.answers.runs.diagnosis.compiling import recompiles
from inductorscope.answers.runs.diagnosis.evidence import gather
from inductorscope.cli.local import read_paths
from inductorscope.settings import Settings
from inductorscope.store.database.engine import make_engine, sessions

pytestmark = pytest.mark.torch
PROGRAM = """
import torch
dynamic, tensor = {remedies}
def f(x, t):
    return (x * t).sum(-1)
f = torch.compile(f, backend="eager", dynamic=dynamic)
for n, t in ((8, 1.0), (5, 1.1), (6, 1.2), (1, 1.3), (9, 1.4)):
    f(torch.ones(n, 3), torch.tensor(t) if tensor else t)
from torch._dynamo.utils import counters
print(counters["stats"]["unique_graphs"])
"""


def compiled(folder: Path, remedies: tuple[bool | None, bool]) -> int:
    """Runs the program with some remedies, and returns how often it compiled."""
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(remedies=remedies)],
        env={**os.environ, "TORCH_TRACE": str(folder)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return int(done.stdout)


def cause_of(tmp_path: Path, folder: Path) -> Cause:
    settings = Settings(data=tmp_path / "data", database_url="")
    run = read_paths(
        settings, [folder], name="recompiles", tags=[], origin="ingest", progress=lambda *_: None
    ).run_id
    engine = make_engine(settings)
    with sessions(engine, read_only=True)() as session:
        found = recompiles(gather(session, run_of(session, run), graph_rows(session, run)))
    engine.dispose()
    assert isinstance(found, Cause)
    return found


def test_what_remedies_save_is_what_compiling_with_them_saves(tmp_path: Path) -> None:
    """Size 1 needs its own compile, whatever is marked."""
    before = compiled(tmp_path / "before", (None, False))
    cause = cause_of(tmp_path, tmp_path / "before")
    size_alone, number_alone, both = (
        before - compiled(tmp_path / name, remedies)
        for name, remedies in (
            ("size", (True, False)), ("number", (None, True)), ("both", (True, True))
        )
    )  # fmt: skip
    assert (before, number_alone, both) == (3, 0, 1)
    assert size_alone == 1  # dynamic=True frees numbers too
    assert f" together save {both} of {before} compiles, and none" in cause.fix
    assert "`torch._dynamo.mark_dynamic(x, 0)`" in cause.fix
    assert "`torch.tensor(t)`" in cause.fix
    assert (cause.known, cause.of) == ("estimated", "compile time")
    assert "`x.size(0)` became 1" in cause.what


def test_what_a_break_passes_on_is_named_by_its_line(tmp_path: Path) -> None:
    folder = tmp_path / "broken"
    folder.mkdir()
    program = tmp_path / "broken.py"
    program.write_text(
        "import torch\n"
        "@torch.compile(backend='eager')\n"
        "def f(x):\n"
        "    t = x.sum().item()\n"
        "    return x * t\n"
        "for n in range(3): f(torch.full((4,), n + 0.5))\n"
    )
    variables = {**os.environ, "TORCH_TRACE": str(folder)}
    subprocess.run([sys.executable, str(program)], env=variables, check=True)
    cause = cause_of(tmp_path, folder)
    assert "the result of line 4 changed" in cause.what
    assert "___stack" not in f"{cause.what} {cause.fix} {cause.why}"
    assert "break" in cause.fix
