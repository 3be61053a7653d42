"""Data flows one way, and so do imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
INGEST = ROOT / "ingest" / "inductorscope"

# What each package may import of ours, besides itself, the settings and what begins and ends
# processes and hands out memory.
MAY = {
    "formats": set(),
    "correlate": {"formats"},
    "analyze": {"formats", "correlate"},
    "intake": {"formats"},
    "store": {"correlate", "analyze", "stages"},
    "reading": {"formats", "correlate", "analyze", "intake", "store", "stages"},
    "answers": {"formats", "correlate", "analyze", "store", "stages"},
    "capture": {"formats", "analyze"},
    "jobs": {"formats", "correlate", "analyze", "intake", "reading", "store", "answers", "capture"},
}


def imported(file: Path) -> Iterator[str]:
    """Packages of ours that a file imports, also where only a type checker does."""
    package = file.relative_to(INGEST.parent).with_suffix("").parts
    for node in ast.walk(ast.parse(file.read_text())):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level]) if node.level else ""
            names = [f"{base}.{node.module or ''}".strip(".")]
            if names[0] == "inductorscope":
                names = [f"inductorscope.{alias.name}" for alias in node.names]
        for name in names:
            parts = name.split(".")
            if parts[0] == "inductorscope" and len(parts) > 1:
                yield parts[1]
            elif parts[0] == "inductorscope_server":
                yield "inductorscope_server"


@pytest.mark.parametrize("package", MAY)
def test_no_import_goes_against_the_arrow(package: str) -> None:
    allowed = MAY[package] | {
        package,
        "settings",
        "processes",
        "__version__",
    }
    wrong = [
        f"{file.relative_to(ROOT)} imports {name}"
        for file in sorted((INGEST / package).rglob("*.py"))
        for name in imported(file)
        if name not in allowed
    ]
    assert not wrong


def test_the_check_sees_imports() -> None:
    assert set(imported(INGEST / "cli" / "local.py")) >= {"intake", "reading", "store", "settings"}
    assert "formats" in set(imported(INGEST / "reading" / "graphs" / "content.py"))
