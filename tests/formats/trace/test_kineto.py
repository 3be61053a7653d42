"""Profiler traces: times, joins, old and broken files."""

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from inductorscope.analyze.time.doctor import examine
from inductorscope.formats.trace import events as chrome_events
from inductorscope.formats.trace.kineto import ChromeTrace, read_chrome_stream, read_chrome_trace

Event = dict[str, Any]


def read(data: bytes | str) -> ChromeTrace:
    return read_chrome_stream(io.BytesIO(data.encode() if isinstance(data, str) else data))


def event(name: str, cat: str = "cpu_op", ts: float = 0, dur: float = 1, **args: Any) -> Event:
    return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur,
            "args": args}  # fmt: skip


def launch(name: str, file: str, external: int, ts: float = 0) -> Event:
    args: dict[str, Any] = {
        "External id": external, "kernel_file": file, "kernel_hash": "h", "stream": 0,
        "kernel_backend": "triton",
    }  # fmt: skip
    return event(name, ts=ts, dur=2, **args)


def kernel(name: str, external: int | None = None, dur: float = 1.25, **args: Any) -> Event:
    if external is not None:
        args["External id"] = external
    return event(name, "kernel", dur=dur, **args)


def trace_of(*events: Event, **more: object) -> str:
    return json.dumps({"schemaVersion": 1, **more, "traceEvents": list(events)})


def test_our_own_trace(fixtures: Path) -> None:
    trace = read_chrome_trace(fixtures / "cuda-foo1" / "compiled.trace.json.gz")
    (triton,) = [ran for ran in trace.kernels if ran.name.startswith("triton_")]
    assert (triton.calls, triton.join) == (2, "external id")
    assert triton.total_us == pytest.approx(1.952)
    assert triton.kernel_file is not None
    assert triton.kernel_file.endswith("cqlja6icwpx55hpqr5hj4q23tzclod56pqbjrfovln24kl2tkcvg.py")
    assert trace.device_name == "NVIDIA H200"
    assert (trace.steps, trace.repairs) == (None, [])
    (region,) = trace.regions
    assert (region.calls, region.compile_id, region.key) == (2, "0/0", None)
    assert region.kernels == {triton.kernel_file}
    assert triton.region == 0


def test_a_launch_of_the_same_name_is_no_kernel() -> None:
    trace = read(trace_of(launch("triton_a", "/x/a.py", 1), kernel("triton_a", 1)))
    (only,) = trace.kernels
    assert (only.calls, only.total_us, only.op) == (1, 1.25, "triton_a")
    assert sum(kernel.total_us for kernel in trace.kernels) == 1.25


def test_kernels_of_one_name_are_told_apart_by_file() -> None:
    trace = read(trace_of(
        launch("triton_a", "/f/a.py", 1), launch("triton_a", "/b/a.py", 2, ts=5),
        kernel("triton_a", 1, 10.5), kernel("triton_a", 2, 3.25), kernel("triton_a", 2, 3.25),
    ))  # fmt: skip
    assert [(ran.kernel_file, ran.calls, ran.total_us) for ran in trace.kernels] == [
        ("/f/a.py", 1, 10.5),
        ("/b/a.py", 2, 6.5),
    ]


def test_join_by_correlation_when_the_kernel_has_no_id() -> None:
    call = event("cuLaunchKernel", "cuda_driver", **{"External id": 4, "correlation": 77})
    trace = read(trace_of(launch("triton_a", "/f/a.py", 4), call, kernel("k", correlation=77)))
    (only,) = trace.kernels
    assert (only.kernel_file, only.join) == ("/f/a.py", "correlation")


def test_join_by_name_under_graph_replay() -> None:
    trace = read(trace_of(
        launch("triton_a", "/f/a.py", 1), launch("triton_b", "/f/b.py", 2),
        launch("triton_b", "/f/other.py", 3), kernel("triton_a", 99), kernel("triton_b", 99),
    ))  # fmt: skip
    found = {ran.name: (ran.kernel_file, ran.join) for ran in trace.kernels}
    assert found == {"triton_a": ("/f/a.py", "name"), "triton_b": (None, None)}
    assert trace.joined_us() == {"name": 1.25, "none": 1.25}


def test_fractions_of_microseconds_are_kept() -> None:
    trace = read(trace_of(*(kernel("k", dur=0.352) for _ in range(1000))))
    assert trace.kernels[0].total_us == pytest.approx(352)


