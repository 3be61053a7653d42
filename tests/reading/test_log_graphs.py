"""Which records of a log make a graph: of real logs, also with records moved or left out."""

import re
from pathlib import Path

import pytest
from inductorscope.reading.run import ReadResult
from inductorscope.store.runs.links import unpack_links
from inductorscope.store.runs.nodes import fx_nodes
from inductorscope.store.tables.models import Graph, Links, Run
from sqlalchemy import select

from tests.support.readings import (
    Database,
    database,
    names,
    payload,
    payloads,
    segments,
    with_payload,
)

NUMEROUS = {"chromium_event", "describe_tensor", "describe_storage", "describe_source"}


@pytest.fixture(scope="module")
def inference(fixtures: Path) -> bytes:
    """A log of one compile with one graph."""
    (log,) = (fixtures / "cuda-foo1" / "torch_trace").iterdir()
    return log.read_bytes()


@pytest.fixture(scope="module")
def training(shared: Path) -> bytes:
    """A log of one compile with a forward and a backward graph."""
    return small(shared / "traces" / "cuda-gpt-train")


def small(capture: Path) -> bytes:
    """The log of a capture without the records that come by the thousand."""
    (log,) = (capture / "torch_trace").iterdir()
    return b"".join(part for part in segments(log.read_bytes()) if names(part) not in NUMEROUS)


def read(db: Database, tmp_path: Path, **logs: bytes) -> ReadResult:
    root = tmp_path / "sent"
    root.mkdir()
    for name, content in logs.items():
        (root / f"{name}.log").write_bytes(content)
    return db.read(root)


def node_names(db: Database, graph: Graph) -> set[str]:
    with db.sessions() as session:
        return {node.name for node in fx_nodes(session, graph.id)}


def linked_nodes(db: Database, graph: Graph) -> set[str]:
    """FX nodes that lines of the output code refer to."""
    with db.sessions() as session:
        row = session.get_one(Links, graph.id)
    links = unpack_links(row.payload)
    refs = links.stages["code"]
    named = {links.entities[entity] for entity in refs.entities}
    return {name.removeprefix("fx:") for name in named if name.startswith("fx:")}


def only(found: list[bytes]) -> bytes:
    (one,) = found
    return one


# --- one graph ---


def test_a_graph_has_the_payloads_of_its_records(
    db: Database, tmp_path: Path, inference: bytes
) -> None:
    result = read(db, tmp_path, one=inference)
    (graph,) = db.graphs(result)
    raw = payloads(inference)
    assert db.texts(graph) == {
        "dynamo": only(raw["dynamo_output_graph"]),
        "pre_grad": only(raw["before_pre_grad_graph"]),
        "pre_grad_after": only(raw["after_pre_grad_graph"]),
        "aot": only(raw["aot_inference_graph"]),
        "joint_before": only(raw["before_joint_graph"]),
        "joint_after": only(raw["after_joint_graph"]),
        "fx_runnable": only(raw["fx_graph_runnable"]),
        "readable": only(raw["before_post_grad_graph"]),
        "post_grad": only(raw["inductor_post_grad_graph"]),
        "code": only(raw["inductor_output_code"]),
        "provenance": only(raw["inductor_provenance_tracking_node_mappings"]),
        "kernel_stacks": only(raw["inductor_provenance_tracking_kernel_stack_traces"]),
        "kernel_compiles": only(raw["triton_kernel_info"]),
    }
    assert (graph.direction, graph.aot_id, graph.compile_id) == ("inference", "0_inference", "0/0")
    assert {"neg", "maximum"} <= linked_nodes(db, graph)


def test_the_same_compile_id_after_a_reset_is_another_graph(
    db: Database, tmp_path: Path, inference: bytes
) -> None:
    result = read(db, tmp_path, twice=inference * 2)
    first, second = db.graphs(result)
    assert (first.compile_id, second.compile_id) == ("0/0", "0/0")
    assert first.slug != second.slug
    assert db.texts(first) == db.texts(second)
    assert db.orphans() == set()


def test_a_restart_goes_on_with_its_compile(db: Database, tmp_path: Path, inference: bytes) -> None:
    parts = segments(inference)
    cut = [names(part) for part in parts].index("dynamo_output_graph") + 1
    again = inference.replace(b'"attempt": 0', b'"attempt": 1')
    result = read(db, tmp_path, restarted=b"".join(parts[:cut]) + again)
    (graph,) = db.graphs(result)
    assert graph.aot_id == "0_inference"
    assert db.texts(graph)["code"] == only(payloads(inference)["inductor_output_code"])
    attempts = {entry.attempt for entry in db.entries(result) if entry.kind == "dynamo_start"}
    assert attempts == {0, 1}


