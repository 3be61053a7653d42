"""Reads a folder that this program recorded, in a child process."""

import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import msgspec

from inductorscope.processes.programs import program
from inductorscope.settings import load


def read_folder(
    folder: Path, name: str, origin: str, *, server: str | None, data: str | Path | None
) -> tuple[str | None, str | None]:
    """Reads a folder; returns the run's id and address, and deletes the folder with its parent.

    If the folder cannot be read, it stays, and a warning says why.
    """
    arguments = [str(folder), "--name", name, "--json"]
    if server:
        command = ["push", *arguments, "--server", server]
    else:
        command = ["ingest", *arguments, "--data", str(load(data=data).data), "--origin", origin]
    done = subprocess.run(program("inductorscope", *command), capture_output=True, text=True)
    answer = _answer(done.stdout)
    run, url = answer.get("run"), answer.get("url")
    if done.returncode or url is None:
        why = answer.get("error", {}).get("what") or answer.get("message") or done.stderr
        warnings.warn(f"The recording is in {folder}, but was not read: {why}", stacklevel=3)
        return None, None
    shutil.rmtree(folder.parent, ignore_errors=True)
    print(f"Recorded {name}: {url} {answer.get('to_open', '')}".rstrip(), file=sys.stderr)
    return run, url


def _answer(text: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError:
        return {}