def test_copies_are_no_kernels() -> None:
    trace = read(trace_of(event("Memcpy DtoH", "gpu_memcpy"), event("Memset", "gpu_memset")))
    assert sorted(ran.kind for ran in trace.kernels) == ["memcpy", "memset"]


def test_gpu_annotations_are_no_work() -> None:
    name = "## Call CompiledFxGraph None ##"
    assert read(trace_of(event(name, "gpu_user_annotation"))).kernels == []


def test_work_of_an_mtia_device() -> None:
    """Kernels and copies; its queues also list what they wait for."""
    call = event("runFunction - job_prep_and_submit_for_execution", "mtia_runtime", correlation=18)
    trace = read(trace_of(
        event("aten::mul", dur=30), call,
        event("aten::mul.out-dtype_Float", "mtia_ccp_events", dur=4.5, correlation=18),
        event("dma_request", "mtia_ccp_events", dur=2, direction="HOST_TO_DEVICE"),
        event("event_wait", "mtia_ccp_events", dur=900), event("event_record", "mtia_ccp_events"),
    ))  # fmt: skip
    found = {ran.name: (ran.kind, ran.total_us, ran.op) for ran in trace.kernels}
    assert found == {
        "aten::mul.out-dtype_Float": ("kernel", 4.5, "aten::mul"),
        "dma_request": ("memcpy", 2, None),
    }
    assert trace.device_kind == "mtia"


def test_kernels_whose_counters_were_read_have_no_durations() -> None:
    """CUPTI spreads the time of a range evenly over its kernels, which ran several times."""
    ranges = [event("gemm", "cuda_profiler_range", dur=121_431) for _ in range(3)]
    trace = read(trace_of(event("aten::mm"), event("cudaLaunchKernel", "cuda_runtime"), *ranges))
    assert (trace.kernels, trace.counted, trace.device_kind) == ([], 3, "cuda")
    (finding,) = (found for found in examine(trace) if found.count == 3)
    assert (finding.level, finding.what) == ("warn", "kernels have no durations")
    assert not any(found.what == "nothing ran on a device" for found in examine(trace))


BEFORE_KINETO = (
    '[{"name": "aten::randn", "ph": "X", "ts": 258.239, "dur": 386.00900000000007, "tid": 1, '
    '"pid": "CPU functions", "args": {}}, {"name": "aten::mm", "ph": "X", "ts": 651.408, '
    '"dur": 310.54599999999994, "tid": 1, "pid": "CPU functions", "args": {}}]'
)
"""Written by `profiler.function_events.export_chrome_trace`: no categories, no ids."""


def test_the_profiler_before_kineto() -> None:
    trace = read(BEFORE_KINETO)
    assert [(op.name, op.calls) for op in trace.ops] == [("aten::randn", 1), ("aten::mm", 1)]
    assert (trace.repairs, trace.device_kind) == ([], "cpu")


def test_the_profiler_before_kineto_on_a_gpu() -> None:
    """Torch 1.4: processes are named after what runs on them, and flows have a category."""

    def of(pid: str, name: str, **more: object) -> Event:
        return {"name": name, "ph": "X", "ts": 1, "dur": 2, "tid": 0, "pid": pid, "args": {}} | more

    trace = read(json.dumps([
        of("CPU functions", "mm"), of("CPU functions", "mm", ph="s", cat="cpu_to_cuda", id=0),
        of("CUDA functions", "mm", dur=7), of("something else", "mm"),
    ]))  # fmt: skip
    assert [(ran.name, ran.total_us) for ran in trace.kernels] == [("mm", 7)]
    assert [(op.name, op.calls) for op in trace.ops] == [("mm", 1)]
    assert trace.device_kind == "cuda"


def test_steps() -> None:
    events = [event(f"ProfilerStep#{step}", "user_annotation") for step in (7, 8, 8)]
    assert read(trace_of(*events)).steps == 2


def graph_call(ts: float, key: str = "None") -> Event:
    return event(f"## Call CompiledFxGraph {key} ##", "user_annotation", ts=ts, dur=10)


