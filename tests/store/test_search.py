"""Search in code finds exactly the lines that hold what was asked for, on both databases."""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inductorscope import urls
from inductorscope.answers.search.lines import SHOWN, Patterns, cut
from inductorscope.answers.search.page import named
from inductorscope.answers.search.reading import LINES_A_TEXT
from inductorscope.answers.search.runs import Narrowed
from inductorscope.answers.search.search import CodePage, Scope, search_code, too_short
from inductorscope.store.contents.content import content_of_bytes
from inductorscope.store.contents.fulltext import shrink_indexes
from inductorscope.store.database.engine import sessions
from inductorscope.store.runs.draft import CallDraft, GraphDraft, KernelDraft, RunDraft, artifact_of
from inductorscope.store.runs.runs import delete_run
from sqlalchemy import Engine, text
from sqlalchemy.orm import Session

from tests.support.whole_runs import insert_run

START = datetime(2026, 1, 1, tzinfo=UTC)

CODE = """\
import torch
triton_poi_fused_add_0 = async_compile.triton('triton_poi_fused_add_0', '''
def triton_poi_fused_add_0(in_ptr0, out_ptr0, xnumel):
    tmp0 = tl.load(in_ptr0 + (x0), xmask)
    tl.store(out_ptr0 + (x0), tmp0, xmask)
''')
def call(args):
    buf0 = empty_strided_cuda((8, ), (1, ), torch.float32)
    triton_poi_fused_add_0.run(arg0_1, buf0, 8)
    return (buf0, )
"""
MODEL = "class Model:\n    def forward(self, x):\n        return x + 100 % 7  # buf0 it is not\n"


def a_run(number: int, code: str = CODE) -> RunDraft:
    """A run with a graph, its code, and the source that all runs share."""
    run = RunDraft(
        content_digest=f"{number:016x}".ljust(64, "0"),
        name=f"run {number}",
        tags=[],
        origin="ingest",
        created_at=START + timedelta(minutes=number),
        bytes_in=1,
    )
    kernel = KernelDraft("triton_poi_fused_add_0", "triton", "triton_pointwise", 2, 6, {})
    kernel.calls = [CallDraft(4, True, 9, [], [], "a" * 12, [0])]
    kernel.digest = hash(code)
    if number == 2:
        run.tags, run.torch_version = ["ci"], "2.11.0"
        run.device_kind, run.device_name = "cuda", "NVIDIA H200"
    graph = GraphDraft("forward", "model__0_forward", "forward", kernels=[kernel])
    graph.wrapper_first, graph.wrapper_last = 7, 10
    graph.sources = {"/home/me/model.py": 3}
    run.graphs = [graph]
    text = content_of_bytes(code.encode())
    source = content_of_bytes(MODEL.encode())
    run.artifacts = [
        artifact_of("code", "output_code.py", text, code.count("\n"), graph=graph),
        artifact_of("source", "/home/me/model.py", source, MODEL.count("\n")),
    ]
    return run


@pytest.fixture(scope="module")
def session(shared_engine: Engine) -> Iterator[Session]:
    with sessions(shared_engine).begin() as writing:
        for number in (1, 2, 3):
            insert_run(writing, a_run(number))
        insert_run(writing, a_run(4, CODE.replace("float32", "bfloat16")))
    with sessions(shared_engine, read_only=True)() as reading:
        yield reading


def lines(page: CodePage) -> list[tuple[str, int]]:
    return [(text.place.path, hit.line) for text in page.texts for hit in text.hits]


def test_lines_are_found_as_they_stand_whatever_their_case(session: Session) -> None:
    page = search_code(session, "TL.load(in_ptr0")
    assert page.exact
    assert lines(page) == [("output_code.py", 4)] * 2
    hit = page.texts[0].hits[0]
    assert hit.text == "tmp0 = tl.load(in_ptr0 + (x0), xmask)"
    assert [hit.text[start:end] for start, end in hit.marks] == ["tl.load(in_ptr0"]


def test_words_that_no_line_holds_side_by_side_are_found_in_any_order(session: Session) -> None:
    page = search_code(session, "xmask store")
    assert not page.exact
    assert lines(page) == [("output_code.py", 5)] * 2
    assert search_code(session, "store xmask nothing").texts == []
    # Where lines hold the words as they stand, others are not shown.
    page = search_code(session, "return x")
    assert page.exact
    assert lines(page) == [("/home/me/model.py", 3)]


