"""The GitHub Action, by its own shell steps."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from inductorscope.contract.lock import COUNTS, Program, write_lock

from tests.support.places import FIXTURES

ROOT = Path(__file__).parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
MODEL = """\
import torch


def factory():
    return torch.neg, (torch.rand(8),)
"""


def run_step(name: str, folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Runs a step as a runner does: inputs and contexts are in the environment."""
    (step,) = (step for step in ACTION["runs"]["steps"] if step["name"] == name)
    given = {key: value.get("default", "") for key, value in ACTION["inputs"].items()} | inputs
    known = {f"inputs.{key}": value for key, value in given.items()}
    known["runner.temp"] = str(folder)
    variables = {
        key: re.sub(r"\$\{\{ ([\w.]+) \}\}", lambda found: known[found.group(1)], value)
        for key, value in step["env"].items()
    }
    runner = {"RUNNER_TEMP": str(folder), "GITHUB_STEP_SUMMARY": str(folder / "summary.md")}
    path = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", step["run"]],
        cwd=folder, env=os.environ | variables | runner | path, capture_output=True, text=True,
        check=False,
    )  # fmt: skip


@pytest.mark.torch
def test_a_worse_compile_fails_and_its_run_is_kept(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    counts = {count.id: 0 for count in COUNTS}
    lock = tmp_path / "inductor.lock"
    eager = {"backend": "eager"}  # which compiles no C++
    lock.write_text(write_lock([Program("model.py:factory", options=eager, counts=counts)]))
    checked = run_step("Check", tmp_path)
    assert checked.returncode == 1, checked.stderr
    assert "graphs: 0 → 1" in (tmp_path / "summary.md").read_text()
    kept = run_step("Keep what got worse", tmp_path, pack=str(FIXTURES / "cuda-foo1"))
    assert kept.returncode == 0, kept.stderr
    assert (tmp_path / "runs" / "pack.tgz").stat().st_size > 1000
    (file,) = (tmp_path / "runs").glob("*.html")
    assert b"<title>Inductorscope</title>" in file.read_bytes()[:2000]
