"""Workers of kinds: each takes jobs whose needs it meets, and a job that waits says for what."""

from dataclasses import replace
from pathlib import Path

import pytest
from inductorscope.jobs.queue import machines
from inductorscope.jobs.queue.machines import (
    ANY,
    CPU,
    GPU,
    TORCH,
    Machine,
    this_machine,
    why_nobody,
)
from inductorscope.settings import Settings

from tests.conftest import ON_SQLITE
from tests.jobs.conftest import Crew

H100 = "NVIDIA H100 80GB HBM3"
READER, SMALL, LARGE = Machine(CPU, None), Machine(CPU, "2.13.0"), Machine(H100, "2.13.0")


@pytest.mark.parametrize(
    ("need", "who"),
    [
        (ANY, [READER, SMALL, LARGE]),
        (TORCH, [SMALL, LARGE]),
        (GPU, [LARGE]),
        (H100, [LARGE]),
        (CPU, [SMALL]),
        (SMALL.kind, [SMALL]),
        (f"{H100}, torch 2.12.0", []),
    ],
)
def test_who_meets_a_need(need: str, who: list[Machine]) -> None:
    assert [machine for machine in (READER, SMALL, LARGE) if machine.meets(need)] == who


def test_what_why_nobody_is_said() -> None:
    assert why_nobody(GPU, [SMALL, LARGE]) is None
    assert why_nobody(H100, [SMALL, SMALL, READER]) == (
        f"No worker with {H100} is connected; there is: CPU, no torch; 2 x CPU, torch 2.13.0."
    )
    assert why_nobody(GPU, []) == "No worker with a GPU and torch is connected."


def test_a_gpu_is_found_as_the_driver_lists_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(data=tmp_path, database_url="")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(machines, "GPUS", tmp_path)
    assert this_machine(settings).device == CPU
    (tmp_path / "0000:00:04.0").mkdir()
    (tmp_path / "0000:00:04.0/information").write_text(f"Model: \t\t {H100}\nIRQ:   \t\t 40\n")
    assert this_machine(settings).device == H100
    assert this_machine(replace(settings, device=CPU)).device == CPU
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert this_machine(settings).device == CPU


@ON_SQLITE
def test_a_job_waits_for_a_worker_that_has_what_it_needs(crew: Crew) -> None:
    crew.start(1, device=CPU)
    needs_gpu = crew.client.programs.capture({"model": "neg-maximum-cat", "name": "ok"}, (), H100)
    assert crew.wait(crew.ask("ok")).state == "done"
    waiting = crew.client.job(needs_gpu)
    assert waiting.state == "queued"
    assert waiting.step.startswith(f"No worker with {H100} is connected; there is: CPU, ")
    crew.start(2, device=H100)
    done = crew.wait(needs_gpu)
    assert (done.state, str(done.worker)[-1]) == ("done", "2")
