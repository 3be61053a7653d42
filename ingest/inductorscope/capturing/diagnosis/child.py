"""The process that diagnoses a program: `python -m inductorscope.capturing.diagnosis.child FOLDER`.

As in `capture.child`, torch is imported only after its environment is set.
"""

import argparse
import importlib
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from inductorscope.capturing.diagnosis.run import KINDS, REQUEST, RESULT, DiagnosisError
from inductorscope.capturing.inside import environment
from inductorscope.capturing.inside.leaving import leave
from inductorscope.capturing.inside.report import Reporter
from inductorscope.capturing.permission import Loading
from inductorscope.capturing.spec import CaptureSpec, from_builtins
from inductorscope.processes.dying import die_with
from inductorscope.processes.importing import without_collection


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m inductorscope.capturing.diagnosis.child")
    parser.add_argument("folder", type=Path, help="folder of the request and the result")
    parser.add_argument("--loading", required=True, help="what is permitted, as JSON")
    parser.add_argument("--report", type=int, help="file descriptor for progress lines")
    parser.add_argument("--memory", type=int, help="memory limit in bytes")
    parser.add_argument("--parent", type=int, help="process to die with")
    parsed = parser.parse_args(arguments)
    die_with(parsed.parent)
    environment.forget_settings()
    folder: Path = parsed.folder.absolute()
    request = msgspec.json.decode((folder / REQUEST).read_bytes())
    assert request["kind"] in KINDS
    spec = from_builtins(request["spec"])
    environment.prepare(spec, folder / "torch", folder / "cache", reuse_cache=False)
    loading = msgspec.json.decode(parsed.loading, type=Loading)
    reporter = Reporter(parsed.report)
    reporter.progress("Importing torch")
    try:
        result = _diagnose(
            request["kind"], spec, loading, request["options"], folder, reporter, parsed
        )
    except Exception as error:  # noqa: BLE001  # the model is a user's code and may raise anything
        traceback.print_exc()
        kind = type(error).__name__
        result = {"error": msgspec.to_builtins(DiagnosisError(kind, str(error)[:20_000]))}
    part = folder / f".{RESULT}.part"
    part.write_bytes(msgspec.json.encode(result))
    part.replace(folder / RESULT)
    return 1 if "error" in result else 0


def _diagnose(
    kind: str,
    spec: CaptureSpec,
    loading: Loading,
    options: dict[str, Any],
    folder: Path,
    reporter: Reporter,
    parsed: argparse.Namespace,
) -> dict[str, Any]:
    """Calls the function `diagnose` of a module in `inside/diagnose/`."""
    with without_collection():
        from inductorscope.capturing.inside.instructions import try_instructions
        from inductorscope.capturing.inside.options import apply_options
    apply_options(spec, trusted=loading.trusted)
    try_instructions(spec.device)
    environment.limit_memory(parsed.memory, spec.device)
    with without_collection():
        module = importlib.import_module(f"inductorscope.capturing.inside.diagnose.{kind}.{kind}")
    result: dict[str, Any] = module.diagnose(spec, loading, options, folder, reporter)
    return result


if __name__ == "__main__":
    leave(main())
