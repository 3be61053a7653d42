"""Intervals, shares, order of extern calls, eager beside compiled: sums that must hold."""

import io
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inductorscope.analyze.time import intervals
from inductorscope.analyze.time.breakdown import break_down
from inductorscope.analyze.time.costs import (
    CallSite,
    TimedGraph,
    TimedKernel,
    costs_of,
    is_view,
    shares,
    tensor_bytes,
)
from inductorscope.analyze.time.eager_compiled import Entry, compare, fused_ops
from inductorscope.analyze.time.extern_nodes import nodes_in_order
from inductorscope.analyze.time.intervals import BLOCK, cover, gaps, joined
from inductorscope.formats.graph.fx_nodes import FxNode
from inductorscope.formats.trace.kineto import read_chrome_stream

STRETCHES = st.lists(st.tuples(st.integers(0, 300), st.integers(0, 40)), max_size=40)


def covered(stretches: list[tuple[int, int]]) -> set[int]:
    return {moment for start, length in stretches for moment in range(start, start + length)}


def columns(stretches: list[tuple[int, int]]) -> tuple[Any, Any]:
    return (
        np.array([start for start, _ in stretches], np.float64),
        np.array([length for _, length in stretches], np.float64),
    )


@given(STRETCHES, STRETCHES, st.integers(0, 300), st.integers(0, 60))
def test_covers_are_what_they_cover(
    one: list[tuple[int, int]], other: list[tuple[int, int]], at: int, length: int
) -> None:
    first, second = cover(*columns(one)), cover(*columns(other))
    assert first.total == len(covered(one))
    both = joined(first, second)
    assert both.total == len(covered(one) | covered(other))
    inside = both.within(np.array([float(at)]), np.array([float(at + length)]))[0]
    assert inside == len((covered(one) | covered(other)) & set(range(at, at + length)))
    begins, ends = gaps(both, 0, 400)
    assert both.total + float((ends - begins).sum()) == 400


@given(STRETCHES, st.integers(1, 5))
def test_blocks_change_nothing(stretches: list[tuple[int, int]], size: int) -> None:
    starts, lengths = columns(stretches)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(intervals, "BLOCK", size)
        found = cover(starts, lengths)
    times = {moment for start, length in stretches for moment in range(start, start + length)}
    assert (found.total, float(found.lengths().sum())) == (len(times), len(times))
    assert (found.start[1:] > found.end[:-1]).all()
    expected = cover(starts, lengths)
    assert found.start.tolist() == expected.start.tolist()
    assert found.end.tolist() == expected.end.tolist()
    assert found.before.tolist() == expected.before.tolist()


def test_many_stretches_are_merged_in_blocks() -> None:
    starts = np.arange(3 * BLOCK, dtype=np.float64)[::-1]
    assert cover(starts, np.full(len(starts), 0.25)).total == 0.25 * len(starts)
    assert cover(starts, np.full(len(starts), 5.0)).total == len(starts) + 4


def node(target: str, annotation: str, *inputs: str) -> FxNode:
    return FxNode("", target, 0, annotation, None, None, list(inputs))


NODES = {
    "x": node("placeholder", "f32[4, 8][8, 1]cpu"),
    "add": node("torch.ops.aten.add.Tensor", "f32[4, 8][8, 1]cpu", "x"),
    "view": node("torch.ops.aten.view.default", "f32[32][1]cpu", "add"),
    "sum_1": node("torch.ops.aten.sum.dim_IntList", "bf16[4][1]cpu", "view"),
}


def test_shares_are_by_bytes_and_views_move_none() -> None:
    found = shares(["add", "view", "sum_1"], NODES)
    assert found["view"] == 0
    assert found["add"] == pytest.approx(256 / (256 + 128 + 8))
    assert sum(found.values()) == pytest.approx(1)
    assert shares(["view", "unknown"], NODES) == {"view": 0.5, "unknown": 0.5}
    assert shares([], NODES) == {}


