"""Runs a script in its own process, follows it, and gathers its records. Torch-free.

The script runs once unchanged, and once more without torch.compile. Each run is ended when its
steps are measured, unless it should run to its end.
"""

import contextlib
import os
import subprocess
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from inductorscope.capturing import process_group
from inductorscope.capturing.inside import environment, sources
from inductorscope.capturing.inside.compiled import keep_compiled
from inductorscope.capturing.launch import HERE, Launch
from inductorscope.capturing.permission import Loading
from inductorscope.capturing.script.gather import Gathered, add_eager, gather
from inductorscope.capturing.script.order import STOP, Order, statuses
from inductorscope.capturing.script.steps import COMPILES, PROFILED
from inductorscope.capturing.spec import LAUNCHERS, CaptureSpec
from inductorscope.capturing.watch import CaptureFailed, CaptureInterrupted, Watch, last_lines
from inductorscope.formats.capture_facts import (
    COMPILED,
    EAGER,
    INTERRUPTED,
    LOG,
    NO_STEPS,
    CaptureError,
    CaptureFacts,
    EagerOutcome,
    PeakFacts,
    ScriptSteps,
)
from inductorscope.processes.dying import how_it_ended
from inductorscope.processes.programs import program, variables_for

STARTUP = Path(__file__).with_name("startup")
LOOK_S = 0.5
CHECK_S = 2.0
"""Seconds between two checks of all processes. A check takes some milliseconds from the script."""
EAGER_S = 60
"""Longest run without torch.compile, unless it was requested."""
OTHERS_S = 60.0
"""How long the last process may take after the first one is measured."""
WAITING_S = 10.0
"""How long processes may take to reach the end of their step."""
PEAKS_S = 120
SHOWN_STEP = "running the script"
NOTHING_RECORDED = "The capture was interrupted with Ctrl-C before anything was recorded."


@dataclass(frozen=True)
class Running:
    """How to run a script."""

    spec: CaptureSpec
    loading: Loading
    out: Path
    watch: Watch
    label: str
    cache: Path
    reuse_cache: bool = False
    first: int = 0
    """The first step that may be timed."""
    launch: Launch = HERE

    @property
    def full(self) -> bool:
        """Whether the script runs to its end."""
        return self.spec.full and self.label == COMPILED

    @property
    def command(self) -> list[str]:
        spec = self.spec
        python = self.launch.python
        if spec.model in LAUNCHERS:
            return [python, *LAUNCHERS[spec.model], *spec.args]
        file = Path(spec.model).expanduser()
        known = self.loading.trusted and file.is_file()
        return [python, str(file if known else self.loading.file), *spec.args]

    @property
    def variables(self) -> dict[str, str]:
        trusted = self.loading.trusted
        order = Order(self.spec, str(self.out), self.label, trusted, os.getpid(), first=self.first)
        own = self.launch.variables(variables_for(trusted))
        path = os.pathsep.join([str(STARTUP), *filter(None, [own.get("PYTHONPATH")])])
        own |= {"PYTHONPATH": path} | order.variables()
        if self.label == COMPILED:
            own |= environment.variables(self.spec, self.out, self.cache, self.reuse_cache)
        return own


def capture_script(
    spec: CaptureSpec,
    loading: Loading,
    out: Path,
    watch: Watch,
    cache: Path | None,
    launch: Launch = HERE,
) -> CaptureFacts:
    """Captures a script into `out`, and writes and returns the facts.

    A script that fails after something was recorded is a result: its state says so. Raises
    CaptureFailed if nothing was recorded.
    """
    (out / environment.TRACE_FOLDER).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="inductorscope-capture-") as scratch:
        running = Running(
            spec=spec, loading=loading, out=out, watch=watch, label=COMPILED,
            cache=cache or Path(scratch) / "cache", reuse_cache=cache is not None, launch=launch,
        )  # fmt: skip
        interrupted = False
        try:
            failure = _run(running, shown=loading.trusted)
        except KeyboardInterrupt:
            failure, interrupted = INTERRUPTED.message, True
        facts = gather(out, spec, COMPILED).facts
        keep_compiled(running.cache, out)
        _judge(facts, failure, out, interrupted=interrupted)
        if facts.error is not None:
            watch.log(facts.error.message)
        if not any(process.compiles for process in facts.script) and facts.state == "complete":
            facts.missing.append("Eager: nothing was compiled, so there is nothing to compare.")
        elif spec.eager is not False and facts.script and not interrupted:
            eager = replace(running, out=Path(scratch) / EAGER, label=EAGER)
            try:
                if facts.state == "complete":
                    eager = replace(eager, first=_first_steady(facts.script[0]))
                    gathered, why, _ = _run_eager(eager)
                    if why is not None:
                        facts.missing.append(f"Eager: {why}{last_lines(eager.out / LOG)}")
                    add_eager(gathered, out, facts)
                elif not spec.full:
                    facts.eager_outcome = _eager_outcome(eager, facts.script[0].count)
            except KeyboardInterrupt:
                facts.missing.append(f"Eager: {INTERRUPTED.message}")
                interrupted = True
    if interrupted:
        facts.error = INTERRUPTED
    if facts.profiles and not interrupted and not launch.brief:
        watch.progress("measuring the machine's peaks", 0, None, None)
        facts.peaks = _peaks(facts.device, loading.trusted)
    if spec.source:
        watch.progress("collecting sources", 0, None, None)
        facts.sources = sources.keep_sources(out, [loading.file] if loading.file else [])
    else:
        facts.missing.append(sources.LEFT_OUT)
    facts.write(out)
    return facts


