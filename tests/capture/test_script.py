"""Scripts captured as they are: their steps, what compiles at which step, failures, launchers."""

import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest
from inductorscope.answers.compile.startup import startup_page
from inductorscope.answers.time.time import time_page
from inductorscope.capturing.inside.environment import TRACE_FOLDER
from inductorscope.capturing.permission import NotAllowed
from inductorscope.capturing.run import run_capture
from inductorscope.capturing.script.gather import add_eager, gather
from inductorscope.capturing.script.run import STARTUP
from inductorscope.capturing.script.steps import MOST_RESTARTS, Plan, Steps, slowed
from inductorscope.capturing.spec import CaptureSpec
from inductorscope.capturing.watch import CaptureFailed
from inductorscope.cli.app import app, load_commands
from inductorscope.formats.capture_facts import CaptureFacts, ScriptSteps, read_facts
from inductorscope.reading.run import read_run
from inductorscope.settings import Settings
from inductorscope.store.database.engine import make_engine, sessions
from inductorscope.store.database.migrate import migrate
from typer.testing import CliRunner

from tests.capture.conftest import SCRIPT
from tests.support.captured import captured_run


def capture(
    out: Path,
    model: str,
    *args: str,
    trusted: bool = True,
    cache: Path | None = None,
    eager: bool = True,
) -> CaptureFacts:
    spec = CaptureSpec(model=model, args=args, seconds=0.2, eager=eager)
    settings = Settings(data=out, database_url="")
    return run_capture(spec, out, settings, trusted=trusted, cache=cache)


@pytest.mark.torch
def test_a_scripts_steps_are_found_timed_and_profiled(captured_script: Path) -> None:
    facts = read_facts(captured_script)
    assert facts is not None
    assert (facts.state, facts.error, facts.differs) == ("complete", None, [])
    (steps,) = facts.script
    assert steps.from_what == "a call of scale"
    assert steps.kinds[:3] == [("compiles", 1, 1), ("warm-up", 2, 2), ("compiles", 3, 3)]
    assert {"timed", "profiled"} <= {kind for kind, _, _ in steps.kinds}
    assert {event.step for event in steps.compiles} == {1, 3}
    assert all(event.seconds > 0 for event in steps.compiles)
    start = steps.start
    assert start is not None
    assert start.compile_s is not None
    assert start.step_s is not None
    assert 0 < start.torch_s < start.compile_s < start.step_s < 300
    first = [event.seconds for event in steps.compiles if event.step == 1]
    assert sum(first) < start.step_s - start.compile_s + 0.05
    assert start.compile_cpu_s is not None
    assert start.step_cpu_s is not None
    assert 0 < start.compile_cpu_s < start.step_cpu_s
    assert facts.first_call_s == pytest.approx(start.step_s - start.compile_s, abs=0.05)
    assert facts.profiles["compiled"].steps == facts.profiles["eager"].steps == 3
    for timing in facts.timings.values():
        assert len(timing.samples) >= 5
    assert set(facts.timings) == {"eager", "compiled"}
    assert facts.eager_script is not None
    assert facts.eager_script.compiles == []
    assert steps.inputs == facts.eager_script.inputs == ["float32[64, 128]"]
    assert facts.peaks is not None
    assert steps.cudnn_benchmark


@pytest.mark.torch
def test_a_script_runs_as_it_would_and_ends_when_it_is_measured(captured_script: Path) -> None:
    lines = (captured_script / "capture.log").read_text().splitlines()
    assert lines[0] == "arguments ['100000'] __main__"
    assert 10 < len(lines) < 100_000
    assert not (captured_script / "processes").exists()


