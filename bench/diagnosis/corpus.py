"""The planted programs, and the second form of each with its fix applied.

A corpus is a folder with `corpus.toml`, `programs/`, and what `measure.py` and a judge wrote.
"""

import json
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent


class Edit(NamedTuple):
    old: str
    new: str


class Program(NamedTuple):
    name: str
    device: str
    cause: str
    """The kind of cause, a word of this corpus, or `none` for a healthy program."""
    truth: str
    lines: tuple[int, ...] = ()
    fix: str = ""
    edits: tuple[Edit, ...] = ()


def read_programs(folder: Path) -> list[Program]:
    table = tomllib.loads((folder / "corpus.toml").read_text())
    return [
        Program(**{**entry, "edits": tuple(Edit(**edit) for edit in entry.get("edits", ()))})
        for entry in table["program"]
    ]


def forms(folder: Path, program: Program) -> dict[str, str]:
    """The text of the program as planted and, unless it is healthy, as fixed."""
    planted = (folder / "programs" / f"{program.name}.py").read_text()
    if not program.edits:
        return {"planted": planted}
    fixed = planted
    for edit in program.edits:
        if fixed.count(edit.old) != 1:
            raise ValueError(f"{program.name}: {edit.old!r} occurs {fixed.count(edit.old)} times")
        fixed = fixed.replace(edit.old, edit.new)
    return {"planted": planted, "fixed": fixed}


def read_json(path: Path) -> dict[str, Any]:
    """What a tool wrote earlier; nothing where it wrote nothing yet."""
    table: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return table


def write_json(path: Path, table: dict[str, Any]) -> None:
    path.write_text(json.dumps(dict(sorted(table.items())), indent=1) + "\n")
