"""Graphs found in a debug folder and in a log are one; what only one of them has stays."""

import re
import shutil
from pathlib import Path

import pytest
from inductorscope.reading.run import ReadResult
from inductorscope.store.tables.models import Artifact
from sqlalchemy import select

from tests.support.readings import (
    Database,
    SharedRuns,
    names,
    payload,
    payloads,
    segments,
    with_payload,
)

FROM_LOG = {"aot", "dynamo", "pre_grad", "kernel_stacks"}
FROM_FOLDER = {"ir_pre", "ir_post"}


@pytest.fixture
def capture(fixtures: Path, tmp_path: Path) -> Path:
    """A debug folder and the log of the same process, to be changed."""
    root = tmp_path / "sent"
    for part in ("torch_compile_debug", "torch_trace"):
        shutil.copytree(fixtures / "cuda-foo1" / part, root / part)
    return root


def log_in(root: Path) -> Path:
    (log,) = (root / "torch_trace").iterdir()
    return log


def graph_folder(root: Path) -> Path:
    (code,) = root.rglob("output_code.py")
    return code.parent


def notes(db: Database, result: ReadResult, kind: str) -> list[str]:
    return [note.reason for note in db.run(result).report.dropped if note.kind == kind]


def changed_code(root: Path, change: bytes) -> None:
    """Another code in the log than in the folder."""
    log = log_in(root)
    records = segments(log.read_bytes())
    log.write_bytes(b"".join(with_change(record, change) for record in records))


def with_change(record: bytes, change: bytes) -> bytes:
    if names(record) != "inductor_output_code":
        return record
    return with_payload(record, payload(record) + change)


def test_a_folder_and_its_log_are_one_graph(db: Database, capture: Path) -> None:
    (graph,) = db.graphs(db.read(capture))
    assert graph.name == graph_folder(capture).name
    assert (graph.compile_id, graph.direction) == ("0/0", "inference")
    texts = db.texts(graph)
    assert texts.keys() >= FROM_LOG | FROM_FOLDER
    raw = payloads(log_in(capture).read_bytes())
    assert texts["aot"] == raw["aot_inference_graph"][0]
    # What both have is taken from the folder.
    for role, name in (("code", "output_code.py"), ("readable", "fx_graph_readable.py")):
        assert texts[role] == (graph_folder(capture) / name).read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "graphs"),
    [
        ("cpu-gpt-train", ["0_forward", "0_backward"]),
        ("cuda-dynamic", [f"{number}_inference" for number in range(6)]),
        ("cuda-foo1", ["0_inference"]),
        ("cuda-gpt-max-autotune", ["0_forward", "0_backward"]),
        ("cuda-gpt-train", ["0_forward", "0_backward"]),
        ("cuda-ops-zoo", ["0_inference"]),
    ],
)
def test_every_shared_capture_has_each_graph_once(
    shared_runs: SharedRuns, shared: Path, name: str, graphs: list[str]
) -> None:
    db, result = shared_runs.db, shared_runs.of(shared / "traces" / name)
    found = db.graphs(result)
    assert [graph.aot_id for graph in found] == graphs
    for graph in found:
        assert graph.compile_id is not None
        assert db.texts(graph).keys() >= FROM_LOG | FROM_FOLDER
    assert notes(db, result, "guessed") == []


@pytest.mark.parametrize("change", [b"\n", b"\n\n\n", b"  \n"])
def test_empty_lines_at_the_end_make_no_other_graph(
    db: Database, capture: Path, change: bytes
) -> None:
    changed_code(capture, change)
    result = db.read(capture)
    assert result.graphs == 1
    assert notes(db, result, "guessed") == []


def test_codes_that_differ_are_one_graph_by_their_aot_id_and_a_note_says_so(
    db: Database, capture: Path
) -> None:
    changed_code(capture, b"\n# as another version of torch would print it\n")
    result = db.read(capture)
    (graph,) = db.graphs(result)
    assert graph.compile_id == "0/0"
    folder_code = (graph_folder(capture) / "output_code.py").read_bytes()
    assert db.texts(graph)["code"] == folder_code
    (note,) = notes(db, result, "guessed")
    assert "the codes differ" in note


