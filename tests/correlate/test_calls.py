"""Calls name the nodes they compute, also where Inductor's own mapping is silent."""

from __future__ import annotations

from pathlib import Path

import pytest
from inductorscope.correlate.directory import read_texts
from inductorscope.correlate.graph import graph_links
from inductorscope.correlate.links.kernel_nodes import nodes_of_calls
from inductorscope.correlate.links.texts import GraphTexts
from inductorscope.formats.code.records import CodeCall, OutputCode
from inductorscope.formats.graph.provenance import Provenance


def code(direction: str) -> OutputCode:
    call = CodeCall("extern_kernels.mm", 7, True, 20, [], source_nodes=["permute_30", "linear"])
    return OutputCode(calls=[call], aot_id=f"0_{direction}")


@pytest.mark.parametrize(("direction", "nodes"), [("backward", ["permute_30"]), ("forward", [])])
def test_source_nodes_of_a_backward_are_its_own(direction: str, nodes: list[str]) -> None:
    found = nodes_of_calls(code(direction), Provenance(), {"fx:permute_30", "fx:mm_3"})
    assert found == {("extern_kernels.mm", 7): nodes}


def calls_with_nodes(texts: GraphTexts) -> set[str]:
    links = graph_links(texts)
    stage = links.stages["code"]
    return {
        links.entities[call]
        for entity, call in zip(stage.entities, stage.call, strict=True)
        if call >= 0 and links.entities[entity].startswith("fx:")
    }


def test_every_call_of_a_backward_without_provenance_has_nodes(shared: Path) -> None:
    for name in ("cpu-gpt-train", "cuda-gpt-train"):
        (path,) = (shared / "truth" / name).rglob("*backward*/output_code.py")
        texts = read_texts(path)
        texts.provenance = None
        text = texts.code or ""
        assert len(calls_with_nodes(texts)) == text.count("# [Provenance debug handles]")
