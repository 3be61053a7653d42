"""What to change first: the causes that a run's overview leads with, and how they are ranked."""

import json
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from inductorscope.analyze.compile.breaks import break_places
from inductorscope.analyze.compile.model import Frame
from inductorscope.analyze.time.eager_compiled import Comparison, GroupChange
from inductorscope.analyze.time.facts import (
    NO_CPP,
    NO_DURATIONS,
    Finding,
    RegionTime,
    Timeline,
    TimelinePart,
    Wait,
)
from inductorscope.answers.compile.parts import RunStory
from inductorscope.answers.compile.startup import startup_page
from inductorscope.answers.explorer.graph import explorer
from inductorscope.answers.parts import GraphRow, graph_rows, run_of
from inductorscope.answers.runs.diagnosis import blocks, communication, costly, step, uncompiled
from inductorscope.answers.runs.diagnosis.attention import written_attention
from inductorscope.answers.runs.diagnosis.better_ways import (
    convolved,
    jacobian_passes,
    largest_factor,
    next_word,
    pairwise,
    quick_length,
    returned_logits,
    transformed,
)
from inductorscope.answers.runs.diagnosis.blocks import equal_inside, one_by_one
from inductorscope.answers.runs.diagnosis.cause import Cause, Cleared, Diagnosis, ranked
from inductorscope.answers.runs.diagnosis.compiling import mended, no_code, resets
from inductorscope.answers.runs.diagnosis.diagnose import diagnose
from inductorscope.answers.runs.diagnosis.evidence import Evidence, TimedKernel, gather
from inductorscope.answers.runs.diagnosis.machine import (
    anomaly_mode,
    denormal,
    deterministic,
    threads,
)
from inductorscope.answers.runs.diagnosis.memory_order import (
    Order,
    different,
    memory_order,
    orders,
    picked_apart,
    scattered,
)
from inductorscope.answers.runs.diagnosis.products import (
    chains,
    diagonal_products,
    independent_products,
    joined_products,
    masked_branches,
)
from inductorscope.answers.runs.diagnosis.slow_steps import done_again, growing_steps, slow_steps
from inductorscope.answers.runs.diagnosis.step import autotune, overhead, slower_group
from inductorscope.answers.runs.diagnosis.unchanging import (
    depending_on,
    dynamo_names,
    graphs_of_dynamo,
    masked,
    unchanging,
    without_gradient,
    without_own,
)
from inductorscope.answers.runs.diagnosis.uncompiled import (
    Shares,
    compiled_once,
    not_compiled,
    same_operators,
    uncalled,
)
from inductorscope.answers.runs.diagnosis.unread import (
    combined_square,
    dropouts,
    no_backward,
    one_hot_product,
    read_share,
    unread_gradients,
    without_backward,
)
from inductorscope.answers.runs.diagnosis.waiting import beside_operators, large_table, synchronises
from inductorscope.answers.runs.instances import once
from inductorscope.answers.runs.run import run_page
from inductorscope.answers.time.script import script_shown
from inductorscope.cli.local import read_paths
from inductorscope.formats.capture_facts import (
    NO_STEPS,
    AllocatedPeak,
    CompileEvent,
    CudaGraphs,
    ScriptSteps,
    Wrapped,
)
from inductorscope.formats.graph.fx_nodes import FxNode
from inductorscope.formats.vocabulary import CONVOLUTION, OVERHEAD
from inductorscope.settings import Settings
from inductorscope.store.database.engine import make_engine, sessions
from inductorscope.store.runs.nodes import call_texts, fx_nodes
from inductorscope.store.tables.models import Graph, Links
from inductorscope.units import percent
from msgspec import to_builtins
from msgspec.structs import replace
from sqlalchemy import select
from sqlalchemy.orm import Session

from tests.support.places import ROOT

HOST_WAITS = ("rebuilt_mask", "logits_to_cpu", "metrics_item")
"""Traces of an H200 whose device waits for the host."""
READ = ("equal-blocks.tar.xz", "equal-trained.tar.xz", "equal-inside.tar.xz",
        "equal-layers.tar.xz", "own-values.tar.xz",
        "region-calls.tar.xz", "host-table.tar.xz", "cuda-foo1", "dynamic", "neg-does-not-compile",
        "traces")  # fmt: skip
TUNED = """\
AUTOTUNE mm(64x128, 128x256)
  triton_mm_12 0.0092 ms 100.0% BLOCK_K=16, num_warps=4
  mm 0.0184 ms 50.0%
SingleProcess AUTOTUNE benchmarking takes 0.5 seconds and 0.2 seconds precompiling for 30 choices
"""
THIN = "\u202f"
EMBEDDED = [
    {"ph": "X", "cat": kind, "name": name, "pid": 1, "tid": 1, "ts": 10_000 * step + ts, "dur": us}
    for step in range(3)
    for kind, name, ts, us in (
        ("user_annotation", f"ProfilerStep#{step}", 0, 10_000),
        ("cpu_op", "aten::embedding_dense_backward", 1_000, 2_000),
        ("user_annotation", "Optimizer.step#Adam.step", 4_000, 3_000),
        ("cpu_op", "aten::_fused_adam_", 4_100, 2_800),
    )
]
"""Steps whose optimizer, launched at once, updates all of a table."""
OBJECTS = [
    {"ph": "X", "cat": kind, "name": name, "pid": 1, "tid": 1, "ts": 10_000 * step + ts, "dur": us}
    for step in range(3)
    for kind, name, ts, us in (
        ("user_annotation", f"ProfilerStep#{step}", 0, 10_000),
        ("cpu_op", "Torch-Compiled Region: 0/0", 100, 1_000),
        ("cpu_op", "aten::addmm", 200, 800),
        *(("cpu_op", "aten::exp", 2_000 + 30 * number, 25) for number in range(200)),
    )
]
"""Steps with a compiled model, and a loop that computes for one object after the other."""
PAGEABLE = [
    {"ph": "X", "cat": kind, "name": name, "pid": 0 if tid else 1, "tid": tid, "args": args,
     "ts": 30_000 * step + ts, "dur": us}
    for step in range(3)
    for kind, name, tid, ts, us, args in (
        ("user_annotation", f"ProfilerStep#{step}", 0, 0, 30_000, {}),
        ("cuda_runtime", "cudaMemcpyAsync", 0, 100, 24_900, {"correlation": 2 * step}),
        ("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 7, 1_000, 24_000,
         {"correlation": 2 * step}),
        ("cuda_runtime", "cudaLaunchKernel", 0, 25_050, 10, {"correlation": 2 * step + 1}),
        ("kernel", "gemm", 7, 25_070, 1_000, {"correlation": 2 * step + 1}),
    )
]  # fmt: skip
"""Steps that copy to a device from memory that is not pinned."""


def launched(at: float, number: int, name: str) -> list[dict[str, object]]:
    """A kernel of 3 µs that follows its launch at once."""
    args, begin = {"correlation": number}, at + 6
    return [
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1,
         "ts": at, "dur": 5, "args": args},
        {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": begin, "dur": 3,
         "args": args},
    ]  # fmt: skip


def on_host(cat: str, name: str, ts: float, dur: float) -> dict[str, object]:
    return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur}


BESIDE = {
    name: [
        on_host(kind, what, 10_000 * step + ts, us)
        for step in range(3)
        for kind, what, ts, us in (
            ("user_annotation", f"ProfilerStep#{step}", 0, 10_000),
            ("cpu_op", "Torch-Compiled Region: 0/0", 100, 4_000),
            ("cpu_op", "aten::addmm", 200, 3_800),
            ("cpu_op", f"aten::{name}", 5_000, 4_000),
        )
    ]
    for name in ("_fft_c2c", "topk", "embedding")
}
"""Steps with a compiled model, and one eager operator beside it."""
LOOPED = [
    event
    for step in range(3)
    for begin in (20_000 * step,)
    for event in (
        on_host("user_annotation", f"ProfilerStep#{step}", begin, 20_000),
        on_host("cpu_op", "Torch-Compiled Region: 0/0", begin + 100, 100),
        *launched(begin + 120, 1_000 * step, "triton_poi_fused_add_0"),
        *(
            event
            for number in range(200)
            for at in (begin + 1_000 + 80 * number,)
            for event in (
                on_host("cpu_op", "aten::exp", at, 78),
                *launched(at + 40, 1_000 * step + number + 1, "exp_kernel"),
            )
        ),
    )
]
"""Steps that launch an eager kernel for one object after the other."""
EMPTIED = [
    event
    for step in range(3)
    for begin in (20_000 * step,)
    for event in (
        on_host("user_annotation", f"ProfilerStep#{step}", begin, 20_000),
        *(
            event
            for number in range(20)
            for at in (begin + 100 + 900 * number,)
            for event in (
                on_host("cuda_runtime", "cudaMalloc" if number < 15 else "cudaFree", at, 800),
                *launched(at + 810, 100 * step + number, "triton_poi_fused_add_0"),
            )
        ),
    )
]
"""Steps that give memory back to the driver, and take it anew."""
SEARCHED = [
    event
    for step in range(3)
    for begin in (30_000 * step,)
    for event in (
        on_host("user_annotation", f"ProfilerStep#{step}", begin, 30_000),
        on_host("cpu_op", "Torch-Compiled Region: 0/0", begin + 20, 60),
        *launched(begin + 30, 10 * step, "triton_poi_fused_add_0"),
        on_host("cpu_op", "aten::cudnn_convolution", begin + 100, 25_000),
        on_host("cuda_runtime", "cudaEventSynchronize", begin + 20_000, 10),
        *launched(begin + 25_050, 10 * step + 1, "sm90_xmma_fprop_implicit_gemm_bf16bf16"),
    )
]
"""Steps in which cuDNN times its algorithms for a convolution."""


def steps_of(*kernels: tuple[str, float], delay: float = 10.0) -> list[dict[str, object]]:
    """Three steps whose kernels, of some µs each, an operator launches one after the other; the
    device begins a step's first `delay` µs later."""
    events = []
    span = delay + sum(us for _, us in kernels)
    for begun in range(3):
        launch, start = span * begun, span * begun + delay
        events.append(on_host("user_annotation", f"ProfilerStep#{begun}", launch, span))
        for number, (name, us) in enumerate(kernels):
            args = {"correlation": 1_000 * begun + number}
            events += [
                on_host("cpu_op", "aten::mm", launch + 0.1 * number, 0.09),
                on_host("cuda_runtime", "cudaLaunchKernel", launch + 0.1 * number, 0.05)
                | {"args": args},
                {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": start,
                 "dur": us, "args": args},
            ]  # fmt: skip
            start += us
    return events


