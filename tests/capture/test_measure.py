"""Measuring runs programs in turns, as they were, and notices what else the machine does."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from inductorscope.capturing import process_group
from inductorscope.capturing.launch import Swap
from inductorscope.capturing.measure.machine import Gpu, Watching, disturbs, read_gpu
from inductorscope.capturing.measure.processes import (
    Arm,
    Once,
    Runner,
    as_it_was,
    at_revision,
    repository,
)
from inductorscope.capturing.measure.profile import COMPILED_CODE, PYTHON, Profiled, profiled
from inductorscope.capturing.measure.turns import Budget, times, turns
from inductorscope.capturing.permission import NotAllowed
from inductorscope.capturing.spec import CaptureSpec, SpecError
from inductorscope.progress import silent
from inductorscope.settings import Settings

A, B = (Arm(label, CaptureSpec(model="neg-maximum-cat")) for label in "AB")


@pytest.mark.parametrize(
    ("b_ms", "budget", "processes"),
    [
        (11.0, Budget(), 6),  # clear at the first look
        (10.1, Budget(), 40),  # never clear
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
        return Once(arm.label, ms, Profiled(), "", 0.0, None, 0.0, None, [])

    done = turns([A, B], once, budget, silent, lambda _: None)
    assert len(done) == 2 * processes
    assert "".join(order).startswith("ABBAABBA"[: 2 * processes])


def test_steps_that_differ_are_compared_by_their_mean() -> None:
    def once(label: str, mean: float, *, differ: bool) -> Once:
        return Once(label, 1.0, Profiled(), "", 0.0, None, 0.0, None, [], mean, differ)

    alike = [once("A", 3.0, differ=False), once("B", 2.0, differ=False)]
    assert times(alike, "B") == [1.0]
    assert times([once("A", 3.0, differ=False), once("B", 2.0, differ=True)], "A") == [3.0]


def test_kernels_have_the_times_of_the_shortest_steps(tmp_path: Path) -> None:
    import torch
    from inductorscope.capturing.inside.profiling import time_and_profile
    from inductorscope.capturing.inside.report import Reporter

    number = 0

    def call() -> None:
        nonlocal number
        number += 1
        torch.ones(8).relu()
        if number % 2:
            with torch.profiler.record_function("a neighbour"):
                time.sleep(0.02)

    timed, facts = time_and_profile("compiled", call, 0.5, "cpu", tmp_path, Reporter(None))
    rows = json.loads((tmp_path / facts.key_averages).read_bytes())["rows"]
    calls = {row["name"]: row["calls"] for row in rows}
    assert facts.steps == calls["aten::relu"] == 8
    assert "a neighbour" not in calls
    assert timed.p10 > 0


def test_work_of_children_is_not_a_neighbours() -> None:
    """Also when they have ended; that of processes which somebody else started is."""

    def ours() -> float:
        return sum(member.seconds for member in process_group.members(os.getpid()).values())

    burn = "import time\nwhile time.process_time() < 0.6: pass"
    before = ours()
    subprocess.run([sys.executable, "-c", burn], check=True)
    assert ours() - before > 0.5
    with Watching("cpu") as watching:
        time.sleep(1.5)
    assert 0 <= watching.seen.others_share <= 1
    assert watching.seen.clock is None or watching.seen.clock > 100


def test_a_device_computes_beside_others_on_the_processor() -> None:
    assert [disturbs(share, "cpu") for share in (0.05, 0.2)] == [False, True]
    assert [disturbs(share, "cuda") for share in (0.2, 0.6)] == [False, True]


def test_memory_that_processes_share_counts_once() -> None:
    fork = "import os, sys\nheld = bytes(range(256)) * (400 << 10)\n"
    fork += "[os.fork() for _ in range(2)]\nprint(flush=True)\nsys.stdin.read()"
    command = [sys.executable, "-c", fork]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        [process.stdout.readline() for _ in range(4)]
        assert process_group.resident_bytes(process.pid) > 400 << 20
        assert 100 << 20 < process_group.memory_bytes(process.pid) < 200 << 20
        process_group.kill(process.pid, [process.pid])
        process.stdin.close()
    assert process_group.memory_bytes(process.pid) == 0


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
    names = ("model.py", "parts/one.py", "same.py", "gone.py", "../library.py")
    files = {name: folder / name for name in names}

    def git(*arguments: str) -> None:
        names = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", "-C", str(tmp_path), *names, *arguments], check=True)

    git("init", "-q")
    for file in files.values():
        file.write_text("then")
    git("add", ".")
    git("commit", "-qm", "then")
    for name in ("model.py", "parts/one.py", "../library.py"):
        files[name].write_text("now")
    files["gone.py"].unlink()
    (folder / "new.py").write_text("now")
    spec = CaptureSpec(model=f"{folder}/model.py:small")
    then = at_revision(spec, "HEAD")
    changed = [*(files[name] for name in names if name not in ("same.py", "../library.py")),
               tmp_path / "library.py"]  # fmt: skip
    assert then == {str(file): b"then" for file in changed}
    arm = Arm("A", spec, then, root=repository(spec))
    copied, environment = as_it_was(arm, tmp_path.with_name("copy"))
    copy = tmp_path.with_name("copy") / "models"
    assert copied.model == f"{copy}/model.py:small"
    assert environment["PYTHONPATH"] == f"{copy.parent}:{copy.parent}/src"
    texts = {name: (copy / name).read_text() for name in (*files, "new.py")}
    assert texts == dict.fromkeys(files, "then") | {"new.py": "now"}
    with pytest.raises(SpecError, match="git cannot read"):
        at_revision(spec, "--output=x")


@pytest.mark.torch
def test_a_program_runs_as_it_was(tmp_path: Path) -> None:
    """Its file has changed since, another of its folder has not; one kernel is swapped."""
    folder = tmp_path / "models"
    folder.mkdir()
    now = "import torch\nfrom other import made\ndef small():\n    return torch.neg, made()\n"
    (folder / "model.py").write_text(now)
    (folder / "other.py").write_text(
        "import torch\ndef made():\n    return (torch.ones(64, 64),)\n"
    )
    was = now.replace("torch.neg", "lambda x: x.sin().sum(-1)").encode()
    spec = CaptureSpec(model=f"{folder}/model.py:small")
    arm = Arm("A", spec, {str(folder / "model.py"): was}, swap=Swap("std::sin(", "std::cos("))
    settings = Settings(data=tmp_path / "data", database_url="", model_folders=str(folder))
    once = Runner(tmp_path / "work", settings, trusted=False).once(arm, 0.2)
    assert any(name.startswith("cpp_fused_sin") for name in once.step.kernels)
    assert once.ms > 0
    assert once.torch
    assert once.step.work > 0
    assert set(once.step.around) == {COMPILED_CODE, PYTHON}
    with pytest.raises(NotAllowed):
        Runner(tmp_path, Settings(data=tmp_path, database_url=""), trusted=False).once(arm)


def _row(name: str, cpu: float, device: float = 0.0, on: str = "cpu") -> dict[str, Any]:
    return {
        "name": name, "device": on, "user_annotation": name.startswith("mine"),
        "self_cpu_us": cpu / 2 if "::" in name else cpu, "cpu_us": cpu,
        "self_device_us": device, "device_us": device,
    }  # fmt: skip


def test_a_profiled_step_has_parts_that_do_not_overlap() -> None:
    rows = [
        _row("graph_0_cpp_fused_neg_0", 20), _row("aten::mm", 40), _row("ProfilerStep#1", 6),
        _row("Torch-Compiled Region: 0/0", 8), _row("mine", 2),
    ]  # fmt: skip
    found = profiled(rows, 2)
    assert found.kernels == {"cpp_fused_neg_0": 10.0, "aten::mm": 20.0}
    assert (found.work, found.around) == (20.0, {COMPILED_CODE: 4.0, PYTHON: 4.0})
    # On a GPU an operator, and the launch of a Triton kernel, have the time of what they start.
    rows = [
        _row("triton_poi_fused_0", 9, 30), _row("triton_poi_fused_0", 0, 30, "cuda"),
        _row("aten::mm", 9, 50), _row("gemm", 0, 50, "cuda"), _row("mine", 0, 80, "cuda"),
    ]  # fmt: skip
    found = profiled(rows, 1)
    assert found.kernels == {"triton_poi_fused_0": 30.0, "aten::mm": 50.0, "gemm": 50.0}
    assert (found.work, found.around) == (80.0, {})
