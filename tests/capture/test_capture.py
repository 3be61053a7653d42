"""Captures that really run: models, scripts, failures, limits."""

import gzip
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from inductorscope.answers.failures.failures import failures_page
from inductorscope.capturing.run import run_capture
from inductorscope.capturing.spec import CaptureSpec
from inductorscope.capturing.watch import CaptureFailed
from inductorscope.correlate.directory import links_of_path
from inductorscope.formats.capture_facts import CaptureFacts, read_facts
from inductorscope.formats.vocabulary import SOURCE
from inductorscope.settings import Settings
from inductorscope.store.database.engine import make_engine, sessions
from inductorscope.store.tables.models import Artifact, Run
from sqlalchemy import select

from bench.exact_links import NoTruth, write_truth
from bench.link_measure import lines_of_program
from tests.support.running import run

pytestmark = pytest.mark.torch

SUBJECTS = Path(__file__).with_name("subjects.py")


def settings(folder: Path, **values: Any) -> Settings:
    return Settings(data=folder, database_url="", **values)


def capture(out: Path, cache: Path, model: str, **options: Any) -> CaptureFacts:
    name = (
        model if "/" in model or not model.startswith("subjects") else f"{SUBJECTS.parent}/{model}"
    )
    spec = CaptureSpec(model=name, **({"seconds": 0.1} | options))
    return run_capture(spec, out, settings(out), trusted=True, cache=cache)


def graph_files(out: Path, name: str) -> dict[str, str]:
    files = out.glob(f"torch_compile_debug/*/torchinductor/*/{name}")
    return {file.parent.name: file.read_text() for file in files}


def test_the_tutorials_function_is_captured_step_by_step(captured_tutorial: Path) -> None:
    words = json.loads((captured_tutorial.parent / "steps.json").read_bytes())
    assert words[0] == "importing torch"
    assert words[-1] == "collecting sources"


def test_the_tutorials_function_is_captured_whole(captured_tutorial: Path) -> None:
    facts = read_facts(captured_tutorial)
    assert facts is not None
    assert (facts.state, facts.error, facts.missing) == ("complete", None, [])
    assert facts.torch_version
    assert facts.torch_git
    assert facts.device_name == facts.cpu_name
    assert facts.first_call_s is not None
    assert set(facts.timings) == set(facts.profiles) == {"eager", "compiled"}
    for timing in facts.timings.values():
        assert 0 < timing.p10 <= timing.median_ms <= timing.p90
    assert set(graph_files(captured_tutorial, "output_code.py")) == {"model__0_inference_0.0"}
    assert any((captured_tutorial / "torch_trace").iterdir())


def test_what_torch_says_by_itself_is_kept(captured_tutorial: Path) -> None:
    facts = read_facts(captured_tutorial)
    assert facts is not None
    assert facts.vectors is not None
    (nest,) = facts.vectors.nests
    assert nest.kernel == "cpp_fused_maximum_neg_0"
    assert nest.graph == "model__0_inference_0.0"
    assert bool(nest.vectors) == (not nest.reason)
    assert "fuse" in (captured_tutorial / "torch_logs.txt").read_text()


def test_the_log_has_one_compile(captured_tutorial: Path) -> None:
    (log,) = (captured_tutorial / "torch_trace").iterdir()
    assert log.read_text().count('{"dynamo_start"') == 1
    assert len(list(captured_tutorial.glob("torch_compile_debug/*"))) == 1


def test_settings_of_the_capture_are_recorded(captured_tutorial: Path) -> None:
    facts = read_facts(captured_tutorial)
    assert facts is not None
    assert facts.config["cpp.enable_kernel_profile"] == "True"
    assert facts.env["TORCH_COMPILE_DEBUG"] == "1"


def test_profiles_name_the_kernel(captured_tutorial: Path) -> None:
    rows = json.loads((captured_tutorial / "compiled.key_averages.json").read_bytes())
    kernel = next(row for row in rows["rows"] if "cpp_fused" in row["name"])
    assert kernel["name"] == "graph_0_cpp_fused_maximum_neg_0"
    assert kernel["calls"] == rows["steps"] == 3
    assert kernel["self_cpu_us"] > 0
    trace = json.loads(gzip.decompress((captured_tutorial / "compiled.trace.json.gz").read_bytes()))
    assert kernel["name"] in {event.get("name") for event in trace["traceEvents"]}


