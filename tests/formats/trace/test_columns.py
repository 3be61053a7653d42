"""Columns that are longer than what is held in memory."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inductorscope.analyze.time.breakdown import break_down
from inductorscope.formats.trace import event_columns as columns
from inductorscope.formats.trace.event_columns import Column, NoRoomError
from inductorscope.formats.trace.kineto import read_chrome_trace


@given(
    st.lists(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=9), max_size=9),
    st.integers(1, 64),
)
def test_what_was_added_comes_back(pieces: list[list[int]], held: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "HELD_BYTES", held)
        column = Column("i")
        for piece in pieces:
            column.add(np.array(piece, np.int64))
        expected = [value for piece in pieces for value in piece]
        assert len(column) == len(expected)
        assert column.numbers().tolist() == expected
        assert column.numbers().tolist() == expected, "a second time"


def test_without_room_for_a_file_the_folder_is_named(tmp_path: Path) -> None:
    column = Column("d", tmp_path / "gone")
    with pytest.raises(NoRoomError, match=r"gone .*Make room there"):
        column.add(np.zeros(columns.HELD_BYTES))


def test_events_in_files_tell_the_same(
    fixtures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written_out(fixtures / "cuda-foo1" / "compiled.trace.json.gz", tmp_path, monkeypatch)


def test_operators_of_processors_in_files_tell_the_same(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written_out(
        shared / "traces" / "cpu-gpt-train" / "compiled.trace.json.gz", tmp_path, monkeypatch
    )


def written_out(path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = read_chrome_trace(path)
    monkeypatch.setattr(columns, "HELD_BYTES", 16)
    written = read_chrome_trace(path, folder=folder)
    assert written == held
    assert not list(folder.iterdir()), "the files have no names"
    one, other = break_down(held), break_down(written)
    one.row_of_op = other.row_of_op = None
    assert one == other
    assert one.total_us > 0