def test_signs_are_part_of_what_is_looked_for(session: Session) -> None:
    assert lines(search_code(session, "100 % 7")) == [("/home/me/model.py", 3)]
    assert search_code(session, "100_7").texts == []
    for quoted in ("buf0'", 'buf0"', "buf0 OR", "NEAR(buf0", "buf0*", "buf0 & !x", "a:b:c"):
        search_code(session, quoted)  # what a query language could mean is nothing but text


def test_a_text_of_several_runs_is_shown_once_in_the_newest(session: Session) -> None:
    page = search_code(session, "float32")
    (text,) = (item for item in page.texts if "bfloat" not in item.hits[0].text)
    assert text.place.run.name == "run 3"
    assert not text.more_places
    assert [place.run.name for place in text.elsewhere] == ["run 2", "run 1"]
    page = search_code(session, "float32", Scope(Narrowed(run=f"{1:016x}")))
    assert [item.place.run.name for item in page.texts] == ["run 1"]


def test_a_hit_says_where_the_explorer_shows_it(session: Session) -> None:
    run = f"{4:016x}"

    def place(q: str) -> tuple[str | None, str]:
        hit = search_code(session, q, Scope(Narrowed(run=run))).texts[0].hits[0]
        return hit.kernel, hit.url

    name = "triton_poi_fused_add_0"
    in_kernel = urls.line_in_explorer(run, "forward", "kernel", 5, kernel=name, handle=4)
    in_model = urls.line_in_explorer(run, "forward", "source", 1, path="/home/me/model.py")
    assert place("tl.store") == (name, in_kernel)
    assert place("empty_strided_cuda") == (
        None,
        urls.line_in_explorer(run, "forward", "wrapper", 8),
    )
    assert place("import torch") == (None, urls.line_in_explorer(run, "forward", "code", 1))
    assert place("class Model") == (None, in_model)


def test_kinds_of_text_and_one_file_can_be_chosen(session: Session) -> None:
    assert {path for path, _ in lines(search_code(session, "buf0"))} == {
        "output_code.py",
        "/home/me/model.py",
    }
    page = search_code(session, "buf0", Scope(role="source"))
    assert lines(page) == [("/home/me/model.py", 3)]
    artifact = search_code(session, "bfloat16").texts[0].place.artifact
    page = search_code(session, "buf0", Scope(file=artifact))
    assert lines(page) == [("output_code.py", number) for number in (8, 9, 10)]


def everything(
    session: Session, q: str, scope: Scope | None = None, **bounds: int
) -> list[tuple[int, int]]:
    """Text and line of all hits of all pages."""
    found: list[tuple[int, int]] = []
    cursor = None
    for _ in range(300):
        page = search_code(session, q, scope, cursor, **bounds)
        found += [(text.place.artifact, hit.line) for text in page.texts for hit in text.hits]
        cursor = page.next_cursor
        if cursor is None:
            return found
    raise AssertionError("the pages never end")


def long_text(number: int) -> str:
    return "".join(
        f"buf{line} = needle_{number}({line})\n" if line % 100 == 7 else f"pass  # {line}\n"
        for line in range(5000)
    )


BOUNDS: tuple[dict[str, int], ...] = ({}, {"limit": 3}, {"pieces": 2}, {"limit": 7, "pieces": 3})


def test_pages_hold_every_text_and_of_one_text_every_line(engine: Engine) -> None:
    with sessions(engine).begin() as writing:
        for number in range(5):
            insert_run(writing, a_run(number, long_text(number)))
    with sessions(engine, read_only=True)() as session:
        whole = everything(session, "needle")
        assert len(whole) == len(set(whole)) == 5 * LINES_A_TEXT
        artifacts = {artifact for artifact, _ in whole}
        for bounds in BOUNDS:
            if "pieces" not in bounds:
                assert sorted(everything(session, "needle", None, **bounds)) == sorted(whole)
            else:  # fewer lines of each, where reading stopped, but all texts
                assert {
                    found for found, _ in everything(session, "needle", None, **bounds)
                } == artifacts
            one = Scope(file=min(artifacts))
            found = [line for _, line in everything(session, "needle", one, **bounds)]
            assert found == [line + 1 for line in range(5000) if line % 100 == 7]
            # Words that stand apart page the same way.
            found = [line for _, line in everything(session, "needle buf", one, **bounds)]
            assert found == [line + 1 for line in range(5000) if line % 100 == 7]