def test_the_users_source_is_kept(captured_tutorial: Path) -> None:
    kept = json.loads((captured_tutorial / "sources.json").read_text())["files"]
    assert [Path(path).name for path in kept] == ["neg_maximum_cat.py"]
    assert "a = torch.neg(x1)" in (captured_tutorial / next(iter(kept.values()))).read_text()


def test_every_computing_line_is_recorded(captured_tutorial: Path) -> None:
    record = json.loads((captured_tutorial / "line_record.json").read_bytes())["graphs"]
    graph = record["model__0_inference_0.0"]
    code = graph_files(captured_tutorial, "output_code.py")["model__0_inference_0.0"].split("\n")
    negated = next(number for number, line in enumerate(code, 1) if ".neg()" in line)
    assert graph["lines"][str(negated)] == [["neg", "neg", "neg"]]
    assert unanswered(code, graph["lines"]) == []
    (call,) = graph["calls"]
    assert (call["kernel"], call["nth"]) == ("cpp_fused_maximum_neg_0", 1)
    assert call["lines"][str(negated)] == [["neg", "op0.neg", "neg", None]]
    assert ["load", "op0.load_1", "neg", "arg0_1"] in [
        entry for entries in call["lines"].values() for entry in entries
    ]


def assert_upload_agrees(captured: Path, truth: Path, wrong_share: float = 0.001) -> None:
    """Links inferred from a capture's debug folder alone are those that the capture recorded."""
    write_truth(captured, truth)
    lines = lines_of_program(truth)
    wrong = [line for line in lines if not line.right]
    assert len(wrong) <= wrong_share * len(lines), wrong
    inferred = [line for line in wrong if line.confidence == "inferred"]
    assert len(inferred) <= (0 if wrong_share == 0.001 else wrong_share * len(lines)), inferred
    assert len(lines) > 100


def test_a_captured_run_is_truth_to_score_links_by(captured_tutorial: Path, tmp_path: Path) -> None:
    written = write_truth(captured_tutorial, tmp_path / "truth")
    truth = json.loads((tmp_path / "truth" / "truth.json").read_text())
    assert (written.graphs, written.lines) == (1, len(truth["model__0_inference_0.0"]))
    (graph,) = links_of_path(tmp_path / "truth" / "torch_compile_debug")["graphs"]
    answers = {line["line"]: line for kernel in graph["kernels"] for line in kernel["lines"]}
    for number, entries in truth[graph["name"]].items():
        assert set(answers[int(number)]["fx"]) == {entry[2] for entry in entries}
    with pytest.raises(NoTruth, match=r"no line_record\.json"):
        write_truth(tmp_path / "truth", tmp_path / "again")


def unanswered(code: list[str], lines: dict[str, Any]) -> list[str]:
    """Lines inside kernels that assign or store a value and have no entry."""
    computing = ("auto tmp", "tmp", "_ptr")
    return [
        line
        for number, line in enumerate(code, 1)
        if line.strip().split("[")[0].startswith(computing) and "= async_compile" not in line
        if ".store(" in line or " = tmp" in line or line.strip().startswith("auto tmp")
        if str(number) not in lines
    ]


@pytest.mark.usefixtures("vectors")
def test_generated_code_is_the_same_with_and_without_the_record(
    tmp_path: Path, cache: Path
) -> None:
    options = {
        "train": True, "repeats": 1, "profile": False, "source": False, "eager": False,
    }  # fmt: skip
    model = "subjects.py:without_compilers"
    facts = capture(tmp_path / "with", cache, model, **options)
    plain = capture(tmp_path / "without", cache, model, record=False, **options)
    recorded = graph_files(tmp_path / "with", "output_code.py")
    assert recorded == graph_files(tmp_path / "without", "output_code.py")
    assert len(recorded) == 2
    # Of a single graph the engine promises 97 %. Stores through a reversed index have no rule.
    assert_upload_agrees(tmp_path / "with", tmp_path / "truth", wrong_share=0.03)
    assert facts.record is not None
    assert plain.record is not None
    assert (facts.record.made, facts.record.reason, facts.record.graphs) == (True, "", 2)
    assert (plain.record.made, plain.record.reason) == (False, "It was left out on request.")
    assert not (tmp_path / "without" / "line_record.json").exists()
    assert plain.sources == []
    assert "Source files: they were left out on request." in plain.missing
    record = json.loads((tmp_path / "with" / "line_record.json").read_bytes())["graphs"]
    transformed = graph_files(tmp_path / "with", "fx_graph_transformed.py")
    for name, code in recorded.items():
        assert unanswered(code.split("\n"), record[name]["lines"]) == []
        for entries in record[name]["lines"].values():
            assert all(re.search(rf"\b{fx}(: | = )", transformed[name]) for _, _, fx in entries)