@pytest.mark.torch
def test_a_captured_scripts_times_reach_its_lines(captured_script: Path, tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, database_url="")
    migrate(settings)
    engine = make_engine(settings)
    made = sessions(engine)
    run = read_run(captured_script, session_factory=made, origin="capture").run_id
    with made() as session:
        page = time_page(session, run)
        start = startup_page(session, run)
    engine.dispose()
    assert start.from_exec
    kinds = [row.kind for row in start.start]
    assert kinds[:3] == ["imports", "program", "dynamo"]
    assert {"aot", "lowering", "codegen"} < set(kinds)
    assert kinds[-1] == "rest"
    assert sum(row.share for row in start.start) == pytest.approx(1)
    assert [*(captured_script / TRACE_FOLDER).glob("*.log")]  # although it disables logging
    assert page.script is not None
    assert [compiled.step for compiled in page.script.compiles] == [1, 1, 3, 3]
    assert page.kernel_time_us
    assert page.speed_up
    lines = {line.line for line in page.source_lines if line.path == str(SCRIPT)}
    assert {16, 18} <= lines


ONE_GRAPH = """
import time, torch
negated = torch.compile(torch.neg)
while True:
    negated(torch.ones(8))
    time.sleep(0.01)
"""


@pytest.mark.torch
def test_a_start_is_tried_cold_warm_and_packaged(captured_script: Path, tmp_path: Path) -> None:
    """Each of three processes compiles a single graph."""
    settings = Settings(data=tmp_path, database_url="")
    migrate(settings)
    script = tmp_path / "one_graph.py"
    script.write_text(ONE_GRAPH)
    run = captured_run(settings, captured_script, tmp_path / "captured", str(script))
    load_commands()
    asked = ["startup", run, "--try", "--rounds", "1", "--json", "--data", str(tmp_path)]
    printed = CliRunner().invoke(app, asked)
    assert printed.exit_code == 0, printed.output
    cold, warm, packaged = msgspec.json.decode(printed.stdout)["tried"]
    assert [row["title"] for row in (cold, warm, packaged)] == [
        "empty caches", "a warm cache folder", "a package of the caches",
    ]  # fmt: skip
    assert cold["predicted_s"] is None
    assert 0 < warm["predicted_s"] < cold["measured_s"]
    assert packaged["measured_s"] > 0
    assert {row["times"] for row in (cold, warm, packaged)} == {1}


def test_what_a_failing_script_recorded_is_kept(tmp_path: Path) -> None:
    script = tmp_path / "fails.py"
    script.write_text("import os, sys\nopen(os.environ['TORCH_TRACE'] + '/a', 'w')\nsys.exit(3)\n")
    facts = capture(tmp_path / "out", str(script))
    assert facts.state == "failed"
    assert facts.error is not None
    assert facts.error.message == "The script ended with status 3."
    assert (tmp_path / "out" / TRACE_FOLDER / "a").exists()


@pytest.mark.torch
@pytest.mark.parametrize(
    ("body", "passed", "message"),
    [
        ("return x @ torch.ones(4, 4)", False, "mat1 and mat2"),
        ("return x * 2 if x.sum() > 0 else x", True, ""),
    ],
)
def test_a_script_that_fails_to_compile_keeps_what_was_and_runs_again_without_torch_compile(
    tmp_path: Path, cache: Path, body: str, passed: bool, message: str
) -> None:
    """The first body fails in its third step in eager too, which runs on for ever otherwise."""
    script = tmp_path / "fails.py"
    script.write_text(
        "import time, torch\n"
        "@torch.compile(backend='eager', fullgraph=True)\n"
        f"def f(x):\n    {body}\n"
        "step = 0\n"
        "while True:\n    step += 1\n    f(torch.ones(2, 4 if step < 3 else 5))\n"
        "    time.sleep(0.01)\n"
    )
    facts = capture(tmp_path / "out", str(script), cache=cache)
    assert facts.state == "failed to compile"
    assert facts.eager_outcome is not None
    assert facts.eager_outcome.passed is passed
    error = facts.eager_outcome.error
    assert message in ("" if error is None else error.message)
    assert (error is None) is passed
    if not passed:
        assert 1 in {event.step for event in facts.script[0].compiles}


