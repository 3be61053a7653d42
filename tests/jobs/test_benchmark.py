"""Benchmarks of kernels: the test case runs by itself, and a job runs it for captures alone."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from inductorscope.analyze.benchmark.case import NoCase, case_texts, kernel_case
from inductorscope.analyze.machine.without import without
from inductorscope.answers.explorer.kernel import kernel_page
from inductorscope.answers.machine.left_out import LeftOut
from inductorscope.capturing.benchmark.run import BenchmarkRequest, run_case
from inductorscope.capturing.benchmark.text import RUNNER, case_text, vector_bits
from inductorscope.capturing.measure import alone
from inductorscope.capturing.watch import CaptureFailed
from inductorscope.cli.local import read_paths
from inductorscope.jobs.api import JobsClient
from inductorscope.jobs.errors import CaptureRefusedError
from inductorscope.jobs.programs import BenchmarkAsked
from inductorscope.jobs.queue.processes import environment
from inductorscope.jobs.queue.transitions import claim
from inductorscope.jobs.queue.workflow import child_command
from inductorscope.jobs.work.__main__ import perform_job
from inductorscope.jobs.work.folders import work_folder
from inductorscope.progress import silent
from inductorscope.settings import Settings
from inductorscope.store.database.engine import make_engine, sessions
from inductorscope.store.database.migrate import migrate
from inductorscope.store.tables.models import Graph, Kernel, KernelCall, Run
from sqlalchemy import select, update

from tests.support import loop

KERNEL, HANDLE = "cpp_fused_add_flip_roll_var_mean_1", 4
ROLES = {
    "code": "output_code.py",
    "ir_pre": "ir_pre_fusion.txt",
    "ir_post": "ir_post_fusion.txt",
    "post_grad": "fx_graph_transformed.py",
}


@pytest.fixture(scope="module")
def texts(fixtures: Path) -> dict[str, str]:
    """A graph that was captured on a CPU."""
    folder = next((fixtures / "cpu-ops-zoo").glob("**/output_code.py")).parent
    return {role: (folder / file).read_text() for role, file in ROLES.items()}


@pytest.fixture
def here(tmp_path: Path) -> Settings:
    settings = Settings(data=tmp_path / "data", database_url="")
    migrate(settings)
    return settings


@pytest.fixture
def client(here: Settings) -> Iterator[JobsClient]:
    made = JobsClient(here)
    yield made
    made.close()


def read(settings: Settings, fixtures: Path, origin: str) -> str:
    return read_paths(
        settings, [fixtures / "cpu-ops-zoo"], name=None, tags=[], origin=origin,
        progress=lambda *_: None,
    ).run_id  # fmt: skip


def asked(run: str, settings: Settings) -> BenchmarkAsked:
    with sessions(make_engine(settings))() as session:
        graph = session.get_one(Run, run)
        assert graph.graph_count == 1
    return BenchmarkAsked(run, "model__0_inference_0.0", KERNEL, HANDLE, seconds=0.1)


def test_parts_of_a_split_reduction_are_compared_with_no_node() -> None:
    """The sizes are symbols: only their recorded values tell a part from the whole."""
    folder = Path(__file__).parents[1] / "fixtures" / "judged-gpu"
    files = {role: folder / ROLES[role] for role in ("code", "ir_post")}
    files["post_grad"] = folder / "fx_graph_transformed.py"
    texts = case_texts({role: file.read_text() for role, file in files.items()})
    parts = kernel_case(texts, "triton_red_fused_amax_0", 1)
    assert parts.not_compared["buf8"] == "it is a partial result of amax_1: its reduction is split"
    whole = kernel_case(texts, "triton_poi_fused_abs_add_clamp_mul_sigmoid_2", 3)
    assert not whole.not_compared


def test_the_test_case_needs_torch_alone(texts: dict[str, str]) -> None:
    """A job runs the same text."""
    text = case_text(kernel_case(case_texts(texts), KERNEL, HANDLE), 'a run called "x"\\')
    imported = re.findall(r"^\s*(?:import|from) (\w+)", text, re.M)
    assert {*imported} <= sys.stdlib_module_names | {"torch"}


def test_results_that_differ_are_told() -> None:
    torch = pytest.importorskip("torch")
    from inductorscope.capturing.benchmark.runner import compare

    right = torch.linspace(-1, 1, 64).reshape(8, 8)
    assert compare(right + 1e-7, right)["agrees"]
    assert compare(right.reshape(64), right)["agrees"]
    assert not compare(right + 1e-2, right)["agrees"]
    assert not compare(right.double(), right)["agrees"]  # of another type
    gaps = right.clone()
    gaps[0, 0] = float("nan")
    assert compare(gaps, gaps.clone())["agrees"]
    assert not compare(gaps, right)["agrees"]
    assert not compare(torch.tensor([1, 2]), torch.tensor([1, 3]))["agrees"]


def test_a_test_case_is_stopped_at_its_time_limit(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, database_url="", capture_seconds=1)
    with pytest.raises(CaptureFailed, match="time limit of 1 s"):
        run_case(
            BenchmarkRequest("import time; time.sleep(600)", "cpu"), tmp_path / "work", settings
        )


def test_what_has_no_test_case_is_told_in_a_sentence(texts: dict[str, str], fixtures: Path) -> None:
    with pytest.raises(NoCase, match="no call 99"):
        kernel_case(case_texts(texts), KERNEL, 99)
    code = (fixtures / "output-code" / "cpu-cppwrap.py").read_text()
    with pytest.raises(NoCase, match="wrapper of this graph is C\\+\\+"):
        kernel_case(case_texts({"code": code}), "cpp_fused_relu_0", 2)


def test_vectors_are_as_wide_as_the_kernel_was_written_for(texts: dict[str, str]) -> None:
    """Loops that step by eight would write past the end with vectors of sixteen."""
    load = "at::vec::Vectorized<float>::loadu(in_ptr0 + static_cast<int64_t>(x0), {})"
    assert vector_bits(load.format("static_cast<int64_t>(16)")) == 512
    assert vector_bits(load.format("static_cast<int64_t>(8L)")) == 256
    assert vector_bits("out_ptr0[static_cast<int64_t>(x0)] = tmp0;") is None
    assert "cpp.simdlen = 256" in case_text(kernel_case(case_texts(texts), KERNEL, HANDLE), "here")


def test_every_call_has_a_test_case_or_a_reason(texts: dict[str, str]) -> None:
    """Each is Python; each buffer that is not compared says why."""
    from inductorscope.formats.code.output_code import parse_output_code

    compared = 0
    for call in parse_output_code(texts["code"]).calls:
        case = kernel_case(case_texts(texts), call.kernel, call.handle)
        compile(case_text(case, "here"), "case.py", "exec")
        assert all(value.node or value.reason for value in case.subgraph.compared)
        compared += sum(bool(value.node) for value in case.subgraph.compared)
    assert compared >= 15


def test_integers_stay_below_what_a_kernel_checks(texts: dict[str, str]) -> None:
    from inductorscope.formats.code.output_code import parse_output_code

    checked = 0
    for call in parse_output_code(texts["code"]).calls:
        case = kernel_case(case_texts(texts), call.kernel, call.handle)
        said = re.findall(r"of bounds: 0 <= \w+ < (\d+)L", "\n".join(case.definition))
        if said:
            assert {operand.bound for operand in case.operands} == {min(map(int, said))}
            checked += 1
    assert checked > 1


@pytest.mark.usefixtures("vectors")
def test_a_job_benchmarks_a_kernel_of_a_capture(
    here: Settings, client: JobsClient, fixtures: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One kernel is compiled with these options; compiling headers first takes longer.
    monkeypatch.setenv("TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS", "0")
    run = read(here, fixtures, "capture")
    job = client.programs.benchmark(asked(run, here))
    factory = sessions(make_engine(here))
    attempt = claim(factory, job, "a test")
    assert attempt is not None
    done = subprocess.run(
        child_command(attempt), env=environment(here), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    status = client.job(job)
    assert (status.state, status.run_id) == ("done", run), status.message
    assert status.message is not None
    assert status.message.endswith("Its results agree.")
    assert work_folder(here, job).is_relative_to(here.captures)
    with factory() as session:
        page = kernel_page(session, run, "model__0_inference_0.0", KERNEL, HANDLE)
    assert page is not None
    assert page.may_benchmark
    (row,) = page.benchmarks
    assert (row.handle, row.job_id, row.result["agrees"]) == (HANDLE, job, True)
    assert set(row.result["checks"]) == {"buf12", "buf26"}
    assert row.result["ms"]["kernel"] > 0 < row.result["ms"]["eager"]
    assert row.result["bytes"] == 133_644


def test_what_was_not_captured_here_never_runs(
    here: Settings, client: JobsClient, fixtures: Path
) -> None:
    run = read(here, fixtures, "upload")
    with pytest.raises(CaptureRefusedError, match="never run here"):
        client.programs.benchmark(asked(run, here))
    # Nor when somebody gets a job into the queue: the child looks again.
    factory = sessions(make_engine(here))
    with factory.begin() as session:
        session.execute(update(Run).values(origin="capture"))
    job = client.programs.benchmark(asked(run, here))
    with factory.begin() as session:
        session.execute(update(Run).values(origin="upload"))
    attempt = claim(factory, job, "a test")
    assert attempt is not None
    subprocess.run(child_command(attempt), env=environment(here), capture_output=True, check=False)
    status = client.job(job)
    assert status.state == "failed"
    assert status.message is not None
    assert "never run here" in status.message


def compiled_without(
    here: Settings, client: JobsClient, run: str, kernel: str, line: int
) -> tuple[str, LeftOut]:
    """What the job says of a line, and what it keeps."""
    factory = sessions(make_engine(here))
    with factory() as session:
        slug, handle = session.execute(
            select(Graph.slug, KernelCall.handle)
            .join(KernelCall, KernelCall.graph_id == Graph.id)
            .join(Kernel, Kernel.id == KernelCall.kernel_id)
            .where(Graph.run_id == run, Kernel.name == kernel)
        ).one()  # fmt: skip
    job = client.programs.benchmark(BenchmarkAsked(run, slug, kernel, handle, without=line))
    attempt = claim(factory, job, "a test")
    assert attempt is not None
    perform_job(here, attempt)
    status = client.job(job)
    assert status.state == "done", status.message
    with factory() as session:
        page = kernel_page(session, run, slug, kernel, handle)
    assert page.benchmarks == []
    (row,) = page.left_out
    assert (row.job_id, row.without) == (job, line)
    return str(status.message), row


def test_a_job_compiles_a_kernel_without_an_operation(
    here: Settings, client: JobsClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INDUCTORSCOPE_DATA", str(here.data))
    code = loop.write_code(tmp_path / "torch_compile_debug")
    line = next(at for at, text in enumerate(code.read_text().split("\n"), 1) if "sin(" in text)
    run = read_paths(
        here, [tmp_path / "torch_compile_debug"], name=None, tags=[], origin="capture",
        progress=lambda *_: None,
    ).run_id  # fmt: skip
    message, found = compiled_without(here, client, run, loop.KERNEL, line)
    assert (found.text, found.instead) == ("auto tmp1 = std::sin(tmp0);", "auto tmp1 = tmp0;")
    before, after = found.before, found.after
    assert before is not None, found.missing
    assert after is not None, found.missing
    assert before.instructions > after.instructions > 0
    assert f"{before.instructions} → {after.instructions} instructions" in message


def test_a_machine_that_cannot_compile_the_kernel_says_so(
    here: Settings, client: JobsClient, fixtures: Path, texts: dict[str, str]
) -> None:
    run = read(here, fixtures, "capture")
    lines = texts["code"].split("\n")
    start = next(at for at, text in enumerate(lines) if text.startswith(f"{KERNEL} = "))
    line = next(at + 1 for at in range(start, len(lines)) if without(lines[at]))
    message, found = compiled_without(here, client, run, KERNEL, line)
    assert found.before is found.after is None
    assert "On this machine the kernel does not compile" in message
    # A test case that ends early says so, with the end of what it printed.
    assert "The test case ended with status 1 before it was done." in found.missing
    assert "vectors of 256 bits, which this machine lacks" in found.missing.splitlines()[-1]


@pytest.mark.torch
def test_kernels_of_two_runs_are_timed_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alone, "PROCESSES", 1)
    monkeypatch.setattr(alone, "SECONDS", 0.05)
    case = (
        f"{RUNNER.read_text()}\nDEVICE = 'cpu'\n"
        "def inputs():\n    return {'x': torch.rand(64)}\n"
        "def kernel(given):\n    return {'y': given['x'] * SCALE}\n"
    )
    once, twice, wrong = ([(f"SCALE = {scale}\n{case}", 2)] for scale in (2, 2.0, 3))
    groups = {
        "same": alone.Cases("cpu", once, twice),
        "other": alone.Cases("cpu", once, wrong),
        "broken": alone.Cases("cpu", once, [("raise SystemExit(3)", 1)]),
    }
    settings = Settings(data=tmp_path / "data", database_url="")
    found = alone.run_alone(groups, tmp_path / "work", settings, silent)
    assert (found["same"].agrees, found["other"].agrees) == (True, False)
    assert len(found["same"].a) == len(found["same"].b) == 1
    assert min(*found["same"].a, *found["other"].b) > 0
    assert (found["broken"].error, found["broken"].a) == ("SystemExit: 3", [])
