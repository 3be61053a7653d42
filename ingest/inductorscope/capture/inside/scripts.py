"""Runs a user's script like `python script.py`, in the capture's environment."""

from __future__ import annotations

import runpy
import sys
import time
from pathlib import Path

from inductorscope.capture.inside.explaining import times_so_far
from inductorscope.capture.inside.profiling import profile_whole
from inductorscope.capture.permission import Loading
from inductorscope.capture.spec import CaptureSpec
from inductorscope.formats.capture_facts import COMPILED, CaptureFacts


class ScriptFailed(Exception):
    """The script ended with a nonzero exit status."""


def run_script(spec: CaptureSpec, loading: Loading, facts: CaptureFacts, out: Path) -> None:
    """Runs the script and records which facts a script cannot provide."""
    import torch

    file = str(loading.file)
    sys.argv = [file, *spec.args]
    sys.path[0:1] = loading.paths
    facts.missing.append(
        "Eager and compiled times: the steps of a script are unknown, so they were not repeated "
        "and timed."
    )
    device = "cuda" if torch.cuda.is_available() else "cpu"
    start = time.perf_counter()
    if spec.profiles:
        facts.profiles[COMPILED] = profile_whole(COMPILED, lambda: _run(file), device, out)
        facts.missing.append("The profile covers the whole script, compiling included.")
    else:
        facts.missing.append("Kernel times: scripts are profiled only on request.")
        _run(file)
    facts.first_call_s = time.perf_counter() - start
    facts.compile_times = times_so_far()
    facts.missing.append("torch._dynamo.explain: it reruns one function, and a script names none.")


def _run(file: str) -> None:
    try:
        runpy.run_path(file, run_name="__main__")
    except SystemExit as leaving:
        if leaving.code not in (None, 0):
            raise ScriptFailed(f"The script ended with exit status {leaving.code}.") from None
