"""Runs of captures that were made before: a folder of one, read as this installation's own."""

import json
import shutil
from pathlib import Path

from inductorscope.cli.local import read_paths
from inductorscope.settings import Settings


def captured_run(settings: Settings, capture: Path, into: Path, model: str) -> str:
    """The run of a capture, as if it had asked for `model`: what diagnoses run."""
    folder = into / Path(model.rpartition(":")[2]).stem
    shutil.copytree(capture, folder)
    facts = json.loads((folder / "capture.json").read_text())
    facts |= {"name": folder.name, "options": {"model": model}}
    (folder / "capture.json").write_text(json.dumps(facts))
    return read_paths(
        settings, [folder], name=folder.name, tags=[], origin="capture", progress=lambda *_: None
    ).run_id