@pytest.mark.parametrize(
    ("annotation", "size"),
    [("f32[4, 256][256, 1]cuda:0", 4096), ("bf16[8]", 16), ("b8[3]", 3), ("i64[]", 8),
     ("f32[s0, 8][8, 1]", 32), ("Sym(s0)", 0), (None, 0), ("f8e4m3fn[16]", 16)],
)  # fmt: skip
def test_bytes_of_annotations(annotation: str | None, size: int) -> None:
    assert tensor_bytes(annotation) == size


def test_what_is_a_view() -> None:
    for target in (
        "aten.view.default", "torch.ops.aten.permute.default", "operator.getitem",
        "torch.ops.aten.t.default", "torch.ops.aten.split_with_sizes.default",
    ):  # fmt: skip
        assert is_view(target), target
    for target in (
        "torch.ops.aten.tanh.default",
        "aten.select_scatter.default",
        "aten.cat.default",
    ):
        assert not is_view(target), target


@given(st.lists(st.text(max_size=6), max_size=8), st.text(max_size=30))
def test_shares_of_anything_sum_to_one(names: list[str], annotation: str) -> None:
    nodes = {name: node("aten.add", annotation) for name in names[:4]}
    found = shares(names, nodes)
    assert not names or sum(found.values()) == pytest.approx(1)


def test_extern_calls_get_nodes_in_order_where_counts_agree() -> None:
    targets = {
        "mm": "torch.ops.aten.mm.default", "mm_1": "torch.ops.aten.mm.default",
        "mm_2": "torch.ops.aten.mm.default", "bmm": "torch.ops.aten.bmm.default",
    }  # fmt: skip
    calls = [(7, "extern_kernels.mm"), (3, "extern_kernels.mm"), (4, "extern_kernels.bmm")]
    assert nodes_in_order(calls, targets, {"mm_1"}) == {7: "mm", 3: "mm_2", 4: "bmm"}
    assert nodes_in_order(calls, targets, set()) == {4: "bmm"}


def test_operators_in_a_kernels_name() -> None:
    assert fused_ops("triton_per_fused__to_copy_add_native_layer_norm_1") == [
        "_to_copy", "add", "native_layer_norm",
    ]  # fmt: skip
    assert fused_ops("graph_0_cpp_fused_gelu_view_2") == ["gelu", "view"]
    assert fused_ops("triton_poi_fused_my_op_add_3", ["my_op"]) == ["my_op", "add"]
    assert fused_ops("nvjet_sm90") == []


def test_eager_beside_compiled() -> None:
    eager = [
        Entry("gemm_kernel", "aten::addmm", "eager", 4, 40.0),
        Entry("layer_norm_kernel", "aten::native_layer_norm", "eager", 2, 30.0),
        Entry("add_kernel", "aten::add", "eager", 6, 18.0),
        Entry("Memset", "aten::add", "memset", 1, 1.0),
    ]
    compiled = [
        Entry("gemm_kernel", "aten::mm", "extern_gemm", 4, 36.0),
        Entry(
            "triton_per_fused_add_native_layer_norm_0", None, "triton_persistent_reduction", 2, 9.0
        ),
        Entry("triton_poi_fused_add_1", None, "triton_pointwise", 1, 3.0),
        Entry("add_kernel", "aten::add", "eager", 2, 6.0),
    ]
    found = compare(eager, compiled)
    groups = {row.group: (row.eager_us, row.compiled_us) for row in found.groups}
    assert groups == {
        "matrix products": (40, 36), "element-wise, reductions, copies": (49, 18),
    }  # fmt: skip
    ops = {row.op: row for row in found.ops}
    assert ops["aten::addmm"].now == ["aten::mm"]
    assert ops["aten::native_layer_norm"].fused_kernels == 1


