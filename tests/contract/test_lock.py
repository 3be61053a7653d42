"""The lock's file, and what differs between two."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inductorscope.cli.app import app, load_commands
from inductorscope.contract.compare import compare, within
from inductorscope.contract.lock import BY_ID, COUNTS, LockError, Program, read_lock, write_lock
from inductorscope.contract.report import as_markdown, as_text
from inductorscope.settings import Settings
from typer.testing import CliRunner, Result

from tests.support.captured import captured_run

texts = st.text(max_size=20)
COUNTED = {count.id: 0 for count in COUNTS}


@settings(max_examples=50)
@given(
    st.builds(
        Program, model=texts, options=st.dictionaries(texts, st.booleans() | texts, max_size=2),
        made=st.dictionaries(texts, texts, max_size=2),
        counts=st.dictionaries(texts, st.integers(0, 2**60), max_size=2),
        details=st.dictionaries(texts, st.lists(texts), max_size=2),
    )
)  # fmt: skip
def test_a_lock_survives_its_file(program: Program) -> None:
    assert read_lock(write_lock([program])).program == [program]


@pytest.mark.parametrize(
    ("text", "says"),
    [("x", "not a lock"), ("format = 9\nprogram = []", "format is 9"), ("format = 1", "program")],
)
def test_other_files_are_refused(text: str, says: str) -> None:
    with pytest.raises(LockError, match=says):
        read_lock(text)


def program(budgets: dict[str, str] | None = None, **counts: int) -> Program:
    return Program("m", budgets=budgets or {}, counts=COUNTED | counts)


@pytest.mark.parametrize(
    ("was", "now", "verdicts"),
    [
        (program(), program(), []),
        (program(), program(breaks=1), ["worse"]),
        (program(breaks=1), program(bytes=10), ["worse", "better"]),
        (program(), program(library_calls=1), ["changed"]),
        (program({"kernels": "<= 14"}, kernels=12), program(kernels=14), ["allowed"]),
        (program({"kernels": "<= 14"}, kernels=12), program(kernels=15), ["worse"]),
        (program({"bytes": "<= 1.02x"}, bytes=100), program(bytes=102), ["allowed"]),
        (program({"bytes": "<= 1.02x"}, bytes=100), program(bytes=103), ["worse"]),
        (program({"recompiles": "= 1"}), program(), ["worse"]),
    ],
)
def test_counts_have_a_direction_and_budgets(
    was: Program, now: Program, verdicts: list[str]
) -> None:
    result = compare(was, now)
    assert [row.verdict for row in result.differences] == verdicts
    assert result.passes == (not {"worse", "changed"} & set(verdicts))


def test_budgets_that_cannot_be_read_are_named() -> None:
    with pytest.raises(LockError, match="few"):
        within("few", 1, 1)
    with pytest.raises(LockError, match="no count 'speed'"):
        compare(program({"speed": "1"}), program())


def fused(first: int, second: int, kernels: list[str]) -> Program:
    found = program(kernels=len(kernels))
    found.details = {"kernels": kernels}
    found.source = {"m.py": [f"{first}: y = x.sin()", f"{second}: return y + 1"]}
    return found


def test_lines_that_only_moved_are_no_difference() -> None:
    locked = fused(3, 4, ["lines 3, 4 of m.py → 1 kernel"])
    assert compare(locked, fused(8, 10, ["lines 8, 10 of m.py → 1 kernel"])).differences == []
    split = fused(8, 10, ["line 10 of m.py → 1 kernel", "line 8 of m.py → 1 kernel"])
    [difference] = compare(locked, split).differences
    assert difference.gone == ["lines 8, 10 of m.py → 1 kernel"]
    assert difference.new == split.details["kernels"]


def test_another_processor_has_other_vectors() -> None:
    locked, now = program(kernels=1, vector_loops=4), program(kernels=1, scalar_loops=4)
    locked.made, now.made = {"instructions": "avx512"}, {"instructions": "avx2"}
    result = compare(locked, now)
    assert result.differences == []
    assert result.notes == ["instructions: avx512 → avx2"]
    now.made = {}  # not recorded
    assert compare(locked, now).differences == []


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("torch", {"predicted_ns"}),
        ("triton", {"passes", "predicted_ns"}),
        ("gpu", {"passes"}),
        ("device", {"passes", "predicted_ns", "registers"}),
    ],
)
def test_other_tools_make_other_counts(name: str, same: set[str]) -> None:
    locked, now = program(kernels=1), program(kernels=2, passes=1, predicted_ns=1, registers=1)
    locked.made, now.made = {name: "1"}, {name: "2"}
    texts = [row.text for row in compare(locked, now).differences]
    assert texts[0] == "launches of generated kernels: 1 → 2"
    assert {text.partition(":")[0] for text in texts[1:]} == {BY_ID[count].title for count in same}
    del now.counts["registers"]  # of a run without compiled kernels
    assert len(compare(locked, now).differences) == len(texts) - ("registers" in same)


def test_a_report_shows_what_changed() -> None:
    locked = fused(3, 4, ["lines 3, 4 of m.py → 1 kernel"])
    now = fused(3, 4, ["line 3 of m.py → 1 kernel", "line 4 of m.py → 1 kernel"])
    results = [compare(locked, now), compare(program(), program())]
    assert as_text(results).splitlines()[:5] == [
        "m: 1 worse",
        "  worse: launches of generated kernels: 1 → 2",
        "    - lines 3, 4 of m.py → 1 kernel",
        "    + line 3 of m.py → 1 kernel",
        "    + line 4 of m.py → 1 kernel",
    ]
    assert "```diff" in as_markdown(results)


def invoke(*words: str) -> Result:
    return CliRunner().invoke(app, words)


def test_a_captured_run_is_locked_and_checked(captured_tutorial: Path, tmp_path: Path) -> None:
    load_commands()
    data, lock = tmp_path / "data", tmp_path / "inductor.lock"
    run = captured_run(
        Settings(data=data, database_url=""), captured_tutorial, tmp_path, "neg-maximum-cat"
    )
    assert invoke("lock", "--run", run, "-o", str(lock), "--data", str(data)).exit_code == 0
    [locked] = read_lock(lock.read_text()).program
    assert locked.details["kernels"] == ["lines 9, 10 of neg_maximum_cat.py → 1 kernel"]
    assert locked.source["neg_maximum_cat.py"][1] == "9: a = torch.neg(x1)"
    assert locked.counts["bytes"] == 2 * 8390 * 8 + 8
    checked = ["check", str(lock), "--run", run, "--data", str(data)]
    assert invoke(*checked).stdout == "neg-maximum-cat: as locked\n"
    lock.write_text(lock.read_text().replace("kernels = 1", "kernels = 0"))
    failed = invoke(*checked)
    assert failed.exit_code == 1
    assert "worse: launches of generated kernels: 0 → 1" in failed.output
    assert invoke(*checked, "--update").exit_code == 0
    assert invoke(*checked).exit_code == 0
    assert invoke("check", str(tmp_path / "none"), "--data", str(data)).exit_code == 2
