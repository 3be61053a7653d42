"""Generations of the provenance mapping."""

import json
from pathlib import Path

from inductorscope.formats.graph.provenance import Provenance, parse_provenance, split_handle
from inductorscope.formats.log.trace_log import read_trace_log

MAPPINGS = "inductor_provenance_tracking_node_mappings"


def encode(**mapping: object) -> bytes:
    return json.dumps(mapping).encode()


def test_calls_are_told_apart_by_handles() -> None:
    parsed = parse_provenance(encode(cppCodeToPost={"k:1": ["neg"], "k:2": ["add"]}, version=2.0))
    assert parsed.kernel_to_post == {("k", 1): ["neg"], ("k", 2): ["add"]}


def test_older_files_know_kernels_only() -> None:
    parsed = parse_provenance(encode(cppCodeToPost={"k": ["neg"]}, postToPre={"neg": ["a"]}))
    assert parsed.kernel_to_post == {("k", None): ["neg"]}
    assert parsed.post_to_pre == {"neg": ["a"]}


def test_the_last_colon_counts() -> None:
    assert split_handle("aoti::model::kernel:7") == ("aoti::model::kernel", 7)
    assert split_handle("aoti::model") == ("aoti::model", None)


def test_other_files_that_say_the_same() -> None:
    information = {"k:1": {"stack_traces": [], "post_grad_nodes": ["neg"], "pre_grad_nodes": []}}
    assert parse_provenance(encode(**information)).kernel_to_post == {("k", 1): ["neg"]}
    assert parse_provenance(b'{"k": ["neg"]}').kernel_to_post == {("k", None): ["neg"]}
    assert parse_provenance(b'{"version": 2.0}').kernel_to_post == {}


def test_nonsense_is_a_problem_not_an_error() -> None:
    assert parse_provenance(b"[1]").problems
    assert parse_provenance(b"\xff\xfe{").problems
    assert parse_provenance(b"[" * 100_000).problems
    assert parse_provenance(b'{"cppCodeToPost": 3, "postToPre": {"a": 1}}').problems


def test_how_passes_made_a_node_leads_to_where_it_began() -> None:
    source = {"name": "mm", "from_node": [{"name": "addmm", "from_node": [{"name": "linear"}]}]}
    nodes = {"mm_1": [{"name": "", "from_node": []}, source], "permute": [{"name": "linear"}]}
    parsed = parse_provenance(encode(**nodes))
    assert parsed.post_to_pre == {"mm_1": ["linear"], "permute": ["linear"]}
    assert not parsed.kernel_to_post


def test_old_and_new_generations_of_one_log_agree(shared: Path) -> None:
    names = "inductor_post_to_pre_grad_nodes", "inductor_triton_kernel_to_post_grad_nodes"
    read: dict[str, Provenance] = {}
    with (shared / "traces" / "logs" / "inductor_provenance_aot_cuda_log.txt").open("rb") as file:
        for record in read_trace_log(file):
            if record.name in (*names, MAPPINGS):
                read[record.name] = parse_provenance(record.payload or b"")
    whole = read[MAPPINGS]
    assert read[names[0]].post_to_pre == whole.post_to_pre
    assert read[names[1]].kernel_to_post == whole.kernel_to_post
    assert len(whole.kernel_to_post) == 4


def test_stacks_of_kernels_are_no_nodes() -> None:
    assert not parse_provenance(b'{"k:1": ["  File \\"/a.py\\", line 1, in f"]}').kernel_to_post