ENTRIES = st.lists(
    st.builds(
        Entry,
        name=st.sampled_from(["triton_poi_fused_add_0", "gemm", "flash", "x", "conv"]),
        op=st.none() | st.sampled_from(["aten::add_", "aten::mm", "aten::relu", "odd"]),
        category=st.sampled_from(
            ["eager", "triton_pointwise", "extern_gemm", "memset", "overhead"]
        ),
        calls=st.integers(1, 9),
        us=st.integers(0, 100),
    ),
    max_size=12,
)


@given(ENTRIES, ENTRIES)
def test_groups_sum_to_the_whole(eager: list[Entry], compiled: list[Entry]) -> None:
    found = compare(eager, compiled)
    assert sum(row.eager_us for row in found.groups) == sum(entry.us for entry in eager)
    assert sum(row.compiled_us for row in found.groups) == sum(entry.us for entry in compiled)
    assert sum(row.eager_us for row in found.ops) == sum(entry.us for entry in eager)


def event(name: str, cat: str, ts: float, dur: float, **args: object) -> dict[str, Any]:
    place = {"pid": 0, "tid": 7} if cat in ("kernel", "gpu_memcpy") else {"pid": 1, "tid": 1}
    return {"ph": "X", "cat": cat, "name": name, "ts": ts, "dur": dur, "args": args, **place}


def broken_down(*events: dict[str, Any]) -> Any:
    return break_down(read_chrome_stream(io.BytesIO(json.dumps(list(events)).encode())))


def test_what_a_gap_waited_for() -> None:
    """The device works 0 to 10, and 100 to 110; the host launches these at -5 and at 90."""
    found = broken_down(
        event("a", "kernel", 0, 10, correlation=1), event("b", "kernel", 100, 10, correlation=2),
        event("cudaLaunchKernel", "cuda_runtime", -5, 3, correlation=1),
        event("cudaDeviceSynchronize", "cuda_runtime", 5, 15),
        event("TorchDynamo Cache Lookup", "cpu_op", 20, 10),
        event("aten::add", "cpu_op", 40, 20),
        event("cudaLaunchKernel", "cuda_runtime", 90, 5, correlation=2),
    )  # fmt: skip
    parts = {part.name: part.us for part in found.timeline.parts if part.idle}
    assert parts == {
        "synchronising": 10, "guards": 10, "in operators": 20, "outside of operators": 40,
        "launch to start": 10 + 5,
    }  # fmt: skip
    assert (found.timeline.busy_us, found.timeline.span_us) == (20, 115)


def test_work_beside_work_counts_once() -> None:
    talk = {**event("ncclDevKernel_AllReduce_Sum", "kernel", 5, 20), "tid": 9}
    found = broken_down(event("a", "kernel", 0, 10), talk, event("m", "gpu_memcpy", 24, 6))
    parts = {part.name: part.us for part in found.timeline.parts}
    assert parts == {"computing": 10, "communication alone": 15, "copies alone": 5}
    assert found.timeline.span_us == 30


def test_a_replayed_graph_is_compiled_code() -> None:
    found = broken_down(
        event("cudaGraphLaunch", "cuda_runtime", 0, 3, correlation=4),
        event("triton_poi_fused_add_0", "kernel", 5, 2, correlation=4),
        event("nvjet_sm90", "kernel", 7, 3, correlation=4),
        event("Torch-Compiled Region: 0/0", "cpu_op", 50, 3),
        event("cutlass_gemm", "kernel", 70, 2, correlation=9),
    )  # fmt: skip
    assert {row.category: row.us for row in found.categories} == {
        "extern_gemm": 3, "triton_pointwise": 2, "eager_gemm": 2,
    }  # fmt: skip
    assert "kernels ran in recorded graphs" in {finding.what for finding in found.findings}