def test_forward_and_backward_cpu_kernels_are_told_apart() -> None:
    events = []
    for ts in (0, 100):
        events += [
            graph_call(ts), event("graph_0_cpp_fused_add_0", ts=ts + 1, dur=3),
            event("aten::mm", ts=ts + 5, dur=2), event("aten::inner", ts=ts + 6, dur=1),
            graph_call(ts + 50), event("graph_0_cpp_fused_add_0", ts=ts + 51, dur=7),
            event("graph_0_cpp_fused_sum_1", ts=ts + 59, dur=1),
        ]  # fmt: skip
    trace = read(trace_of(*events))
    assert [(region.calls, len(region.kernels)) for region in trace.regions] == [(2, 1), (2, 2)]
    times = {(ran.name, ran.region): (ran.calls, ran.total_us) for ran in trace.cpu_kernels}
    assert times == {
        ("cpp_fused_add_0", 0): (2, 6),
        ("cpp_fused_add_0", 1): (2, 14),
        ("cpp_fused_sum_1", 1): (2, 2),
    }
    own = trace.regions[0].ops
    assert {name: (op.calls, op.total_us) for name, op in own.items()} == {
        "graph_0_cpp_fused_add_0": (2, 6),
        "aten::mm": (2, 4),
    }


def test_impossible_durations_are_left_out_and_reported() -> None:
    text = trace_of(kernel("a", dur=-5), kernel("b", dur=1.8e19), kernel("c", dur=2))
    trace = read(text.replace("-5", "NaN"))
    assert [ran.name for ran in trace.kernels] == ["c"]
    assert [(repair.count, "duration" in repair.reason) for repair in trace.repairs] == [(2, True)]


def test_properties_after_the_events() -> None:
    text = '{"traceEvents": [%s], "deviceProperties": [{"id": 0, "name": "X1"}, {"name": "X2"}]}'
    trace = read(text % json.dumps(kernel("a")))
    assert trace.devices == ["X1", "X2"]
    assert trace.repairs == []


def test_a_bare_list_of_events() -> None:
    assert len(read(json.dumps([kernel("a"), kernel("b")])).kernels) == 2


def test_an_empty_list() -> None:
    trace = read('{"traceEvents": []}')
    assert (trace.events, trace.repairs, trace.device_name) == (0, [], None)


def test_separators_inside_of_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chrome_events, "CHUNK", 700)
    tricky = event("aten::mm", groups=[{"a": {}}, {"b": 1}, {"c": "}, {"}])
    trace = read(trace_of(*[tricky, kernel("k")] * 100))
    assert (trace.events, trace.kernels[0].calls, trace.repairs) == (200, 100, [])


def test_an_event_larger_than_a_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chrome_events, "CHUNK", 200)
    trace = read(trace_of(event("x" * 5000), kernel("k")))
    assert (trace.events, trace.repairs) == (2, [])


def test_control_characters_and_bare_backslashes() -> None:
    text = trace_of(kernel("a"), kernel("TAB"), kernel("PATH"), kernel("z"))
    trace = read(text.replace("TAB", "t\tb\x01").replace("PATH", "C:\\models\\x.py \\q"))
    names = {ran.name for ran in trace.kernels}
    assert names == {"a", "t\tb\x01", "C:\\models\\x.py \\q", "z"}
    (repair,) = trace.repairs
    assert (repair.reason, repair.count) == ("a bare backslash was escaped", 1)


def test_a_bare_backslash_in_the_last_event() -> None:
    text = trace_of(kernel("a"), kernel("PATH"))
    trace = read(text.replace("PATH", "C:\\models"))
    assert {ran.name for ran in trace.kernels} == {"a", "C:\\models"}
    assert [repair.reason for repair in trace.repairs] == ["a bare backslash was escaped"]


def test_half_a_character_where_a_number_belongs_costs_one_event() -> None:
    text = trace_of(kernel("a"), {**kernel("b"), "ts": "\ud800"}, kernel("PATH"))
    trace = read(text.replace("PATH", "C:\\models"))
    assert {ran.name for ran in trace.kernels} == {"a", "C:\\models"}
    reasons = {repair.reason for repair in trace.repairs}
    assert "an event with a field of the wrong type was left out" in reasons


def test_an_event_that_cannot_be_mended_costs_itself_only() -> None:
    text = trace_of(kernel("a"), kernel("BAD"), kernel("c"))
    trace = read(text.replace('"BAD"', "oh no"))
    assert {ran.name for ran in trace.kernels} == {"a", "c"}
    assert [repair.reason for repair in trace.repairs] == ["an event that is not JSON was left out"]


def test_thousands_of_broken_events_cost_themselves_only() -> None:
    broken = '{"ph": "X", "cat": "kernel" "name": 1},\n'
    backslash = json.dumps(kernel("b")).replace('"b"', '"C:\\models\\b"') + ",\n"
    events = (broken + backslash + json.dumps(kernel("a")) + ",\n") * 2000
    trace = read('{"traceEvents": [' + events + json.dumps(kernel("z")) + "]}")
    assert {ran.name: ran.calls for ran in trace.kernels} == {
        "a": 2000, "C:\\models\x08": 2000, "z": 1,
    }  # fmt: skip
    assert {repair.reason: repair.count for repair in trace.repairs} == {
        "an event that is not JSON was left out": 2000,
        "a bare backslash was escaped": 2000,
    }


