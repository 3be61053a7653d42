"""How many compiles the remedies of a run save, counted from its guards, and by compiling."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from inductorscope.answers.parts import graph_rows, run_of
from inductorscope.answers.runs.diagnosis.cause import Cause, Cleared
from inductorscope.answers.runs.diagnosis.compiling import recompiles
from inductorscope.answers.runs.diagnosis.evidence import gather
from inductorscope.cli.local import read_paths
from inductorscope.settings import Settings
from inductorscope.store.database.engine import make_engine, sessions

pytestmark = pytest.mark.torch
PROGRAM = """
import torch
from torch._dynamo.utils import counters
for dynamic, tensor in {remedies}:
    def f(x, t):
        return (x * t).sum(-1)
    torch._dynamo.reset()
    counters.clear()
    f = torch.compile(f, backend="eager", dynamic=dynamic)
    for n, t in ((8, 1.0), (5, 1.1), (6, 1.2), (1, 1.3), (9, 1.4)):
        f(torch.ones(n, 3), torch.tensor(t) if tensor else t)
    print(counters["stats"]["unique_graphs"])
"""
MODULES = """
import torch
for module in (torch.nn.ReLU(), torch.nn.Tanh(), torch.nn.Sigmoid()):
    torch.compile(module, backend="eager")(torch.ones(3))
"""


def run(program: str, folder: Path | None = None) -> list[str]:
    """Runs a program, with a log of torch in a folder, and returns the lines it prints."""
    variables = {} if folder is None else {"TORCH_TRACE": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **variables}, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    return done.stdout.split()


def found_in(tmp_path: Path, folder: Path) -> Cause | Cleared | None:
    settings = Settings(data=tmp_path / "data", database_url="")
    read = read_paths(
        settings, [folder], name="recompiles", tags=[], origin="ingest", progress=lambda *_: None
    ).run_id
    engine = make_engine(settings)
    with sessions(engine, read_only=True)() as session:
        found = recompiles(gather(session, run_of(session, read), graph_rows(session, read)))
    engine.dispose()
    return found


def test_what_remedies_save_is_what_compiling_with_them_saves(tmp_path: Path) -> None:
    """Size 1 needs its own compile, whatever is marked."""
    log = tmp_path / "log"
    before = int(run(PROGRAM.format(remedies=[(None, False)]), log)[0])
    cause = found_in(tmp_path, log)
    assert isinstance(cause, Cause)
    remedies = [(True, False), (None, True), (True, True)]
    size_alone, number_alone, both = (
        before - int(number) for number in run(PROGRAM.format(remedies=remedies))
    )
    assert (before, number_alone, both) == (3, 0, 1)
    assert size_alone == 1  # dynamic=True frees numbers too
    assert f" together save {both} of {before} compiles, and none" in cause.fix
    assert "`torch._dynamo.mark_dynamic(x, 0)`" in cause.fix
    assert "`torch.tensor(t)`" in cause.fix
    assert (cause.known, cause.of) == ("estimated", "compile time")
    assert "`x.size(0)` became 1" in cause.what


def test_what_a_break_passes_on_is_named_by_its_line(tmp_path: Path) -> None:
    program = tmp_path / "broken.py"
    program.write_text(
        "import torch\n"
        "@torch.compile(backend='eager')\n"
        "def f(x):\n"
        "    t = x.sum().item()\n"
        "    return x * t\n"
        "for n in range(3): f(torch.full((4,), n + 0.5))\n"
    )
    run(f"import runpy; runpy.run_path({str(program)!r})", tmp_path / "log")
    cause = found_in(tmp_path, tmp_path / "log")
    assert isinstance(cause, Cause)
    assert "the result of line 4 changed" in cause.what
    assert "___stack" not in f"{cause.what} {cause.fix} {cause.why}"
    assert "break" in cause.fix


def test_torchs_own_wrapper_compiles_nothing_again(tmp_path: Path) -> None:
    """Torch compiles modules through one function of its own, and counts them as recompiles."""
    run(MODULES, tmp_path / "log")
    assert found_in(tmp_path, tmp_path / "log") == Cleared("No function is compiled again.")
