"""What the comment above a kernel says about the buffers that it writes."""

import pytest
from inductorscope.correlate.buffers.origins import Origins
from inductorscope.correlate.buffers.walk import find_origins
from inductorscope.correlate.kernel_comments import kernel_comments
from inductorscope.correlate.nodes.fx_graph import FxGraph
from inductorscope.correlate.replay.schedule import CallSite
from inductorscope.formats.code.kernel_facts import read_fragment
from inductorscope.formats.code.output_code import CodeCall, CodeKernel
from inductorscope.formats.graph.fx import parse_fx
from inductorscope.formats.graph.ir import parse_ir

from tests.support.loop_bodies import node, user

SQUARE = """
get_index = self.get_index('index0')
load = ops.load('{of}', get_index)
mul = ops.mul(load, load)
store = ops.store('buf{number}', get_index, mul, None)
"""
OUTPUT = user("OUTPUT", "OutputNode")
FX = """\
class GraphModule(torch.nn.Module):
    def forward(self, a: "f32[8][1]cpu", b: "f32[8][1]cpu"):
        mul: "f32[8][1]cpu" = torch.ops.aten.mul.Tensor(a, a)
        pow_1: "f32[8][1]cpu" = torch.ops.aten.pow.Tensor_Scalar(a, 2)
        mul_1: "f32[8][1]cpu" = torch.ops.aten.mul.Tensor(b, b)
        pow_2: "f32[8][1]cpu" = torch.ops.aten.pow.Tensor_Scalar(b, 2)
        sum_1: "f32[][]cpu" = torch.ops.aten.sum.default(a)
        lost: "f32[8][1]cpu" = torch.ops.aten.reshape.default(gone, [8])
        reshape: "f32[8][1]cpu" = torch.ops.aten.reshape.default(mul, [8])
        expand: "f32[8][1]cpu" = torch.ops.aten.expand.default(mul, [8])
        return (mul, pow_1, mul_1, pow_2, sum_1, reshape, expand)
"""


def found(*returns: str) -> Origins:
    """What is found for two calls of one kernel, if its comment returns these names."""
    ir = "".join(
        node(number, SQUARE.format(of=name, number=number), "[8]", OUTPUT)
        for number, name in enumerate("ab")
    )
    fragment = read_fragment(["# Graph fragment:", f"#   return {','.join(returns)}"])
    kernel = CodeKernel("kernel", "triton", "poi", 1, 1, 1, 1, 1, fragment=fragment)
    sites = [
        CallSite(CodeCall("kernel", place, True, 1, []), kernel, [computed])
        for place, computed in enumerate(parse_ir(ir).nodes)
    ]
    graph = FxGraph(parse_fx(FX))
    return find_origins(graph, parse_ir(ir), {}, kernel_comments(sites, {}, graph))


def held(*returns: str) -> dict[str, str]:
    """What both calls put into their buffers."""
    origins = found(*returns)
    stored = {f"buf{n}": origins.nodes[f"op{n}", "body", "store"] for n in range(2)}
    assert stored == {name: origins.held[name][0] for name in stored}
    return stored


def test_a_buffer_holds_what_the_comment_returns_and_that_of_a_later_call_what_is_like_it() -> None:
    assert held("%pow_1") == {"buf0": "pow_1", "buf1": "pow_2"}
    assert held("%mul") == {"buf0": "mul", "buf1": "mul_1"}


def test_a_view_may_be_what_needed_the_buffer_unless_it_shares_memory() -> None:
    for name, stored in (("reshape", "reshape"), ("expand", "mul")):
        origins = found(f"%{name}")
        assert origins.nodes["op0", "body", "store"] == stored
        assert origins.nodes["op0", "body", "mul"] == "mul"
        assert origins.held["buf0"] == ("mul", 0)


@pytest.mark.parametrize(
    "returns",
    [
        ("%buf0",),  # Inductor knows no node
        ("%pow_1", "%pow_2"),  # there are more names than buffers
        ("%sum_1",),  # of another size
        ("%gone",),
        ("%lost",),  # a view of what the graph lacks
        (),
    ],
)
def test_names_that_do_not_agree_with_the_buffers_are_left_alone(returns: tuple[str, ...]) -> None:
    assert held(*returns) == {"buf0": "mul", "buf1": "mul_1"}


FILL = """\
class GraphModule(torch.nn.Module):
    def forward(self, index: "i64[8][1]cpu", value: "f32[8][1]cpu"):
        full: "f32[8][1]cpu" = torch.ops.aten.full.default([8], 0)
        index_put: "f32[8][1]cpu" = torch.ops.aten.index_put.default(full, [index], value, True)
        return (index_put,)
"""


def test_a_fill_is_not_what_is_written_into_it_later() -> None:
    fill = """
get_index = self.get_index('index0')
constant = ops.constant(0.0, torch.float32)
store = ops.store('buf0', get_index, constant, None)
"""
    chosen = fill.replace("constant, None", "where, None").replace(
        "store =",
        "load = ops.load('value', get_index)\nwhere = ops.where(constant, load, constant)\nstore =",
    )
    fragment = read_fragment(["# Graph fragment:", "#   return %index_put"])
    kernel = CodeKernel("kernel", "triton", "poi", 1, 1, 1, 1, 1, fragment=fragment)
    made_for = []
    for body in (fill, chosen):
        nodes = parse_ir(node(0, body, "[8]", OUTPUT)).nodes
        sites = [CallSite(CodeCall("kernel", 0, True, 1, []), kernel, nodes)]
        made_for.append(kernel_comments(sites, {}, FxGraph(parse_fx(FILL))).made_for)
    assert made_for == [{}, {"buf0": "index_put"}]


def test_the_nodes_of_a_call_are_those_of_all_its_buffers() -> None:
    nodes = parse_ir(node(0, SQUARE.format(of="a", number=0), "[8]", OUTPUT)).nodes
    kernel = CodeKernel("kernel", "triton", "poi", 1, 1, 1, 1, 1)
    sites = [CallSite(CodeCall("kernel", 3, True, 1, []), kernel, nodes)]
    comments = kernel_comments(sites, {("kernel", 3): ["mul", "pow_1"]}, FxGraph(parse_fx(FX)))
    assert comments.members == {"op0": {"mul", "pow_1"}}
