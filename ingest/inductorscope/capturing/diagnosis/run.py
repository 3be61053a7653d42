"""Runs diagnoses of a captured program in a child process. Torch-free.

The diagnoses themselves are in `inside/diagnose/`, one module per kind, imported only in the child.
"""

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from inductorscope.capturing.permission import model_folders, permit
from inductorscope.capturing.spec import CaptureSpec
from inductorscope.capturing.watch import (
    CaptureFailed,
    Limits,
    LogCallback,
    PartialCallback,
    Watch,
    last_lines,
)
from inductorscope.processes.dying import how_it_ended
from inductorscope.processes.programs import needed_variables
from inductorscope.progress import Progress
from inductorscope.settings import Settings

KINDS = {
    "components": "Search for the failing component",
    "numbers": "Search for the first wrong number",
    "minify": "Search for the smallest failing program",
}
"""Kind → title of the job."""

REQUEST, RESULT, LOG = "request.json", "result.json", "diagnosis.log"


class DiagnosisError(msgspec.Struct):
    """Why the child produced no result; stored in `result.json` under `error`."""

    kind: str
    message: str


@dataclass(frozen=True)
class DiagnosisRequest:
    """A requested diagnosis of a capture."""

    kind: str
    spec: CaptureSpec
    """The spec of the capture: the same model, inputs, device and configuration."""
    options: dict[str, Any] = field(default_factory=dict)
    """Options of this kind of diagnosis, which checks them."""


def run_diagnosis(
    request: DiagnosisRequest,
    folder: Path,
    settings: Settings,
    progress: Progress | None = None,
    log: LogCallback | None = None,
    partial: PartialCallback | None = None,
) -> dict[str, Any]:
    """Returns the result of the diagnosis. Raises SpecError, and CaptureFailed with a sentence.

    The child works in `folder`, which may already contain its files (saved tensors).
    """
    loading = permit(request.spec, model_folders(settings.model_folders), trusted=False)
    limits = Limits(settings.capture_seconds, settings.capture_bytes)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / REQUEST).write_bytes(
        msgspec.json.encode(
            {"kind": request.kind, "spec": request.spec.to_builtins(), "options": request.options}
        )
    )
    watch = Watch(KINDS[request.kind].lower(), limits, progress, log, partial=partial)
    command = [sys.executable, "-m", "inductorscope.capturing.diagnosis.child", str(folder)]
    command += ["--loading", msgspec.json.encode(loading).decode()]
    command += ["--report", str(watch.write_end), "--memory", str(limits.memory)]
    command += ["--parent", str(os.getpid())]
    status = watch.run(command, folder / LOG, needed_variables())
    return _outcome(folder, KINDS[request.kind].lower(), status)


def _outcome(folder: Path, what: str, status: int) -> dict[str, Any]:
    try:
        result = msgspec.json.decode((folder / RESULT).read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.DecodeError):
        ended = f"{how_it_ended(status)}.{last_lines(folder / LOG)}"
        raise CaptureFailed(f"The process of the {what} {ended}") from None
    if "error" in result:
        error = msgspec.convert(result["error"], DiagnosisError)
        named = "" if error.kind.endswith("SpecError") else f"{error.kind}: "
        raise CaptureFailed(f"The {what} failed: {named}{error.message}")
    return result
