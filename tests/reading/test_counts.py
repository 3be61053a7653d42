"""How much is in a run, against counts taken without its parsers.

Expressions that each look for one kind of line count the raw files. For the fixtures and one large
capture, the numbers are written down as well, so that an expression that stops matching is noticed.
"""

import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from inductorscope.reading.run import ReadResult
from inductorscope.store.tables.models import Graph

from tests.support.places import SHARED
from tests.support.readings import Database, SharedRuns


@dataclass(frozen=True)
class Counts:
    """Of one graph."""

    aot_id: str
    defined: int
    """Kernels that the code defines."""
    launched: int
    """Calls of those."""
    library: int
    """Calls of anything else: BLAS, ATen's own kernels."""
    nodes: int
    """Calls in the graph after all passes."""
    ir_before: int
    ir_after: int


FIXTURE_COUNTS = {
    "cpu-ops-zoo": [Counts("0_inference", 8, 8, 5, 134, 35, 41)],
    "cuda-adam": [Counts("0_inference", 2, 2, 0, 118, 24, 30)],
    "cuda-foo1": [Counts("0_inference", 1, 1, 0, 2, 1, 1)],
}
MIXNET = [
    Counts("0_forward", 242, 609, 156, 2607, 1415, 1680),
    Counts("0_backward", 278, 534, 157, 3668, 1214, 1397),
]

# Of `output_code.py`. The wrapper is the last `call`: kernels that benchmark themselves have one.
AOT_ID = re.compile(r"^# AOT ID: \['(\w+)'\]", re.M)
DEFINITION = re.compile(r"^(\w+) = async_compile\.\w+\(", re.M)
WRAPPER_END = re.compile(
    r"^(?:runner = |def benchmark_compiled_module|def get_args|if __name__)", re.M
)
LAUNCH = re.compile(r"^ +(\w+)(?:\.run)?\(", re.M)
LIBRARY = re.compile(r"^ +(?:\w+ = )?(?:extern_kernels|torch\.ops|aten)\.[\w.]+\(", re.M)
# Of `fx_graph_transformed.py`: what is assigned from a call, or from an item of what one returned.
FX_CALL = re.compile(r'^ +\w+(?:: "[^"\n]*")? = (?!self\.)[\w.]+[(\[]', re.M)
# Of `ir_*_fusion.txt`.
IR_NODE = re.compile(r"^(?:op|buf)\d\w*: \w+", re.M)


def counted(folder: Path) -> Counts:
    """The counts of one graph's folder, by looking for lines."""
    code = (folder / "output_code.py").read_text()
    begin = code.rindex("def call(")
    end = WRAPPER_END.search(code, begin)
    assert end is not None
    wrapper = code[begin : end.start()]
    defined = set(DEFINITION.findall(code))
    aot_id = AOT_ID.search(code)
    assert aot_id is not None
    return Counts(
        aot_id[1],
        len(defined),
        sum(name in defined for name in LAUNCH.findall(wrapper)),
        len(LIBRARY.findall(wrapper)),
        len(FX_CALL.findall((folder / "fx_graph_transformed.py").read_text())),
        len(IR_NODE.findall((folder / "ir_pre_fusion.txt").read_text())),
        len(IR_NODE.findall((folder / "ir_post_fusion.txt").read_text())),
    )


def read_counts(db: Database, graph: Graph) -> Counts:
    """The counts of one graph as it was read."""
    kernels = db.kernels(graph)
    generated = [kernel for kernel in kernels if kernel.kind != "extern"]
    nodes = db.node_counts(graph)
    counts = Counts(
        graph.aot_id or "",
        len(generated),
        sum(kernel.call_count for kernel in generated),
        sum(kernel.call_count for kernel in kernels if kernel.kind == "extern"),
        graph.node_count,
        nodes["ir_pre"],
        nodes["ir_post"],
    )
    assert graph.kernel_count == counts.defined
    assert graph.call_count == counts.launched + counts.library
    return counts


def in_order(counts: Counts) -> tuple[int, bool]:
    """Graphs as they were compiled, each forward before its backward."""
    number, _, direction = counts.aot_id.partition("_")
    return int(number), direction == "backward"


def assert_counts(root: Path, db: Database, result: ReadResult) -> list[Counts]:
    """The graphs of a capture are read as they are counted; returns the counts."""
    expected = sorted((counted(code.parent) for code in root.rglob("output_code.py")), key=in_order)
    assert [read_counts(db, graph) for graph in db.graphs(result)] == expected
    assert result.graphs == len(expected)
    assert result.kernels == sum(counts.defined for counts in expected)
    assert result.dropped == []
    return expected


