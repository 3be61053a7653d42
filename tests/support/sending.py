"""Uploads as people send them: real debug folders, each a little different, in small pieces."""

import random
import shutil
import time
from pathlib import Path

import inductorscope.cli.client
import pytest
from inductorscope.cli.client import Client, Pushed
from inductorscope.jobs.uploads.client import UploadsClient

PADDING = 1_500_000
PIECE = 64 * 1024


def append(uploads: UploadsClient, upload: str, index: int, offset: int, data: bytes) -> int:
    """Appends bytes to a file of an upload, and returns the new offset."""
    with uploads.open_file(upload, index, offset) as file:
        file.write(data)
        file.flush()
        return file.offset


def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that an upload takes many requests, and a death finds one under way.

    With more patience: on a busy machine a web process that dies all the time is rarely there.
    """
    monkeypatch.setattr(inductorscope.cli.client, "CHUNK", PIECE)
    monkeypatch.setattr(inductorscope.cli.client, "PATIENCE_SECONDS", 180.0)


def variant(source: Path, into: Path, number: int, padding: int = PADDING) -> Path:
    """A copy of a real debug folder with a file more, which makes its content another."""
    folder = into / f"run-{number}"
    shutil.copytree(source, folder)
    noise = random.Random(number).randbytes(padding // 2).hex()
    (folder / f"extra-{number}.txt").write_text(noise)
    return folder


def push(url: str, folder: Path, pause: float = 0.0) -> Pushed:
    """Sends a folder, resuming whenever the server was away, and waits for its job."""
    return Client(url).push([folder], folder.name, ["load"], lambda *_: time.sleep(pause))
