"""Runs go in whole and come out whole; a content is there exactly while somebody uses it."""

import hashlib
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as effort
from hypothesis import strategies as st
from inductorscope.formats.graph.fx_nodes import FxNode
from inductorscope.settings import Settings
from inductorscope.store.contents.blobs import add_blobs
from inductorscope.store.contents.content import HELD_IN_MEMORY, content_of_bytes, content_of_file
from inductorscope.store.contents.texts import read_blob
from inductorscope.store.database.engine import bulk_write, make_engine, sessions
from inductorscope.store.database.migrate import migrate
from inductorscope.store.runs.draft import (
    CallDraft,
    GraphDraft,
    KernelDraft,
    ProfileDraft,
    ProfilerRowDraft,
    RunDraft,
    artifact_of,
)
from inductorscope.store.runs.nodes import call_texts, fx_nodes
from inductorscope.store.runs.runs import delete_run, find_run_ids
from inductorscope.store.tables.models import (
    Artifact,
    Blob,
    Graph,
    GraphNodes,
    KernelCall,
    ProfilerRow,
    Run,
)
from sqlalchemy import Engine, func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from tests.support.readings import packed_nodes
from tests.support.whole_runs import insert_run


def draft(name: str, contents: list[bytes], graphs: int = 1) -> RunDraft:
    run = RunDraft(
        content_digest=hashlib.sha256(name.encode()).hexdigest(),
        name=name,
        tags=[],
        origin="ingest",
        created_at=datetime.now(UTC),
        bytes_in=sum(map(len, contents)),
    )
    for number in range(graphs):
        kernel = KernelDraft("k", "triton", "triton_pointwise", 1, 2, {"num_load": 1})
        kernel.calls = [CallDraft(1, True, 9, ["a"], ["neg"], "abc", [0])]
        graph = GraphDraft(slug=f"g{number}", name="g", direction="forward", kernels=[kernel])
        nodes = [FxNode("neg", "aten.neg", 3, None, None, None)]
        graph.nodes = {"post_grad": (1, packed_nodes(nodes))}
        run.graphs.append(graph)
    run.artifacts = [
        artifact_of("other", f"{number}.txt", content_of_bytes(content), graph=run.graphs[0])
        for number, content in enumerate(contents)
    ]
    row = ProfilerRowDraft("aten::mm", 3, 1.0, 2.0, None, float("nan"), category="cpu_op")
    run.profiles = [ProfileDraft("eager", "cpu", 3, [row])]
    return run


def count(session: Session, model: type) -> int:
    return session.scalar(select(func.count()).select_from(model)) or 0


def test_rows_arrive_as_they_were_given(engine: Engine) -> None:
    run = draft("one", [b"a" * 1000, b"b"], graphs=2)
    hostile = FxNode("neg", "bad \x00 text \ud800", 3, None, None, None, ["x"])
    run.graphs[0].nodes = {"post_grad": (1, packed_nodes([hostile]))}
    run.bytes_in = 2**40
    run.compile_seconds = float("inf")
    with sessions(engine).begin() as session:
        insert_run(session, run)
    with sessions(engine)() as session:
        kept = session.get_one(Run, run.id)
        assert (kept.bytes_in, kept.compile_seconds) == (2**40, None)
        assert kept.created_at == run.created_at
        assert (kept.graph_count, kept.kernel_count) == (2, 2)
        first, second = (
            fx_nodes(session, graph) for graph in session.scalars(select(Graph.id)).all()
        )
        assert second == [FxNode("neg", "aten.neg", 3, None, None, None)]
        assert first[0].target.startswith("bad \ufffd text \ufffd")
        assert first[0].inputs == ["x"]
        row = session.scalars(select(ProfilerRow)).one()
        assert (row.calls, row.self_cpu_us, row.device_us) == (3, 1.0, None)
        call = session.scalars(select(KernelCall)).first()
        assert call is not None
        assert call.handle_known
        assert call_texts(session, call.graph_id)[call.number] == (["a"], ["neg"])


def test_the_same_content_twice_is_an_error_that_leaves_nothing(engine: Engine) -> None:
    with sessions(engine).begin() as session:
        insert_run(session, draft("one", [b"a"]))
    with pytest.raises(IntegrityError), sessions(engine).begin() as session:
        insert_run(session, draft("one", [b"other"]))
    with sessions(engine)() as session:
        assert count(session, Run) == count(session, Blob) == 1


