"""A folder becomes a run: counts, times, sources, and never twice."""

import gzip
import json
import shutil
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from inductorscope.reading.run import NothingToRead, ReadResult, read_run
from inductorscope.settings import Settings
from inductorscope.store.contents.texts import read_blob
from inductorscope.store.database.engine import Sessions, sessions
from inductorscope.store.runs.links import unpack_links
from inductorscope.store.runs.nodes import call_texts, fx_nodes
from inductorscope.store.runs.runs import delete_run
from inductorscope.store.tables.models import (
    Artifact,
    Blob,
    Graph,
    GraphNodes,
    Kernel,
    KernelCall,
    Links,
    Profile,
    ProfilerRow,
    Run,
)
from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session

from tests.conftest import ON_SQLITE


@pytest.fixture
def factory(engine: Engine) -> Sessions:
    return sessions(engine)


@pytest.fixture
def foo1(fixtures: Path) -> Path:
    return fixtures / "cuda-foo1"


def read(factory: Sessions, root: Path, **more: object) -> ReadResult:
    return read_run(root, session_factory=factory, origin="ingest", **more)  # type: ignore[arg-type]


def count(session: Session, model: type) -> int:
    return session.scalar(select(func.count()).select_from(model)) or 0


def test_the_tutorials_function(factory: Sessions, foo1: Path) -> None:
    result = read(factory, foo1, name="foo1", tags=["tutorial"])
    assert (result.duplicate, result.graphs, result.kernels) == (False, 1, 1)
    with factory() as session:
        run = session.get_one(Run, result.run_id)
        assert run.content_digest.startswith(run.id)
        assert (run.name, run.tags, run.origin) == ("foo1", ["tutorial"], "ingest")
        assert (run.device_kind, run.device_name) == ("cuda", "NVIDIA H200")
        assert run.torch_version == "2.11.0+cu130"
        assert run.eager_ms is not None
        assert run.compiled_ms is not None
        assert (run.graph_breaks, run.recompiles) == (0, 0)
        graph = session.scalars(select(Graph)).one()
        assert (graph.direction, graph.aot_id, graph.compile_id) == (
            "inference",
            "0_inference",
            "0/0",
        )
        assert "neg" in {node.name for node in fx_nodes(session, graph.id)}
        links = session.scalars(select(Links)).one()
        assert "fx:neg" in unpack_links(links.payload).entities


def test_the_graph_of_a_runnable_file_alone_is_shown(
    factory: Sessions, foo1: Path, tmp_path: Path
) -> None:
    (runnable,) = foo1.rglob("fx_graph_runnable.py")
    shutil.copy(runnable, tmp_path)
    result = read(factory, tmp_path)
    with factory() as session:
        graph = session.scalars(select(Graph).where(Graph.run_id == result.run_id)).one()
        roles = set(session.scalars(select(Artifact.role).where(Artifact.graph_id == graph.id)))
        assert (graph.node_count, roles) == (2, {"fx_runnable", "readable"})


def test_a_kernels_time_and_its_calls(factory: Sessions, foo1: Path) -> None:
    read(factory, foo1)
    with factory() as session:
        kernel = session.scalars(select(Kernel)).one()
        assert kernel.kind == "triton"
        assert kernel.category == "triton_pointwise"
        assert kernel.time_us is not None
        assert 0.5 < kernel.time_us < 100
        assert kernel.time_calls == 1
        assert kernel.time_source == "matched by the kernel's file"
        call = session.scalars(select(KernelCall)).one()
        _, nodes = call_texts(session, call.graph_id)[call.number]
        assert set(nodes) >= {"neg", "maximum"}
        assert len(call.permalink) == 12


@ON_SQLITE
def test_sources_are_rebuilt_at_their_true_lines(factory: Sessions, foo1: Path) -> None:
    read(factory, foo1)
    with factory() as session:
        source = session.scalars(select(Artifact).where(Artifact.role == "source")).one()
        assert source.derived
        text = read_blob(session, source.digest)
        graph = session.scalars(select(Graph.id)).one()
        node = next(node for node in fx_nodes(session, graph) if node.name == "neg")
    assert text is not None
    assert node.stack_file == source.path
    assert "torch.neg" in text.decode().split("\n")[(node.stack_line or 0) - 1]


@ON_SQLITE
def test_the_source_itself_is_taken_when_it_is_there(
    factory: Sessions, foo1: Path, tmp_path: Path
) -> None:
    read(factory, foo1)
    with factory() as session:
        rebuilt = session.scalars(select(Artifact).where(Artifact.derived)).one()
        lines = (read_blob(session, rebuilt.digest) or b"").decode().split("\n")
    whole = "\n".join(line and f"    {line}" for line in lines) + "# the rest\n"
    root = tmp_path / "with-source"
    shutil.copytree(foo1, root)
    (root / Path(rebuilt.path).name).write_text(whole)
    (root / "other.py").write_text("print('not that one')\n")
    result = read(factory, root)
    with factory() as session:
        query = select(Artifact).where(
            Artifact.run_id == result.run_id, Artifact.path == rebuilt.path
        )
        kept = session.scalars(query).one()
        assert not kept.derived
        assert read_blob(session, kept.digest) == whole.encode()


