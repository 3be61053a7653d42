"""A trace read in two halves is the trace read whole, wherever it is cut and whatever is in it."""

from __future__ import annotations

import gzip
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inductorscope.formats.trace import halves as trace_halves
from inductorscope.formats.trace.event_columns import NOWHERE, TraceColumns
from inductorscope.formats.trace.halves import begin_second_half, read_second_half
from inductorscope.formats.trace.kineto import ChromeTrace, read_chrome_trace
from inductorscope.processes.forks import Forks

COLUMNS = ("name", "lane", "kind", "ts", "us", "external", "correlation")


@pytest.fixture
def forks() -> Iterator[Forks]:
    with Forks(1) as forks:
        yield forks


@pytest.fixture(autouse=True)
def long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every trace counts as a long one."""
    monkeypatch.setattr(trace_halves, "LONG", 1)


def told(trace: ChromeTrace) -> list[Any]:
    """All that a trace says; its events in an order of their own, since those of one kind stand
    together as far as they were read together."""
    assert trace.detail is not None
    columns = trace.detail.columns
    events = [
        sorted(
            (columns.names[name], repr(columns.lanes[lane]), kind_of(columns, which, kind), *rest)
            for name, lane, kind, *rest in zip(
                *(getattr(rows, name).tolist() for name in COLUMNS), strict=True
            )
        )
        for which, rows in enumerate(
            (columns.device, columns.calls, columns.ops, columns.annotations)
        )
    ]
    spans = [
        [(span.ts, span.us, span.text, repr(columns.lanes[span.lane])) for span in kind]
        for kind in (
            columns.graph_calls, columns.compiled, columns.compiled_functions, columns.steps
        )
    ]  # fmt: skip
    return [
        events, spans, sorted(columns.names), sorted(map(repr, columns.lanes)), trace.events,
        trace.steps, trace.devices, sorted((one.reason, one.count) for one in trace.repairs),
        sorted((kernel.name, kernel.calls, round(kernel.total_us, 6)) for kernel in trace.kernels),
        sorted((op.name, op.calls, round(op.total_us, 6)) for op in trace.ops),
    ]  # fmt: skip


def kind_of(columns: TraceColumns, which: int, kind: int) -> str:
    return repr(columns.launches[kind]) if which >= 2 and kind != NOWHERE else str(kind)


def assert_same(path: Path, forks: Forks, *, cut: bool | None = True) -> None:
    half = begin_second_half(path, forks, path.parent)
    assert cut is None or (half is not None) is cut
    assert told(read_chrome_trace(path, half=half)) == told(read_chrome_trace(path))
    del half
    assert [file for file in path.parent.iterdir() if file.name.startswith("half-")] == []


@pytest.fixture
def plain(fixtures: Path, tmp_path: Path) -> Path:
    path = tmp_path / "trace.json"
    path.write_bytes(
        gzip.decompress((fixtures / "cuda-foo1" / "compiled.trace.json.gz").read_bytes())
    )
    return path


def test_two_halves_are_the_whole(plain: Path, forks: Forks) -> None:
    assert_same(plain, forks)
    assert len(forks.processes) == 1


def test_a_compressed_trace_is_read_by_one(fixtures: Path, tmp_path: Path, forks: Forks) -> None:
    path = tmp_path / "trace.json.gz"
    path.write_bytes((fixtures / "cuda-foo1" / "compiled.trace.json.gz").read_bytes())
    assert_same(path, forks, cut=False)


@pytest.mark.parametrize("at", [0.2, 0.7])
@pytest.mark.parametrize("damage", [b"\xff\\x", b'"}, {"ph": "X"', b"]", b""])
def test_damage_in_either_half_is_told_as_of_the_whole(
    plain: Path, forks: Forks, at: float, damage: bytes
) -> None:
    data = plain.read_bytes()
    place = int(len(data) * at)
    plain.write_bytes(data[:place] + damage + (data[place:] if damage else b""))
    assert_same(plain, forks, cut=None)


def test_what_only_looks_like_an_event_is_none(tmp_path: Path, forks: Forks) -> None:
    """Arguments that hold what a list of events looks like, in the middle of the file."""
    inner = [{"ph": "X", "cat": "kernel", "name": "no kernel", "ts": 1, "dur": 5}] * 2000
    event = {"ph": "X", "cat": "cpu_op", "name": "op", "pid": 1, "tid": 1, "ts": 1.5, "dur": 2.5}
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": [event, {**event, "args": {"a": inner}}, event]}))
    assert_same(path, forks)
    text = json.dumps(inner)
    path.write_text(json.dumps({"traceEvents": [event, {**event, "name": text}, event]}))
    assert_same(path, forks, cut=False)


def test_a_list_of_something_else_is_no_second_half(tmp_path: Path, forks: Forks) -> None:
    event = {"ph": "X", "cat": "cpu_op", "name": "op", "pid": 1, "tid": 1, "ts": 1.5, "dur": 2.5}
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": [event] * 3, "others": [event] * 2000}))
    assert_same(path, forks)
    assert read_chrome_trace(path).events == 3


def test_a_process_that_dies_costs_nothing(plain: Path) -> None:
    with Forks(1) as forks:
        (process,) = forks.processes
        assert process.pid is not None
        os.kill(process.pid, signal.SIGSTOP)
        half = begin_second_half(plain, forks, plain.parent)
        assert begin_second_half(plain, forks) is None, "nobody is left to read another"
        os.kill(process.pid, signal.SIGKILL)
        assert told(read_chrome_trace(plain, half=half)) == told(read_chrome_trace(plain))


def test_without_a_place_for_numbers_one_reads_all(plain: Path, forks: Forks) -> None:
    half = begin_second_half(plain, forks, plain.parent)
    assert half is not None
    half.numbers.unlink()
    assert told(read_chrome_trace(plain, half=half)) == told(read_chrome_trace(plain))


EVENTS = st.lists(
    st.fixed_dictionaries(
        {
            "ph": st.sampled_from(["X", "X", "X", "i", "s"]),
            "cat": st.sampled_from(["kernel", "cpu_op", "cuda_runtime", "user_annotation"]),
            "name": st.sampled_from(["a", "}, {", "Torch-Compiled Region: 0/0", "ProfilerStep#1"]),
            "pid": st.sampled_from([1, "x"]),
            "tid": st.sampled_from([1, 2.5]),
            "ts": st.floats(0, 1e6) | st.none(),
            "dur": st.sampled_from([0.0, 1.5, -1, 1e30]),
        },
        optional={
            "args": st.fixed_dictionaries(
                {"External id": st.sampled_from([1, 2, "3"])},
                optional={
                    "correlation": st.integers(1, 9),
                    "kernel_file": st.sampled_from(["f.py", "g.py"]),
                    "list": st.just([{"ph": "X"}, {"ph": "X"}]),
                },
            )
        },
    ),
    max_size=30,
)


@given(EVENTS, st.floats(0, 1), st.sampled_from([None, 1]))
def test_wherever_it_is_cut(
    tmp_path_factory: pytest.TempPathFactory,
    events: list[object],
    where: float,
    indent: int | None,
) -> None:
    folder = tmp_path_factory.mktemp("halves")
    path, numbers = folder / "trace.json", folder / "numbers"
    path.write_text(json.dumps({"traceEvents": events}, indent=indent))
    numbers.touch()
    found = trace_halves.place_after(path, int(path.stat().st_size * where))
    if found is None:
        return
    half = trace_halves.SecondHalf(
        found, lambda: read_second_half(path, found, numbers, folder), numbers
    )
    assert told(read_chrome_trace(path, half=half)) == told(read_chrome_trace(path))
