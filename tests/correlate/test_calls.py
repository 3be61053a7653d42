"""Calls name the nodes they compute, also where Inductor's own mapping is silent."""

from pathlib import Path

import pytest
from inductorscope.correlate.directory import read_texts
from inductorscope.correlate.graph import graph_links
from inductorscope.correlate.links.kernel_nodes import nodes_of_calls
from inductorscope.correlate.links.texts import GraphTexts
from inductorscope.correlate.replay.schedule import call_sites
from inductorscope.formats.code.records import CodeCall, CodeKernel, OutputCode
from inductorscope.formats.graph.fx import parse_fx
from inductorscope.formats.graph.ir_nodes import IrBuffer, IrLoopBody, IrText, IrTextNode
from inductorscope.formats.graph.provenance import Provenance

GRAPH = """class GraphModule(torch.nn.Module):
    def forward(self, a, b):
        permute_30 = torch.ops.aten.permute.default(a, [1, 0])
        mm_3 = torch.ops.aten.mm.default(permute_30, b)
"""


def code(direction: str) -> OutputCode:
    call = CodeCall("extern_kernels.mm", 7, True, 20, [], source_nodes=["permute_30", "linear"])
    return OutputCode(calls=[call], aot_id=f"0_{direction}")


@pytest.mark.parametrize(("direction", "nodes"), [("backward", ["permute_30"]), ("forward", [])])
def test_source_nodes_of_a_backward_are_its_own(direction: str, nodes: list[str]) -> None:
    graph = parse_fx(GRAPH).main()
    found = nodes_of_calls(code(direction), Provenance(), graph)
    assert found == {("extern_kernels.mm", 7): nodes}


def test_a_librarys_call_has_its_own_node_and_the_views_it_reads() -> None:
    """Records also name what its inputs were computed from, as the multiplication here."""
    multiplied = """        mul = torch.ops.aten.mul.Tensor(a, 2)
        view_1 = torch.ops.aten.view.default(mul, [16])
        permute_30 = torch.ops.aten.permute.default(mul, [1, 0])"""
    plain = "        permute_30 = torch.ops.aten.permute.default(a, [1, 0])"
    graph = parse_fx(GRAPH.replace(plain, multiplied)).main()
    names = ["mul", "view_1", "permute_30", "mm_3"]
    call = CodeCall("extern_kernels.mm", 7, True, 20, [], source_nodes=names, extern=True)
    found = nodes_of_calls(OutputCode(calls=[call], aot_id="0_backward"), Provenance(), graph)
    assert found == {("extern_kernels.mm", 7): ["permute_30", "mm_3"]}


def scheduled(name: str, buffers: list[IrBuffer], members: list[str]) -> IrTextNode:
    kind = "FusedSchedulerNode" if len(members) > 1 else "SchedulerNode"
    body = IrLoopBody(0, 0) if len(members) == 1 else None
    return IrTextNode(name, kind, "ComputedBuffer", members, 0, 0, buffers=buffers, body=body)


def test_a_kernel_that_adds_to_a_fill_is_not_the_fill() -> None:
    """Calls and nodes are not equally many, since a template computes a node too. Both kernels
    write the memory of `buf0`, and a Triton kernel computes one node."""
    fill = scheduled("op0", [IrBuffer("buf0")], ["op0"])
    first = scheduled("op1", [IrBuffer("buf1")], ["op1"])
    adding = scheduled("op2", [IrBuffer("buf2", mutations=["buf0"])], ["op2"])
    fused = scheduled("op1_op2", [], ["op1", "op2"])
    first.parent = adding.parent = "op1_op2"
    template = scheduled("op3", [IrBuffer("buf3")], ["op3"])
    nodes = [fill, fused, first, adding, template]
    kernels = [
        CodeKernel(name, "triton", "poi", 0, 0, 0, 0, 0, parameters)
        for name, parameters in (("fill", ["out_ptr0"]), ("adds", ["out_ptr0", "out_ptr1"]))
    ]
    calls = [CodeCall("fill", 1, True, 1, ["buf0"]), CodeCall("adds", 2, True, 2, ["buf1", "buf0"])]
    sites = call_sites(OutputCode(kernels, calls), [], IrText(nodes))
    assert [[node.name for node in site.nodes][:2] for site in sites] == [["op0"], ["op1", "op2"]]


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
