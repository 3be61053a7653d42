"""What begins first, and what stays together, names files that are there."""

import json
from pathlib import Path

import pytest

from tests.support import spreading
from tests.support.spreading import (
    LONGEST,
    SECONDS,
    TOGETHER,
    longest,
    place,
    unit,
    write_seconds,
)

HERE = Path(__file__).parent


def test_named_files_are_there_and_named_once() -> None:
    named = [file for files in TOGETHER for file in files]
    assert len(set(named)) == len(named)
    noted = json.loads(SECONDS.read_text())
    assert [file for file in {*named, *noted} if not (HERE / file).is_file()] == []


def test_seconds_of_files_are_those_of_their_tests(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(spreading, "SECONDS", tmp_path / "seconds.json")
    where, files = ("", 1, ""), ("jobs/test_worker.py", "jobs/test_worker.py", "test_cli.py")
    write_seconds(
        pytest.TestReport(f"tests/{file}::test", where, {}, "passed", None, "call", duration=7.0)
        for file in files
    )
    seconds = json.loads(spreading.SECONDS.read_text())
    assert seconds == {"jobs/test_worker.py": 14, "test_cli.py": 7}
    assert longest(seconds) == ["tests/jobs/test_worker.py"]


def test_a_unit_is_run_in_one_piece() -> None:
    """Were another unit's tests between its own, its servers would be started twice."""
    files = sorted(f"tests/{path.relative_to(HERE)}" for path in HERE.rglob("test_*.py"))
    units = [unit(f"{file}::test") for file in sorted(files, key=lambda file: place(file))]
    runs = [name for number, name in enumerate(units) if number == 0 or units[number - 1] != name]
    assert len(runs) == len(set(runs))
    assert runs[0] == LONGEST[0]