def test_text_that_is_no_utf8() -> None:
    trace = read(trace_of(kernel("NAME"), kernel("b")).encode().replace(b"NAME", b"caf\xe9"))
    assert {ran.name for ran in trace.kernels} == {"caf\ufffd", "b"}
    assert "UTF-8" in trace.repairs[0].reason


def test_truncated_plain_and_packed(fixtures: Path, tmp_path: Path) -> None:
    path = fixtures / "cuda-foo1" / "compiled.trace.json.gz"
    packed = path.read_bytes()
    plain = gzip.decompress(packed)
    whole = read(plain)
    for name, data in (("a.json", plain[: len(plain) // 2]), ("a.json.gz", packed[:-200])):
        (tmp_path / name).write_bytes(data)
        trace = read_chrome_trace(tmp_path / name)
        assert 0 < trace.events < whole.events
        assert any("cut short" in repair.reason for repair in trace.repairs)


def test_line_ends_and_marks_of_other_editors() -> None:
    plain = json.dumps(json.loads(trace_of(launch("a", "/a.py", 1), kernel("a", 1))), indent=1)
    expected = read(plain)
    assert expected.kernels
    bare = json.dumps(json.loads(plain)["traceEvents"], indent=1)
    for text in (plain, bare):
        for changed in (text.replace("\n", "\r\n"), "\ufeff" + text, "\ufeff\r\n" + text):
            trace = read(changed)
            assert trace.kernels == expected.kernels
            assert trace.repairs == []


def test_numbers_that_are_none() -> None:
    text = trace_of(kernel("a", dur=2), kernel("b", dur=-7), kernel("c", dur=3))
    for none in ("NaN", "Infinity", "-Infinity"):
        trace = read(text.replace("-7", none).replace('"ts": 0', f'"ts": {none}'))
        assert sorted((ran.name, ran.total_us) for ran in trace.kernels) == [("a", 2), ("c", 3)]
        assert {repair.reason: repair.count for repair in trace.repairs} == {
            "an event with an impossible duration was left out": 1,
            "an event without a time stamp counts from 0": 2,
        }


def test_compressed_with_zstd(fixtures: Path, tmp_path: Path) -> None:
    packed = fixtures / "cuda-foo1" / "compiled.trace.json.gz"
    path = tmp_path / "compiled.trace.json.zst"
    path.write_bytes(zstandard.compress(gzip.decompress(packed.read_bytes())))
    assert read_chrome_trace(path) == read_chrome_trace(packed)
    path.write_bytes(path.read_bytes()[:-20])
    assert read_chrome_trace(path).repairs


def test_a_limit_on_bytes_of_a_packed_file(fixtures: Path) -> None:
    packed = fixtures / "cuda-foo1" / "compiled.trace.json.gz"
    size = len(gzip.decompress(packed.read_bytes()))
    assert not read_chrome_trace(packed, max_bytes=size).repairs
    reasons = [repair.reason for repair in read_chrome_trace(packed, max_bytes=size - 1).repairs]
    assert f"only the first {size - 1:,} bytes were read" in reasons


def test_a_limit_on_bytes() -> None:
    text = trace_of(*[kernel("k")] * 100)
    trace = read_chrome_stream(io.BytesIO(text.encode()), max_bytes=100)
    assert any("only the first 100 bytes" in repair.reason for repair in trace.repairs)


def test_not_a_trace() -> None:
    (repair,) = read('{"hello": 1}').repairs
    assert "no list of trace events" in repair.reason


def test_agrees_with_a_plain_reading_of_real_traces(shared: Path) -> None:
    paths = sorted((shared / "traces").glob("c*/*.trace.json.gz"))
    paths += sorted((shared / "traces" / "profiles").glob("*.gz"))
    assert len(paths) > 15
    for path in paths:
        events = json.loads(gzip.decompress(path.read_bytes()), strict=False)["traceEvents"]
        trace = read_chrome_trace(path)
        assert trace.repairs == [], path
        assert trace.events == len(events), path
        work = [row for row in events if row.get("cat") in {"kernel", "gpu_memcpy", "gpu_memset"}]
        assert sum(ran.calls for ran in trace.kernels) == len(work), path
        spent = sum(kernel.total_us for kernel in trace.kernels)
        assert spent == pytest.approx(sum(row["dur"] for row in work)), path
        ops = [row for row in events if row.get("cat") == "cpu_op"]
        skipped = [op for op in ops if op["name"].startswith(("## Call", "ProfilerStep#"))]
        assert sum(op.calls for op in trace.ops) == len(ops) - len(skipped), path


def test_forward_and_backward_of_real_training(shared: Path) -> None:
    trace = read_chrome_trace(shared / "traces" / "cuda-gpt-train" / "compiled.trace.json.gz")
    assert [region.calls for region in trace.regions] == [2, 2]
    forward, backward = trace.regions
    assert not forward.kernels & backward.kernels
    triton = [ran for ran in trace.kernels if ran.name.startswith("triton_")]
    assert all(ran.kernel_file and ran.region is not None for ran in triton)
    for ran in triton:
        assert ran.kernel_file in trace.regions[ran.region or 0].kernels


def test_a_backward_belongs_to_the_compile_of_its_forward() -> None:
    """Autograd's numbers tell, unless two compiles have the same number."""

    def event(name: str, ts: float, us: float, sequence: int | None = None) -> dict[str, object]:
        known = {} if sequence is None else {"Sequence number": sequence}
        return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": us,
                "args": known}  # fmt: skip

    events = [
        event("CompiledFunctionBackward", 900, 10),
        event("## Call CompiledFxGraph k ##", 901, 5),
    ]
    for at, (compile_id, forward, backward) in enumerate(
        [("0/0", 7, 7), ("0/1", 8, 8), ("0/2", 9, 4), ("0/3", 5, 5), ("0/4", 5, None)]
    ):
        events += [
            event(f"Torch-Compiled Region: {compile_id}", at * 10, 9),
            event("CompiledFunction", at * 10 + 1, 8, forward),
            event("## Call CompiledFxGraph k ##", at * 10 + 2, 6),
            event("CompiledFunctionBackward", 500 - at * 10, 9, backward),
            event("## Call CompiledFxGraph k ##", 501 - at * 10, 6),
        ]
    regions = read(json.dumps({"traceEvents": events}).encode()).regions
    assert {region.compile_id: region.calls for region in regions if region.compile_id} == {
        "0/0": 1, "0/1": 1, "0/2": 1, "0/3": 1, "0/4": 1,
    }  # fmt: skip
    found = {region.backward_of: region.calls for region in regions if not region.compile_id}
    assert found == {None: 4, "0/0": 1, "0/1": 1}


@given(st.binary(max_size=1500))
def test_arbitrary_bytes(data: bytes) -> None:
    read(data)
    read(b'{"traceEvents": [' + data)
    read(b'[{"ph": "X", ' + data)


@given(st.data())
@settings(max_examples=60)
def test_mutated_traces(fixtures: Path, data: st.DataObject) -> None:
    packed = (fixtures / "cuda-foo1" / "compiled.trace.json.gz").read_bytes()
    content = bytearray(gzip.decompress(packed))
    del content[data.draw(st.integers(0, len(content))) :]
    for at in data.draw(st.lists(st.integers(0, max(0, len(content) - 1)), max_size=8)):
        if content:
            content[at] = data.draw(st.integers(0, 255))
    trace = read(bytes(content))
    assert all(ran.total_us >= 0 for ran in trace.kernels)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


@given(st.dictionaries(
    st.sampled_from(["ph", "cat", "name", "pid", "tid", "ts", "dur", "args"]), JSON
))  # fmt: skip
def test_events_of_any_shape(odd: Event) -> None:
    trace = read(trace_of(kernel("a"), {"ph": "X", **odd}, kernel("z")))
    assert {"a", "z"} <= {ran.name for ran in trace.kernels}


@pytest.mark.parametrize(
    "text",
    [
        b'{"deviceProperties": [' * 50_000,
        b'{"traceEvents": [{"ph": "X" oh}' + b" " * 2_000_000 + b"]}",
        b'{"traceEvents": [' + b'{"ph": ' * 200_000,
        b'{"traceEvents": [' + b'{"name": "x}, {' * 100_000,
        b'{"traceEvents": [' + b"[" * 500_000,
        b'{"traceEvents": [' + b"}" * 500_000 + b"," * 500_000,
    ],
)
def test_hostile_texts_are_no_traces(text: bytes) -> None:
    trace = read(text)
    assert (trace.kernels, trace.ops) == ([], [])
    assert trace.repairs
