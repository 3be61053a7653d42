"""What begins first, and what stays together, names files that are there."""

from pathlib import Path

from tests.support.spreading import LONGEST, TOGETHER, place, unit

HERE = Path(__file__).parent


def test_named_files_are_there_and_named_once() -> None:
    named = [file for files in TOGETHER for file in files]
    assert len(set(named)) == len(named)
    assert len(set(LONGEST)) == len(LONGEST)
    assert [file for file in {*named, *LONGEST} if not (HERE / file).is_file()] == []


def test_a_unit_is_run_in_one_piece() -> None:
    """Were another unit's tests between its own, its servers would be started twice."""
    files = sorted(f"tests/{path.relative_to(HERE)}" for path in HERE.rglob("test_*.py"))
    units = [unit(f"{file}::test") for file in sorted(files, key=lambda file: place(file))]
    runs = [name for number, name in enumerate(units) if number == 0 or units[number - 1] != name]
    assert len(runs) == len(set(runs))
    assert runs[0] == f"tests/{LONGEST[0]}"