def test_codes_of_other_graphs_stay_apart(db: Database, capture: Path) -> None:
    log = log_in(capture)
    records = segments(log.read_bytes())
    other = [
        with_payload(record, payload(record).replace(b"['0_inference'", b"['1_inference'"))
        if names(record) == "inductor_output_code"
        else record
        for record in records
    ]
    log.write_bytes(b"".join(other))
    result = db.read(capture)
    found = {graph.aot_id: graph.compile_id for graph in db.graphs(result)}
    assert found == {"0_inference": None, "1_inference": "0/0"}
    assert notes(db, result, "guessed") == []


def test_a_code_that_two_processes_compiled_goes_with_its_own(db: Database, capture: Path) -> None:
    """The same code in two processes' folders; the log's process id says whose log it is."""
    (process,) = (capture / "torch_compile_debug").iterdir()
    pid = int(re.findall(r"-pid_(\d+)$", process.name)[0])
    # In order of their names the other process comes first.
    shutil.copytree(process, process.with_name("run_2026_11_21_01_00_00_000000-pid_7"))
    log = log_in(capture)
    assert {int(record.split(b" ")[2]) for record in segments(log.read_bytes())} == {pid}
    graphs = db.graphs(db.read(capture))
    assert len(graphs) == 2
    by_folder = {folder_of(db, graph.id): graph.compile_id for graph in graphs}
    assert by_folder == {f"pid_{pid}": "0/0", "pid_7": None}


def folder_of(db: Database, graph: int) -> str:
    query = select(Artifact.path).where(Artifact.graph_id == graph, Artifact.role == "code")
    with db.sessions() as session:
        found = re.search(r"-(pid_\d+)/", session.scalars(query).one())
    assert found is not None
    return found[1]


def test_two_compiles_of_one_code_are_two_graphs_and_the_folder_is_one_of_them(
    db: Database, capture: Path
) -> None:
    log = log_in(capture)
    log.write_bytes(log.read_bytes() * 2)
    graphs = db.graphs(db.read(capture))
    assert len(graphs) == 2
    with_ir = [graph for graph in graphs if "ir_post" in db.texts(graph)]
    assert len(with_ir) == 1
    assert [graph.compile_id for graph in graphs] == ["0/0", "0/0"]


def test_a_folder_of_another_run_stays_beside_the_log(
    db: Database, fixtures: Path, capture: Path
) -> None:
    """Both name their graph `0_inference`, so neither can be told to be the log's by that."""
    other = next((fixtures / "cuda-adam" / "torch_compile_debug").iterdir())
    shutil.copytree(other, capture / "torch_compile_debug" / other.name)
    result = db.read(capture)
    graphs = {graph.node_count: graph for graph in db.graphs(result)}
    assert len(graphs) == 2
    assert graphs[2].compile_id == "0/0"
    assert graphs[118].compile_id is None
    assert "aot" not in db.texts(graphs[118])


def test_a_log_alone_and_a_folder_alone_have_the_same_graph(
    db: Database, capture: Path, tmp_path: Path
) -> None:
    of_log = db.graphs(db.read(capture / "torch_trace"))[0]
    of_folder = db.graphs(db.read(capture / "torch_compile_debug"))[0]
    for what in ("aot_id", "direction", "node_count", "kernel_count", "call_count"):
        assert getattr(of_log, what) == getattr(of_folder, what), what
    one, other = db.texts(of_log), db.texts(of_folder)
    assert one["code"].strip() == other["code"].strip()


def test_forward_and_backward_each_find_their_folder(
    db: Database, shared: Path, tmp_path: Path
) -> None:
    """Without the folder of the backward, as of a run that was cut off."""
    root = tmp_path / "sent"
    source = shared / "traces" / "cuda-gpt-train"
    shutil.copytree(source / "torch_compile_debug", root / "torch_compile_debug")
    shutil.copytree(source / "torch_trace", root / "torch_trace")
    (backward,) = root.rglob("model__0_backward_*")
    shutil.rmtree(backward)
    forward_graph, backward_graph = db.graphs(db.read(root))
    assert (forward_graph.direction, backward_graph.direction) == ("forward", "backward")
    assert "ir_post" in db.texts(forward_graph)
    assert "ir_post" not in db.texts(backward_graph)
    raw = payloads(log_in(root).read_bytes())
    assert db.texts(backward_graph)["code"] == raw["inductor_output_code"][1]
    assert db.texts(backward_graph)["aot"] == raw["aot_backward_graph"][0]
