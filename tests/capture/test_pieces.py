"""The torch-free pieces of a capture: timing, sources, facts, alignment, messages."""

import json
import os
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inductorscope.capturing.inside import sources
from inductorscope.capturing.inside.report import Note, Progress, Reporter
from inductorscope.capturing.inside.timing import interleave, summarize
from inductorscope.capturing.record import align
from inductorscope.formats.capture_facts import CaptureFacts, Timing, read_facts


def test_nothing_but_the_child_imports_torch() -> None:
    program = (
        "import sys\n"
        "import inductorscope.capturing.run, inductorscope.capturing.child\n"
        "import inductorscope.capturing.builtin, inductorscope.capturing.record.align\n"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("False\n", "")


@given(st.lists(st.floats(0.001, 1000), min_size=1, max_size=50))
def test_spread_lies_around_the_median(samples: list[float]) -> None:
    timing = summarize(samples, 3)
    assert min(samples) <= timing.p10 <= timing.median_ms <= timing.p90 <= max(samples)
    assert timing.samples == samples


def test_quantiles_are_linear_between_samples() -> None:
    assert summarize([5, 2, 3, 4, 1], 1).p10 == pytest.approx(1.4)
    assert summarize([7], 1).p90 == 7


def test_calls_are_timed_in_turns() -> None:
    order: list[str] = []

    def call(name: str) -> None:
        order.append(name)
        time.sleep(0.003)

    calls: dict[str, Callable[[], object]] = {
        name: partial(call, name) for name in ("eager", "compiled")
    }
    timings = interleave(calls, lambda: None, 5, repeats=6, report=Reporter(None))
    assert len(timings["eager"].samples) == len(timings["compiled"].samples) == 6
    assert order[-12:] == ["eager", "compiled", "compiled", "eager"] * 3
    assert 2.9 < timings["eager"].median_ms < 50


def test_short_calls_are_timed_several_at_a_time_within_the_budget() -> None:
    start = time.perf_counter()
    timings = interleave({"eager": lambda: None}, lambda: None, 0.2, None, Reporter(None))
    assert timings["eager"].calls_per_sample > 100
    assert time.perf_counter() - start < 2


def test_messages_are_json_lines_and_counts_are_reported_seldom() -> None:
    read, write = os.pipe()
    report = Reporter(write)
    for count in range(1000):
        report.progress("timing", count + 1, 1000, "samples")
    report.log("so it is")
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        lines = [json.loads(line) for line in stream]
    assert lines[0] == {"type": "progress", "step": "timing", "done": 1, "total": 1000} | {
        "unit": "samples"
    }
    assert lines[-2]["done"] == 1000
    assert len(lines) < 50
    assert (Progress.__struct_config__.tag, Note.__struct_config__.tag) == ("progress", "log")


def test_sources_are_the_users_files_that_frames_name(tmp_path: Path) -> None:
    mine = tmp_path / "home" / "model.py"
    helper = tmp_path / "home" / "helper.py"
    installed = tmp_path / "site-packages" / "library.py"
    for file in (mine, helper, installed):
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"# {file.name}")
    stdlib = Path(sysconfig.get_path("stdlib")) / "functools.py"
    graph = tmp_path / "out" / "torch_compile_debug" / "run_1" / "torchinductor" / "model__0.0"
    graph.mkdir(parents=True)
    (graph / "fx_graph_readable.py").write_text(
        f"# File: {mine}:3 in forward, code: x + 1\n# File: {stdlib}:3 in wraps, code: y\n"
        f"# File: {tmp_path}/gone.py:1 in f, code: z\n# File: {installed}:1 in f, code: z\n"
    )
    trace = tmp_path / "out" / "torch_trace"
    trace.mkdir()
    (trace / "dedicated_log_torch_trace_x.log").write_text(
        f'V1121 01:24:58 8487 torch/s.py:28] {{"str": ["{helper}", 3]}}\n'
        'V1121 01:24:58 8487 torch/s.py:28] {"str": [3]}\n'
        f'\t"payload] {{"str": ["{mine}.other.py", 1]}}"\n'
    )
    kept = sources.keep_sources(tmp_path / "out", [])
    assert kept == [str(helper), str(mine)]
    out = tmp_path / "out"
    copies = json.loads((out / "sources.json").read_text())["files"]
    assert {path: (out / copy).read_text() for path, copy in copies.items()} == {
        str(helper): "# helper.py",
        str(mine): "# model.py",
    }


def test_facts_survive_their_file(tmp_path: Path) -> None:
    facts = CaptureFacts(state="complete", timings={"eager": Timing(1.0, 0.9, 1.1, [1.0])})
    facts.write(tmp_path)
    assert read_facts(tmp_path) == facts
    assert [file.name for file in tmp_path.iterdir()] == ["capture.json"]
    (tmp_path / "capture.json").write_text("[]")
    assert read_facts(tmp_path) is None


def test_a_kernels_lines_are_found_in_the_output_code() -> None:
    source = ["", "def Placeholder.KERNEL_NAME(in_ptr0):", "    tmp0 = tl.load(in_ptr0)", ""]
    output = ["other = 1", "k_0 = async_compile.triton('k_0', '''", "import triton", ""]
    output += ["def k_0(in_ptr0):", "    tmp0 = tl.load(in_ptr0)", "''')", "k_0.run(x)"]
    start = align.find_definition(output, "k_0")
    assert start == 1
    assert align.follow(source, output, start) == [-1, 4, 5, -1]
    assert align.find_definition(output, "k_1") is None


def test_pieces_of_a_template_bring_their_origins() -> None:
    source = ["head", "  tmp0 = a", "  tmp1 = tmp0", "tail"]
    pieces = [(["tmp0 = a", "tmp1 = tmp0"], ["one", "two"]), (["absent"], ["three"])]
    assert align.adopt(source, pieces) == [None, "one", "two", None]


def test_accumulators_belong_to_their_reduction() -> None:
    source = ["float tmp_acc0 = 0;", "tmp_acc0_vec = tmp_acc0_vec + tmp3;", "out = tmp_acc0;", "}"]
    origins = [None, "reduction", None, None]
    align.fill_accumulators(source, origins)
    assert origins == ["reduction", "reduction", "reduction", None]


def test_what_nothing_fused_wrote_is_the_templates_own() -> None:
    source = ["def k(in_ptr0):", "acc += tl.dot(a, b)", "tmp0 = acc", "# note"]
    origins = [None, None, "add", None]
    align.fill_template(source, origins, "mm")
    assert origins == [None, "mm", "add", None]