def shared_captures() -> list[str]:
    """Unpacked captures beside the checkout."""
    folders = [*SHARED.glob("traces/*/"), *SHARED.glob("truth/*/")]
    return sorted(
        folder.relative_to(SHARED).as_posix()
        for folder in folders
        if next(folder.rglob("output_code.py"), None)
    )


@pytest.mark.parametrize("name", FIXTURE_COUNTS)
def test_graphs_kernels_calls_and_nodes(fixtures: Path, db: Database, name: str) -> None:
    root = fixtures / name
    assert assert_counts(root, db, db.read(root)) == FIXTURE_COUNTS[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", shared_captures())
def test_graphs_kernels_calls_and_nodes_of_shared_captures(
    shared_runs: SharedRuns, name: str
) -> None:
    root = SHARED / name
    assert assert_counts(root, shared_runs.db, shared_runs.of(root))


@pytest.mark.slow
def test_graphs_kernels_calls_and_nodes_of_a_large_capture(
    shared_runs: SharedRuns, mixnet: Path
) -> None:
    assert assert_counts(mixnet, shared_runs.db, shared_runs.of(mixnet)) == MIXNET


CODES = {
    "cpu-cond": ({"cpp": 2}, {"extern_kernels.mm": 1}),
    "cuda-combo": ({"triton": 2}, {}),
    "cuda-coop": ({"triton": 2}, {}),
    "cuda-foreach": ({"triton": 1}, {}),
    "cuda-mix": ({"triton": 1, "cpp_pybinding": 1}, {}),
    "cuda-pool": ({"triton": 5}, {"extern_kernels.mm": 4}),
    "cuda-user": ({"triton": 4}, {}),
}
"""Lone codes: definitions by how they are written, calls of libraries."""


@pytest.mark.parametrize("name", sorted(CODES))
def test_kernels_of_a_lone_code(fixtures: Path, db: Database, name: str) -> None:
    path = fixtures / "output-code" / f"{name}.py"
    code = path.read_text()
    defined, library = CODES[name]
    written = Counter(re.findall(r"^\w+ = async_compile\.(\w+)\(", code, re.M))
    assert written == {"cpp_pybinding" if key == "cpp" else key: n for key, n in defined.items()}
    assert Counter(re.findall(r"^ +(extern_kernels\.\w+)\(", code, re.M)) == library
    result = db.read(path)
    (graph,) = db.graphs(result)
    assert db.run(result).device_kind == name.partition("-")[0]
    kernels = db.kernels(graph)
    names = {kernel.name for kernel in kernels if kernel.kind != "extern"}
    assert names == set(DEFINITION.findall(code))
    assert {k.name: k.call_count for k in kernels if k.kind == "extern"} == library
    assert result.kernels == sum(defined.values())


# --- logs ---

LOGS = SHARED / "traces" / "logs"
RECORD = re.compile(rb"^V\d{4} [^\]\n]*\] (\{.*)$", re.M)
MANY = {
    "chromium_event", "str", "describe_tensor", "describe_storage", "describe_source",
    "guard_added_fast", "expression_created",
}  # fmt: skip
"""Kinds that are counted and get no row."""
CONTEXT = {
    "rank", "compiled_autograd_id", "frame_id", "frame_compile_id", "attempt", "subgraph_name",
    "has_payload", "stack", "process_group_name", "process_group_ranks",
}  # fmt: skip


def kinds_in(log: bytes) -> Counter[str]:
    """Records by kind: the first key of each that is no context."""
    found: Counter[str] = Counter()
    for head in RECORD.findall(log):
        found[next(key for key in json.loads(head) if key not in CONTEXT)] += 1
    return found


def shared_logs() -> list[str]:
    """Logs of tlparse's tests, beside the checkout."""
    return sorted(path.relative_to(LOGS).as_posix() for path in LOGS.rglob("*") if path.is_file())


def assert_records(log: Path, db: Database, result: ReadResult) -> Counter[str]:
    """The records of a log are read as they are counted; returns the counts."""
    expected = kinds_in(log.read_bytes())
    (told,) = db.run(result).report.logs
    assert {kind: n for kind, n in told.counts.items() if ":" not in kind} == expected
    assert told.records == expected.total()
    rows = Counter(entry.kind for entry in db.entries(result))
    assert rows == {kind: n for kind, n in expected.items() if kind not in MANY}
    return expected


def test_records_of_a_log(fixtures: Path, db: Database) -> None:
    (log,) = (fixtures / "cuda-foo1" / "torch_trace").iterdir()
    assert assert_records(log, db, db.read(log)).total() == 133


@pytest.mark.parametrize("name", shared_logs())
def test_records_of_shared_logs(shared_runs: SharedRuns, name: str) -> None:
    log = LOGS / name
    assert assert_records(log, shared_runs.db, shared_runs.of(log))
