"""The text table of key_averages in its many widths, and a capture's rows."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inductorscope.formats.printed.key_averages import parse_key_averages, parse_rows, parse_table


def table(fixtures: Path, name: str = "compiled") -> str:
    return (fixtures / "cuda-foo1" / f"{name}.table.txt").read_text()


def test_our_own_table(fixtures: Path) -> None:
    rows = parse_table(table(fixtures))
    assert len(rows) == 11
    assert rows.problems == []
    launch, kernel = rows[0], rows[1]
    assert launch.name == kernel.name == "triton_poi_fused_maximum_neg_0"
    assert (launch.device, launch.self_cpu_us, launch.cpu_us) == ("cpu", 39.333, 70.374)
    assert (kernel.device, kernel.self_device_us, kernel.calls) == ("cuda", 1.952, 2)
    assert [row.annotation for row in rows].count(True) == 2
    by_name = {row.name: row for row in rows}
    assert by_name["Activity Buffer Request"].self_cpu_us == pytest.approx(1927)


def test_cut_names(fixtures: Path) -> None:
    cut = [row for row in parse_table(table(fixtures, "eager")) if row.cut]
    assert cut
    assert all(not row.name.endswith("...") for row in cut)


RULE = "----------------------  ------------  ------------  ------------  ------------  "
HEADS = "                  Name    Self CPU %      Self CPU     CPU total    # of Calls  "


@pytest.mark.parametrize(
    ("cell", "expected"),
    [("12.500ns", 0.0125), ("3.000us", 3), ("44.957ms", 44957), ("1.200s", 1.2e6), ("--", None)],
)
def test_units(cell: str, expected: float | None) -> None:
    row = f"              aten::mm         0.00%  {cell:>12}  {cell:>12}             7  "
    (only,) = parse_table("\n".join([RULE, HEADS, RULE, row, RULE, "Self CPU time total: 1s"]))
    assert only.self_cpu_us == pytest.approx(expected)
    assert (only.calls, only.self_device_us) == (7, None)


def test_a_table_amid_other_text_and_crlf(fixtures: Path) -> None:
    text = f"0.001\nsome warning\n{table(fixtures)}trailer\n".replace("\n", "\r\n")
    rows = parse_table(text)
    assert (len(rows), rows.problems) == (11, [])


def test_a_cut_table_says_so(fixtures: Path) -> None:
    text = "\n".join(table(fixtures).split("\n")[:6])
    rows = parse_table(text)
    assert len(rows) == 3
    assert [problem.reason for problem in rows.problems] == ["the table is cut short"]


def test_no_table() -> None:
    assert parse_table("hello\n").problems


def test_rows_of_a_capture() -> None:
    row = '{"name": "aten::mm", "calls": 2, "self_cpu_us": 1.5, "cpu_us": 2, "device": "cpu"}'
    rows = parse_key_averages(f'{{"schema": 1, "steps": 3, "rows": [{row}]}}'.encode())
    assert (rows.steps, rows[0].name, rows[0].self_cpu_us) == (3, "aten::mm", 1.5)
    assert parse_rows(f"[{row}]".encode())[0].calls == 2
    assert parse_rows(b'{"rows": 3}').problems
    assert parse_rows(f"[{row.replace('2,', '9' * 25 + ',', 1)}]".encode()).problems


def test_real_tables(shared: Path) -> None:
    tables = sorted((shared / "traces").glob("*/*.table.txt"))
    tables += sorted((shared / "traces").rglob("wrapper_benchmark.log"))
    assert len(tables) > 8
    for path in tables:
        rows = parse_key_averages(path.read_bytes())
        assert len(rows) >= 10, path
        assert rows.problems == [], path
        assert all(row.self_cpu_us is not None for row in rows)


@given(st.binary(max_size=1500))
def test_arbitrary_bytes(data: bytes) -> None:
    parse_key_averages(data)


@given(st.data())
@settings(max_examples=60)
def test_mutated_tables(fixtures: Path, data: st.DataObject) -> None:
    content = bytearray(table(fixtures).encode())
    del content[data.draw(st.integers(0, len(content))) :]
    for at in data.draw(st.lists(st.integers(0, max(0, len(content) - 1)), max_size=8)):
        if content:
            content[at] = data.draw(st.integers(0, 255))
    parse_key_averages(bytes(content))