def test_the_same_content_is_the_same_run(factory: Sessions, foo1: Path, tmp_path: Path) -> None:
    first = read(factory, foo1)
    copy = tmp_path / "elsewhere" / "deeper"
    shutil.copytree(foo1, copy)
    second = read(factory, copy, name="another name")
    assert second.duplicate
    assert second.run_id == first.run_id
    assert (second.graphs, second.kernels) == (first.graphs, first.kernels)
    with factory() as session:
        assert count(session, Run) == 1


def test_two_workers_at_once_make_one_run(factory: Sessions, foo1: Path) -> None:
    results: list[ReadResult] = []
    ready = threading.Barrier(4)

    def work() -> None:
        ready.wait()
        results.append(read(factory, foo1))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({result.run_id for result in results}) == 1
    assert sorted(result.duplicate for result in results) == [False, True, True, True]
    with factory() as session:
        assert count(session, Run) == 1
        assert count(session, Graph) == 1


PROCESS = """
import sys, pathlib
from inductorscope.settings import Settings
from inductorscope.store.database.engine import make_engine, sessions
from inductorscope.reading.run import read_run

settings = Settings(data=pathlib.Path(sys.argv[1]), database_url=sys.argv[2])
factory = sessions(make_engine(settings))
result = read_run(pathlib.Path(sys.argv[3]), session_factory=factory, origin="ingest",
                  settings=settings)
print(result.run_id, result.duplicate)
"""


def test_two_processes_at_once_make_one_run(
    settings: Settings, factory: Sessions, foo1: Path
) -> None:
    command = [sys.executable, "-c", PROCESS, str(settings.data), settings.url, str(foo1)]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate(timeout=120)[0].split() for process in started]
    assert len({run for run, _ in said}) == 1
    assert sorted(duplicate for _, duplicate in said) == ["False", "True"]
    with factory() as session:
        assert count(session, Run) == 1


def test_deleting_leaves_nothing_of_it(factory: Sessions, foo1: Path, tmp_path: Path) -> None:
    first = read(factory, foo1)
    other = tmp_path / "other"
    shutil.copytree(foo1, other)
    (other / "note.txt").write_text("makes it another run")
    second = read(factory, other)
    with factory.begin() as session:
        freed_second = delete_run(session, second.run_id)
    with factory() as session:
        assert count(session, Run) == 1
        for artifact in session.scalars(select(Artifact)):
            assert read_blob(session, artifact.digest) is not None
    with factory.begin() as session:
        freed_first = delete_run(session, first.run_id)
        assert delete_run(session, first.run_id) == 0
    assert 0 < freed_second < freed_first
    with factory() as session:
        models = (Run, Graph, Artifact, Blob, GraphNodes, Kernel, KernelCall, Links)
        for model in (*models, Profile, ProfilerRow):
            assert count(session, model) == 0, model


@ON_SQLITE
def test_a_hostile_file_costs_itself_only(factory: Sessions, foo1: Path, tmp_path: Path) -> None:
    root = tmp_path / "damaged"
    shutil.copytree(foo1, root)
    folder = next(root.rglob("output_code.py")).parent
    (folder / "ir_post_fusion.txt").write_bytes(b"op0: SchedulerNode(\x00\xff\xfe" * 50)
    (root / "compiled.trace.json.gz").write_bytes(
        gzip.compress(b'{"traceEvents": [{"ph": "X", ')[:-6]
    )
    result = read(factory, root, name="nul \x00 and \ud800 here")
    assert result.graphs == 1
    assert any("compiled.trace" in item.file for item in result.dropped)
    with factory() as session:
        run = session.get_one(Run, result.run_id)
        assert "\x00" not in run.name
        assert run.report.dropped


@ON_SQLITE
def test_a_compressed_log_is_read_so_far_as_it_may_unpack(
    factory: Sessions, foo1: Path, settings: Settings, tmp_path: Path
) -> None:
    log = next((foo1 / "torch_trace").iterdir()).read_bytes()
    (tmp_path / "sent").mkdir()
    (tmp_path / "sent" / "bomb.log.gz").write_bytes(gzip.compress(log + bytes(50_000_000)))
    limited = replace(settings, max_unpacked_bytes=len(log) + 1000)
    result = read(factory, tmp_path / "sent", settings=limited)
    assert {dropped.file for dropped in result.dropped} == {"bomb.log.gz"}
    told = [dropped.reason for dropped in result.dropped]
    assert any(f"only the first {len(log) + 1000:,} bytes were read" in text for text in told)
    with factory() as session:
        run = session.get_one(Run, result.run_id)
        assert run.graph_breaks == 0
        assert run.torch_version is not None

    (tmp_path / "sent" / "bomb.log.gz").write_bytes(gzip.compress(log))
    assert read(factory, tmp_path / "sent", settings=limited).dropped == []