def test_what_never_came_to_a_code_is_a_graph_without_one(
    db: Database, tmp_path: Path, inference: bytes
) -> None:
    parts = segments(inference)
    cut = [names(part) for part in parts].index("inductor_output_code")
    result = read(db, tmp_path, crashed=b"".join(parts[:cut]))
    (graph,) = db.graphs(result)
    assert result.kernels == 0
    texts = db.texts(graph)
    assert texts["post_grad"] == only(payloads(inference)["inductor_post_grad_graph"])
    assert "code" not in texts
    assert "neg" in node_names(db, graph)


def test_every_rank_has_graphs_of_its_own(db: Database, tmp_path: Path, inference: bytes) -> None:
    def of_rank(rank: int) -> bytes:
        return inference.replace(b'"frame_id": 0', b'"rank": %d, "frame_id": 0' % rank)

    result = read(db, tmp_path, a=of_rank(0), b=of_rank(7), c=of_rank(3))
    graphs = db.graphs(result)
    assert sorted(graph.name for graph in graphs) == [
        "rank 0: 0_inference [0/0]", "rank 3: 0_inference [0/0]", "rank 7: 0_inference [0/0]",
    ]  # fmt: skip
    assert len({graph.slug for graph in graphs}) == 3
    ranks = {entry.rank for entry in db.entries(result) if entry.compile_id is not None}
    assert ranks == {0, 3, 7}
    texts = [db.texts(graph) for graph in graphs]
    assert texts[0] == texts[1] == texts[2]


def test_a_log_twice_keeps_each_content_once(
    db: Database, tmp_path: Path, inference: bytes
) -> None:
    once = database(tmp_path / "once")
    once.read(only_file(tmp_path / "lone.log", inference))
    result = read(db, tmp_path, one=inference, other=inference)
    contents = {artifact.digest for artifact in db.artifacts(result)}
    assert contents == {item.digest for item in once.artifacts(first_run(once))}
    kept = db.artifacts(result, "trace_log")
    assert {db.content(item.digest) for item in kept} == {inference}
    assert len({graph.slug for graph in db.graphs(result)}) == result.graphs
    once.close()