def test_an_index_gives_back_the_room_of_deleted_runs(engine: Engine) -> None:
    """Only SQLite keeps it. Each run has its own transaction, as readers and pruning do."""
    factory = sessions(engine)
    codes = {n: "\n".join(f"word{n}x{k} = {k}" for k in range(300)) for n in range(40)}

    def size() -> int:
        with factory() as session:
            return sum(
                session.scalar(text(f"SELECT sum(length(block)) FROM {index}_data")) or 0
                for index in ("text_index", "run_index")
            )

    runs = []
    for number, code in codes.items():
        run = a_run(number, code)
        runs.append(run.id)
        with factory.begin() as session:
            insert_run(session, run)
    full = size() if engine.dialect.name == "sqlite" else 0
    for run_id in runs[:-4]:
        with factory.begin() as session:
            delete_run(session, run_id)
    with factory.begin() as session:
        shrink_indexes(session)
    if full:
        assert size() < full / 5
    with factory() as session:
        assert [text.hits[0].line for text in search_code(session, "word39x299").texts] == [300]
        assert not search_code(session, "word3x299").texts


def test_what_cannot_be_looked_for_is_said(session: Session) -> None:
    for q in ("", " ", "%", "x", "= +", "é"):
        assert too_short(q)
        assert search_code(session, q) == CodePage()
    assert not too_short("x0")
    assert not too_short("a b")
    for cursor in ("", "e", "x1", "e-1", "e1x", "w" + "9" * 16):
        with pytest.raises(ValueError, match="cursor"):
            search_code(session, "buf0", cursor=cursor)


def test_the_same_kernel_of_several_runs_is_found_once(session: Session) -> None:
    def found(q: str, limit: int = 12, **narrowed: Any) -> list[str]:
        page = named(session, q, Narrowed(**narrowed), limit)
        assert page.more_kernels is (q == "add triton")
        return [kernel.run.name for kernel in page.kernels]

    assert found("USED_add") == ["run 4", "run 3"]
    assert found("add triton", 1) == ["run 4"]
    assert found("poi", run=f"{1:016x}") == ["run 1"]
    assert found("poi", until=START.date() - timedelta(days=1)) == []
    assert found("poi", since=START.date(), torch="2.11", device="h200", tag="ci") == ["run 2"]
    assert found("poi", torch="2.1") == found("poi", project="compilers") == found("%") == []


def test_a_search_is_narrowed_to_runs(session: Session) -> None:
    def found(**narrowed: Any) -> list[str]:
        page = search_code(session, "buf0", Scope(Narrowed(**narrowed)))
        return [text.place.run.name for text in page.texts]

    assert found() == ["run 4", "run 4", "run 3"]
    assert found(tag="ci") == found(torch="2.11") == found(device="cuda") == ["run 2", "run 2"]
    assert found(tag="c") == found(device="cpu") == found(until=date(2025, 1, 1)) == []


@given(
    line=st.text(st.characters(exclude_characters="\n\0"), max_size=600),
    q=st.text(st.sampled_from("ab (.İſ"), min_size=1, max_size=4).filter(str.strip),
)
def test_marks_are_what_was_looked_for(line: str, q: str) -> None:
    spans = Patterns.of(q).exact(line)
    assert bool(spans) == bool(re.search(re.escape(q), line, re.IGNORECASE))
    if not spans:
        return
    hit = cut(1, line, spans)
    assert len(hit.text) <= SHOWN + 2
    for start, end in hit.marks:
        whole = re.fullmatch(re.escape(q), hit.text[start:end], re.IGNORECASE)
        assert whole or end >= len(hit.text.removesuffix("…"))  # the end of a long line is cut


def test_a_long_line_is_cut_around_the_match() -> None:
    line = " " * 40 + "x" * 1000 + "needle" + "y" * 1000
    hit = cut(9, line, Patterns.of("needle").exact(line))
    (start, end) = hit.marks[0]
    assert hit.text[start:end] == "needle"
    assert hit.text.startswith("…x")
    assert hit.text.endswith("y…")
    assert len(hit.text) == SHOWN + 2
