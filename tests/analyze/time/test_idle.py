"""What the host did in a device's gaps, and the time that is judged."""

import io
import json
from typing import Any

import pytest
from inductorscope.analyze.time.breakdown import break_down
from inductorscope.analyze.time.facts import Timeline
from inductorscope.formats.trace.kineto import read_chrome_stream


def event(name: str, cat: str, ts: float, dur: float, **args: object) -> dict[str, Any]:
    place = {"pid": 0, "tid": 7} if cat in ("kernel", "gpu_memcpy") else {"pid": 1, "tid": 1}
    return {"ph": "X", "cat": cat, "name": name, "ts": ts, "dur": dur, "args": args, **place}


def launch(name: str, ts: float, starts: float, dur: float, number: int, call: float = 5) -> Any:
    """A kernel and the call that launched it."""
    return (
        event("cudaLaunchKernel", "cuda_runtime", ts, call, correlation=number),
        event(name, "kernel", starts, dur, correlation=number),
    )


def timeline(*events: Any) -> Timeline:
    flat = [given for part in events for given in (part if isinstance(part, tuple) else (part,))]
    found = break_down(read_chrome_stream(io.BytesIO(json.dumps(flat).encode()))).timeline
    assert found is not None
    return found


SMALL = [launch("k", 10 * number, 10 * number + 5, 3, number) for number in range(20)]