BUSY = {
    "products": steps_of(("sm90_xmma_gemm_bf16f32", 5_000)),
    "float32": steps_of(("ampere_sgemm_128x64_nn", 3_000), ("sm90_xmma_gemm_bf16f32", 2_000)),
    "collectives": steps_of(
        ("sm90_xmma_gemm_bf16f32", 5_000), *[("ncclDevKernel_AllReduce_Sum_f32", 50)] * 60
    ),
    "queued": steps_of(("sm90_xmma_gemm_bf16f32", 5_000), delay=5_000),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, fixtures: Path) -> dict[str, str]:
    """The id of each fixture's run; the data folder under the empty name."""
    settings = Settings(data=tmp_path_factory.mktemp("diagnosis") / "data", database_url="")
    tables = tmp_path_factory.mktemp("tables") / "run.log"
    tables.write_text(TUNED)
    embedded = tmp_path_factory.mktemp("embedded") / "embedded.trace.json"
    embedded.write_bytes(msgspec.json.encode({"traceEvents": EMBEDDED}))
    made = {"pageable": PAGEABLE, "objects": OBJECTS, "looped": LOOPED, "emptied": EMPTIED}
    made |= BUSY | BESIDE | {"searched": SEARCHED}
    for name, events in made.items():
        written = msgspec.json.encode({"traceEvents": events})
        embedded.with_name(f"{name}.trace.json").write_bytes(written)
    paths = {
        **{name: fixtures / name for name in READ},
        **{name: fixtures / "host-waits" / f"{name}.trace.json.gz" for name in HOST_WAITS},
        "tables": tables,
        "embedded": embedded,
        **{name: embedded.with_name(f"{name}.trace.json") for name in made},
    }
    ids = {
        name: read_paths(
            settings, [path], name=name, tags=[], origin="ingest",
            progress=lambda *_: None,
        ).run_id
        for name, path in paths.items()
    }  # fmt: skip
    return {**ids, "": str(settings.data)}


@pytest.fixture
def session(runs: dict[str, str]) -> Iterator[Session]:
    engine = make_engine(Settings(data=Path(runs[""]), database_url=""))
    with sessions(engine, read_only=True)() as session:
        yield session
    engine.dispose()


@pytest.fixture
def foo1(session: Session, runs: dict[str, str]) -> Evidence:
    return evidence_of(session, runs["cuda-foo1"])


def evidence_of(session: Session, run: str) -> Evidence:
    return gather(session, run_of(session, run), graph_rows(session, run))


def cause(found: Diagnosis, kind: str) -> Cause:
    return next(row for row in (*found.causes, *found.more) if row.kind == kind)


def test_an_optimizer_that_updates_whole_tables_is_told(
    session: Session, runs: dict[str, str]
) -> None:
    found = cause(diagnose(evidence_of(session, runs["embedded"])), "optimizer")
    assert found.what.startswith(f"`Adam.step` takes 3.00{THIN}ms of each profiled step of 10.0")
    assert "SparseAdam" in found.fix
    assert found.wins_us is None


def test_a_table_inside_of_a_compiled_graph_is_large_if_it_is_most_of_its_inputs(
    foo1: Evidence,
) -> None:
    graph = replace(foo1.graphs[0], direction="forward")
    given = {"primals_1": "f32[300000, 64][64, 1]", "primals_2": "f32[64, 64][64, 1]"}
    nodes = [FxNode(name, name, 1, shape, None, None) for name, shape in given.items()]

    def looks_in(table: str) -> bool:
        rows = FxNode("rows", "torch.ops.aten.embedding.default", 2, None, None, None, [table])
        seen = replace(foo1, graphs=[graph], read={graph.slug: [*nodes, rows]})
        return large_table(seen) is rows

    assert looks_in("primals_1")
    assert not looks_in("primals_2")


def places(of: Cause) -> list[str]:
    return [f"{line.path.rpartition('/')[2]}:{line.line} {line.code}" for line in of.lines]


def test_a_device_that_waits_is_told_to_record_cuda_graphs(foo1: Evidence) -> None:
    found = diagnose(foo1)
    first = found.causes[0]
    assert (first.kind, first.known) == ("waiting", "estimated")
    assert first.what == f"The device is idle for 55.9{THIN}µs of each step of 56.9{THIN}µs."
    assert first.share == pytest.approx(0.439, abs=0.001)
    assert "mode='reduce-overhead'" in first.fix
    assert [place.split()[0] for place in places(first)] == ["models.py:8"]
    said = [check.text for check in found.cleared]
    assert {"No graph breaks.", "No recompiles."} <= set(said)


def test_work_of_the_host_counts_what_is_copied_for_it(
    session: Session, runs: dict[str, str]
) -> None:
    mask = diagnose(evidence_of(session, runs["rebuilt_mask"])).causes[0]
    assert "`aten::triu` runs on the host" in mask.what
    assert "Copying between host and device takes 8.96" in mask.why
    assert mask.share == pytest.approx(0.91, abs=0.01)  # all but the kernels: 492 times as fast
    logits = diagnose(evidence_of(session, runs["logits_to_cpu"]))
    assert "`aten::argmax` runs on the host" in logits.causes[0].what
    assert logits.causes[0].share == pytest.approx(0.98, abs=0.01)
    assert not any(row.kind == "exposed" for row in (*logits.causes, *logits.more))


def test_operators_that_run_object_by_object_are_counted(
    session: Session, runs: dict[str, str], scripted: Evidence
) -> None:
    trace = evidence_of(session, runs["objects"])
    alone = cause(diagnose(trace), "not compiled")
    assert alone.fix.startswith("Compile the function around them")  # no loop is seen in a trace
    captured = replace(trace, script=scripted.script, graphs=scripted.graphs)
    found = not_compiled(captured)
    assert isinstance(found, Cause)
    assert "`aten::exp` runs 200 times in each step: compile the loop" in found.fix


def test_a_loop_that_launches_for_object_after_object_comes_before_cuda_graphs(
    session: Session, runs: dict[str, str], scripted: Evidence
) -> None:
    looped = evidence_of(session, runs["looped"])
    first = diagnose(replace(looped, script=scripted.script)).causes[0]
    assert first.what.startswith("The device is idle for")
    assert "`aten::exp` runs 200 times in each step: compile the loop" in first.fix
    assert (first.known, first.change) == ("at most", None)


def test_products_that_compiled_code_calls_as_well_are_no_cause(
    session: Session, runs: dict[str, str]
) -> None:
    found = diagnose(evidence_of(session, runs["products"]))
    assert not found.causes
    assert any("`aten::mm`, which compiled code calls as well" in row.text for row in found.cleared)


@pytest.mark.parametrize(("operator", "counts"), [("_fft_c2c", 1), ("topk", 1), ("embedding", 2)])
def test_an_eager_operator_without_a_hint_counts_as_a_bound(
    session: Session, runs: dict[str, str], operator: str, counts: int
) -> None:
    found = diagnose(evidence_of(session, runs[operator]))
    eager = cause(found, "eager operator")
    assert eager.what.startswith(f"4.00{THIN}ms of each profiled step of 10.0{THIN}ms are spent")
    assert eager.fix.startswith("Give it less to do") == (counts == 1)
    for share, first in ((0.39 * counts, "eager operator"), (0.41 * counts, "bound")):
        bound = Cause("bound", "", "", "", share=share, known="at most")
        assert ranked([eager, bound]).causes[0].kind == first


def test_names_of_kernels_tell_products_in_float32(session: Session, runs: dict[str, str]) -> None:
    first = diagnose(evidence_of(session, runs["float32"])).causes[0]
    assert first.what.startswith("The device is busy, with products and convolutions in float32")
    assert f"3.00{THIN}ms" in first.what
    assert "torch.autocast" in first.fix


def test_many_short_collectives_are_to_be_joined(session: Session, runs: dict[str, str]) -> None:
    first = diagnose(evidence_of(session, runs["collectives"])).causes[0]
    assert "communicates in 60 short collectives for 3.00" in first.what
    assert first.fix.startswith("Join them")


def test_nobody_knows_what_work_that_begins_late_would_win(
    session: Session, runs: dict[str, str]
) -> None:
    first = diagnose(evidence_of(session, runs["queued"])).causes[0]
    assert "waiting in the queue" in first.why
    assert "or the trace lacks what ran" in first.fix
    assert first.wins_us is None


def test_a_cache_that_each_step_empties_is_why_it_allocates(
    session: Session, runs: dict[str, str]
) -> None:
    first = diagnose(evidence_of(session, runs["emptied"])).causes[0]
    assert "`cudaMalloc`" in first.what
    assert "leave out `torch.cuda.empty_cache()`" in first.fix


def test_copies_from_memory_that_is_not_pinned_could_also_be_shorter(
    session: Session, runs: dict[str, str]
) -> None:
    found = cause(diagnose(evidence_of(session, runs["pageable"])), "exposed")
    assert found.wins_us == pytest.approx(24_000)  # not 1 ms, all that copies can hide behind
    assert "The memory is pageable" in found.why
    assert "non_blocking=True" in found.fix
    assert "Or, if it is the same in each step, keep it on the device" in found.fix


def test_what_a_module_keeps_on_the_host_is_to_be_moved_once(
    session: Session, runs: dict[str, str]
) -> None:
    """Of a module inside of the compiled one, which computes with its attribute before it copies
    it. The log is torch's; the trace was written by hand."""
    evidence = evidence_of(session, runs["host-table.tar.xz"])
    found = cause(diagnose(evidence), "exposed")
    assert found.wins_us == pytest.approx(24_000)
    assert found.fix.startswith("Keep it on the device: `self.register_buffer(…)`")
    assert "non_blocking" not in found.fix
    [place] = places(found)
    assert place.startswith("lookup.py:14 return (self.table * 2).to(indices.device)[indices]")


