"""Compiles a program's text and returns it as in a lock, with the seconds that it took."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from inductorscope.capturing.run import run_capture
from inductorscope.capturing.spec import from_builtins
from inductorscope.cli.contract import stored_program
from inductorscope.cli.local import read_paths
from inductorscope.contract.lock import Program
from inductorscope.progress import silent
from inductorscope.settings import Settings


def compile_text(
    text: str, options: dict[str, Any], folder: Path, cache: Path | None = None
) -> tuple[Program, float]:
    """`folder` receives the program; `cache`: compiled kernels that may be reused."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "model.py"
    file.write_text(text)
    with tempfile.TemporaryDirectory() as data:
        settings = Settings(data=Path(data) / "data", database_url="")
        spec = from_builtins(
            {"model": f"{file}:make", "measure": False, "record": False, **options}
        )
        started = time.perf_counter()
        out = Path(data) / "capture"
        facts = run_capture(spec, out, settings, trusted=True, cache=cache)
        assert facts.state == "complete", facts.error
        run = read_paths(
            settings, [out], name="model", tags=[], origin="capture", progress=silent
        ).run_id  # fmt: skip
        program, _ = stored_program(settings, run, "model.py:make", {})
        return program, time.perf_counter() - started
