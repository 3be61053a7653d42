"""Saved tensors of Inductor's printer, in the form that the printer prints."""

import importlib.util
import json
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from inductorscope.formats.printed.intermediate_values import saved_value
from inductorscope.formats.sizes import MIB
from inductorscope.formats.vocabulary import INTERMEDIATE_VALUES
from inductorscope.intake.files import File
from inductorscope.processes.programs import needed_variables, program
from inductorscope.reading.notes import Notes
from inductorscope.reading.profiles.tensors_child import ASKED, FOUND, REFUSED
from inductorscope.reading.texts import count_lines
from inductorscope.store.contents.content import content_of_bytes
from inductorscope.store.runs.draft import ArtifactDraft, artifact_of
from inductorscope.units import by_number

PATH = "values of saved tensors.txt"
ROLE = INTERMEDIATE_VALUES
SECONDS = 120
MOST_FILES = 5_000
MOST_BYTES = 512 * MIB
"""Most bytes of one file."""


def read_saved(files: Sequence[File], notes: Notes) -> list[ArtifactDraft]:
    """Returns a text with every saved value, if there are any and torch is installed."""
    saved = [
        (file, value) for file in files
        if file.role == ROLE and (value := saved_value(file.path.rpartition("/")[2])) is not None
    ]  # fmt: skip
    if not saved:
        return []
    first = saved[0][0].path
    if importlib.util.find_spec("torch") is None:
        notes.add(first, "saved tensors are not read, since torch is not installed here")
        return []
    fit = [pair for pair in saved if pair[0].size <= MOST_BYTES][:MOST_FILES]
    if len(fit) < len(saved):
        notes.add(first, f"{len(saved) - len(fit):,} saved tensors are too large, or too many")
    # Files do not record the order of launches: sort kernels by name, their numbers as numbers.
    fit.sort(key=lambda pair: (by_number(pair[1][1]), pair[1][0] != "before_launch", pair[1][2]))
    plain = _printed([[str(file.absolute), *value] for file, value in fit], first, notes)
    if not plain:
        return []
    content = content_of_bytes(plain)
    return [artifact_of(ROLE, PATH, content, count_lines(plain), derived=True)]


def _printed(asked: list[list[str]], first: str, notes: Notes) -> bytes:
    with tempfile.TemporaryDirectory(prefix="inductorscope-tensors-") as scratch:
        folder = Path(scratch)
        (folder / ASKED).write_text(json.dumps(asked), "utf-8")
        command = program("inductorscope.reading.profiles.tensors_child", str(folder))
        try:
            ended = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, env=needed_variables(), timeout=SECONDS,
                check=False,
            ).returncode  # fmt: skip
        except subprocess.TimeoutExpired:
            notes.add(first, f"reading saved tensors took longer than {SECONDS} s and was stopped")
            ended = 0
        if ended:
            notes.add(first, f"the process that reads saved tensors ended with status {ended}")
        if (folder / REFUSED).is_file():
            for path, reason in json.loads((folder / REFUSED).read_text("utf-8")).items():
                notes.add(Path(path).name, f"the tensor is not read: {reason}")
        found = folder / FOUND
        return found.read_bytes() if found.is_file() else b""