def test_what_fails_to_compile_is_kept_and_said(tmp_path: Path) -> None:
    done = run("capture", f"{SUBJECTS}:uncompilable", "--data", str(tmp_path), "--json")
    said = "The model failed to compile: The C++ compiler rejected a kernel that Inductor generated"
    assert (done.returncode, said in done.stderr) == (1, True), done.stderr
    read = json.loads(done.stdout)
    assert f"{read['url']}/failures" in done.stderr
    engine = make_engine(settings(tmp_path))
    with sessions(engine, read_only=True)() as session:
        (failure,) = failures_page(session, read["run"]).failures
        paths = session.scalars(select(Artifact.path).where(Artifact.role == SOURCE)).all()
        facts = session.get_one(Run, read["run"]).environment
    engine.dispose()
    assert "no_such_function" in failure.errors[0].message  # placed: the output code is kept
    assert "CppCompileError" in failure.message
    assert str(SUBJECTS) in paths
    assert facts["record"]["made"]


def test_a_script_runs_as_main_with_its_arguments(tmp_path: Path, cache: Path) -> None:
    facts = capture(tmp_path, cache, str(SUBJECTS), args=("one", "--two"), eager=False)
    printed = (tmp_path / "capture.log").read_text()
    assert "arguments ['one', '--two']" in printed
    assert "a thread's end" in printed  # also what ends with the process
    assert "last words" in printed
    assert facts.state == "complete"
    assert [Path(path).name for path in facts.sources] == ["subjects.py"]


def test_a_person_at_the_machine_gives_arguments_and_texts(tmp_path: Path, cache: Path) -> None:
    texts = {"cpp.enable_floating_point_contract_flag": "fast", "cpp.march": "native"}
    facts = capture(
        tmp_path, cache, "subjects.py:text_arguments", args=("17",), backend="eager", repeats=4,
        profile=False, config=texts,
    )  # fmt: skip
    assert facts.state == "complete"
    assert {key: facts.config[key] for key in texts} == texts
    assert len(facts.timings["eager"].samples) == 4
    assert "made with 17 False" in (tmp_path / "capture.log").read_text()
    assert facts.record is not None
    assert facts.record.reason.startswith("No kernel with recordable lines")


def test_a_models_own_failure_is_told_with_its_words(tmp_path: Path, cache: Path) -> None:
    with pytest.raises(CaptureFailed) as failure:
        capture(tmp_path, cache, "subjects.py:broken")
    assert str(failure.value) == "The model failed with RuntimeError: the weights are gone"


def limited(out: Path, **limits: int) -> None:
    spec = CaptureSpec(model=f"{SUBJECTS}:sleeping")
    run_capture(spec, out, settings(out, **limits), trusted=True)


def test_limits_end_the_capture_and_name_themselves(tmp_path: Path) -> None:
    with pytest.raises(CaptureFailed, match=r"time limit of 1 s .*INDUCTORSCOPE_CAPTURE_SECONDS"):
        limited(tmp_path, capture_seconds=1)
    with pytest.raises(CaptureFailed, match=r"more than its limit .*INDUCTORSCOPE_CAPTURE_BYTES"):
        limited(tmp_path, capture_bytes=64 * 1024 * 1024)
    assert not children(os.getpid())


def children(parent: int) -> list[int]:
    """Processes that lead a group and run a capture for the given parent."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            command = (entry / "cmdline").read_bytes()
        except (OSError, IndexError):
            continue
        if int(fields[1]) == parent and b"inductorscope.capturing.child" in command:
            found.append(int(entry.name))
    return found


def test_the_child_dies_with_its_parent(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from inductorscope.capturing.run import run_capture\n"
        "from inductorscope.capturing.spec import CaptureSpec\n"
        "from inductorscope.settings import Settings\n"
        "out = Path(sys.argv[1])\n"
        "spec = CaptureSpec(model=sys.argv[2])\n"
        "run_capture(spec, out, Settings(data=out, database_url=''), trusted=True)\n"
    )
    model = f"{SUBJECTS}:sleeping"
    with subprocess.Popen([sys.executable, "-c", program, str(tmp_path), model]) as parent:
        child = within(20, lambda: children(parent.pid))[0]
        within(20, lambda: (tmp_path / "torch_trace").exists())  # the death signal is asked for
        parent.send_signal(signal.SIGKILL)
    within(10, lambda: not Path(f"/proc/{child}").exists())


def within(seconds: float, condition: Any) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found
