"""Regressions that people reported: a lock is written before, and checked after."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from inductorscope.cli.app import app, load_commands
from inductorscope.contract.lock import read_lock
from typer.testing import CliRunner

from bench.contract.programs import REGRESSIONS, Regression
from tests.conftest import VECTORS, asking_for_vectors
from tests.support.forked import forked
from tests.support.places import ROOT


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Regression → what was printed of it. One process compiles them all."""

    def judge() -> None:
        from bench.contract.regressions import main

        os.environ[VECTORS] = "1"
        sys.argv = ["regressions", "--quick"]
        with asking_for_vectors():
            main()

    said = tmp_path_factory.mktemp("judged") / "said"
    forked(judge, said, ROOT, {})
    printed = said.read_text()
    found = (part.partition(": ") for part in printed.split("== "))
    return {name: text for name, _, text in found} | {"": printed}


@pytest.mark.torch
@pytest.mark.parametrize(
    "regression", [case for case in REGRESSIONS if not case.gpu], ids=lambda case: case.name
)
def test_a_regression_is_caught(regression: Regression, judged: dict[str, str]) -> None:
    assert judged.get(regression.name, "").startswith("caught"), judged[""]


@pytest.fixture
def triton(monkeypatch: pytest.MonkeyPatch) -> None:
    """Triton's compiler. `make test` installs it in a folder of its own, since torch takes longer
    to import beside it."""
    if find_spec("triton") is None:
        folder = Path(sys.prefix) / "pretend"
        if not (folder / "triton").is_dir():
            (pytest.fail if os.environ.get("CI") else pytest.skip)("needs make .venv/.pretend")
        monkeypatch.setenv("PYTHONPATH", str(folder))


@pytest.mark.torch
@pytest.mark.usefixtures("triton")
def test_a_gpu_that_is_not_here_folds_a_constant_and_skips_a_graph(tmp_path: Path) -> None:
    load_commands()
    [regression] = [case for case in REGRESSIONS if case.gpu]
    model, lock = tmp_path / "model.py", tmp_path / "inductor.lock"
    constant = " * (torch.full((64,), 2.0, device=x.device) * 3)"
    better, worse = (
        regression.program(worse=slow).replace("F.gelu(h)", f"F.gelu(h){constant}")
        for slow in (False, True)
    )
    assert constant in better
    model.write_text(better)
    data = ("--data", str(tmp_path / "data"))
    options = [f"--config={key}={value}" for key, value in regression.options["config"].items()]
    options += ["--mode", regression.options["mode"], "--pretend", "NVIDIA H100"]
    run = CliRunner().invoke
    locking = run(app, ["lock", f"{model}:make", *options, "-o", str(lock), *data])
    assert locking.exit_code == 0, locking.output
    [locked] = read_lock(lock.read_text()).program
    assert locked.made["gpu"] == "NVIDIA H100"
    assert locked.counts["kernels"] == len(locked.details["kernels"]) == 2
    assert locked.counts["registers"] >= 16
    assert locked.counts["predicted_ns"] > 2000 * locked.counts["kernels"]
    model.write_text(worse)
    checked = run(app, ["check", str(lock), *data])
    assert checked.exit_code == 1, checked.output
    assert "worse: compiles without a CUDA graph: 0 → 1" in checked.output


@pytest.mark.torch
def test_a_warm_start_of_what_no_cache_takes_compiles_again(tmp_path: Path) -> None:
    load_commands()
    model, lock = tmp_path / "model.py", tmp_path / "warm.lock"
    model.write_text(
        "import torch\nimport torch._inductor.config as config\n\n\n"
        "def step(x):\n    return x.sin() + 1\n\n\n"
        "def make():\n    config.post_grad_custom_post_pass = lambda graph: None\n"
        "    return step, (torch.randn(8, 8),)\n"
    )
    asked = ["lock", f"{model}:make", "--warm", "-o", str(lock), "--data", str(tmp_path / "data")]
    locked = CliRunner().invoke(app, asked)
    assert locked.exit_code == 0, locked.output
    [program] = read_lock(lock.read_text()).program
    assert program.counts["warm_graphs"] == 1
    assert program.counts["warm_bypasses"] > 0
    assert "custom pass" in program.details["warm_bypasses"][0]