def test_a_failure_half_way_leaves_nothing(engine: Engine) -> None:
    run = draft("one", [b"a"], graphs=2)
    run.graphs[1].slug = run.graphs[0].slug
    with pytest.raises(IntegrityError), sessions(engine).begin() as session:
        insert_run(session, run)
    with sessions(engine)() as session:
        assert [count(session, model) for model in (Run, Graph, Blob, Artifact)] == [0, 0, 0, 0]


def test_ids_of_artifacts_are_never_given_out_twice(engine: Engine) -> None:
    seen: set[int] = set()
    for name in ("one", "two", "three"):
        run = draft(name, [name.encode()])
        with sessions(engine).begin() as session:
            insert_run(session, run)
        with sessions(engine).begin() as session:
            ids = set(session.scalars(select(Artifact.id)))
            assert not ids & seen
            seen |= ids
            delete_run(session, run.id)


def test_runs_are_found_by_the_start_of_their_id(engine: Engine) -> None:
    run = draft("one", [b"a"])
    with sessions(engine).begin() as session:
        insert_run(session, run)
        assert find_run_ids(session, run.id[:5]) == [run.id]
        assert find_run_ids(session, "%") == []


def test_large_files_are_stored_as_they_are(engine: Engine, tmp_path: Path) -> None:
    plain = bytes(range(256)) * (HELD_IN_MEMORY // 256 + 7)
    (tmp_path / "large").write_bytes(plain)
    content = content_of_file(tmp_path / "large", tmp_path)
    assert content.encoding == "zstd"
    assert content.stored_size < len(plain) / 100
    assert [path.name for path in tmp_path.iterdir() if path.suffix != ".db"].count("large") == 1
    with sessions(engine).begin() as session:
        add_blobs(session, [content])
    with sessions(engine)() as session:
        assert read_blob(session, content.digest) == plain


def test_what_does_not_shrink_is_kept_as_it_is() -> None:
    noise = hashlib.sha512(b"x").digest()
    assert content_of_bytes(noise).encoding == "identity"
    assert content_of_bytes(b"").encoding == "identity"


@pytest.fixture(scope="module")
def one_engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    settings = Settings(data=tmp_path_factory.mktemp("data"), database_url="")
    migrate(settings)
    return make_engine(settings)


STEPS = st.lists(
    st.tuples(st.booleans(), st.integers(0, 5), st.lists(st.integers(0, 4), max_size=4)),
    min_size=1,
    max_size=12,
)


@effort(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_blobs_are_there_exactly_while_used(
    one_engine: Engine, steps: list[tuple[bool, int, list[int]]]
) -> None:
    present: dict[str, set[str]] = {}
    for insert, number, contents in steps:
        run = draft(f"run {number}", [f"content {item}".encode() * 9 for item in contents])
        with sessions(one_engine).begin() as session:
            if insert and run.id not in present:
                insert_run(session, run)
                present[run.id] = {item.digest for item in run.artifacts}
            elif not insert:
                delete_run(session, run.id)
                present.pop(run.id, None)
        with sessions(one_engine)() as session:
            assert set(session.scalars(select(Blob.digest))) == set().union(*present.values())
            assert count(session, Graph) == len(present)
            assert count(session, GraphNodes) == 3 * len(present)
    with sessions(one_engine).begin() as session:
        for run_id in present:
            delete_run(session, run_id)


def test_inserting_and_deleting_at_once(engine: Engine) -> None:
    """Runs that share contents come and go in several threads; none fails, nothing is left over."""
    shared_contents = [f"content {number}".encode() * 50 for number in range(6)]
    failures: list[BaseException] = []

    def come_and_go(worker: int) -> None:
        factory = sessions(engine)
        try:
            for turn in range(8):
                contents = shared_contents if turn % 2 else shared_contents[::-1]
                run = draft(f"{worker} {turn}", contents)
                with bulk_write(engine), factory.begin() as session:
                    insert_run(session, run)
                if turn % 4:
                    with factory.begin() as session:
                        delete_run(session, run.id)
        except BaseException as error:
            failures.append(error)
            raise

    threads = [threading.Thread(target=come_and_go, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    with sessions(engine).begin() as session:
        assert count(session, Run) == 8
        assert set(session.scalars(select(Blob.digest))) == set(
            session.scalars(select(Artifact.digest))
        )
        for run_id in list(session.scalars(select(Run.id))):
            delete_run(session, run_id)
        assert count(session, Blob) == 0