GAPS = {
    "a data loader": (
        [event("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "cpu_op", 250, 900)],
        ("loading data", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"),
    ),
    "an operator on the host": (
        [event("aten::randn", "cpu_op", 250, 900), event("aten::normal_", "cpu_op", 260, 880)],
        ("host operator", "aten::randn"),
    ),
    "a blocking copy": (
        [event("aten::copy_", "cpu_op", 250, 900),
         event("hipMemcpyWithStream", "cuda_runtime", 255, 880)],
        ("blocking", "hipMemcpyWithStream"),
    ),
    "a capture": (
        [event("cudaStreamBeginCapture_v10000", "cuda_runtime", 250, 5),
         event("cudaStreamEndCapture_v10000", "cuda_runtime", 1150, 5)],
        ("capturing a graph", ""),
    ),
    "a function of the program": (
        [event("train.py(12): prepare", "python_function", 240, 930),
         event("torch/utils/x.py(1): inner", "python_function", 250, 900)],
        ("python", "prepare"),
    ),
    "the program's own span": (
        [event("augment", "user_annotation", 250, 900)], ("python", ""),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", GAPS)
def test_a_long_gap_is_named_by_what_the_host_did(case: str) -> None:
    events, (kind, name) = GAPS[case]
    found = timeline(*SMALL, *events, launch("k", 1200, 1205, 3, 99)).waits[0]
    assert (found.kind, found.name, found.count) == (kind, name, 1)
    assert found.us == pytest.approx(1205 - 198)


def test_the_first_launch_of_a_kernel_is_a_first_call_and_the_next_one_is_not() -> None:
    slow = launch("new", 300, 5_310, 3, 98, call=5_000)
    found = timeline(*SMALL, slow)
    assert found.waits[0].kind == "first calls"
    assert {part.name: round(part.us) for part in found.parts}["first calls"] == 5_310 - 198
    again = timeline(*SMALL, launch("k", 300, 5_310, 3, 98, call=5_000))
    assert again.waits[0].kind == "call"


def test_pauses_below_three_microseconds_are_ordinary() -> None:
    kernels = [launch("k", 0, 100 + 10 * number, 8, number) for number in range(5)]
    parts = {part.name: part.us for part in timeline(*kernels).parts if part.idle}
    assert parts["between kernels"] == 4 * 2


def step(number: int, ts: float, dur: float) -> dict[str, Any]:
    return event(f"ProfilerStep#{number}", "user_annotation", ts, dur)


def test_a_step_is_what_the_marks_say_unless_the_host_runs_ahead() -> None:
    marks = [step(1, 0, 600), step(2, 600, 600)]
    found = timeline(*marks, launch("k", 500, 505, 10, 1), launch("k", 1100, 1105, 10, 2))
    assert (found.span_us, found.asynchronous) == (1200, False)
    ahead = timeline(*marks, launch("k", 500, 505, 900, 1), launch("k", 1100, 1405, 900, 2))
    assert (ahead.span_us, ahead.asynchronous) == (1800, True)


def test_a_start_up_is_left_out() -> None:
    start = [event("aten::linear", "cpu_op", 0, 50_000), launch("k", 49_900, 49_950, 3, 1)]
    later = [event("aten::linear", "cpu_op", 60_000, 20), launch("k", 60_010, 60_020, 3, 2)]
    found = timeline(*start, *later)
    assert found.start_up_us == 49_950
    assert found.span_us == pytest.approx(60_023 - 49_950)


def test_on_a_processor_the_data_loader_is_named_and_marks_are_the_steps() -> None:
    loads = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
    found = timeline(
        step(1, 0, 1000), event("aten::mm", "cpu_op", 10, 300), event(loads, "cpu_op", 400, 500),
    )  # fmt: skip
    assert [(wait.kind, wait.name, wait.us) for wait in found.waits] == [
        ("loading data", loads, 500)
    ]
    assert (found.span_us, found.busy_us) == (1000, 800)


def test_a_mark_that_nobody_ended_ends_with_the_profiler() -> None:
    found = timeline(
        event("PyTorch Profiler (0)", "Trace", -50, 1050),
        step(1, 0, 90_000),
        launch("k", 500, 505, 10, 1),
    )
    assert found.span_us == 1000


def test_a_gap_after_a_blocking_call_is_due_to_it_if_the_host_waited_longer() -> None:
    def found(waits: float) -> str:
        begin = 500 - waits
        return timeline(
            launch("k", 0, 5, 495, 1),
            event("aten::item", "cpu_op", begin - 2, waits + 8),
            event("cudaStreamSynchronize", "cuda_runtime", begin, waits + 2),
            launch("k", 590, 600, 10, 2),
        ).waits[0].kind  # fmt: skip

    assert [found(waits=400), found(waits=20)] == ["blocking", "unnamed"]


def test_operators_that_end_before_the_next_launch_ran_on_the_host_together() -> None:
    works = [event("aten::full", "cpu_op", 250, 900), event("aten::triu", "cpu_op", 1_200, 1_000)]
    found = timeline(*SMALL, *works, launch("k", 2_300, 2_305, 3, 99)).waits[0]
    assert (found.kind, found.name) == ("host operator", "aten::triu")


def test_values_that_are_read_are_counted_once_with_the_gaps_around_them() -> None:
    reads = [
        part
        for number in range(4)
        for start in (1_000 * (number + 1),)
        for part in (
            event("aten::item", "cpu_op", start, 40),
            event("aten::_local_scalar_dense", "cpu_op", start + 1, 38),
            event("cudaMemcpyAsync", "cuda_runtime", start + 2, 5),
            event("cudaStreamSynchronize", "cuda_runtime", start + 8, 30),
            *launch("k", start + 50, start + 55, 3, 100 + number),
        )
    ]
    found = timeline(*SMALL, *reads).synchronising
    assert found is not None
    assert (found.inside, found.count) == ("aten::item", 4)
    assert found.us == pytest.approx((1_055 - 198) + 3 * (1_000 - 3))
    assert timeline(*SMALL).synchronising is None


def test_what_lies_between_two_reads_of_a_loop_belongs_to_them() -> None:
    def idle(apart: float) -> float:
        reads = [
            part
            for number in range(4)
            for start in (1_000 + apart * number,)
            for part in (
                event("aten::item", "cpu_op", start, 40),
                event("cudaStreamSynchronize", "cuda_runtime", start + 8, 30),
                *launch("k", start + 50, start + 55, 3, 100 + number),
                *launch("k", start + 70, start + 75, 3, 200 + number),
            )
        ]
        found = timeline(*SMALL, *reads).synchronising
        assert found is not None
        return found.us

    before = 1_055 - 198
    assert idle(apart=200) == pytest.approx(before + 3 * (200 - 6))
    assert idle(apart=2_000) == pytest.approx(before + 3 * (2_000 - 23))


def test_gaps_in_which_memory_is_taken_from_the_driver_are_named() -> None:
    def first(name: str, us: float) -> tuple[str, str]:
        calls = [event(name, "cuda_runtime", 250 + 200 * at, us) for at in range(4)]
        found = timeline(*SMALL, *calls, launch("k", 1_200, 1_205, 3, 99)).waits[0]
        return found.kind, found.name

    assert first("cudaFree", 100) == ("call", "cudaFree")
    operator = event("aten::mm", "cpu_op", 240, 900)
    taken = event("cudaMalloc", "cuda_runtime", 300, 250)
    waits = timeline(*SMALL, operator, taken, launch("k", 1_200, 1_205, 3, 99)).waits
    assert waits[0].name == "aten::mm"  # which may be its first call, and takes memory once
    assert first("cudaFree", 10)[0] != "call"
    assert first("cudaFuncGetAttributes", 100)[0] != "call"


def searched(call: str, operator: str, *steps: bool) -> list[str]:
    """The kinds of the longest waits of steps, in some of which a convolution times kernels."""
    events = []
    for number, searches in enumerate(steps):
        begin = 300 + 10_000 * number
        events += [
            event(f"ProfilerStep#{number}", "user_annotation", begin, 10_000),
            event("ConvolutionBackward0", "cpu_op", begin + 90, 9_020),
            event(operator, "cpu_op", begin + 100, 9_000),
            event(call, "cuda_runtime", begin + 300, 2) if searches else (),
            launch("k", begin + 9_050, begin + 9_055, 3, 1_000 + number),
            launch("k", begin + 9_105, begin + 9_110, 3, 2_000 + number),
        ]
    return [wait.kind for wait in timeline(*SMALL, *events).waits if wait.us > 8_000]


def test_a_library_that_times_its_convolutions_in_later_steps_too_searches() -> None:
    waits, back = "cudaEventSynchronize", "aten::convolution_backward"
    assert searched(waits, back, True, True, True) == ["searching"]
    forward = searched("hipEventSynchronize", "aten::miopen_convolution", True, False, True)
    assert forward == ["searching", "operator"]
    assert "searching" not in searched(waits, back, True, False, False)  # a first call
    assert "searching" not in searched(waits, back, False, False, True)
    assert "searching" not in searched(waits, back, True)
    assert "searching" not in searched("cudaEventRecord", back, True, True, True)
    assert "searching" not in searched(waits, "aten::mm", True, True, True)


def test_an_optimizer_that_launches_its_kernels_one_by_one_is_counted() -> None:
    step = event("Optimizer.step#AdamW.step", "user_annotation", 95, 105)
    [found] = timeline(*SMALL, step).optimizers
    assert (found.name, found.count, found.us, found.launches) == ("AdamW", 1, 105, 10)
