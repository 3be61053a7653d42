"""Generations of the provenance mapping."""

from __future__ import annotations

import json

from inductorscope.formats.provenance import parse_provenance, split_handle


def encode(**mapping: object) -> bytes:
    return json.dumps(mapping).encode()


def test_calls_are_told_apart_by_handles():
    parsed = parse_provenance(encode(cppCodeToPost={"k:1": ["neg"], "k:2": ["add"]}, version=2.0))
    assert parsed.kernel_to_post == {("k", 1): ["neg"], ("k", 2): ["add"]}
    assert parsed.generation == 2


def test_older_files_know_kernels_only():
    parsed = parse_provenance(encode(cppCodeToPost={"k": ["neg"]}, postToPre={"neg": ["a"]}))
    assert (parsed.kernel_to_post, parsed.generation) == ({("k", None): ["neg"]}, 1)
    assert parsed.post_to_pre == {"neg": ["a"]}


def test_the_last_colon_counts():
    assert split_handle("aoti::model::kernel:7") == ("aoti::model::kernel", 7)
    assert split_handle("aoti::model") == ("aoti::model", None)


def test_other_files_that_say_the_same():
    information = {"k:1": {"stack_traces": [], "post_grad_nodes": ["neg"], "pre_grad_nodes": []}}
    assert parse_provenance(encode(**information)).kernel_to_post == {("k", 1): ["neg"]}
    assert parse_provenance(b'{"k": ["neg"]}').kernel_to_post == {("k", None): ["neg"]}
    assert parse_provenance(b'{"version": 2.0}').generation == 0


def test_nonsense_is_a_problem_not_an_error():
    assert parse_provenance(b"[1]").problems
    assert parse_provenance(b"\xff\xfe{").problems
    assert parse_provenance(b"[" * 100_000).problems
    assert parse_provenance(b'{"cppCodeToPost": 3, "postToPre": {"a": 1}}').problems
