"""Copies the user's source files that stack frames name. Torch-free."""

import json
import re
import shutil
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from inductorscope.capturing.inside.environment import DEBUG_FOLDER, TRACE_FOLDER
from inductorscope.formats.capture_facts import SOURCES, SourceFiles
from inductorscope.formats.sizes import MIB

LARGEST_FILE = 4 * MIB
MOST_FILES = 500
LEFT_OUT = "Source files: they were left out on request."

# A comment: "# File: /home/u/model.py:31 in forward, code: h = self.n1(x)"
_FRAME = re.compile(r"# File: (?P<path>.+?):\d+ in ")
# A record: 'V1121 … torch/_logging/structured.py:28] {"str": ["/home/u/model.py", 3]}'
_INTERNED = re.compile(r'\] (?P<record>\{"str": \[.*\]\})\s*$')

_OURS = Path(__file__).resolve().parents[2]
_OUR_MODELS = _OURS / "capturing" / "models"


def keep_sources(out: Path, certain: Iterable[str]) -> list[str]:
    """Copies the user's files that the run names to `sources/`; returns their original paths.

    `certain` are files that belong to the run even if no frame names them: the script, or the file
    of the factory.
    """
    kept = SourceFiles()
    for path in sorted({*certain, *_named(out)}):
        if len(kept.files) >= MOST_FILES:
            break
        if not is_users(path):
            continue
        copy = f"sources/{len(kept.files)}/{Path(path).name}"
        (out / copy).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, out / copy)
        kept.files[path] = copy
    (out / SOURCES).write_bytes(msgspec.json.encode(kept))
    return list(kept.files)


def is_users(path: str) -> bool:
    """Whether a file is the user's, not part of Python, an installed package or Inductorscope."""
    file = Path(path)
    if file.suffix != ".py" or not file.is_absolute():
        return False
    try:
        if not file.is_file() or file.stat().st_size > LARGEST_FILE:
            return False
        real = file.resolve()
    except OSError:
        return False
    if real.is_relative_to(_OUR_MODELS):
        return True
    if real.is_relative_to(_OURS):
        return False
    installed = {"site-packages", "dist-packages"}
    if installed & {*file.parts, *real.parts}:
        return False
    return not any(real.is_relative_to(folder) for folder in _python_folders())


def _python_folders() -> list[Path]:
    folders = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib")]
    torch = sys.modules.get("torch")
    if torch is not None and torch.__file__:
        folders.append(str(Path(torch.__file__).parent))
    return [Path(folder).resolve() for folder in folders if folder]


def _named(out: Path) -> Iterator[str]:
    graphs, logs = (out / DEBUG_FOLDER).glob("**/fx_graph_*.py"), (out / TRACE_FOLDER).glob("*.log")
    for file in (*graphs, *logs):
        with file.open(encoding="utf-8", errors="replace", newline="\n") as lines:
            for line in lines:
                if not line.startswith("\t") and (interned := _INTERNED.search(line)):
                    yield from _interned_path(interned["record"])
                elif frame := _FRAME.search(line):
                    yield frame["path"]


def _interned_path(record: str) -> Iterator[str]:
    try:
        path, _ = json.loads(record)["str"]
    except (ValueError, TypeError, KeyError):  # a line that only looks like a record
        return
    if isinstance(path, str):
        yield path
