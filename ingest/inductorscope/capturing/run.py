"""Runs a capture in a child process, within limits. Torch-free and blocking."""

import contextlib
import os
import signal
import subprocess
import tempfile
from pathlib import Path

import msgspec

from inductorscope.capturing import process_group
from inductorscope.capturing.launch import HERE, Launch
from inductorscope.capturing.permission import Loading, model_folders, permit
from inductorscope.capturing.script.run import NOTHING_RECORDED, capture_script, is_recorded
from inductorscope.capturing.spec import CaptureSpec
from inductorscope.capturing.watch import (
    CaptureFailed,
    CaptureInterrupted,
    Limits,
    LogCallback,
    Watch,
    last_lines,
)
from inductorscope.formats.capture_facts import INTERRUPTED, LOG, CaptureFacts, read_facts
from inductorscope.processes.dying import how_it_ended
from inductorscope.processes.programs import variables_for
from inductorscope.progress import Progress
from inductorscope.settings import Settings

TO_WRITE_S = 10.0
"""How long an interrupted capture may take to write what it has."""


def run_capture(
    spec: CaptureSpec,
    out: Path,
    settings: Settings,
    progress: Progress | None = None,
    *,
    log: LogCallback | None = None,
    trusted: bool = False,
    cache: Path | None = None,
    launch: Launch = HERE,
) -> CaptureFacts:
    """Captures into the folder `out` and returns the facts.

    A model that fails to compile is a result too: the facts' state says so, and `out` contains the
    files written so far. So is a script that fails after something was recorded. Raises SpecError
    for a model that is missing or not permitted, CaptureFailed for everything else; `out` then
    contains the log. `trusted` permits models outside the configured folders and options that could
    run commands or write anywhere (a user at the command line). `cache` keeps compiled kernels for
    the next capture, whose first call is then faster than a real compile.
    """
    folders = [*model_folders(settings.model_folders), *launch.folders]
    loading = permit(spec, folders, trusted)
    limits = Limits(settings.capture_seconds, settings.capture_bytes)
    out.mkdir(parents=True, exist_ok=True)
    watch = Watch("capture", limits, progress, log)
    try:
        if spec.kind == "script":
            return capture_script(spec, loading, out, watch, cache, launch)
        with tempfile.TemporaryDirectory(prefix="inductorscope-capture-") as scratch:
            process = _start(spec, loading, out, limits, Path(scratch), cache, watch, launch)
            try:
                watch.follow(process)
            except KeyboardInterrupt:
                return _interrupted(process, out, spec)
            finally:
                process_group.end_group(process)
    finally:
        watch.close()
    return _outcome(out, process.returncode)


def _interrupted(process: subprocess.Popen[bytes], out: Path, spec: CaptureSpec) -> CaptureFacts:
    """Lets the child write its facts. Raises CaptureInterrupted if nothing was recorded."""
    process.send_signal(signal.SIGINT)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(TO_WRITE_S)
    facts = read_facts(out) or CaptureFacts(name=spec.title, model=spec.model)
    facts.state, facts.error = "failed", INTERRUPTED
    if not is_recorded(out, facts):
        raise CaptureInterrupted(NOTHING_RECORDED)
    facts.write(out)
    return facts


def _start(
    spec: CaptureSpec,
    loading: Loading,
    out: Path,
    limits: Limits,
    scratch: Path,
    cache: Path | None,
    watch: Watch,
    launch: Launch,
) -> subprocess.Popen[bytes]:
    """Starts the child as the leader of a new process group."""
    own = variables_for(loading.trusted)
    spec_file = scratch / "spec.json"
    spec_file.write_bytes(spec.to_json())
    command = [launch.python, "-m", "inductorscope.capturing.child", str(spec_file), str(out)]
    command += ["--brief"] if launch.brief else []
    command += ["--loading", msgspec.json.encode(loading).decode()]
    command += ["--report", str(watch.write_end), "--memory", str(limits.memory)]
    command += ["--parent", str(os.getpid())]
    # A separate cache makes sure that compiling happens; only torch's precompiled C++ headers and
    # its list of working vector instructions are shared with other programs.
    command += ["--cache", str(cache or scratch / "cache")]
    command += ["--reuse"] if cache is not None else []
    return watch.start(command, out / LOG, launch.variables(own))


def _outcome(out: Path, status: int) -> CaptureFacts:
    """Returns the facts that the child wrote. Raises CaptureFailed if there are none."""
    facts = read_facts(out)
    if facts is not None and facts.state != "failed":
        return facts
    if facts is not None and facts.error is not None:
        kind, message = facts.error.kind, facts.error.message
        if kind.endswith(("SpecError", "NotAllowed")):
            raise CaptureFailed(message)
        if message == "No module named 'torch'":
            raise CaptureFailed("Captures need torch: pip install 'inductorscope[capture]'.")
        raise CaptureFailed(f"The model failed with {kind}: {message or 'no message'}")
    ended = f"{how_it_ended(status)}.{last_lines(out / LOG)}"
    raise CaptureFailed(f"The capture's process {ended}")