def _run(running: Running, *, shown: bool) -> str | None:
    """Runs the script until it ends or is measured. Returns why it failed, as a sentence."""
    running.out.mkdir(parents=True, exist_ok=True)
    log = running.out / LOG
    process = running.watch.start(running.command, log, running.variables)
    try:
        ended = _follow(running, process, log if shown else None)
    except CaptureFailed as failed:
        return str(failed)
    finally:
        process_group.end_group(process)
    if ended or process.returncode == 0:
        return None
    return f"The script {how_it_ended(process.returncode)}."


def _follow(running: Running, process: subprocess.Popen[bytes], log: Path | None) -> bool:
    """Waits for the script; returns whether everything is measured, so that it can be ended."""
    watch, out = running.watch, running.out
    label = SHOWN_STEP if running.label == COMPILED else f"{SHOWN_STEP} without torch.compile"
    deadline = time.monotonic() + watch.limits.seconds
    checked, measured_at, read = 0.0, None, 0
    watch.progress(label, 0, None, None)
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(LOOK_S)
        if log is not None:
            read = _show(log, read, watch, whole=process.returncode is not None)
        if process.returncode is not None:
            return False
        now = time.monotonic()
        if now - checked >= CHECK_S:
            watch.check(process.pid, deadline)
            checked = now
        reports = [status for status in statuses(out) if not status.ended]
        if reports:
            watch.progress(f"{label}: {reports[0].doing}", 0, None, None)
        measured = [report for report in reports if report.measured]
        if running.full or not measured:
            continue
        measured_at = measured_at or now
        expected = max(report.processes for report in reports)
        if len(measured) >= max(expected, len(reports)) or now - measured_at > OTHERS_S:
            _let_wait(out, process)
            return process.poll() is None


def _let_wait(out: Path, process: subprocess.Popen[bytes]) -> None:
    """Asks the processes to wait at the end of their steps, so that no file is half-written when
    they are ended."""
    (out / STOP).touch()
    deadline = time.monotonic() + WAITING_S
    while time.monotonic() < deadline and process.poll() is None:
        if all(status.waiting or status.ended for status in statuses(out)):
            return
        time.sleep(LOOK_S / 10)


def _show(log: Path, read: int, watch: Watch, *, whole: bool) -> int:
    """Shows the lines that the script has printed since `read`; returns the new position."""
    with log.open("rb") as stream:
        stream.seek(read)
        text = stream.read()
    end = len(text) if whole else text.rfind(b"\n") + 1
    for line in text[:end].decode(errors="replace").splitlines():
        watch.log(line)
    return read + end


def _judge(
    facts: CaptureFacts, failure: str | None, out: Path, *, interrupted: bool = False
) -> None:
    """Sets the state. Raises CaptureFailed if the script failed and nothing was recorded."""
    if facts.error is not None and facts.error.kind.endswith(("SpecError", "NotAllowed")):
        raise CaptureFailed(facts.error.message)
    if failure is None:
        facts.state = "complete"
        return
    if NO_STEPS in facts.missing:
        facts.missing.remove(NO_STEPS)  # it may not have come so far
    if facts.state != "failed to compile":
        facts.state = "failed"
        facts.error = facts.error or CaptureError("", failure)
    if not is_recorded(out, facts):
        if interrupted:
            raise CaptureInterrupted(NOTHING_RECORDED)
        raise CaptureFailed(failure + last_lines(out / LOG))


def is_recorded(out: Path, facts: CaptureFacts) -> bool:
    """Whether there is anything to read of a capture that did not reach its end."""
    folder = out / environment.TRACE_FOLDER
    records = folder.is_dir() and any(folder.iterdir())
    return records or bool(facts.timings or facts.profiles)


def _first_steady(steps: ScriptSteps) -> int:
    """Returns the step from which the compiled script was steady. Eager times the same steps,
    because inputs may differ between steps."""
    profiled = max((first for kind, first, _ in steps.kinds if kind == PROFILED), default=0)
    compiles = [last for kind, _, last in steps.kinds if kind == COMPILES and last < profiled]
    return compiles[-1] + 2 if compiles else 0


def _run_eager(running: Running) -> tuple[Gathered, str | None, bool]:
    """Runs the script without torch.compile. Returns its records, why it failed, as a sentence, and
    whether the time limit stopped it."""
    limits = running.watch.limits
    if not running.spec.eager:
        limits = replace(limits, seconds=min(EAGER_S, limits.seconds))
    old = running.watch
    watch = Watch("eager run", limits, old.progress, old.log)
    try:
        failure = _run(replace(running, watch=watch), shown=False)
    finally:
        watch.close()
    stopped = failure is not None and "time limit" in failure
    if stopped and not running.spec.eager:
        failure = f"It was stopped after {limits.seconds} s; --eager lets it take longer."
    return gather(running.out, running.spec, EAGER), failure, stopped


def _eager_outcome(running: Running, steps: int) -> EagerOutcome:
    """Runs a script that failed after some whole steps without torch.compile, until it is past
    them."""
    spec = msgspec.structs.replace(running.spec, seconds=0.01, profile=False)
    eager, failure, stopped = _run_eager(replace(running, spec=spec, first=steps + 2))
    if failure is None or stopped:
        return EagerOutcome(passed=failure is None, unknown=failure or "")
    return EagerOutcome(error=eager.facts.error or CaptureError("", failure))


def _peaks(device: str, trusted: bool) -> PeakFacts | None:
    """Measures the machine after the script has ended."""
    command = program("inductorscope.capturing.script.peaks", device)
    try:
        done = subprocess.run(
            command, env=variables_for(trusted), capture_output=True, timeout=PEAKS_S, check=True
        )
        return msgspec.json.decode(done.stdout, type=PeakFacts)
    except (subprocess.SubprocessError, msgspec.DecodeError):
        return None
