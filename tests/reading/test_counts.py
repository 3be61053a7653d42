"""How much is in a run, against counts taken without its parsers.

Every debug folder is counted twice: once by expressions that each look for one kind of line in the
raw files, once by the numbers that those gave for the folder and that are written down here.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from inductorscope.intake.limits import Limits
from inductorscope.intake.unpack import unpack
from inductorscope.store.tables.models import Graph

from tests.support.readings import Database, database


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


COUNTED = {
    "traces/cpu-gpt-train": [
        Counts("0_forward", 10, 13, 21, 229, 82, 91),
        Counts("0_backward", 12, 31, 38, 401, 127, 144),
    ],
    "traces/cuda-dynamic": [
        Counts("0_inference", 1, 1, 0, 2, 1, 1),
        Counts("1_inference", 1, 1, 0, 2, 2, 3),
        Counts("2_inference", 1, 1, 0, 2, 1, 1),
        Counts("3_inference", 1, 1, 0, 2, 1, 1),
        Counts("4_inference", 1, 1, 0, 2, 2, 3),
        Counts("5_inference", 1, 1, 0, 2, 1, 1),
    ],
    "traces/cuda-foo1": [
        Counts("0_inference", 1, 1, 0, 2, 1, 1),
    ],
    "traces/cuda-gpt-max-autotune": [
        Counts("0_forward", 23, 60, 9, 304, 123, 132),
        Counts("0_backward", 34, 124, 5, 413, 182, 205),
    ],
    "traces/cuda-gpt-train": [
        Counts("0_forward", 20, 48, 21, 304, 123, 132),
        Counts("0_backward", 22, 96, 38, 413, 182, 200),
    ],
    "traces/cuda-ops-zoo": [
        Counts("0_inference", 18, 18, 2, 132, 31, 38),
    ],
    "truth/cpu-adam": [
        Counts("0_inference", 1, 1, 0, 107, 24, 28),
    ],
    "truth/cpu-bert": [
        Counts("0_forward", 12, 15, 19, 247, 90, 105),
        Counts("0_backward", 14, 21, 36, 334, 103, 115),
    ],
    "truth/cpu-gpt-train": [
        Counts("0_forward", 10, 13, 21, 229, 91, 99),
        Counts("0_backward", 12, 31, 38, 406, 127, 144),
    ],
    "truth/cpu-ops-zoo": [
        Counts("0_inference", 8, 8, 5, 134, 35, 41),
    ],
    "truth/cpu-qwen": [
        Counts("0_forward", 7, 9, 18, 210, 67, 72),
        Counts("0_backward", 12, 14, 32, 352, 74, 82),
    ],
    "truth/cpu-rnn": [
        Counts("0_forward", 10, 11, 15, 282, 107, 129),
        Counts("0_backward", 5, 8, 29, 341, 110, 123),
    ],
    "truth/cpu-unet": [
        Counts("0_forward", 5, 5, 4, 93, 32, 39),
        Counts("0_backward", 4, 4, 4, 237, 53, 64),
    ],
    "truth/cuda-adam": [
        Counts("0_inference", 2, 2, 0, 118, 24, 30),
    ],
    "truth/cuda-bert": [
        Counts("0_forward", 22, 49, 19, 329, 122, 136),
        Counts("0_backward", 35, 71, 36, 399, 135, 147),
    ],
    "truth/cuda-convnext": [
        Counts("0_forward", 49, 90, 41, 479, 226, 265),
        Counts("0_backward", 74, 146, 42, 850, 402, 478),
    ],
    "truth/cuda-efficientnet": [
        Counts("0_forward", 72, 171, 50, 1663, 607, 715),
        Counts("0_backward", 84, 137, 51, 2182, 492, 551),
    ],
    "truth/cuda-gpt-train": [
        Counts("0_forward", 20, 48, 21, 304, 123, 132),
        Counts("0_backward", 22, 96, 38, 413, 182, 200),
    ],
    "truth/cuda-ops-zoo": [
        Counts("0_inference", 18, 18, 2, 132, 31, 38),
    ],
    "truth/cuda-qwen": [
        Counts("0_forward", 21, 41, 18, 275, 81, 86),
        Counts("0_backward", 23, 43, 32, 370, 96, 106),
    ],
    "truth/cuda-resnet": [
        Counts("0_forward", 44, 64, 15, 497, 202, 240),
        Counts("0_backward", 47, 54, 16, 487, 137, 157),
    ],
    "truth/cuda-rnn": [
        Counts("0_forward", 14, 19, 20, 226, 79, 86),
        Counts("0_backward", 22, 46, 34, 369, 120, 131),
    ],
    "truth/cuda-unet": [
        Counts("0_forward", 19, 21, 4, 99, 33, 38),
        Counts("0_backward", 19, 22, 4, 257, 54, 67),
    ],
}
FIXTURES = {
    "cpu-ops-zoo": COUNTED["truth/cpu-ops-zoo"],
    "cuda-adam": COUNTED["truth/cuda-adam"],
    "cuda-foo1": COUNTED["traces/cuda-foo1"],
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


def assert_counts(root: Path, expected: list[Counts], db: Database) -> None:
    result = db.read(root)
    graphs = db.graphs(result)
    assert [read_counts(db, graph) for graph in graphs] == expected
    by_lines = [counted(code.parent) for code in root.rglob("output_code.py")]
    assert sorted(by_lines, key=str) == sorted(expected, key=str)
    assert (result.graphs, result.kernels) == (
        len(expected),
        sum(counts.defined for counts in expected),
    )
    assert result.dropped == []


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    made = database(tmp_path / "data")
    yield made
    made.close()


@pytest.mark.parametrize("name", sorted(FIXTURES))
def test_graphs_kernels_calls_and_nodes(fixtures: Path, db: Database, name: str) -> None:
    assert_counts(fixtures / name, FIXTURES[name], db)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(COUNTED))
def test_graphs_kernels_calls_and_nodes_of_shared_captures(
    shared: Path, db: Database, name: str
) -> None:
    assert_counts(shared / name, COUNTED[name], db)


def test_no_shared_capture_is_left_out(shared: Path) -> None:
    codes = [*shared.glob("traces/*/**/output_code.py"), *shared.glob("truth/**/output_code.py")]
    found = {"/".join(code.relative_to(shared).parts[:2]) for code in codes}
    assert found == set(COUNTED)


@pytest.mark.slow
def test_graphs_kernels_calls_and_nodes_of_a_large_capture(
    shared: Path, db: Database, tmp_path: Path
) -> None:
    limits = Limits.of(db.settings)
    root = tmp_path / "mixnet"
    unpack(shared / "traces" / "cuda-mixnet-train.tar.xz", root, limits)
    assert_counts(root, MIXNET, db)


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
    kernels = db.kernels(graph)
    names = {kernel.name for kernel in kernels if kernel.kind != "extern"}
    assert names == set(DEFINITION.findall(code))
    assert {k.name: k.call_count for k in kernels if k.kind == "extern"} == library
    assert result.kernels == sum(defined.values())


# --- logs ---

RECORD = re.compile(rb"^V\d{4} [^\]\n]*\] (\{.*)$", re.M)
LOGS = {
    "cache_hit_miss.log": 380,
    "comp_failure.log": 21,
    "export.log": 60,
    "inductor_provenance_aot_cuda_log.txt": 134,
    "inductor_provenance_jit_debug_handle_log.txt": 161,
    "inductor_provenance_jit_log.txt": 108,
    "links.log": 12,
    "multi_rank_logs/dedicated_log_torch_trace_rank_2.log": 21,
    "multi_rank_logs/dedicated_log_torch_trace_rank_3.log": 299,
    "multi_rank_schedule/dedicated_log_torch_trace_rank_0_6u3fubwl.log": 161,
    "multi_rank_schedule/dedicated_log_torch_trace_rank_1_n8zycf07.log": 161,
    "multi_rank_schedule/dedicated_log_torch_trace_rank_2.log": 161,
    "simple.log": 76,
    "simple_corrupted_json.log": 76,
}
"""Lines that start a record, by grep."""
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


def assert_records(log: Path, db: Database) -> Counter[str]:
    """What was counted in a log, found to be right."""
    expected = kinds_in(log.read_bytes())
    result = db.read(log)
    (told,) = db.run(result).report["logs"]
    assert {kind: n for kind, n in told["counts"].items() if ":" not in kind} == expected
    assert told["records"] == expected.total()
    rows = Counter(entry.kind for entry in db.entries(result))
    assert rows == {kind: n for kind, n in expected.items() if kind not in MANY}
    return expected


def test_records_of_a_log(fixtures: Path, db: Database) -> None:
    (log,) = (fixtures / "cuda-foo1" / "torch_trace").iterdir()
    assert assert_records(log, db).total() == 133


@pytest.mark.parametrize("name", sorted(LOGS))
def test_records_of_shared_logs(shared: Path, db: Database, name: str) -> None:
    assert assert_records(shared / "traces" / "logs" / name, db).total() == LOGS[name]


def test_no_shared_log_is_left_out(shared: Path) -> None:
    folder = shared / "traces" / "logs"
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert found == set(LOGS)
