"""Captures a program for a command that needs its run."""

from collections.abc import Sequence
from pathlib import Path

from inductorscope.capturing.spec import CaptureSpec
from inductorscope.cli.app import fail
from inductorscope.cli.local import read_paths, working_folder
from inductorscope.cli.progress import Progress
from inductorscope.errors import FAILED
from inductorscope.reading.graphs.apart import cores
from inductorscope.settings import Settings

SECONDS = 2.0
"""Seconds for which its steps are timed: the command times them anew."""


def captured(settings: Settings, model: str, args: Sequence[str], progress: Progress) -> str:
    """Captures a program without its eager part, and returns its run. Exits if it does not run."""
    from inductorscope.capturing.run import run_capture

    file, *factory = model.split(":")
    if Path(file).is_file():
        model = ":".join([str(Path(file).absolute()), *factory])  # to try it from any folder
    spec = CaptureSpec(model=model, args=tuple(args), eager=False, seconds=SECONDS)
    with working_folder(settings) as out:
        facts = run_capture(spec, out, settings, progress, trusted=True)
        if facts.state != "complete":
            why = facts.error.message if facts.error else ""
            fail(f"{model} {facts.state}: {why}", FAILED)
        return read_paths(
            settings, [out], name=spec.title, tags=[], origin="capture", progress=progress,
            workers=cores(),
        ).run_id  # fmt: skip