def test_a_script_that_fails_early_is_run_once(tmp_path: Path) -> None:
    script, ran = tmp_path / "early.py", tmp_path / "ran"
    script.write_text(
        f"open({str(ran)!r}, 'a').write('x')\nprint('no such file')\nraise SystemExit(2)\n"
    )
    with pytest.raises(CaptureFailed, match=r"(?s)status 2.*last printed.*no such file"):
        capture(tmp_path / "out", str(script))
    assert ran.read_text() == "x"


def test_a_module_is_run_by_its_launcher(tmp_path: Path) -> None:
    shown = "import sys; print(sys.argv); sys.exit(4)"
    with pytest.raises(CaptureFailed, match=r"(?s)status 4.*\['-c', '--steps', '3'\]"):
        capture(tmp_path, "python", "-c", shown, "--steps", "3")
    with pytest.raises(NotAllowed, match="may not be started from the web"):
        capture(tmp_path, "torchrun", "train.py", trusted=False)
    assert CaptureSpec(model="torchrun", args=("a/train.py", "--x")).title == "train.py"


def test_another_sitecustomize_is_still_imported(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('mine')\n")
    path = os.pathsep.join([str(STARTUP), str(tmp_path)])
    program = "import sys; print(sys.modules['sitecustomize'].__file__)"
    done = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | {"PYTHONPATH": path},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["mine", str(tmp_path / "sitecustomize.py")]


@dataclass
class Recorded:
    """A profiler that records what is asked of it."""

    asked: list[str] = field(default_factory=list)
    busy: int = 0
    """How many of the first profiles other processes disturb."""

    def disturbed(self) -> bool:
        self.busy -= 1
        return self.busy >= 0

    def start(self, steps: int) -> bool:
        self.asked.append(f"start {steps}")
        return True

    def step(self) -> None:
        self.asked.append("step")

    def stop(self, *, keep: bool) -> None:
        self.asked.append("keep" if keep else "drop")


def walk(
    plan: Plan, compiling: set[int], step_s: float = 1.0, busy: int = 0
) -> tuple[Steps[float], list[str]]:
    """Takes steps of equal length until everything is measured."""
    profiler, now = Recorded(busy=busy), 0.0
    steps: Steps[float] = Steps(plan, profiler, lambda: None)
    while not steps.done:
        steps.begin(now, now)
        steps.compiling = steps.step in compiling
        now += step_s
        steps.end(now, now)
    return steps, profiler.asked


def test_steady_steps_are_timed_profiled_and_timed_again() -> None:
    steps, asked = walk(Plan(seconds=6), {1})
    assert steps.kinds == [
        ("compiles", 1, 1), ("warm-up", 2, 2), ("timed", 3, 4), ("profiled", 5, 8),
        ("warm-up", 9, 9), ("timed", 10, 13),
    ]  # fmt: skip
    assert steps.samples() == [3, 4, 10, 11, 12, 13]
    assert asked == ["start 3", "step", "step", "step", "step", "keep"]


def test_a_disturbed_profile_is_made_once_more() -> None:
    for busy, profiles in ((0, 1), (1, 2), (5, 2)):
        steps, asked = walk(Plan(seconds=6), {1}, busy=busy)
        assert asked.count("keep") == profiles
        assert steps.profiled


def test_a_recompile_starts_again() -> None:
    steps, asked = walk(Plan(seconds=4), {1, 6})
    assert asked[:3] == ["start 3", "step", "drop"]
    assert asked[-1] == "keep"
    assert min(steps.samples()) > 6
    endless, _ = walk(Plan(seconds=4), set(range(1, 2000, 2)))
    assert sum(kind == "compiles" for kind, _, _ in endless.kinds) > MOST_RESTARTS


def test_processes_that_run_together_count_steps_and_not_seconds() -> None:
    fast, _ = walk(Plan(seconds=9, several=True), {1}, 0.001)
    slow, _ = walk(Plan(seconds=9, several=True), {1}, 9.0)
    assert fast.kinds == slow.kinds
    alone, _ = walk(Plan(seconds=9, several=True), {1, 6})
    assert alone.step == fast.step, "a rank that compiles alone profiles the steps of the others"
    assert ("compiles", 6, 6) in alone.kinds
    assert 6 not in alone.timed
    after, _ = walk(Plan(seconds=9, several=True, profile=False, after=7), {1})
    assert after.kinds[-1][0] == "not timed"
    assert after.kinds[-1][2] - after.kinds[-1][1] == 6


def test_ranks_become_one_capture_and_differences_are_named(tmp_path: Path) -> None:
    for pid, rank in ((7, 1), (9, 0)):
        folder = tmp_path / "processes" / str(pid)
        folder.mkdir(parents=True)
        CaptureFacts(state="complete", script=[ScriptSteps(rank, pid)]).write(folder)
        (folder / "compiled.trace.json.gz").write_text(str(rank))
    gathered = gather(tmp_path, CaptureSpec(model="torchrun"), "compiled")
    assert [steps.rank for steps in gathered.facts.script] == [0, 1]
    assert (tmp_path / "compiled.trace.json.gz").read_text() == "0"
    assert (tmp_path / "rank_1" / "compiled.trace.json.gz").read_text() == "1"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["compiled.trace.json.gz", "rank_1"]
    gathered.facts.script[0].inputs = ["float32[8]"]
    gathered.facts.script[0].optimizer = "Adam"
    eager = gather(tmp_path / "none", CaptureSpec(model="torchrun"), "eager")
    eager.facts.script = [ScriptSteps(inputs=["float32[4]"], optimizer="SGD")]
    add_eager(eager, tmp_path, gathered.facts)
    assert gathered.facts.differs == [
        "The optimizer is SGD in eager, Adam compiled.",
        "Only eager steps have the inputs float32[4].",
        "Only compiled steps have the inputs float32[8].",
    ]


def test_timed_steps_longer_than_profiled_ones_were_disturbed() -> None:
    steps: Steps[float] = Steps(Plan(1.0), Recorded(), lambda: None)
    steps.kinds = [("timed", 1, 2), ("profiled", 3, 4)]
    times = {1: 150.0, 2: 158.0, 3: 20.0, 4: 22.0}
    [said] = slowed([150.0, 158.0], steps.profiled_ones(times))
    assert said.startswith("A timed step took 154.0 ms, and a profiled one only 21.0 ms:")
    assert not slowed([30.0, 32.0], steps.profiled_ones(times))
    assert not slowed([30.0], [])


@pytest.mark.torch
def test_ctrl_c_keeps_what_was_recorded(tmp_path: Path) -> None:
    # A shell that starts the tests in the background makes them ignore Ctrl-C.
    command = ["env", "--default-signal=INT", sys.executable, "-m", "inductorscope", "capture"]
    # It is not measured before it is interrupted.
    command += [str(SCRIPT), "--no-eager", "--seconds", "60"]
    with subprocess.Popen(
        [*command, "--data", str(tmp_path), "--", "100000", "eager"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    ) as running:  # fmt: skip
        assert running.stdout is not None
        next(line for line in running.stdout if line.startswith("step 4 "))
        running.send_signal(signal.SIGINT)
        said = running.stdout.read()
    assert running.returncode == 130
    assert "Interrupted; what was recorded until then is kept." in said
    assert re.search(r"Run \w{16} read in .*: 4 graphs .* 1 log with", said)


def test_a_capture_that_is_ended_ends_its_script(tmp_path: Path) -> None:
    script = tmp_path / "sleeps.py"
    script.write_text("import os, time\nprint('PID', os.getpid(), flush=True)\ntime.sleep(20)\n")
    command = [sys.executable, "-m", "inductorscope", "capture", str(script)]
    with subprocess.Popen(
        [*command, "--data", str(tmp_path)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    ) as running:  # fmt: skip
        assert running.stdout is not None
        pid = next(line for line in running.stdout if "PID" in line).split()[-1]
        running.terminate()
        assert running.wait() == 143
    assert not Path("/proc", pid).exists()
