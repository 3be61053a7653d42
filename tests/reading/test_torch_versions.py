"""Debug folders and logs of older torch: each alone, and both together, against counts by grep.

How they were made is told in tests/fixtures/torch-versions/README.md.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pytest
from inductorscope.analyze.compile.breaks import break_places
from inductorscope.correlate.directory import links_of_path
from inductorscope.intake.limits import Limits
from inductorscope.intake.unpack import unpack
from inductorscope.store.runs.compile_story import load_story
from inductorscope.store.tables.models import Graph, Links

from tests.support.readings import Database, database

FOLDER, LOG = "torch_compile_debug", "trace"


@dataclass(frozen=True)
class Counts:
    """Of one graph."""

    aot_id: str | None
    direction: str
    defined: int
    """Kernels that the code defines."""
    launched: int
    library: int
    """Calls of anything else."""
    nodes: int
    ir: tuple[int, int]
    """Scheduler nodes before and after fusion."""


def inference(number: int, nodes: int, ir: tuple[int, int]) -> Counts:
    return Counts(f"{number}_inference", "inference", 1, 1, 0, nodes, ir)


BOTH = {
    "2.4.1-indexing": [
        Counts("0_forward", "forward", 3, 3, 4, 26, (17, 18)),
        Counts("0_backward", "backward", 2, 2, 1, 16, (5, 5)),
    ],
    "2.8.0-indexing": [
        Counts("0_forward", "forward", 4, 4, 4, 26, (16, 17)),
        Counts("0_backward", "backward", 2, 2, 1, 16, (5, 5)),
    ],
    "2.10.0-indexing": [
        Counts("0_forward", "forward", 4, 4, 4, 26, (16, 17)),
        Counts("0_backward", "backward", 2, 2, 1, 16, (5, 5)),
    ],
    "2.4.1-breaks": [
        inference(0, 3, (1, 1)),
        inference(1, 2, (2, 2)),
        inference(2, 6, (4, 5)),
        inference(3, 3, (1, 1)),
        inference(4, 2, (2, 2)),
        inference(5, 6, (4, 5)),
        inference(6, 3, (1, 1)),
        inference(7, 3, (1, 1)),
        inference(8, 2, (2, 2)),
        inference(9, 6, (4, 5)),
    ],
    "2.4.1-cppwrap": [Counts(None, "inference", 2, 2, 2, 12, (11, 12))],
    "2.6.0-aoti": [Counts(None, "inference", 2, 2, 2, 15, (7, 8))],
    "2.8.0-aoti": [Counts(None, "inference", 2, 2, 2, 15, (7, 8))],
    "2.6.0-scan": [Counts("0_inference", "inference", 3, 3, 0, 8, (1, 1))],
}
"""By `grep -c` in the files: `async_compile.` and `extern "C"`, the wrapper's calls, ` = torch.ops`
and items of them, heads of scheduler nodes. Of a branch each torch leaves the last one's IR."""
RECORDS = {
    "2.4.1-indexing": 21,
    "2.4.1-breaks": 125,
    "2.4.1-cppwrap": 20,
    "2.6.0-aoti": 79,
    "2.6.0-scan": 103,
    "2.8.0-aoti": 98,
    "2.8.0-indexing": 151,
    "2.10.0-indexing": 157,
}
"""`grep -c '^V[0-9]'`"""
PACKED = Path(__file__).parent.parent / "fixtures" / "torch-versions"
IR_HEAD = r"^ *(?:\w+_)?(?:op|buf)\d\w*: \w+\("
FX_NODE = r'^ +\w+(?:: "[^"\n]*")? = (?!self\.|fx_pytree)[\w.]+[(\[]'
COMPUTES = re.compile(r"\btmp|_ptr\d")


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """One for all: no two of the runs hold the same files."""
    made = database(tmp_path_factory.mktemp("versions"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory, db: Database) -> Callable[[str], Path]:
    folder = tmp_path_factory.mktemp("unpacked")

    @cache
    def of(name: str) -> Path:
        unpack(PACKED / f"{name}.tar.xz", folder / name, Limits.of(db.settings))
        return folder / name

    return of


def counts(db: Database, graph: Graph) -> Counts:
    kernels = db.kernels(graph)
    generated = [kernel for kernel in kernels if kernel.kind != "extern"]
    stages = db.node_counts(graph)
    return Counts(
        graph.aot_id,
        graph.direction,
        len(generated),
        sum(kernel.call_count for kernel in generated),
        sum(kernel.call_count for kernel in kernels if kernel.kind == "extern"),
        graph.node_count,
        (stages.get("ir_pre", 0), stages.get("ir_post", 0)),
    )


def inferred(db: Database, graph: Graph) -> int:
    """Lines of kernels that are linked better than to all of their kernel's nodes."""
    with db.sessions() as session:
        return int(session.get_one(Links, graph.id).coverage["lines_inferred"])


# --- together, and each alone ---


@pytest.mark.parametrize("name", sorted(BOTH))
def test_a_folder_and_its_log_are_the_same_graphs(
    db: Database, unpacked: Callable[[str], Path], name: str
) -> None:
    result = db.read(unpacked(name))
    graphs = db.graphs(result)
    assert [counts(db, graph) for graph in graphs] == BOTH[name]
    report = db.run(result).report
    assert report.dropped == []
    assert [file.path for file in report.files if file.role == "other"] == []
    assert all({"code", "post_grad", "aot"} <= set(db.texts(g)) for g in graphs)
    assert sum(log.records for log in report.logs) == RECORDS[name]
    version = name.partition("-")[0]
    assert (db.run(result).torch_version or "").partition("+")[0] == version


@pytest.mark.parametrize("name", sorted(set(BOTH) - {"2.6.0-aoti"}))
def test_a_folder_alone(db: Database, unpacked: Callable[[str], Path], name: str) -> None:
    found = [counts(db, graph) for graph in db.graphs(db.read(unpacked(name) / FOLDER))]
    if name == "2.8.0-aoti":  # nothing in it says what the graph is for
        found = [replace(kernel, direction="inference") for kernel in found]
    assert found == BOTH[name]


@pytest.mark.parametrize("name", sorted(BOTH))
def test_a_log_alone(db: Database, unpacked: Callable[[str], Path], name: str) -> None:
    found = [counts(db, graph) for graph in db.graphs(db.read(unpacked(name) / LOG))]
    assert found == [replace(kernel, ir=(0, 0)) for kernel in BOTH[name]]


@pytest.mark.parametrize("name", sorted(BOTH))
def test_counts_are_those_of_the_files(unpacked: Callable[[str], Path], name: str) -> None:
    root = unpacked(name)
    texts = {file: file.read_text() for file in root.rglob("*") if file.is_file()}

    def found(pattern: str, file: str) -> list[int]:
        found = [
            len(re.findall(pattern, text, re.M)) for f, text in texts.items() if f.name == file
        ]
        return sorted(found)

    told = BOTH[name]
    assert found(IR_HEAD, "ir_pre_fusion.txt") == sorted(kernel.ir[0] for kernel in told)
    assert found(IR_HEAD, "ir_post_fusion.txt") == sorted(kernel.ir[1] for kernel in told)
    assert found(FX_NODE, "fx_graph_transformed.py") == sorted(kernel.nodes for kernel in told)
    (log,) = (text for file, text in texts.items() if file.suffix == ".log" and LOG in file.parts)
    assert len(re.findall(r"^V\d", log, re.M)) == RECORDS[name]
    if "aoti" not in name and "cppwrap" not in name:
        code = found(r"^\w+ = async_compile\.", "output_code.py")
        assert code == sorted(kernel.defined for kernel in told)


# --- what they tell ---


def test_breaks_and_recompiles_before_they_were_logged(
    db: Database, unpacked: Callable[[str], Path]
) -> None:
    root = unpacked("2.4.1-breaks") / LOG
    (log,) = root.iterdir()
    heads = [json.loads(line) for line in re.findall(r"^V[^]\n]*\] (\{.*)", log.read_text(), re.M)]
    metrics = [head["compilation_metrics"] for head in heads if "compilation_metrics" in head]
    assert sum(len(metric["restart_reasons"]) for metric in metrics) == 4
    assert sum(not metric["compile_id"].endswith("/0") for metric in metrics) == 7
    run = db.run(db.read(root))
    # Where they break is not in the log, and line 105 restarts nothing.
    assert (run.graph_breaks, run.recompiles) == (4, 7)
    with db.sessions() as session:
        story = load_story(session, run.id)
    assert story is not None
    places = [(place.name, place.short, place.count) for place in break_places(story)]
    assert places == [("an unknown line of `fn`", "`print`", 4)]
    assert run.compile_seconds == pytest.approx(
        sum(metric["entire_frame_compile_time_s"] for metric in metrics)
    )


@pytest.mark.parametrize(
    ("name", "lines"),
    [("2.4.1-cppwrap", 47), ("2.6.0-aoti", 38), ("2.8.0-aoti", 38)],
)
def test_lines_behind_a_wrapper_in_cpp_are_linked_by_a_log_alone(
    db: Database, unpacked: Callable[[str], Path], name: str, lines: int
) -> None:
    (graph,) = db.graphs(db.read(unpacked(name) / LOG))
    assert inferred(db, graph) >= lines


def test_links_of_a_folder_with_a_wrapper_in_cpp(unpacked: Callable[[str], Path]) -> None:
    """What `inductorscope links` prints of it."""
    (graph,) = links_of_path(unpacked("2.8.0-aoti") / FOLDER)["graphs"]
    assert graph["name"] == "model___0.0"
    lines = {kernel["name"]: kernel["lines"] for kernel in graph["kernels"]}
    assert list(lines) == ["cpp_fused_gelu_0", "cpp_fused__log_softmax_1"]
    nodes = {node for line in lines["cpp_fused_gelu_0"] for node in line["fx"]}
    assert {"erf", "add_3", "mul_4"} <= nodes


def test_a_device_that_only_kernels_name(db: Database, unpacked: Callable[[str], Path]) -> None:
    folder = unpacked("recorded") / "2.6.0-cuda-block" / FOLDER
    (graph,) = folder.rglob("fx_graph_transformed.py")
    assert "cuda:0" not in graph.read_text()
    assert db.run(db.read(folder)).device_kind == "cuda"


def test_a_branch_left_the_only_ir(db: Database, unpacked: Callable[[str], Path]) -> None:
    """What the main graph's kernel computes is read without it: a sum and a comparison."""
    (graph,) = db.graphs(db.read(unpacked("2.6.0-scan") / FOLDER))
    assert inferred(db, graph) >= 10


def test_lines_are_linked_as_was_recorded(unpacked: Callable[[str], Path]) -> None:
    """Three programs of torch 2.4 on a CPU, one of torch 2.6 for a GPU; of every graph four lines
    in five have exactly the nodes that Inductor wrote them for."""
    graphs = 0
    for truth in sorted(unpacked("recorded").rglob("truth.json")):
        recorded = json.loads(truth.read_text())
        for graph in links_of_path(truth.parent / FOLDER)["graphs"]:
            graphs += 1
            (code,) = truth.parent.rglob(f"{graph['name']}/output_code.py")
            text = code.read_text().split("\n")
            said = {line["line"]: set(line["fx"]) for k in graph["kernels"] for line in k["lines"]}
            wanted = {
                int(line): {entry[2] for entry in entries}
                for line, entries in recorded[graph["name"]].items()
                if COMPUTES.search(text[int(line) - 1])
            }
            right = [line for line, nodes in wanted.items() if said.get(line) == nodes]
            assert len(right) >= 0.8 * len(wanted), f"{truth.parent.name} {graph['name']}"
    assert graphs == 6
