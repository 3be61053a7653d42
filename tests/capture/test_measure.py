"""Measuring runs programs in turns, as they were, and notices what else the machine does."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from inductorscope.capturing import process_group
from inductorscope.capturing.measure.machine import Gpu, Watching, read_gpu
from inductorscope.capturing.measure.processes import (
    Arm,
    Once,
    Runner,
    as_it_was,
    at_revision,
)
from inductorscope.capturing.measure.turns import Budget, turns
from inductorscope.capturing.permission import NotAllowed
from inductorscope.capturing.spec import CaptureSpec, SpecError
from inductorscope.progress import silent
from inductorscope.settings import Settings

A, B = (Arm(label, CaptureSpec(model="neg-maximum-cat")) for label in "AB")


@pytest.mark.parametrize(
    ("b_ms", "budget", "processes"),
    [
        (11.0, Budget(), 6),  # told at the first look
        (10.1, Budget(), 20),  # never told
        (10.1, Budget(processes=4), 4),
        (11.0, Budget(seconds=0.0), 1),
    ],
)
def test_turns(b_ms: float, budget: Budget, processes: int) -> None:
    pytest.importorskip("scipy")
    order: list[str] = []

    def once(arm: Arm) -> Once:
        order.append(arm.label)
        ms = (10.0 if arm is A else b_ms) * (1 + len(order) * 7 % 11 / 100)
        return Once(arm.label, ms, {}, "", 0.0, None, 0.0, None, [])

    done = turns([A, B], once, budget, silent, lambda _: None)
    assert len(done) == 2 * processes
    assert "".join(order).startswith("ABBAABBA"[: 2 * processes])


def test_work_of_children_is_not_a_neighbours() -> None:
    """Also when they have ended; that of processes which somebody else started is."""

    def ours() -> float:
        return sum(one.seconds for one in process_group.members(os.getpid()).values())

    burn = "import time\nwhile time.process_time() < 0.6: pass"
    before = ours()
    subprocess.run([sys.executable, "-c", burn], check=True)
    assert ours() - before > 0.5
    with Watching("cpu") as watching:
        time.sleep(1.5)
    assert 0 <= watching.seen.others_share <= 1
    assert watching.seen.clock is None or watching.seen.clock > 100


@pytest.mark.parametrize(
    ("text", "gpu"),
    [
        ("1980, 35, 0x0000000000000004\n", Gpu(1980.0, 0.35, False)),
        ("1200, 99, 0x0000000000000028\n", Gpu(1200.0, 0.99, True)),
        ("[N/A], 3, 0x0\n", None),
        ("", None),
    ],
)
def test_nvidia_smi_is_read(text: str, gpu: Gpu | None) -> None:
    assert read_gpu(text) == gpu


def test_a_revision_is_what_differs_from_the_disk(tmp_path: Path) -> None:
    folder = tmp_path / "models"
    (folder / "parts").mkdir(parents=True)
    files = {name: folder / name for name in ("model.py", "parts/one.py", "same.py", "gone.py")}

    def git(*arguments: str) -> None:
        names = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", "-C", str(tmp_path), *names, *arguments], check=True)

    git("init", "-q")
    for file in files.values():
        file.write_text("then")
    git("add", ".")
    git("commit", "-qm", "then")
    for name in ("model.py", "parts/one.py"):
        files[name].write_text("now")
    files["gone.py"].unlink()
    (folder / "new.py").write_text("now")
    spec = CaptureSpec(model=f"{folder}/model.py:small")
    then = at_revision(spec, "HEAD")
    changed = [files[name] for name in ("gone.py", "model.py", "parts/one.py")]
    assert then == {str(file): b"then" for file in changed}
    copied = as_it_was(Arm("A", spec, then), tmp_path / "copy")
    assert copied.model == f"{tmp_path}/copy/model.py:small"
    texts = {name: (tmp_path / "copy" / name).read_text() for name in (*files, "new.py")}
    assert texts == dict.fromkeys(files, "then") | {"new.py": "now"}
    with pytest.raises(SpecError, match="git knows no revision --output=x"):
        at_revision(spec, "--output=x")


@pytest.mark.torch
def test_a_program_runs_as_it_was(tmp_path: Path) -> None:
    """Its file has changed since; another file of its folder has not."""
    folder = tmp_path / "models"
    folder.mkdir()
    now = "import torch\nfrom other import made\ndef small():\n    return torch.neg, made()\n"
    (folder / "model.py").write_text(now)
    (folder / "other.py").write_text(
        "import torch\ndef made():\n    return (torch.ones(64, 64),)\n"
    )
    was = now.replace("torch.neg", "lambda x: x.sin().sum(-1)").encode()
    spec = CaptureSpec(model=f"{folder}/model.py:small")
    arm = Arm("A", spec, {str(folder / "model.py"): was})
    settings = Settings(data=tmp_path / "data", database_url="", model_folders=str(folder))
    once = Runner(tmp_path / "work", settings, trusted=False).once(arm, 0.2)
    assert any(name.startswith("cpp_fused_sin") for name in once.kernels)
    assert once.ms > 0
    assert once.torch
    with pytest.raises(NotAllowed):
        Runner(tmp_path, Settings(data=tmp_path, database_url=""), trusted=False).once(arm)