def test_what_a_graph_copies_of_an_argument_may_differ_in_each_call(
    session: Session, runs: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    evidence = evidence_of(session, runs["host-table.tar.xz"])
    ((slug, nodes, names),) = graphs_of_dynamo(evidence)
    passed = {name: text.replace("L_self_modules_rows_table", "L_rows_") for name, text in
              names.items()}  # fmt: skip
    graphs = f"{communication.__name__}.graphs_of_dynamo"
    monkeypatch.setattr(graphs, lambda _: iter([(slug, nodes, passed)]))
    found = cause(diagnose(evidence), "exposed")
    assert found.fix.startswith("Copy while the device computes")
    assert [line.line for line in found.lines] == [14]
    session.expunge(evidence.run)
    steps = to_builtins(ScriptSteps(unchanged={"rows": 0.0}))
    evidence.run.environment = {"script": {"processes": [steps]}}
    assert cause(diagnose(evidence), "exposed").fix.startswith("Keep it on the device")


def test_a_search_for_algorithms_in_each_step_is_told(
    session: Session, runs: dict[str, str]
) -> None:
    evidence = evidence_of(session, runs["searched"])
    found = diagnose(evidence)
    first = found.causes[0]
    assert "while a library tries out its algorithms in `aten::cudnn_convolution`" in first.what
    assert first.fix.startswith("If it is on, `torch.backends.cudnn.benchmark` searches anew")
    kinds = {row.kind for row in (*found.causes, *found.more)}
    assert not kinds & {"eager operator", "not compiled"}  # its kernels are trials
    session.expunge(evidence.run)
    steps = to_builtins(ScriptSteps(cudnn_benchmark=True))
    evidence.run.environment = {"script": {"processes": [steps]}}
    known = diagnose(evidence).causes[0].fix
    assert known.startswith("`torch.backends.cudnn.benchmark` searches anew for each size: leave")


def test_values_that_are_read_in_each_step_are_named(
    session: Session, runs: dict[str, str]
) -> None:
    found = cause(diagnose(evidence_of(session, runs["metrics_item"])), "synchronising")
    assert "37 times in each step, in `aten::item`" in found.what
    assert found.share is not None
    assert found.share < 1


def test_one_value_that_is_read_is_a_cause_where_it_costs_much(
    session: Session, runs: dict[str, str]
) -> None:
    found = evidence_of(session, runs["metrics_item"])
    assert found.shown is not None
    assert found.shown.breakdown is not None
    line = found.shown.breakdown.timeline
    assert line is not None
    assert line.synchronising is not None
    for part, told in (0.9, True), (0.2, False):
        us = part * line.span_us
        once = replace(line.synchronising, count=found.shown.by, us=us)
        figures = replace(found.shown.breakdown, timeline=replace(line, synchronising=once))
        reads = synchronises(replace(found, shown=replace(found.shown, breakdown=figures)))
        assert (reads is not None and "once in each step" in reads.what) == told


def test_recompiles_and_breaks_name_their_line_and_what_to_do(
    session: Session, runs: dict[str, str]
) -> None:
    found = diagnose(evidence_of(session, runs["dynamic"]))
    recompiles, breaks = cause(found, "recompiles"), cause(found, "graph breaks")
    assert recompiles.of == "compile time"
    assert recompiles.known == "estimated"
    assert "changed" in recompiles.what
    assert "mark_dynamic" in recompiles.fix
    assert recompiles.lines
    assert "`print`" in breaks.what
    assert breaks.share is None
    assert breaks.lines[0].code.startswith("print(")
    assert any(not check.judged for check in found.cleared)


def test_a_break_that_torch_has_no_hint_for_is_told_what_to_write(
    session: Session, runs: dict[str, str]
) -> None:
    found = evidence_of(session, runs["dynamic"])
    assert found.story.story is not None
    place = replace(break_places(found.story.story)[0], advice="", explanation="It is odd.\nSo.")
    assert mended(found, place) == "Torch has no hint: It is odd."
    assert "Move it out" in mended(found, replace(place, skipped=0))  # the loop is told already
    hint = "Set `torch._dynamo.config.capture_scalar_outputs = True`."
    assert found.on_device  # where the host waits for each value
    assert mended(found, replace(place, advice=hint)).endswith(f"each value. Else: {hint}")
    sizes = "Set `torch._dynamo.config.capture_dynamic_output_shape_ops = True`."
    looped = replace(place, advice=sizes, skipped=0)  # on a processor too: a loop branches on them
    assert "can be sorted" in mended(found, looped)
    found.run.device_kind = "cpu"
    assert not found.on_device
    assert "can be sorted" in mended(found, looped)
    assert mended(found, replace(looped, skipped=None)) == sizes
    generator = replace(place, title="Failed to convert args/kwargs to proxy")
    assert "such as a `torch.Generator`" in mended(found, generator)


def test_texts_that_would_not_have_breaks_clear_none(
    session: Session, runs: dict[str, str]
) -> None:
    found = diagnose(evidence_of(session, runs["tables"]))
    assert not any(check.text.startswith("No ") and check.judged for check in found.cleared)
    assert any("The texts do not say" in check.text for check in found.cleared)


def test_the_overview_says_once_what_happened_and_what_is_missing(
    session: Session, runs: dict[str, str]
) -> None:
    run = run_of(session, runs["dynamic"])
    with session.no_autoflush:
        run.environment = {"missing": ["Kernel times: profiling was switched off."]}
        page = run_page(session, runs["dynamic"])
    assert page.missing == {"Kernel times": "profiling was switched off."}
    said = {part.to for row in page.said for part in row.parts}
    assert "graphs" in said
    assert not {"breaks", "recompiles"} & said


def test_a_failure_comes_first_with_its_cause(session: Session, runs: dict[str, str]) -> None:
    first = diagnose(evidence_of(session, runs["neg-does-not-compile"])).causes[0]
    assert first.kind == "failure"
    assert first.why.startswith("The cause is `neg`: ")
    assert places(first) == ["neg_does_not_compile.py:11 a = torch.neg(x1)"]


def test_a_group_that_is_slower_than_in_eager_is_estimated(foo1: Evidence) -> None:
    assert foo1.shown is not None
    group = GroupChange("attention", 20.0, 50.0, 1.0, 1.0)
    shown = replace(foo1.shown, comparison=Comparison(20.0, 50.0, [group], []))
    slower = cause(diagnose(replace(foo1, shown=shown)), "slower than eager")
    assert slower.what == f"Attention: 50.0{THIN}µs compiled, 20.0{THIN}µs eager."
    assert (slower.wins_us, slower.known) == (30.0, "estimated")


def test_texts_of_kernels_show_what_they_compute() -> None:
    assert costly.ATOMIC.search("tl.atomic_add(out_ptr0 + (x0), tmp1, None, sem='relaxed')")
    assert costly.ATOMIC.search("atomic_add(&out_ptr0[static_cast<int64_t>(tmp4)], tmp5);")
    assert not costly.ATOMIC.search("'atomic_add_found': True")
    assert costly.POWER.search("tmp2 = libdevice.pow(tmp0, tmp1)")
    assert costly.POWER.search("auto tmp2 = std::pow(tmp0, tmp1);")
    assert costly.POWER.search("auto tmp42 = tmp39.pow(tmp41);")
    assert costly.DRAWN.search("result[i] = normalized_rand_cpu(tmp0, offset[i]);")


def test_additions_meet_if_many_numbers_are_added_to_few_places() -> None:
    def node(name: str, sizes: str, *inputs: str) -> FxNode:
        target = "torch.ops.aten.index_put_.default"
        return FxNode(name, target, 1, sizes, None, None, list(inputs))

    table, index = node("table", "f32[50, 8]"), node("index", "i64[4000]")
    rows, one = node("rows", "f32[4000, 8]"), node("one", "f32[]")
    sums = node("sums", "f32[50, 8]", "table", "index", "rows")
    assert costly.meeting(sums, [table, index, rows, sums]) == 80
    counts = node("counts", "f32[50]", "table", "index", "one")
    assert costly.meeting(counts, [table, index, one, counts]) == 80
    unknown = node("sums", "f32[s0, 8]", "table", "index")
    assert costly.meeting(unknown, [table, index, unknown]) == 0


def test_what_a_kernel_computes_at_great_cost_is_named_with_its_line(
    scripted: Evidence, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel of `maximum`, as if that were a power, an addition to places or random."""
    kernels = [replace(kernel, us=400.0) for kernel in scripted.kernels]
    found = replace(scripted, kernels=kernels)
    ((slug, nodes),) = found.nodes().items()
    for name in ("POWER", "ATOMIC", "DRAWN"):
        monkeypatch.setattr(costly, name, re.compile(r"maximum\("))
        monkeypatch.setattr(step, name, re.compile(r"maximum\("), raising=False)
    assert costly.powers(found) is None  # it has other nodes

    def computing(target: str) -> Evidence:
        own = [replace(node, target=target) if node.inputs else node for node in nodes]
        return replace(found, read={slug: own})

    power = costly.powers(computing("torch.ops.aten.pow.Tensor_Tensor"))
    assert power is not None
    assert power.concerns == pytest.approx(0.2)
    assert places(power)[0].startswith("models.py:10")
    monkeypatch.setattr(costly, "MEET", 0.0)
    monkeypatch.setattr(costly, "STANDS_OUT", 0.0001)
    assert costly.atomics(computing("torch.ops.aten.exp.default")) is None
    added = costly.atomics(computing("torch.ops.aten.index_put_.default"))
    assert added is not None
    assert added.wins_us == pytest.approx(0.948, abs=0.001)  # all above its roof
    group = GroupChange("element-wise, reductions, copies", 100.0, 400.0, 1.0, 1.0)
    assert found.shown is not None
    shown = replace(found.shown, comparison=Comparison(100.0, 400.0, [group], []))
    drawn = slower_group(replace(computing("torch.ops.prims.inductor_random.default"), shown=shown))
    assert isinstance(drawn, Cause)
    assert "fallback_random" in drawn.fix
    assert places(drawn)[0].startswith("models.py:10")


def test_kernels_that_only_convert_name_the_line(foo1: Evidence) -> None:
    """The kernel of `neg` and `maximum`, under the name of one that converts."""
    kernels = [
        replace(kernel, name="triton_poi_fused__to_copy_view_0", us=20.0) for kernel in foo1.kernels
    ]
    casts = cause(diagnose(replace(foo1, kernels=kernels)), "casts")
    assert (casts.wins_us, casts.known) == (20.0, "at most")
    assert places(casts)[0].startswith("models.py:")


def test_a_disturbed_run_says_so_first_and_shows_shares(foo1: Evidence) -> None:
    kernels = [
        replace(kernel, name="triton_poi_fused__to_copy_view_0", us=20.0) for kernel in foo1.kernels
    ]
    found = diagnose(replace(foo1, kernels=kernels, kernel_us=9_000.0))
    assert found.causes[0].kind == "disturbed"
    assert "something slowed the profiled run down" in found.causes[0].what
    casts = cause(found, "casts")
    assert casts.wins_us is None
    assert casts.share == pytest.approx(0.35, abs=0.01)


def test_a_timed_step_that_is_longer_than_the_profiled_ones_is_another(foo1: Evidence) -> None:
    assert foo1.step.startswith("each step of ")
    foo1.session.expunge(foo1.run)
    foo1.run.compiled_ms = 1_000.0
    found = gather(foo1.session, foo1.run, foo1.graphs)
    assert found.step.startswith("each profiled step of ")
    assert found.step.endswith(f"(1.00{THIN}s without the profiler)")


def test_no_win_exceeds_the_step_and_no_kernel_counts_twice(foo1: Evidence) -> None:
    kernels = [
        replace(kernel, name="triton_poi_fused__to_copy_view_0", us=90.0) for kernel in foo1.kernels
    ]
    casts = cause(diagnose(replace(foo1, kernels=kernels)), "casts")
    assert casts.wins_us == foo1.step_us
    first = replace(casts, share=0.9)
    second = replace(casts, kind="scalar loops", share=0.5)
    other = replace(casts, kind="fallbacks", fix="Else.", share=0.1, kernels={99: 5.0})
    again = replace(other, kind="copies", share=0.05, kernels={100: 5.0})  # says to do the same
    found = ranked([second, again, other, first])
    assert [row.kind for row in found.causes] == ["casts", "fallbacks"]


def test_autotuning_is_offered_only_where_it_has_kernels_to_choose_from(foo1: Evidence) -> None:
    assert "max-autotune" in autotune(foo1)
    assert foo1.shown is not None
    assert foo1.shown.breakdown is not None
    cpu = replace(foo1.shown, breakdown=replace(foo1.shown.breakdown, on_device=False))
    on_cpu = replace(foo1, shown=cpu)
    assert "freezing" in autotune(on_cpu)
    backward = [replace(graph, slug="model__0_backward_1.0") for graph in foo1.graphs]
    assert not autotune(replace(on_cpu, graphs=backward))


def test_cuda_graphs_that_no_call_replays_are_not_recommended(foo1: Evidence) -> None:
    graphs = CudaGraphs(warmed=58, recorded=1, replayed=1)
    foo1.session.expunge(foo1.run)
    facts = to_builtins(ScriptSteps(cuda_graphs=graphs))
    foo1.run.environment = {"script": {"processes": [facts]}}
    found = cause(diagnose(replace(foo1, script=script_shown(foo1.run))), "waiting")
    assert "hardly replayed: 58 calls had a new function or size" in found.fix
    assert found.change is None
    assert "Pad the inputs to a few sizes" in found.fix
    slow = Wait("operator", "aten::convolution", 1, 50.0, 50.0, 0.0)
    assert foo1.shown is not None
    assert foo1.shown.breakdown is not None
    assert foo1.timeline is not None
    line = replace(foo1.timeline, waits=[slow])
    shown = replace(foo1.shown, breakdown=replace(foo1.shown.breakdown, timeline=line))
    named = replace(foo1, shown=shown)
    assert "`aten::convolution` runs on the host" in cause(diagnose(named), "waiting").what
    named = replace(named, script=script_shown(foo1.run))
    assert "hardly replayed" in cause(diagnose(named), "waiting").fix
    pending = to_builtins(ScriptSteps(cuda_graphs=CudaGraphs(warmed=58, functions=1)))
    foo1.run.environment = {"script": {"processes": [pending]}}
    found = cause(diagnose(replace(foo1, script=script_shown(foo1.run))), "waiting")
    assert "58 calls of 1 function ran without one" in found.fix
    assert "torch.no_grad()" in found.fix


def test_an_argument_that_each_call_joins_more_to_has_a_fixed_size_instead(foo1: Evidence) -> None:
    def node(name: str, sizes: str | None, *inputs: str) -> FxNode:
        ops = {"cat": "torch.ops.aten.cat.default", "exp": "torch.ops.aten.exp.default"}
        return FxNode(name, ops.get(name, name), 1, sizes, "decode.py", 7, [*inputs])

    def told(*joined: str, returned: str = "cat", of: str = "f32[2, s56, 16]") -> Cause:
        nodes = [
            node("memory", of), node("row", "f32[2, 1, 16]"), node("exp", "f32[2, 1, 16]", "row"),
            node("cat", "f32[2, s56 + 1, 16]", *joined), node("output", None, "row", returned),
        ]  # fmt: skip
        return cause(diagnose(replace(growing, read={foo1.graphs[0].slug: nodes})), "waiting")

    foo1.session.expunge(foo1.run)
    facts = to_builtins(ScriptSteps(cuda_graphs=CudaGraphs(warmed=58, functions=58)))
    foo1.run.environment = {"script": {"processes": [facts]}}
    growing = replace(foo1, script=script_shown(foo1.run))
    found = told("memory", "exp")
    assert "make it once at its largest size" in found.fix
    assert [(line.path, line.line) for line in found.lines] == [("decode.py", 7)]
    for other in (
        told("memory", "exp", returned="exp"),
        told("memory", "exp", of="f32[2, 9, 16]"),
        told("row", "memory"),  # such as a row of its own before an input
        told("memory", "row"),
    ):
        assert "Pad the inputs to a few sizes" in other.fix
        assert not other.lines


def test_a_script_that_compiles_nothing_says_so(session: Session, runs: dict[str, str]) -> None:
    alone = evidence_of(session, runs["tables"])
    session.expunge(alone.run)
    alone.run.environment = {"missing": [NO_STEPS]}
    assert diagnose(alone).causes[0].what.startswith("The program compiles nothing")


@pytest.fixture
def scripted(foo1: Evidence) -> Evidence:
    """The run, as if a script had been captured on a processor with two of eight threads."""
    steps = ScriptSteps(usual_threads=8, anomaly=True)
    foo1.session.expunge(foo1.run)
    foo1.run.compiled_ms = 1.0
    foo1.run.environment = {"threads": 2, "script": {"processes": [to_builtins(steps)]}}
    assert foo1.shown is not None
    assert foo1.shown.breakdown is not None
    line = Timeline(1000.0, 400.0, [])
    figures = replace(foo1.shown.breakdown, on_device=False, timeline=line)
    shown = replace(foo1.shown, breakdown=figures, by=1)
    return replace(foo1, shown=shown, step_us=1000.0, script=script_shown(foo1.run))


def test_settings_that_slow_a_script_down_are_named(scripted: Evidence) -> None:
    anomaly, few = anomaly_mode(scripted), threads(scripted)
    assert anomaly is not None
    assert anomaly.urgent
    assert few is not None
    assert (few.kind, few.what[:29]) == ("few threads", "Torch computes with 2 threads")
    assert few.concerns == 0.75
    scripted.run.environment["threads"] = 16
    many = threads(scripted)
    assert many is not None
    assert (many.kind, many.concerns) == ("many threads", 0.5)


def test_operators_that_add_in_a_fixed_order_are_named(foo1: Evidence) -> None:
    steps = to_builtins(ScriptSteps(deterministic=True))
    foo1.session.expunge(foo1.run)
    foo1.run.environment = {"script": {"processes": [steps]}}
    adds = [replace(kernel, name="aten.index_put_", us=800.0) for kernel in foo1.kernels[:1]]
    seen = replace(foo1, kernels=adds, step_us=1000.0, script=script_shown(foo1.run))
    found = deterministic(seen)
    assert found is not None
    assert found.concerns == 0.8
    assert deterministic(replace(seen, step_us=10_000.0)) is None
    steps["deterministic"] = False
    assert deterministic(replace(seen, script=script_shown(foo1.run))) is None


def test_time_beside_operators_is_a_cause(scripted: Evidence) -> None:
    found = beside_operators(scripted)
    assert found is not None
    assert f"outside of operators, in Python or waiting, for 600{THIN}µs" in found.what
    assert found.wins_us == 600.0


def test_a_compiled_function_that_a_loop_calls_is_told(scripted: Evidence) -> None:
    kernels = [replace(kernel, calls=48.0) for kernel in scripted.kernels]

    def told(calls: int) -> Cause:
        region = RegionTime(
            0, "0/0", None, calls, host_us=0.0, guards_us=0.0, prologue_us=0.0, launches=0.0,
            launching_us=0.0, device_us=0.0, busy_us=0.0, call_us=0.0, replayed=False,
            verdict="processor", text="", graphs_save_us=0.0,
        )  # fmt: skip
        line = Timeline(1000.0, 400.0, [TimelinePart(OVERHEAD, 500.0, 0.5, idle=False)])
        assert scripted.shown is not None
        assert scripted.shown.breakdown is not None
        figures = replace(scripted.shown.breakdown, timeline=line, regions=[region])
        shown = replace(scripted.shown, breakdown=figures)
        story = RunStory(scripted.session, scripted.run, None)
        found = overhead(replace(scripted, shown=shown, story=story, kernels=kernels))
        assert isinstance(found, Cause)
        return found

    assert "called 48 times in each step: compile the loop" in told(48).fix
    assert told(48).wins_us is None  # one call also spares what runs between them
    assert "cpp_wrapper" in told(3).fix
    assert told(3).wins_us == 500.0
    kernels = scripted.kernels
    assert "larger batch" in told(3).fix


def test_inputs_that_only_backward_reads_lie_as_torch_chose(
    session: Session, runs: dict[str, str]
) -> None:
    found = [memory_order(evidence_of(session, run)) for name, run in runs.items() if name]
    assert found == [None] * len(found)


def test_what_is_compiled_for_one_call_is_a_cause(
    scripted: Evidence, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its steps are eager."""
    eager = Shares(100.0, {"aten::mm": 100.0}, 0.0, 0.0, compiled=0.0, times={}, at_once=0.0)
    monkeypatch.setattr(uncompiled, "kernel_shares", lambda _: eager)
    event = {"step": 1, "compile_id": "0/0", "what": "compile", "seconds": 20.0}

    def told(kernels: list[TimedKernel], *steps: int) -> Cause | None:
        events = [event | {"step": step} for step in steps]
        scripted.run.environment = {"script": {"processes": [{"compiles": events}]}}
        shown = replace(scripted, script=script_shown(scripted.run), kernels=kernels)
        return compiled_once(shown)

    found = told([], 1)
    assert found is not None
    assert f"takes 20.0{THIN}s, and no profiled step runs compiled code" in found.what
    assert places(found)
    assert told([], 1, 7) is None  # a step compiled it
    assert told(scripted.kernels, 1) is None
    assert told([]) is None


def test_what_steps_do_in_vain_is_a_cause(scripted: Evidence) -> None:
    def with_steps(**facts: object) -> Evidence:
        scripted.run.environment = {"script": {"processes": [facts]}}
        return replace(scripted, script=script_shown(scripted.run))

    assert uncalled(scripted) is None
    module, function = Wrapped("VAE", ["decode"], "model.py", 7), Wrapped("erode", None, "a.py", 3)
    unused = uncalled(with_steps(uncalled=[to_builtins(module)]))
    assert unused is not None
    assert "`model.decode = torch.compile(model.decode)`" in unused.fix
    assert places(unused) == ["model.py:7 "]
    dropped = uncalled(with_steps(uncalled=[to_builtins(function)]))
    assert dropped is not None
    assert dropped.fix == "Keep and call what it returns: `erode = torch.compile(erode)`."

    assert denormal(with_steps(denormal={"x": 0.01})) is None
    small = denormal(with_steps(denormal={"x": 0.01, "state": 0.4}))
    assert small is not None
    assert small.what.startswith(f"40.0{THIN}% of the numbers in `state` are denormal")

    times = [5.0, *[1.0] * 16, 9.0, 1.0, 9.0]
    seen = [{"path": "model.py", "line": 3, "share": 0.6}]
    kinds = [("compiles", 1, 1), ("timed", 2, 20)]
    uneven = with_steps(kinds=kinds, first_ms=times, lines=seen)
    slow = slow_steps(uneven)
    assert slow is not None
    assert slow.what.startswith(f"2 of 10 timed steps take 9.00{THIN}ms instead of 1.00{THIN}ms")
    assert slow.concerns == 16 / 26
    once = [("timed", 2, 18)]
    assert slow_steps(with_steps(kinds=once, first_ms=times, lines=seen)) is None
    assert slow_steps(with_steps(kinds=kinds, first_ms=times)) is None  # nothing explains it
    assert slow_steps(with_steps(kinds=kinds, first_ms=times[::-1], lines=seen)) is None

    timed = [("timed", 1, 40)]
    longer = with_steps(kinds=timed, first_ms=[4.0 + at / 10 for at in range(40)], lines=seen)
    grown = growing_steps(longer)
    assert grown is not None
    assert f"4.45{THIN}ms at first, 7.45{THIN}ms after 40 timed steps" in grown.what
    assert [line.line for line in grown.lines] == [3]
    shaken = [4.0 + at * 7 % 40 / 10 for at in range(40)]
    assert growing_steps(with_steps(kinds=timed, first_ms=shaken, lines=seen)) is None

    assert unread_gradients(uneven) is None
    given = with_steps(unread_gradients={"teacher": 0.8})
    given.graphs = [replace(graph, direction="backward") for graph in given.graphs]
    given.step_us = 2.0
    unread = unread_gradients(given)
    assert unread is not None
    assert unread.what.startswith("Each step computes gradients of `teacher` that no optimizer")


def test_a_compile_without_its_backward_keeps_values_in_vain(scripted: Evidence) -> None:
    def graph(direction: str, compiled: str) -> GraphRow:
        slug = f"{direction}-{compiled}"
        return replace(
            scripted.graphs[0], slug=slug, direction=direction, compile_id=compiled, aot_id=None
        )

    trained = [graph("forward", "0/0_1"), graph("backward", "0/0_1")]
    evaluated, other = graph("forward", "0/1"), graph("forward", "1/0")
    both = {"0/0", "0/1", "1/0"}
    assert without_backward([*trained, evaluated], both) == ([evaluated.slug], True)
    assert without_backward([*trained, other], both) == ([], True)  # as if of another function
    assert without_backward([*trained, evaluated], {"0/0"}) == ([], True)  # cut off
    assert without_backward([evaluated, other], set()) == ([evaluated.slug, other.slug], False)
    assert without_backward([evaluated, graph("inference", "1/0")], both) == ([], False)

    def told(most: int, failure: str | None = None) -> Cause | None:
        compiles = [CompileEvent(1, number, "compile", 1.0) for number in both]
        peak = AllocatedPeak(1024**3, 0)
        steps = ScriptSteps(compiles=compiles, allocated_bytes=most, peak=peak)
        scripted.run.environment = {"script": {"processes": [to_builtins(steps)]}}
        scripted.run.failure = failure
        graphs = [*trained, evaluated]
        return no_backward(replace(scripted, script=script_shown(scripted.run), graphs=graphs))

    grown, kept = told(40 * 1024**3), told(1024**3)
    assert grown is not None
    assert grown.urgent
    assert grown.what.endswith(f"Memory grows to 40.0{THIN}GiB; a step needs 1.00{THIN}GiB.")
    assert "`loss.detach()`" in grown.fix
    assert kept is not None
    assert not kept.urgent
    assert kept.what == "Compiled code keeps values for gradients that are never computed."
    full = told(1024**3, "torch.OutOfMemoryError: CUDA out of memory.")
    assert full is not None
    assert full.urgent
    assert full.why.startswith("The program ran out of memory.")
    assert told(40 * 1024**3, "KeyError: 'x'") is None  # before its backward


def test_what_is_done_again_in_each_step_is_a_cause(scripted: Evidence) -> None:
    def seen(*again: str) -> Evidence:
        lines = [{"path": "a.py", "line": at, "share": 0.2, "again": kind}
                 for at, kind in enumerate(again, 1)]  # fmt: skip
        scripted.run.environment = {"script": {"processes": [{"lines": lines}]}}
        return replace(scripted, script=script_shown(scripted.run))

    assert done_again(seen("", "")) is None
    found = done_again(seen("", "loader", "loader"))
    assert found is not None
    assert "`batches = iter(loader)`" in found.fix
    assert (found.wins_us, places(found)) == (400.0, ["a.py:2 ", "a.py:3 "])
    assert beside_operators(seen("loader", "loader")) is None  # it would raise `num_workers`
    assert beside_operators(seen("loader", "")) is not None


@pytest.mark.parametrize(
    ("ops", "kind", "same"),
    [
        ({"aten::mm": 3.0, "aten::_slow_conv2d_forward": 2.0, "aten::_slow_conv2d_backward": 2.0},
         CONVOLUTION, ["aten::_slow_conv2d_forward", "aten::_slow_conv2d_backward"]),
        ({"aten::mul": 9.0, "aten::index": 2.0, "aten::addmm": 1.0}, "index", ["aten::index"]),
        ({"aten::linalg_vector_norm": 2.0, "aten::sum": 1.0}, "", []),
        ({"aten::mkldnn_rnn_layer": 9.0, "aten::_cudnn_rnn_backward": 2.0, "aten::mul": 1.0},
         "rnn", ["aten::mkldnn_rnn_layer", "aten::_cudnn_rnn_backward"]),
    ],
)  # fmt: skip
def test_eager_operators_that_compiling_would_keep(
    ops: dict[str, float], kind: str, same: list[str]
) -> None:
    assert same_operators(ops) == (kind, same)


def test_code_that_is_thrown_away_or_never_made_is_a_cause(scripted: Evidence) -> None:
    assert scripted.story.story is not None
    (once,) = scripted.story.story.compiles
    again = [replace(once, occurrence=number) for number in range(4)]
    scripted.story.story.compiles = again
    reset = resets(scripted)
    assert reset is not None
    assert reset.what.startswith("3 compiles of code that was compiled before")
    scripted.story.story.compiles = [once] * 4  # other ids
    assert resets(scripted) is None  # steps were timed, so that they do not compile
    anew = resets(replace(scripted, step_us=None))
    assert anew is not None
    assert anew.what.endswith("because the program defined it anew.")
    assert no_code(scripted) is None
    scripted.story.story.compiles = [replace(done, outcome="no code") for done in again]
    assert no_code(scripted) is not None


def test_a_product_of_which_only_a_part_is_read_is_found() -> None:
    def node(name: str, op: str, sizes: str, *inputs: str) -> FxNode:
        return FxNode(name, f"torch.ops.aten.{op}", 1, sizes, None, None, list(inputs))

    mm = node("mm", "mm.default", "f32[1024, 16000]")
    view = node("view", "view.default", "f32[4, 256, 16000]", "mm")
    last = node("last", "select.int", "f32[4, 16000]", "view")
    assert read_share([mm, view, last], "mm") == 1 / 256
    assert (
        read_share([mm, view, last, node("exp", "exp.default", "f32[1024, 16000]", "mm")], "mm")
        == 1
    )
    most = node("most", "amax.default", "f32[4, 256, 1]", "view")
    less = node("less", "sub.Tensor", "f32[4, 256, 16000]", "view", "most")
    row = node("row", "select.int", "f32[4, 16000]", "less")
    assert read_share([mm, view, most, less, row], "mm") == 1 / 256
    word = node("word", "select.int", "f32[4, 256]", "less")  # needs whole rows
    assert read_share([mm, view, most, less, word], "mm") == 1
    thirds = [node(str(at), "slice.Tensor", "f32[1024, 4000]", "mm") for at in range(4)]
    assert read_share([mm, *thirds], "mm") == 1
    assert read_share([mm], "mm") == 1


def test_products_that_a_loop_computes_one_by_one_or_that_pick_rows_are_found() -> None:
    def node(name: str, op: str, *inputs: str) -> FxNode:
        return FxNode(name, f"torch.ops.{op}", 1, "f32[4, 64]", "model.py", 7, list(inputs))

    heads = [node(f"bmm_{at}", "aten.bmm.default", "q", f"part_{at}") for at in range(8)]
    (group,) = independent_products(heads)
    assert [product.name for product in group] == [product.name for product in heads]
    assert independent_products(heads[1:]) == []
    layers = [
        made
        for at in range(8)
        for made in (
            node(f"mm_{at}", "aten.mm.default", f"relu_{at - 1}", "weight"),
            node(f"relu_{at}", "aten.relu.default", f"mm_{at}"),
        )
    ]
    assert independent_products(layers) == []

    iota, tokens = node("iota", "prims.iota.default"), node("unsqueeze", "aten.unsqueeze.default")
    hot = [
        node("eq", "aten.eq.Tensor", "unsqueeze", "iota"),
        node("to", "prims.convert_element_type.default", "eq"),
        node("view", "aten.reshape.default", "to"),
        node("mm", "aten.mm.default", "view", "table"),
    ]
    assert one_hot_product([tokens, iota, *hot]) == hot[-1]
    assert one_hot_product([tokens, *hot]) is None  # a comparison with anything


def test_a_product_of_three_matrices_that_begins_at_its_dear_end_is_found() -> None:
    def node(name: str, sizes: str, *inputs: str) -> FxNode:
        target = "torch.ops.aten.mm.default" if inputs else name
        return FxNode(name, target, 1, f"f32[{sizes}]", "model.py", 7, list(inputs))

    given = [node("a", "700, 500"), node("b", "500, 700"), node("c", "700, 4")]
    left = [node("ab", "700, 700", "a", "b"), node("abc", "700, 4", "ab", "c")]
    (found,) = chains([*given, *left])
    assert (found.sizes, found.from_left) == ((700, 500, 700, 4), True)
    assert found.times == 700 * 700 * 504 / (500 * 4 * 1400)
    right = [node("bc", "500, 4", "b", "c"), node("abc", "700, 4", "a", "bc")]
    assert chains([*given, *right]) == []
    read = node("sum", "700, 700", "ab", "a")
    assert chains([*given, *left, read]) == []
    for odd in ("s0, 500", "0, 500", f"{'9' * 5000}, 500"):
        assert chains([node("a", odd), *given[1:], *left]) == []


def test_a_loss_of_a_column_and_a_row_is_found() -> None:
    def node(name: str, op: str, sizes: str, *inputs: str) -> FxNode:
        target = f"torch.ops.aten.{op}.default" if inputs else name
        return FxNode(name, target, 1, f"f32[{sizes}]", "model.py", 7, list(inputs))

    price, out = node("price", "", "512"), node("out", "addmm", "512, 1", "x")
    error = node("error", "sub", "512, 512", "out", "price")
    assert combined_square([price, out, error]) is error
    turned = node("error", "sub", "512, 512", "price", "out")
    assert combined_square([price, out, turned]) is turned
    meant = node("out", "unsqueeze", "512, 1", "x")
    assert combined_square([price, meant, error]) is None
    for sizes in ("512", "512, 2", "s0, 1", f"{'9' * 5000}, 1"):
        assert combined_square([price, node("out", "addmm", sizes, "x"), error]) is None


def test_distances_of_all_pairs_are_found() -> None:
    def found(rows: str, columns: str, differences: str, summed: str) -> FxNode | None:
        made = {
            "a": ("", rows, []), "b": ("", columns, []), "gap": ("sub", differences, ["a", "b"]),
            "square": ("pow", differences, ["gap"]), "near": ("sum", summed, ["square"]),
        }  # fmt: skip
        return pairwise(nodes_of(made))

    differences = found("512, 1, 64", "1, 256, 64", "512, 256, 64", "512, 256")
    assert differences is not None
    assert differences.name == "gap"
    assert found("512, 1, 64", "256, 64", "512, 256, 64", "512, 256") is not None
    assert found("512, 1, 3", "1, 256, 3", "512, 256, 3", "512, 256") is None  # few coordinates
    assert found("512, 256, 64", "1, 256, 64", "512, 256, 64", "512, 256") is None
    assert found("512, 1, 64", "1, 256, 64", "512, 256, 64", "512, 64") is None


def test_the_length_of_a_transform_is_that_of_its_numbers() -> None:
    made = {
        "x": ("", "4, 16001", []), "spectrum": ("_fft_r2c", "4, 8001", ["x"]),
        "y": ("_fft_c2r", "4, 16001", ["spectrum"]), "odd": ("_fft_r2c", "4, s0", ["y"]),
        "long": ("_fft_c2r", f"4, {'9' * 40}", ["spectrum"]),
    }  # fmt: skip
    lengths = {node.name: length for node, length in transformed(nodes_of(made))}
    assert lengths == {"spectrum": 16001, "y": 16001, "odd": 16001}
    assert largest_factor(16001) == 16001
    assert [largest_factor(number) for number in (2, 16384, 12289 * 4)] == [2, 2, 12289]
    assert [quick_length(length) for length in (16384, 16001, 11)] == [16384, 16128, 12]


def test_convolutions_are_found_with_the_numbers_of_their_kernels() -> None:
    made = {
        "x": ("", "4, 1, 18047", []), "response": ("", "1, 1, 2048", []),
        "wet": ("convolution", "4, 1, 16000", ["x", "response"]),
        "image": ("", "4, 3, 224, 224", []), "patches": ("", "768, 3, 16, 16", []),
        "words": ("convolution", "4, 768, 14, 14", ["image", "patches"]),  # moved by 16
        "odd": ("convolution", "4, 1, s0", ["wet", "response"]),
    }  # fmt: skip
    assert [(node.name, taps) for node, taps in convolved(nodes_of(made))] == [("wet", 2048)]


def test_the_passes_of_a_jacobian_are_those_of_its_basis() -> None:
    def found(basis: str, file: str = "site-packages/torch/_functorch/eager_transforms.py") -> int:
        nodes = nodes_of({"basis": ("full", basis, []), "pulled": ("mul", "1000, 8", ["basis"])})
        passes, made = jacobian_passes([replace(node, stack_file=file) for node in nodes])
        assert len(made) == 2 * bool(passes)
        return passes

    assert found("1000, 1000") == 1000
    assert found("8, 8") == 0
    assert found("1000, 8") == 0
    assert found("1000, 1000", "m.py") == 0


def test_products_that_are_returned_for_all_positions_are_found() -> None:
    def found(size: str, op: str = "mm") -> list[tuple[str, float]]:
        made = {
            "h": ("", "512, 192", list[str]()), "w": ("", "192, 16000", []),
            "logits": (op, "512, 16000", ["h", "w"]), "view": ("view", size, ["logits"]),
            "odd": ("view", "", []), "output": ("", "", ["view", "odd", "h"]),
        }  # fmt: skip
        return [(node.name, positions) for node, positions in returned_logits(nodes_of(made))]

    assert found("8, 64, 16000") == [("logits", 64)]
    assert found("64, 8, 16000") == []
    assert found("8, 64, 192") == []
    assert found("8, 64, 16000", "mul") == []


def test_a_model_that_computes_all_positions_for_one_word_is_found() -> None:
    def found(positions: str, logits: str) -> tuple[FxNode, int] | None:
        made = {
            "table": ("", "32000, 64", []), "x": ("embedding", f"8, {positions}, 64", ["table"]),
            "seen": ("_scaled_dot_product_flash_attention", f"8, {positions}, 64", ["x"]),
            "last": ("index_select", "8, 1, 64", ["seen"]), "flat": ("view", "8, 64", ["last"]),
            "logits": ("mm", f"8, {logits}", ["flat"]),
        }  # fmt: skip
        return next_word(nodes_of(made))

    word = found("512", "32000")
    assert word is not None
    assert (word[0].name, word[1]) == ("last", 512)
    assert found("512", "2") is None  # a class of the whole text
    assert found("8", "32000") is None


def nodes_of(made: dict[str, tuple[str, str, list[str]]]) -> list[FxNode]:
    """Nodes by name: operator, sizes, inputs."""
    return [
        FxNode(
            name, f"torch.ops.aten.{op}.x" if op else name, 1, f"f32[{sizes}]", "m.py", 7, inputs
        )
        for name, (op, sizes, inputs) in made.items()
    ]


def test_dropout_is_known_by_its_random_numbers() -> None:
    made = {
        "seed": ("prims.inductor_lookup_seed.default", []),
        "random": ("prims.inductor_random.default", ["seed"]),
        "noise": ("aten.add.Tensor", ["random", "x"]),
        "kept": ("aten.gt.Scalar", ["random"]),
        "large": ("aten.gt.Scalar", ["x"]),
    }
    nodes = [
        FxNode(name, f"torch.ops.{op}", 1, "f32[8]", "model.py", 7, inputs)
        for name, (op, inputs) in made.items()
    ]
    assert [node.name for node in dropouts(nodes)] == ["kept"]


def test_branches_that_compute_all_rows_and_keep_few_are_found() -> None:
    def node(name: str, op: str, *inputs: str) -> FxNode:
        return FxNode(name, f"torch.ops.{op}", 1, "f32[4, 64]", "model.py", 7, list(inputs))

    def experts(count: int) -> list[FxNode]:
        return [
            made
            for at in range(count)
            for made in (
                node(f"eq_{at}", "aten.eq.Scalar", "chosen"),
                node(f"where_{at}", "aten.where.self", f"eq_{at}", "weight"),
                node(f"in_{at}", "aten.mm.default", "x", f"a_{at}"),
                node(f"out_{at}", "aten.addmm.default", "bias", f"in_{at}", f"b_{at}"),
                node(f"share_{at}", "aten.mul.Tensor", f"where_{at}", f"out_{at}"),
                node(f"sum_{at}", "aten.add.Tensor", f"sum_{at - 1}", f"share_{at}"),
            )
        ]

    gate = [node("gate", "aten.mm.default", "x", "w"), node("chosen", "aten.argmax", "gate")]
    (group,) = masked_branches([*gate, *experts(4)])
    assert [sorted(product.name for product in branch) for branch in group] == [
        [f"in_{at}", f"out_{at}"] for at in range(4)
    ]
    assert masked_branches([*gate, *experts(3)]) == []
    shared = [node("y", "aten.mm.default", "x", "w")]  # one product, of which each keeps rows
    for at in range(4):
        shared += [node(f"eq_{at}", "aten.eq.Scalar", "chosen")]
        shared += [node(f"share_{at}", "aten.mul.Tensor", f"eq_{at}", "y")]
    assert masked_branches([*gate, *shared]) == []


def test_products_with_a_diagonal_matrix_are_found() -> None:
    made = {
        "x": ("", "64, 3000", []), "w": ("", "3000", []), "zero": ("full", "", []),
        "at": ("iota", "3000", []), "column": ("unsqueeze", "3000, 1", ["at"]),
        "same": ("eq", "3000, 3000", ["at", "column"]), "row": ("unsqueeze", "1, 3000", ["w"]),
        "diagonal": ("where", "3000, 3000", ["same", "row", "zero"]),
        "scaled": ("mm", "64, 3000", ["x", "diagonal"]),
        "before": ("le", "3000, 3000", ["at", "column"]),
        "triangle": ("where", "3000, 3000", ["before", "row", "zero"]),
        "summed": ("mm", "64, 3000", ["x", "triangle"]),
    }  # fmt: skip
    assert [node.name for node in diagonal_products(nodes_of(made))] == ["scaled"]


def test_products_of_parts_that_repeat_are_found() -> None:
    def found(pair: str, left: str) -> list[tuple[str, str, float]]:
        made = {
            "x": ("", "16, 40, 64", []), "left": ("expand", left, ["x"]), "w": ("", "128, 64", []),
            "right": ("expand", "16, 40, 40, 64", ["x"]), "pair": (pair, "", ["left", "right"]),
            "rows": ("view", "25600, 128", ["pair"]), "h": ("mm", "25600, 64", ["rows", "w"]),
        }  # fmt: skip
        joined = joined_products(nodes_of(made))
        return [(join.name, product.name, times) for join, product, times in joined]

    assert found("cat", "16, 40, 40, 64") == [("pair", "h", 40.0)]
    assert found("cat", "16, 40, 2, 64") == []
    assert found("add", "16, 40, 40, 64") == []


def test_inputs_that_lie_in_another_order_than_others_of_their_size_are_found() -> None:
    code = """
        assert_size_stride(arg0_1, (1024, 2048), (1, 1024))
        assert_size_stride(arg1_1, (1024, 2048), (2048, 1), 'input')
        assert_size_stride(arg2_1, (1024, 1), (1, 1))
        assert_size_stride(arg3_1, (s77, 2048), (1, s77))
        assert_size_stride(arg4_1, (512, 1024), (1, 512))
    """
    found = orders(code)
    assert list(found) == ["arg0_1", "arg1_1", "arg4_1"]
    assert different(found.values()) == {Order((1024, 2048), (1, 0))}
    for odd in (f"({'9' * 5000}, 2048), (1, 1024)", "(1024, 2048), (1, 2, 3)", "(, ), (, )"):
        assert orders(f"assert_size_stride(arg0_1, {odd})") == {}
    made = {
        "x": ("", "1024, 2048", []), "i": ("", "2048", []), "iota": ("iota", "2048", []),
        "rolled": ("fmod", "2048", ["iota"]), "moved": ("index", "1024, 2048", ["x", "rolled"]),
    }  # fmt: skip
    rows = {"x": Order((1024, 2048), (0, 1))}

    def picked() -> list[Order]:
        nodes = [
            replace(node, target=node.target.replace(".x", ".Tensor")) for node in nodes_of(made)
        ]
        return [*scattered(rows, nodes)]

    assert picked() == []
    made["picked"] = ("index", "1024, 2048", ["x", "i"])
    assert picked() == [rows["x"]]


def test_a_fix_that_costs_accuracy_still_comes_before_much_smaller_ones() -> None:
    large = Cause("float32", "", "", share=0.84, trade="less accurate")
    small = Cause("casts", "", "", share=0.02)
    assert [row.kind for row in ranked([small, large]).causes] == ["float32", "casts"]


def test_what_depends_on_weights_alone_is_the_same_in_every_step() -> None:
    dynamo = """class GraphModule(torch.nn.Module):
    def forward(self, L_self_buffers_grid_: "f32[9, 3]", L_x_: "f32[9]", s0: "Sym(s0)",
                G_mask_: "b8[9]", L_self_buffers_seen_: "i64[]"):
"""

    def node(name: str, target: str = "", *inputs: str) -> FxNode:
        return FxNode(name, target or name, 0, "f32[9]", None, None, [*inputs])

    given = [node(f"arg{at}_1") for at in range(5)]
    nodes = [
        *given,
        node("sin", "torch.ops.aten.sin.default", "arg0_1"),
        node("first", "operator.getitem", "sin"),
        node("where", "torch.ops.aten.where.self", "arg3_1", "first"),
        node("rand", "torch.ops.aten.rand.default"),
        node("noisy", "torch.ops.aten.add.Tensor", "sin", "rand"),
        node("mul", "torch.ops.aten.mul.Tensor", "where", "arg1_1"),
        node("more", "torch.ops.aten.add.Tensor", "arg4_1"),
        node("view", "torch.ops.aten.view.default", "arg4_1"),
        node("index_put_", "torch.ops.aten.index_put_.default", "view", "more"),
        node("output", "output", "mul"),
    ]
    names = dynamo_names(nodes, dynamo)
    assert [made.name for made in depending_on(nodes, names)] == ["sin", "first", "where"]
    same = [made.name for made in depending_on(nodes, names, ["L_x_"])]
    assert same == ["sin", "first", "where", "mul"]
    assert dynamo_names(nodes[1:], dynamo) == {}  # another order of arguments


def test_masks_that_are_the_same_in_every_call_are_found() -> None:
    def node(name: str, op: str, sizes: str, *inputs: str) -> FxNode:
        target = op if op == name else f"torch.ops.aten.{op}"
        return FxNode(name, target, 1, sizes, "model.py", 7, list(inputs))

    def found(mask: str, *truths: FxNode) -> list[str]:
        first = truths[-1].name
        where = node("where", "where.self", "bf16[512, 512]", first)
        query = node("query", "query", "bf16[2, 8, 512, 64]")
        attention = node("attention", "_scaled_dot_product_cudnn_attention.default", "bf16[2]",
                         "query", "query", "query", "where")  # fmt: skip
        nodes = [*truths, query, where, attention]
        return [own.name for _, own in masked(nodes, {"mask": mask, "query": "L_x_"})]

    given = node("mask", "mask", "b8[512, 512]")
    assert found("G_model_buffers_visible_", given) == ["where"]
    assert found("L_mask_", given) == []
    assert found("G_bias_", node("mask", "mask", "f32[512, 512]")) == []
    count, triangle = (
        node("count", "arange.default", "i64[512]"),
        node("ge", "ge.Tensor", "b8[1, 1, 512, 512]", "count", "count"),
    )
    assert found("", count, triangle) == ["where"]


def test_what_checkpoints_compute_again_is_estimated(
    foo1: Evidence, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The graph of `maximum`, as if a checkpoint made its backward compute that again."""
    text = """
        # File: models.py:7 in forward, code: x = checkpoint(layer, x)
        wrap_body_0 = self.wrap_body_0
        kept = torch.ops.higher_order.tag_activation_checkpoint(wrap_body_0, x)
"""
    monkeypatch.setattr(f"{gather.__module__}.text_of", lambda *_: text)
    own = foo1.graphs[0]
    graphs = [
        replace(own, direction="forward"),
        replace(own, slug="backward", direction="backward"),
    ]
    read = {own.slug: foo1.nodes()[own.slug], "backward": foo1.nodes()[own.slug]}
    found = replace(foo1, graphs=graphs, read=read, step_us=20.0)
    again = costly.checkpoints(found)
    assert again is not None
    assert again.wins_us is not None
    assert again.wins_us >= 0.976
    assert again.trade  # nobody knows how much memory it needs
    assert [(line.path, line.line) for line in again.lines] == [("models.py", 7)]
    read["backward"] = []
    assert costly.checkpoints(found) is None
    monkeypatch.setattr(f"{gather.__module__}.text_of", lambda *_: "")
    assert costly.checkpoints(replace(found, read=read)) is None


def test_inputs_without_a_gradient_are_those_that_backward_returns_none_for(
    session: Session, runs: dict[str, str]
) -> None:
    text = "class GraphModule(torch.nn.Module):\n    def forward(self, tangents_1):\n"
    text += "        return (None, mm_3, None, view_48)\n"
    assert without_own(text) == {"primals_1", "primals_3"}
    assert without_own(text.replace("return", "pass")) == set()
    trained = without_gradient(evidence_of(session, runs["equal-trained.tar.xz"]))
    assert trained["0_forward-0-0"] == set()  # also its input needs one


def test_arguments_count_as_unchanging_unless_a_benchmark_passes_nothing_else(
    foo1: Evidence,
) -> None:
    def told(*names: str) -> Cause | None:
        steps = to_builtins(ScriptSteps(unchanged=dict.fromkeys(names)))
        foo1.run.environment = {"script": {"processes": [steps]}}
        return unchanging(replace(foo1, script=script_shown(foo1.run), step_us=0.001))

    foo1.session.expunge(foo1.run)
    alone = told("x1")
    assert alone is not None
    assert "globals, and on `x1`, which all observed calls passed unchanged" in alone.what
    assert told("x1", "x2") is None
    assert told() is None
    trained = [replace(graph, direction="forward") for graph in foo1.graphs]
    foo1 = replace(foo1, graphs=trained)
    given = told("x1", "x2")  # a graph whose nodes are its features, for instance
    assert given is not None
    assert given.what.startswith("Operations on `x1`, `x2`, which all observed calls passed")
    assert told() is None


def test_weights_that_each_step_converts_are_told_to_be_converted_once(foo1: Evidence) -> None:
    steps = to_builtins(ScriptSteps(unchanged={"x1": None}))
    foo1.session.expunge(foo1.run)
    foo1.run.environment = {"script": {"processes": [steps]}}

    def told(target: str, sizes: str) -> Cause:
        nodes = {
            slug: [
                replace(node, target=target, annotation=sizes) if node.inputs else node
                for node in own
            ]
            for slug, own in foo1.nodes().items()
        }
        script = script_shown(foo1.run)
        found = unchanging(replace(foo1, script=script, step_us=0.001, read=nodes))
        assert found is not None
        return found

    convert = "torch.ops.prims.convert_element_type.default"
    half = told(convert, "f16[8, 8]")
    assert "alone, mostly conversions to float16, take" in half.what.replace("unchanged, ", "")
    assert half.fix.startswith("Convert the model once, `model.to(torch.float16)`")
    for other in (told(convert, "f32[8, 8]"), told("torch.ops.aten.neg.default", "f16[8, 8]")):
        assert "conversions" not in other.what
        assert other.fix.startswith("Compute them once, before the first step")


@pytest.mark.parametrize("said", ["True", "False"])
def test_attention_of_a_layer_is_told_the_layers_argument(
    foo1: Evidence, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    text = f"multi_head_attention_forward(query, query, query, 768, need_weights = {said})"
    monkeypatch.setattr(f"{gather.__module__}.text_of", lambda *_: text)
    first = foo1.kernels[0]
    kernels = [
        replace(first, name="triton_per_fused__softmax_0", us=20.0),
        replace(first, id=-1, name="extern_kernels.bmm", us=20.0, calls=2),
    ]
    found = written_attention(replace(foo1, kernels=kernels))
    assert found is not None
    assert ("`need_weights=False`" in found.fix) == (said == "True")
    assert "scaled_dot_product_attention" in found.fix


def test_causes_are_ranked_by_what_they_win() -> None:
    def made(kind: str, **facts: object) -> Cause:
        return Cause(kind, "", "", "", **facts)  # type: ignore[arg-type]

    found = ranked([
        made("bound", share=0.3, known="at most"),
        made("unknown"),
        made("changes numbers", share=0.9, known="at most", trade="less accurate"),
        Cleared("No recompiles."),
        made("measured", share=0.1, known="measured"),
        made("estimated", share=0.4, known="estimated"),
        made("once", share=0.9, known="measured", of="compile time"),
        made("fails", urgent=True),
    ])  # fmt: skip
    assert [row.kind for row in (*found.causes, *found.more)] == [
        "fails", "once", "estimated", "measured", "bound", "changes numbers", "unknown",
    ]  # fmt: skip
    assert len(found.causes) == 3
    assert [check.text for check in found.cleared] == ["No recompiles."]
    assert not found.small
    small, once = made("small", share=0.092), made("once", share=0.9, of="compile time")
    assert percent(0.092) in ranked([small]).small
    assert not ranked([small, once]).small  # a function that is no longer compiled, perhaps
    assert not ranked([small, made("unknown")]).small


def test_without_a_cause_it_says_what_was_checked(foo1: Evidence) -> None:
    assert foo1.shown is not None
    assert foo1.shown.breakdown is not None
    figures = replace(foo1.shown.breakdown, timeline=Timeline(171.0, busy_us=170.9, parts=[]))
    shown = replace(foo1.shown, breakdown=figures, comparison=None)
    found = diagnose(replace(foo1, shown=shown))
    assert not found.causes
    assert any("The device is busy for" in check.text for check in found.cleared)


def test_equal_blocks_are_one_row_and_told_to_be_compiled_once(
    session: Session, runs: dict[str, str]
) -> None:
    """Three equal layers, compiled one by one, and another function."""
    run = runs["equal-blocks.tar.xz"]
    page = run_page(session, run)
    rows = page.graphs
    assert {kernel.graph for kernel in page.kernels} == {"0_inference-0-0", "3_inference-1-0"}
    assert [(row.slug, row.instances, row.others) for row in rows] == [
        ("0_inference-0-0", 3, ["1_inference-0-1", "2_inference-0-2"]),
        ("3_inference-1-0", 1, []),
    ]
    start = startup_page(session, run)
    assert sorted(piece.instances for piece in start.pieces) == [1, 3]
    (regions,) = (row for row in start.what_if if row.title == "equal graphs compiled once")
    known = [replace(rows[0], time_us=us) for us in (13_500.0, 150.0, 23_400.0)]
    (row,) = once([known])
    assert (row.time_us, row.each_us) == (37_050.0, [13_500.0, 150.0, 23_400.0])
    assert once([[*known, replace(rows[0], time_us=None)]])[0].each_us == []
    timed = runs["equal-layers.tar.xz"]  # one key for all four, called in compiles of their own
    (row,) = run_page(session, timed).graphs
    assert [round(us) for us in row.each_us] == [196, 148, 154, 10_710]
    shown = explorer(session, timed, row.others[0])
    assert [graph.slug for graph in shown.instances] == [row.slug, *row.others]
    dearest = shown.kernels[0]
    assert shown.graph_time_us == dearest.time_us == row.time_us
    assert (dearest.calls[0].instances, dearest.call_count) == (row.each_us, 4)
    found = cause(diagnose(evidence_of(session, run)), "equal blocks")
    assert regions.saved_s == pytest.approx((found.wins_us or 0.0) / 1e6)
    assert found.what == "`forward` is compiled 3 times to the same code."
    assert places(found) == ["blocks.py:5 "]
    assert found.wins_us is not None
    assert found.share is not None
    assert 0 < found.share < 1


def test_each_of_equal_backward_graphs_has_its_time(
    session: Session, runs: dict[str, str], fixtures: Path
) -> None:
    """Autograd numbers the call of each layer, and the backward of that call with the same number.
    The layers run backward in the opposite order."""
    with tarfile.open(fixtures / "equal-trained.tar.xz") as files:
        trace = files.extractfile("equal-trained/trace.json")
        assert trace is not None
        events = [event for event in json.load(trace)["traceEvents"] if "dur" in event]

    def inside(event: dict[str, Any], outer: dict[str, Any]) -> bool:
        end = outer["ts"] + outer["dur"]
        return event is not outer and outer["ts"] <= event["ts"] < end

    def named(start: str) -> list[dict[str, Any]]:
        return [event for event in events if event["name"].startswith(start)]

    layers = {
        event["args"]["Sequence number"]: region["name"].rpartition("/")[2]
        for event in named("CompiledFunction")
        for region in named("Torch-Compiled Region") if inside(event, region)
    }  # fmt: skip
    spent = dict.fromkeys("0123", 0.0)
    for function in named("CompiledFunctionBackward"):
        (call,) = (call for call in named("## Call") if inside(call, function))
        ops = [event for event in events if inside(event, call)]
        spent[layers[function["args"]["Sequence number"]]] += sum(
            op["dur"] for op in ops if not any(inside(op, other) for other in ops)
            and op["name"] in ("aten::mm", "aten::addmm")
        ) / 3  # fmt: skip
    rows = {row.direction: row for row in run_page(session, runs["equal-trained.tar.xz"]).graphs}
    backward = rows["backward"]
    slugs = [backward.slug, *backward.others]
    assert sorted(slug[-1] for slug in slugs) == ["0", "1", "2", "3"]
    assert backward.each_us == [pytest.approx(spent[slug[-1]]) for slug in slugs]
    assert backward.time_us == pytest.approx(sum(spent.values()))
    assert len(set(backward.each_us)) == len(set(rows["forward"].each_us)) == 4


def test_equal_blocks_of_one_graph_are_told_if_compiling_takes_long(
    session: Session, runs: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight equal blocks, compiled as one graph in two seconds."""
    evidence = evidence_of(session, runs["equal-inside.tar.xz"])
    assert equal_inside(evidence) is None
    monkeypatch.setattr(blocks, "LEAST_S", 0.1)
    found = equal_inside(evidence)
    assert found is not None
    assert found.what == "8 equal blocks are compiled as one graph of `forward`."
    assert places(found) == ["tower.py:7 return x + self.second(torch.relu(self.first(x)))"]
    assert found.share is not None
    assert 0 < found.share < 1
    others = [run for name, run in runs.items() if name and run != evidence.id]
    assert not any(equal_inside(evidence_of(session, run)) for run in others)


def test_functions_that_one_line_calls_are_told_to_be_compiled_as_a_whole(
    session: Session, runs: dict[str, str], foo1: Evidence
) -> None:
    assert not any(one_by_one(evidence_of(session, run)) for name, run in runs.items() if name)
    story, us = foo1.story.story, sum(kernel.us for kernel in foo1.kernels)
    assert story is not None

    def told(functions: int, step_us: float) -> Cause | None:
        compiles = [replace(story.compiles[0], first_line=line, file="model.py", stack=[0, 0])
                    for line in range(1, functions + 1)]  # fmt: skip
        frames = [Frame("train.py", 7, "step")]
        own = replace(story, compiles=compiles, frames=frames)
        return one_by_one(replace(foo1, story=RunStory(session, foo1.run, own), step_us=step_us))

    found = told(4, 1.5 * us)
    assert found is not None
    assert found.what.startswith("4 functions are compiled one by one")
    assert places(found) == ["train.py:7 "]
    assert found.concerns == pytest.approx(1 / 3)
    assert told(3, 1.5 * us) is None
    assert told(4, 3 * us) is None


def test_a_check_that_fails_says_so_and_none_does(
    session: Session, runs: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(evidence: Evidence) -> Cause | None:
        raise IndexError(evidence.id)

    evidence = [evidence_of(session, run) for name, run in runs.items() if name]
    fault = "A fault of Inductorscope"
    said = [check.text for own in evidence for check in diagnose(own).cleared]
    assert [text for text in said if fault in text] == []
    monkeypatch.setattr(f"{diagnose.__module__}.CHECKS", (broken,))
    (check,) = diagnose(evidence[0]).cleared
    assert check.text == f"{fault}: the check broken failed: IndexError: {evidence[0].id}"


def test_rows_that_are_picked_from_a_table_of_columns_jump() -> None:
    code = "assert_size_stride({}, (120000, 96), {})\n"
    found = orders(code.format("arg0_1", "(1, 120000)") + code.format("arg1_1", "(96, 1)"))
    rows, columns = [64, 400, 96], [120000, 64, 400]
    for picked, apart in ((rows, [True, False]), (columns, [False, True])):
        assert [picked_apart(order, picked, [64, 400]) for order in found.values()] == apart


def test_values_that_each_step_needs_are_not_told_to_be_changed_in_place(
    session: Session, runs: dict[str, str]
) -> None:
    """Four layers, each compiled for its own index: a buffer would be read on the host."""
    found = cause(diagnose(evidence_of(session, runs["own-values.tar.xz"])), "recompiles")
    assert found.what == "3 recompiles of `forward`, because `self.index` changed 0 → 1 → 2."
    assert "register_buffer" not in found.fix
    assert "Compile the model that calls them as a whole" in found.fix
    assert found.known == "at most"


def test_a_call_in_a_region_has_no_nodes_of_its_caller(
    session: Session, runs: dict[str, str]
) -> None:
    """Both graphs have an `add`. Torch's mapping lists the caller's for each call in the region
    that reads what it makes."""
    graph = session.scalars(select(Graph).where(Graph.run_id == runs["region-calls.tar.xz"])).one()
    of_calls = [set(nodes) for _, nodes in call_texts(session, graph.id)]
    assert of_calls[0] == {"add", "embedding", "embedding_1"}
    names = ("var_mean", "add", "rsqrt", "sub", "mul", "mul_1", "add_1")
    assert of_calls[1] == {f"repeated_subgraph0/{name}" for name in names}
    assert of_calls[2] == {f"repeated_subgraph0/{name}" for name in ("add_2", "view_1")}
    (notes,) = session.scalars(select(Links.notes).where(Links.graph_id == graph.id))
    assert any(note.startswith("Of 2 calls in subgraphs, Inductor's record") for note in notes)
    nodes = {node.name: node for node in fx_nodes(session, graph.id)}
    assert nodes["add"].inputs == ["embedding", "embedding_1"]
    assert nodes["repeated_subgraph0/mul"].inputs == [
        "repeated_subgraph0/sub", "repeated_subgraph0/rsqrt",
    ]  # fmt: skip


def test_the_docs_name_every_cause() -> None:
    page = (ROOT / "docs" / "diagnosis.md").read_text()
    folder = ROOT / "ingest/inductorscope/answers/runs/diagnosis"
    text = "".join(path.read_text() for path in folder.glob("*.py"))
    kinds = set(re.findall(r'Cause\(\n +"([^"]+)",', text))
    assert len(kinds) > 30
    assert {kind for kind in kinds if f"`{kind}`" not in page} == set()


def test_a_profile_of_counters_judges_no_times(foo1: Evidence) -> None:
    assert foo1.shown is not None
    assert foo1.shown.breakdown is not None
    finding = Finding("warn", NO_DURATIONS, 77, "", "Record a trace without it.")
    figures = replace(foo1.shown.breakdown, findings=[finding])
    counted = replace(foo1, shown=replace(foo1.shown, breakdown=figures))
    first = diagnose(counted).causes[0]
    assert (first.kind, first.fix) == ("counters", "Record a trace without it.")


def test_idle_time_around_reads_counts_once(session: Session, runs: dict[str, str]) -> None:
    found = evidence_of(session, runs["metrics_item"])
    assert [row.kind for row in diagnose(found).causes[:2]] == ["synchronising", "waiting"]
    assert found.shown is not None
    assert found.shown.breakdown is not None
    line = found.shown.breakdown.timeline
    assert line is not None
    assert line.synchronising is not None
    reads = replace(line.synchronising, us=line.span_us)
    figures = replace(found.shown.breakdown, timeline=replace(line, synchronising=reads))
    most = replace(found, shown=replace(found.shown, breakdown=figures))
    assert "waiting" not in [row.kind for row in diagnose(most).causes]


def test_kernels_that_a_trace_lacks_are_no_overhead(
    scripted: Evidence, session: Session, runs: dict[str, str]
) -> None:
    line = Timeline(1000.0, 400.0, [TimelinePart(OVERHEAD, 500.0, 0.5, idle=False)])
    assert scripted.shown is not None
    assert scripted.shown.breakdown is not None
    lacks = [Finding("warn", NO_CPP, 0, "", "")]
    figures = replace(scripted.shown.breakdown, timeline=line, findings=lacks)
    found = replace(scripted, shown=replace(scripted.shown, breakdown=figures))
    assert isinstance(overhead(found), Cause)  # its code has kernels for a GPU alone
    on_processor = replace(found, run=run_of(session, runs["equal-blocks.tar.xz"]))
    assert isinstance(overhead(on_processor), Cleared)
