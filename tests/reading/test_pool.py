"""Graphs read in other processes come out as they do here, also when such a process dies."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import asdict
from functools import partial
from pathlib import Path

import pytest
from inductorscope.reading.graphs import pool as pools
from inductorscope.reading.graphs.content import Given, Outcome, Task, read_texts
from inductorscope.reading.graphs.pool import Pool

ROLES = {
    "fx_graph_transformed.py": "post_grad",
    "fx_graph_readable.py": "readable",
    "ir_post_fusion.txt": "ir_post",
    "ir_pre_fusion.txt": "ir_pre",
    "output_code.py": "code",
}


@pytest.fixture
def task(fixtures: Path) -> Task:
    folder = next((fixtures / "cuda-foo1").rglob("output_code.py")).parent
    return Task(
        "foo1",
        {
            role: Given(name, name, (folder / name).read_bytes())
            for name, role in ROLES.items()
            if (folder / name).exists()
        },
    )


@pytest.fixture
def pool() -> Iterator[Pool]:
    with Pool(workers=2) as pool:
        yield pool


def outcomes(pool: Pool, tasks: list[Task]) -> dict[int, Outcome]:
    # Reading uses a task up, so each is a copy.
    return dict(pool.run([partial(deepcopy, task) for task in tasks]))


def whole(outcome: Outcome) -> dict[str, object]:
    return asdict(outcome.content)


def test_every_task_is_read_once_wherever(pool: Pool, task: Task) -> None:
    here = read_texts(deepcopy(task))
    found = outcomes(pool, [task] * 7)
    assert sorted(found) == list(range(7))
    for outcome in found.values():
        assert whole(outcome) == whole(here)
        assert outcome.quotes == here.quotes


def test_with_fewer_processes_every_task_is_read_all_the_same(pool: Pool, task: Task) -> None:
    first, *others = pool.processes
    pool.keep(1)
    assert [process.is_alive() for process in (first, *others)] == [True, *(False for _ in others)]
    assert sorted(number for number, _ in pool.run([lambda: task] * 3)) == [0, 1, 2]


def test_a_process_that_dies_costs_nothing(pool: Pool, task: Task) -> None:
    here = read_texts(deepcopy(task))
    for process in pool.processes:
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
    found = outcomes(pool, [task] * 3)
    assert [whole(found[number]) for number in range(3)] == [whole(here)] * 3


def test_a_large_graph_is_read_in_a_process_that_ends_with_it(
    monkeypatch: pytest.MonkeyPatch, task: Task
) -> None:
    readers: list[int] = []

    def read(given: Task) -> Outcome:
        outcome = read_texts(given)
        outcome.quotes = {str(os.getpid()): {}}
        return outcome

    monkeypatch.setattr(pools, "LARGE", 1)
    monkeypatch.setattr(pools, "read_task", read)
    with Pool(workers=1) as pool:
        for outcome in outcomes(pool, [task] * 3).values():
            (reader,) = outcome.quotes
            readers.append(int(reader))
        ours = {os.getpid(), *(process.pid for process in pool.processes)}
    assert len({*readers}) == 3
    assert not ours & {*readers}


def test_what_a_fork_dies_of_is_read_here(monkeypatch: pytest.MonkeyPatch, task: Task) -> None:
    here = os.getpid()

    def read(given: Task) -> Outcome:
        if os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return read_texts(given)

    monkeypatch.setattr(pools, "LARGE", 1)
    monkeypatch.setattr(pools, "read_task", read)
    with Pool(workers=2) as pool:
        assert sorted(outcomes(pool, [task] * 3)) == [0, 1, 2]


def test_without_other_processes_all_is_read_here(task: Task) -> None:
    with Pool(workers=0) as pool:
        assert sorted(outcomes(pool, [task, task])) == [0, 1]
        assert outcomes(pool, []) == {}
