"""Lines of a stored file around one: of any file, read no further than needed."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from inductorscope.answers.runs.file import (
    BEFORE,
    LONGEST_LINE,
    MOST_BYTES,
    SHOWN,
    FilePage,
    file_page,
)
from inductorscope.store.contents.content import HELD_IN_MEMORY, content_of_bytes, content_of_file
from inductorscope.store.database.engine import sessions
from inductorscope.store.runs.draft import RunDraft, artifact_of
from inductorscope.store.tables.models import Artifact
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from tests.support.whole_runs import insert_run

FILES = {
    "many.txt": b"".join(b"line %d\n" % number for number in range(1, 200_001)),
    "long.txt": b"a\n" + "é".encode() * 9000 + b"\nc\n",
    "strange.txt": b"\xff\xfe broken\r\nnul \0 here\r\nno end",
    "empty.txt": b"",
}


@pytest.fixture(scope="module")
def session(shared_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    run = RunDraft("a" * 64, "files", [], "ingest", datetime(2026, 1, 1, tzinfo=UTC), 1)
    run.artifacts = [
        artifact_of(
            "other", path, content_of_bytes(text), text.count(b"\n") + (text[-1:] not in b"\n")
        )
        for path, text in FILES.items()
    ]
    run.artifacts.append(artifact_of("chrome_trace", "t.json.gz", content_of_bytes(b"\x1f\x8b")))
    endless = tmp_path_factory.mktemp("files") / "endless.txt"
    endless.write_bytes(b"first\n" + b"x" * (2 * MOST_BYTES + HELD_IN_MEMORY) + b"\nlast\n")
    run.artifacts.append(artifact_of("other", endless.name, content_of_file(endless), 3))
    with sessions(shared_engine).begin() as writing:
        insert_run(writing, run)
    with sessions(shared_engine, read_only=True)() as reading:
        yield reading


def shown(
    session: Session, path: str, line: int | None = None, last: int | None = None
) -> FilePage:
    number = session.scalars(select(Artifact.id).where(Artifact.path == path)).one()
    page = file_page(session, "a" * 16, number, line, last)
    assert page is not None
    return page


def test_the_lines_around_one_are_shown(session: Session) -> None:
    for line in (None, 1, 39, 40, 41, 42, 100_000, 199_999, 200_000, 10**15):
        assert_around(session, line)


def assert_around(session: Session, line: int | None) -> None:
    page = shown(session, "many.txt", line)
    assert [row.text for row in page.lines] == [f"line {row.number}" for row in page.lines]
    assert [row.number for row in page.lines] == list(range(page.first, page.last + 1))
    assert len(page.lines) <= SHOWN
    asked = None if line is None else min(line, 200_000)
    assert [row.number for row in page.lines if row.marked] == ([asked] if asked else [])
    assert page.first == max((asked or 1) - BEFORE, 1)


@pytest.mark.parametrize("shared_engine", ["sqlite"], indirect=True)
def test_before_and_after_lead_to_the_end_of_the_file(session: Session) -> None:
    line: int | None = 180_000
    seen = shown(session, "many.txt", line).first - 1
    while line is not None:
        page = shown(session, "many.txt", line)
        assert page.first == seen + 1  # nothing twice, nothing left out
        seen = page.last
        line = page.after
    assert seen == 200_000
    assert page.before is not None
    back = shown(session, "many.txt", page.before)
    assert back.last >= page.first - 1 > back.first


def test_a_range_is_marked(session: Session) -> None:
    page = shown(session, "many.txt", 500, 503)
    assert [row.number for row in page.lines if row.marked] == [500, 501, 502, 503]
    assert (page.line, page.marked_last) == (500, 503)
    page = shown(session, "many.txt", 500, 400)  # a range that ends before it begins is one line
    assert [row.number for row in page.lines if row.marked] == [500]


def test_an_endless_line_is_not_read(session: Session) -> None:
    page = shown(session, "endless.txt", 2)
    assert page.lines == []
    assert page.why_not == "These lines take more than 16 MiB. Download the file instead."


def test_a_long_line_says_how_much_of_it_is_left_out(session: Session) -> None:
    line = shown(session, "long.txt").lines[1]
    assert line.text == "é" * LONGEST_LINE
    assert line.left_out == 2 * (9000 - LONGEST_LINE)
    assert [row.left_out for row in shown(session, "long.txt").lines] == [0, line.left_out, 0]


def test_bytes_that_are_no_text_are_shown_as_such(session: Session) -> None:
    texts = [line.text for line in shown(session, "strange.txt").lines]
    assert texts == ["\ufffd\ufffd broken", "nul \ufffd here", "no end"]


def test_why_nothing_is_shown_is_said(session: Session) -> None:
    for path, why in (("empty.txt", "empty"), ("t.json.gz", "not text")):
        page = shown(session, path, 7)
        assert page.lines == []
        assert why in (page.why_not or "")
        assert (page.before, page.after) == (None, None)
