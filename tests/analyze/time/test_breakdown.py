"""Sums of traces: against independent sums, against what a module printed of itself, and whole."""

import gzip
import json
import math
import re
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from inductorscope.analyze.time.breakdown import Breakdown, break_down
from inductorscope.formats.printed.benchmark_log import parse_benchmark_log
from inductorscope.formats.trace.kineto import ChromeTrace, read_chrome_trace

NAME = 120
"""Where `-p` cuts a name."""
DEVICE = {"kernel", "gpu_memcpy", "gpu_memset"}


@cache
def read(path: Path) -> tuple[ChromeTrace, Breakdown]:
    trace = read_chrome_trace(path)
    return trace, break_down(trace)


def traces(shared: Path) -> list[Path]:
    """Every other one: `test_kineto.py` reads them all."""
    found = sorted((shared / "traces").rglob("*.json.gz"))[::2]
    assert len(found) > 10
    return found


@cache
def work_of(path: Path) -> list[dict[str, Any]]:
    """What ran on a device, by a plain reading of the whole."""
    events = json.loads(gzip.decompress(path.read_bytes()), strict=False)["traceEvents"]
    assert isinstance(events, list)
    return [event for event in events if event.get("ph") == "X" and event.get("cat") in DEVICE]


def test_sums_equal_independent_sums(shared: Path) -> None:
    """Every kernel of a trace, and no launch among them."""
    for path in traces(shared):
        trace, found = read(path)
        expected: dict[str, list[float]] = defaultdict(list)
        for event in work_of(path):
            expected[event["name"]].append(event["dur"])
        if not expected:
            assert not found.on_device, path
            continue
        counted: dict[str, int] = defaultdict(int)
        summed: dict[str, float] = defaultdict(float)
        for kernel in trace.kernels:
            counted[kernel.name] += kernel.calls
            summed[kernel.name] += kernel.total_us
        assert counted == {name: len(spent) for name, spent in expected.items()}, path
        for name, spent in expected.items():
            assert summed[name] == pytest.approx(math.fsum(spent), rel=1e-9, abs=0), (path, name)
        whole = math.fsum(us for spent in expected.values() for us in spent)
        assert found.total_us == pytest.approx(whole, rel=1e-9, abs=0)
        assert math.fsum(total.us for total in found.categories) == pytest.approx(whole, rel=1e-9)


def union_us(events: list[dict[str, Any]]) -> tuple[float, float]:
    """Busy time and span, one stretch after the other."""
    stretches = sorted((event["ts"], event["ts"] + event["dur"]) for event in events)
    busy, reach = 0.0, -math.inf
    for start, end in stretches:
        busy += max(0.0, end - max(start, reach))
        reach = max(reach, end)
    return busy, reach - stretches[0][0]


def test_busy_time_is_the_union_and_parts_sum_to_the_span(shared: Path) -> None:
    for path in traces(shared):
        trace, found = read(path)
        timeline = found.timeline
        assert timeline is not None, path
        assert sum(part.us for part in timeline.parts) == pytest.approx(timeline.span_us), path
        busy = sum(part.us for part in timeline.parts if not part.idle)
        assert busy == pytest.approx(timeline.busy_us), path
        assert timeline.busy_us <= timeline.span_us
        assert sum(part.share for part in timeline.parts) == pytest.approx(1)
        work = work_of(path)
        if trace.kernels:
            union, span = union_us(work)
            # Moments are known to a thousandth of a µs.
            assert timeline.busy_us == pytest.approx(union, abs=0.001 * len(work) + 0.002)
            # The window may begin before the first work, and end after the last.
            assert timeline.span_us >= span - 0.01


@pytest.mark.parametrize("folder", ["model__0_forward_1.0", "model__0_backward_3.1"])
def test_agrees_with_what_the_module_printed(shared: Path, folder: str) -> None:
    """`output_code.py -p`: per kernel, its time and count of a call, and the sums by category."""
    (path,) = (shared / "traces" / "cuda-gpt-train").rglob(f"{folder}/compiled_module_profile.*")
    text = (path.parent / "wrapper_benchmark.log").read_text()
    wall_ms = parse_benchmark_log(text).wall_ms
    trace, found = read(path)
    runs = 100  # how often `-p` calls the module
    ours: dict[str, tuple[int, float, str]] = {}
    for kernel, category in zip(trace.kernels, found.kernel_category, strict=True):
        name = kernel.name[:NAME].strip()
        count, us, _ = ours.get(name, (0, 0.0, ""))
        ours[name] = (count + kernel.calls, us + kernel.total_us, category)
    rows = re.findall(r"^(\S.*?) {2,}([\d.e-]+) +([\d.]+) +[\d.]+%$", text, re.M)
    assert {name for name, _, _ in rows} == ours.keys()
    for name, printed_ms, printed_count in rows:
        count, us, _ = ours[name]
        assert count / runs == float(printed_count), name
        assert us / runs / 1000 == pytest.approx(float(printed_ms), rel=1e-5), name
    tables = re.findall(r"== (\w+) category.*?\nTotal +([\d.e-]+)", text, re.S)
    for table, total_ms in tables:
        known = {"extern_gemm", "extern_attention", "memset"} if table == "unknown" else {table}
        mine = sum(us for _, us, category in ours.values() if category in known)
        assert mine / runs / 1000 == pytest.approx(float(total_ms), rel=1e-5)
    # The second definition of busy: kernels with the profiler on, over the wall without it.
    busy = re.findall(r"is busy: ([\d.]+)%", text)
    assert wall_ms is not None
    over_wall = found.total_us / runs / 1000 / wall_ms * 100
    assert over_wall == pytest.approx(float(busy[0]), abs=0.02)