@ON_SQLITE
def test_an_own_breakdown_is_told_and_survived(
    factory: Sessions, foo1: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_texts: object, **_how: object) -> None:
        raise ZeroDivisionError("of ours")

    monkeypatch.setattr("inductorscope.reading.graphs.content.graph_links", broken)
    result = read(factory, foo1)
    assert result.kernels == 1
    assert any("Linking the lines failed: ZeroDivisionError" in d.reason for d in result.dropped)


@ON_SQLITE
def test_nothing_to_read_is_said_in_words(factory: Sessions, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(NothingToRead, match="there are no files"):
        read(factory, tmp_path / "empty")
    (tmp_path / "letter.txt").write_text("Dear reader")
    with pytest.raises(NothingToRead, match=r"1 file \(letter\.txt\).*output_code\.py"):
        read(factory, tmp_path / "letter.txt")
    with factory() as session:
        assert count(session, Run) == 0


@ON_SQLITE
def test_nothing_is_invented(factory: Sessions, foo1: Path, tmp_path: Path) -> None:
    code = next(foo1.rglob("output_code.py"))
    alone = tmp_path / "output_code.py"
    shutil.copy(code, alone)
    result = read(factory, alone)
    with factory() as session:
        run = session.get_one(Run, result.run_id)
        assert (run.eager_ms, run.compiled_ms, run.compile_seconds) == (None, None, None)
        assert (run.graph_breaks, run.recompiles, run.torch_version) == (None, None, None)
        assert run.timings == {}
        assert session.scalars(select(Kernel.time_us)).all() == [None]
        assert count(session, Profile) == 0


@ON_SQLITE
def test_facts_of_a_capture_win(factory: Sessions, foo1: Path, tmp_path: Path) -> None:
    root = tmp_path / "capture"
    shutil.copytree(foo1, root)
    timing = {"median_ms": 2.5, "p10": 2.0, "p90": 3.0, "samples": [2.0, 2.5, 3.0]}
    facts = {
        "state": "complete",
        "name": "mine",
        "torch_version": "2.13.0",
        "device": "cuda:1",
        "device_name": "A GPU",
        "timings": {"eager": timing},
        "env": {"TORCH_LOGS": "x"},
    }
    (root / "capture.json").write_text(json.dumps(facts))
    (root / "sources").mkdir()
    (root / "sources" / "m.py").write_text("x = 1\n")
    (root / "sources.json").write_text(json.dumps({"files": {"/home/me/m.py": "sources/m.py"}}))
    result = read(factory, root)
    with factory() as session:
        run = session.get_one(Run, result.run_id)
        assert (run.name, run.torch_version, run.device_name) == ("mine", "2.13.0", "A GPU")
        assert (run.device_kind, run.eager_ms, run.compiled_ms) == ("cuda", 2.5, None)
        assert run.timings["eager"]["count"] == 3
        assert run.environment["env"] == {"TORCH_LOGS": "x"}
        source = session.scalars(select(Artifact).where(Artifact.path == "/home/me/m.py")).one()
        assert (source.role, source.derived) == ("source", False)


@ON_SQLITE
@pytest.mark.slow
def test_forward_comes_before_backward(factory: Sessions, shared: Path) -> None:
    result = read(factory, shared / "traces" / "cuda-gpt-train")
    assert result.seconds < 30
    with factory() as session:
        graphs = session.scalars(select(Graph).order_by(Graph.position)).all()
        assert [graph.direction for graph in graphs] == ["forward", "backward"]
        timed = session.scalars(select(Kernel).where(Kernel.time_us.is_not(None))).all()
        generated = [kernel for kernel in timed if kernel.kind != "extern"]
        assert len(generated) > 35
        profile = session.scalars(select(Profile).where(Profile.label == "compiled")).one()
        spent = sum(kernel.time_us or 0 for kernel in timed)
        assert profile.facts.attributed_us == pytest.approx(spent)
        assert spent <= (profile.facts.kernel_us or 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cuda-dynamic", "logs"])
@ON_SQLITE
def test_every_shared_trace_can_be_read(factory: Sessions, shared: Path, name: str) -> None:
    result = read(factory, shared / "traces" / name)
    with factory() as session:
        run = session.get_one(Run, result.run_id)
        assert run.graph_count == result.graphs == count(session, Graph)
        assert not any("failed" in item.reason for item in result.dropped), result.dropped


def test_processes_that_read_graphs_load_no_database_library() -> None:
    """Several of them run beside each other."""
    program = "import sys, inductorscope.reading.graphs.apart; print('sqlalchemy' in sys.modules)"
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "False"