def test_what_dynamo_skipped_is_eager_in_its_region_too() -> None:
    found = broken_down(
        event("Torch-Compiled Region: 0/0", "cpu_op", 0, 50),
        event("## Call CompiledFxGraph abc ##", "cpu_op", 1, 10),
        event("cuLaunchKernel", "cuda_runtime", 2, 1, correlation=1),
        event("cudaLaunchKernel", "cuda_runtime", 20, 1, correlation=2),
        event("cutlass_gemm", "kernel", 30, 3, correlation=1),
        event("cutlass_gemm", "kernel", 40, 2, correlation=2),
    )
    assert {row.category: row.us for row in found.categories} == {"extern_gemm": 3, "eager_gemm": 2}


@pytest.mark.parametrize(("earlier", "verdict"), [(90, "queued"), (5, "host bound")])
def test_a_call_that_waits_for_earlier_work_is_not_host_bound(earlier: int, verdict: str) -> None:
    """Its only kernel is launched at 12 and runs from 95 on."""
    found = broken_down(
        event("earlier", "kernel", 0, earlier, correlation=1),
        event("Torch-Compiled Region: 0/0", "cpu_op", 10, 5),
        event("## Call CompiledFxGraph abc ##", "cpu_op", 11, 3),
        event("triton_poi_fused_add_0", "cpu_op", 12, 2, **{"External id": 7}),
        event("cuLaunchKernel", "cuda_runtime", 12, 1, correlation=2, **{"External id": 7}),
        event("triton_poi_fused_add_0", "kernel", 95, 5, correlation=2, **{"External id": 7}),
    )  # fmt: skip
    (region,) = found.regions
    assert (region.verdict, region.graphs_save_us > 0) == (verdict, verdict == "host bound")


def test_the_doctor() -> None:
    found = broken_down(
        event("a", "kernel", 10, 10, correlation=1), event("b", "kernel", 15, 10),
        event("cudaLaunchKernel", "cuda_runtime", 40, 3, correlation=1),
    )  # fmt: skip
    told = {finding.what: finding.count for finding in found.findings}
    assert told["work on one stream overlaps"] == 1
    assert told["device work has no id"] == 1
    assert told["device work starts before its launch"] == 1
    assert "no steps are marked" in told


WORK = st.builds(
    event,
    name=st.sampled_from(["triton_poi_fused_add_0", "nccl", "aten::mm", "ProfilerStep#1",
                          "Torch-Compiled Region: 0/0", "## Call CompiledFxGraph None ##",
                          "graph_0_cpp_fused_add_0", "cudaGraphLaunch"]),
    cat=st.sampled_from(["kernel", "gpu_memcpy", "cpu_op", "user_annotation", "cuda_runtime"]),
    ts=st.integers(0, 200), dur=st.integers(0, 60), correlation=st.integers(-2, 6),
    **{"External id": st.integers(-2, 6)},
)  # fmt: skip


@given(st.lists(WORK, max_size=25))
def test_any_events_sum_to_the_whole(events: list[dict[str, Any]]) -> None:
    found = broken_down(*events)
    assert sum(row.us for row in found.categories) == pytest.approx(found.total_us)
    if found.timeline is not None:
        assert sum(part.us for part in found.timeline.parts) == pytest.approx(
            found.timeline.span_us
        )
        assert all(part.us >= 0 for part in found.timeline.parts)
        assert found.timeline.busy_us <= found.timeline.span_us + 1e-6
    for region in found.regions:
        assert region.device_us <= region.call_us + 1e-6 or not found.on_device


def test_the_parts_of_a_line_sum_to_its_time_however_many_they_are() -> None:
    nodes = [FxNode(f"n{at}", "aten.add", at, "f32[8]", "model.py", 7) for at in range(99)]
    kernels = [TimedKernel(at, f"k{at}", extern=False, time_us=1.0 + at) for at in range(99)]
    sites = [CallSite(at, [f"n{at}"]) for at in range(99)]
    (line,) = costs_of([TimedGraph(1, nodes, kernels, sites)]).lines
    assert (line.kernels, len(line.parts)) == (99, 99)
    assert sum(us for _, us in line.parts) == pytest.approx(line.shared_us)