def test_what_the_log_calls_unknown(shared: Path) -> None:
    (path,) = (shared / "traces" / "cuda-gpt-train").rglob("*backward*/compiled_module_profile.*")
    trace, found = read(path)
    categories = dict(zip((ran.name for ran in trace.kernels), found.kernel_category, strict=True))
    for start, category in (
        ("cudnn_generated_fort_native_sdpa", "extern_attention"),
        ("void cudnn::fusion::convert_dq_to_16bits", "extern_attention"),
        ("nvjet_sm90_tst_64x48", "extern_gemm"),
        ("void cublasLt::splitKreduce", "extern_gemm"),
        ("Memset (Device)", "memset"),
    ):
        assert {kind for name, kind in categories.items() if name.startswith(start)} == {category}


EXPECTED = {
    "cuda-gpt-max-autotune/compiled": {
        "eager", "extern_attention", "extern_gemm", "memset", "triton_persistent_reduction",
        "triton_pointwise", "triton_reduction", "triton_template",
    },
    "cuda-foo1/eager": {"eager", "memcpy"},
    "profiles/mi300-torch-compile-triton": {
        "extern_attention", "extern_gemm", "triton_pointwise", "triton_reduction",
    },
    "profiles/a100-old-triton-names": {
        "communication", "eager", "eager_gemm", "extern_gemm", "extern_other", "memcpy",
        "memset", "triton_other",
    },
    "profiles/h100-bert-small-eager": {"eager", "eager_attention", "eager_gemm", "memcpy"},
    "cpu-gpt-train/compiled": {
        "cpp_fused", "eager", "extern_attention", "extern_gemm", "extern_other", "overhead",
    },
}  # fmt: skip


@pytest.mark.parametrize("name", EXPECTED)
def test_categories_of_real_traces(shared: Path, name: str) -> None:
    (path,) = (shared / "traces").glob(f"{name}*.json.gz")
    _, found = read(path)
    assert {total.category for total in found.categories} == EXPECTED[name]


def test_launches_of_old_traces_are_found_by_what_ran_around_them(shared: Path) -> None:
    """Torch 2.0 gave kernels and operators ids of their own."""
    trace, _ = read(shared / "traces" / "profiles" / "a100-old-triton-names.json.gz")
    triton = [kernel for kernel in trace.kernels if kernel.name.startswith("triton__")]
    joins = {(kernel.op, kernel.join) for kernel in triton}
    assert joins == {
        ("CompiledFunction", "enclosing operator"),
        ("CompiledFunctionBackward", "enclosing operator"),
        (None, None),  # replayed by a thread that ran no operator then
    }


def test_graph_calls_that_wait_for_the_host(shared: Path) -> None:
    _, found = read(shared / "traces" / "cuda-gpt-train" / "compiled.trace.json.gz")
    assert [region.verdict for region in found.regions] == ["host bound"] * 2
    forward = found.regions[0]
    assert (forward.compile_id, forward.launches) == ("0/0", 73)
    assert 0 < forward.device_us < forward.call_us
    assert forward.graphs_save_us == pytest.approx(forward.call_us - forward.device_us)
    assert forward.guards_us > 0
    assert forward.prologue_us > 0
    _, busy = read(shared / "traces" / "profiles" / "mi300-torch-compile-triton.json.gz")
    assert [region.verdict for region in busy.regions] == ["device bound"]


def test_own_times_on_a_processor_never_overlap(shared: Path) -> None:
    trace, found = read(shared / "traces" / "cpu-gpt-train" / "compiled.trace.json.gz")
    assert not found.on_device
    generated = [row for row in found.cpu if row.category == "cpp_fused"]
    assert len(generated) == len({kernel.name for kernel in trace.cpu_kernels}) > 20
    assert sum(row.self_us for row in generated) == pytest.approx(
        sum(kernel.total_us for kernel in trace.cpu_kernels)
    )
    assert found.timeline is not None
    assert found.total_us == pytest.approx(found.timeline.busy_us)