def only_file(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def first_run(db: Database) -> ReadResult:
    """Reading the same again tells which run it was."""
    with db.sessions() as session:
        run = session.scalars(select(Run)).one()
    return ReadResult(run.id, True, 0, 0, 0, 0, "", [], 0.0)


# --- a forked child, whose parent's log tells its file names ---


def forked(log: bytes) -> tuple[bytes, bytes]:
    """The file names as one log, all other records as another."""
    told: list[bytes] = []
    rest: list[bytes] = []
    for part in segments(log):
        (told if names(part) == "str" else rest).append(part)
    return b"".join(told), b"".join(rest)


def test_file_names_of_a_fork_come_from_its_sibling(
    db: Database, tmp_path: Path, inference: bytes
) -> None:
    parent, child = forked(inference)
    result = read(db, tmp_path, parent=parent, child=child)
    assert result.graphs == 1
    (note,) = db.run(result).report.dropped
    used = set(re.findall(rb'"filename": (\d+)', inference))
    told = set(re.findall(rb'^V\d{4} .*\{"str": \[".*", (\d+)\]', inference, re.M))
    assert (note.file, note.kind, note.count) == ("child.log", "guessed", len(used & told))
    assert "another log of the upload" in note.reason


def test_file_names_that_no_log_tells_are_said_to_be_unknown(
    db: Database, tmp_path: Path, inference: bytes
) -> None:
    _, child = forked(inference)
    result = read(db, tmp_path, child=child)
    (note,) = db.run(result).report.dropped
    assert note.count == len(set(re.findall(rb'"filename": (\d+)', inference)))
    assert "(unknown)" in note.reason


# --- forward and backward ---


def assert_own(db: Database, graph: Graph, raw: dict[str, list[bytes]], number: int) -> None:
    """The graph's texts are those of the log that come first, or second."""
    texts = db.texts(graph)
    direction = ("forward", "backward")[number]
    assert texts["aot"] == only(raw[f"aot_{direction}_graph"])
    assert texts["fx_runnable"] == raw["fx_graph_runnable"][number]
    assert texts["readable"] == raw["before_post_grad_graph"][number]
    assert texts["post_grad"] == raw["inductor_post_grad_graph"][number]
    assert texts["code"] == raw["inductor_output_code"][number]
    stacks = raw["inductor_provenance_tracking_kernel_stack_traces"][number]
    assert texts["kernel_stacks"] == stacks
    assert texts["joint"] == only(raw["aot_joint_graph"])
    assert texts["dynamo"] == only(raw["dynamo_output_graph"])


@pytest.mark.parametrize("name", ["cpu-gpt-train", "cuda-gpt-train", "cuda-gpt-max-autotune"])
def test_forward_and_backward_are_separate(
    db: Database, tmp_path: Path, shared: Path, name: str
) -> None:
    log = small(shared / "traces" / name)
    forward, backward = db.graphs(read(db, tmp_path, one=log))
    assert (forward.direction, forward.aot_id) == ("forward", "0_forward")
    assert (backward.direction, backward.aot_id) == ("backward", "0_backward")
    assert forward.compile_id == backward.compile_id == "0/0"
    raw = payloads(log)
    assert_own(db, forward, raw, 0)
    assert_own(db, backward, raw, 1)
    assert "tangents_1" in node_names(db, backward) - node_names(db, forward)


def test_a_backward_without_provenance_has_the_rest(
    db: Database, tmp_path: Path, training: bytes
) -> None:
    parts = segments(training)
    maps = [
        number
        for number, part in enumerate(parts)
        if names(part) == "inductor_provenance_tracking_node_mappings"
    ]
    assert len(maps) == 2
    del parts[maps[1]]
    log = b"".join(parts)
    forward, backward = db.graphs(read(db, tmp_path, one=log))
    raw = payloads(log)
    assert_own(db, forward, raw, 0)
    assert_own(db, backward, raw, 1)
    assert "provenance" in db.texts(forward)
    assert "provenance" not in db.texts(backward)
    linked = linked_nodes(db, backward)
    assert linked
    assert linked <= node_names(db, backward)


def test_a_training_log_made_of_an_inference_log(
    db: Database, tmp_path: Path, inference: bytes
) -> None:
    """Forward and backward of one compile, from a log that has neither."""
    log = as_training(inference)
    forward, backward = db.graphs(read(db, tmp_path, one=log))
    assert [forward.direction, backward.direction] == ["forward", "backward"]
    raw = payloads(log)
    for number, graph in enumerate((forward, backward)):
        texts = db.texts(graph)
        assert texts["code"] == raw["inductor_output_code"][number]
        assert texts["post_grad"] == raw["inductor_post_grad_graph"][number]
    assert "provenance" in db.texts(forward)
    assert "provenance" not in db.texts(backward)
    assert db.texts(backward)["aot"] == only(raw["aot_backward_graph"])
    assert "negated" in node_names(db, backward) - node_names(db, forward)
    assert {"negated", "maximum"} <= linked_nodes(db, backward)


def as_training(log: bytes) -> bytes:
    """The compile's own graph as forward, then the same with another name as backward."""
    out, late = [], []
    for part in segments(log):
        named = names(part)
        if named == "aot_inference_graph":
            out.append(part.replace(b'"aot_inference_graph"', b'"aot_forward_graph"', 1))
            back = part.replace(b'"aot_inference_graph"', b'"aot_backward_graph"', 1)
            out.append(with_payload(back, renamed(payload(part))))
            continue
        if named in {
            "fx_graph_runnable", "before_post_grad_graph", "inductor_post_grad_graph",
            "inductor_output_code", "inductor_provenance_tracking_kernel_stack_traces",
        }:  # fmt: skip
            content = payload(part).replace(b"['0_inference'", b"['0_backward'")
            late.append(with_payload(part, renamed(content)))
            content = payload(part).replace(b"['0_inference'", b"['0_forward'")
            out.append(with_payload(part, content))
            continue
        out.append(part)
    return b"".join(out + late)


def renamed(text: bytes) -> bytes:
    """With the node `neg` under another name, where it is a node's."""
    text = re.sub(rb"^(\s+)neg(?=: | = )", rb"\1negated", text, flags=re.M)
    return re.sub(rb"(%|\(|, |^# +)neg(?=[ ,);\]:])", rb"\1negated", text, flags=re.M)


# --- several graphs in one compile ---


def test_a_restart_leaves_forward_and_backward_their_own_aot_graphs(
    db: Database, tmp_path: Path, training: bytes
) -> None:
    parts = segments(training)
    cut = [names(part) for part in parts].index("inductor_post_grad_graph") + 1
    again = training.replace(b'"attempt": 0', b'"attempt": 1')
    graphs = db.graphs(read(db, tmp_path, one=b"".join(parts[:cut]) + again))
    coded = [graph for graph in graphs if graph.aot_id is not None]
    assert [graph.direction for graph in coded] == ["forward", "backward"]
    raw = payloads(training)
    for number, graph in enumerate(coded):
        assert_own(db, graph, raw, number)


def test_subgraphs_of_one_compile_have_their_own_aot_and_joint_graphs(
    db: Database, tmp_path: Path, training: bytes
) -> None:
    """As DistributedDataParallel splits a graph: forwards one by one, backwards in reverse."""
    parts = segments(training)
    kinds = [names(part) for part in parts]
    joint = kinds.index("aot_joint_graph")
    metrics = kinds.index("compilation_metrics")
    late = len(kinds) - 1 - kinds[::-1].index("fx_graph_runnable")
    forward, backward = parts[joint:metrics], parts[late:]
    log = b"".join([
        *parts[:joint],
        *forward, *(second(part) for part in forward),
        *parts[metrics:late],
        *(second(part) for part in backward), *backward,
    ])  # fmt: skip
    graphs = {graph.aot_id: graph for graph in db.graphs(read(db, tmp_path, one=log))}
    assert set(graphs) == {"0_forward", "1_forward", "0_backward", "1_backward"}
    raw = payloads(log)
    for aot_id, graph in graphs.items():
        number = int((aot_id or "")[0])
        texts = db.texts(graph)
        assert texts["aot"] == raw[f"aot_{graph.direction}_graph"][number], aot_id
        assert texts["joint"] == raw["aot_joint_graph"][number], aot_id


def second(part: bytes) -> bytes:
    """A record of the second subgraph: its texts differ."""
    if b"\n\t" not in part:
        return part
    content = payload(part).replace(b"# AOT ID: ['0_", b"# AOT ID: ['1_")
    if names(part).startswith("aot_") and names(part).endswith("_graph"):
        content += b"\n# of the second subgraph"
    return with_payload(part, content)


def test_graphs_of_a_dynamic_model_with_breaks(db: Database, tmp_path: Path, shared: Path) -> None:
    """Two of its compiles were started again after a graph break."""
    log = small(shared / "traces" / "cuda-dynamic")
    graphs = db.graphs(read(db, tmp_path, one=log))
    assert [graph.compile_id for graph in graphs] == ["0/0", "1/0", "2/0", "0/1", "1/1", "2/1"]
    assert [graph.aot_id for graph in graphs] == [f"{n}_inference" for n in range(6)]
    raw = payloads(log)
    for number, graph in enumerate(graphs):
        texts = db.texts(graph)
        assert texts["code"] == raw["inductor_output_code"][number]
        assert texts["aot"] == raw["aot_inference_graph"][number]
        assert texts["post_grad"] == raw["inductor_post_grad_graph"][number]


# --- other ways to compile ---


def test_ahead_of_time_without_a_compile_id(db: Database, tmp_path: Path, shared: Path) -> None:
    log = (shared / "traces" / "logs" / "inductor_provenance_aot_cuda_log.txt").read_bytes()
    raw = payloads(log)
    (graph,) = db.graphs(read(db, tmp_path, one=log))
    assert (graph.compile_id, graph.direction) == (None, "inference")
    texts = db.texts(graph)
    assert texts["code"] == only(raw["inductor_aot_wrapper_code"])
    assert texts["post_grad"] == only(raw["after_post_grad_graph"])
    assert texts["provenance"] == only(raw["inductor_provenance_tracking_node_mappings"])
    declared = re.findall(rb"^ +CUfunction (\w+)\{nullptr\};", texts["code"], re.M)
    assert graph.kernel_count == len(declared) == 3


def test_ahead_of_time_twice_in_one_log(db: Database, tmp_path: Path, shared: Path) -> None:
    log = (shared / "traces" / "logs" / "inductor_provenance_aot_cuda_log.txt").read_bytes()
    first, second_one = db.graphs(read(db, tmp_path, one=log * 2))
    assert db.texts(first) == db.texts(second_one)


def test_codes_from_the_cache_are_graphs(db: Database, tmp_path: Path, shared: Path) -> None:
    """A cache miss, the same as a hit, and another miss; and three graphs without Inductor."""
    log = (shared / "traces" / "logs" / "cache_hit_miss.log").read_bytes()
    raw = payloads(log)
    graphs = db.graphs(read(db, tmp_path, one=log))
    coded = [graph for graph in graphs if graph.aot_id is not None]
    assert [db.texts(graph)["code"] for graph in coded] == raw["inductor_output_code"]
    assert [db.texts(graph)["aot"] for graph in coded] == raw["aot_inference_graph"]
    assert [graph.compile_id for graph in coded] == ["1/0"] * 3
    assert [graph.compile_id for graph in graphs[3:]] == ["0/0"] * 3
    missed = [db.texts(graph).get("post_grad") for graph in coded]
    assert missed == [
        raw["inductor_post_grad_graph"][0],
        raw["inductor_post_grad_graph"][0],  # of the compile that made the same code
        raw["inductor_post_grad_graph"][1],
    ]


def test_several_ranks_in_one_upload(db: Database, shared: Path) -> None:
    folder = shared / "traces" / "logs" / "multi_rank_logs"
    result = db.read(folder)
    code = sum(path.read_bytes().count(b'{"inductor_output_code"') for path in folder.iterdir())
    graphs = db.graphs(result)
    assert sum(graph.aot_id is not None for graph in graphs) == code == 7
    assert len({graph.slug for graph in graphs}) == len(graphs) == 8
