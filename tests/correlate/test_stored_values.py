"""Which node a stored value belongs to: its maker, or the node that requested the copy."""

from __future__ import annotations

from inductorscope.correlate.nodes.fx_graph import FxGraph
from inductorscope.correlate.nodes.origins import find_origins
from inductorscope.correlate.nodes.region import Region
from inductorscope.formats.graph.fx import parse_fx
from inductorscope.formats.graph.ir import parse_ir

CHANNELS_LAST = "stride=[36, 1, 12, 4]"


def computed(
    number: int, layout: str, users: str, indexes: list[str], body: str, ranges: str = "{p0: 8}"
) -> str:
    named = "\n".join(f"    index{place} = {index}" for place, index in enumerate(indexes))
    lines = "\n".join(f"        {line}" for line in body.strip().split("\n"))
    return f"""\
op{number}: SchedulerNode(ComputedBuffer)
op{number}.outputs = [
    buf{number}: ComputedBuffer
    buf{number}.layout = FixedLayout({layout})
    buf{number}.users = [{users}]
]
class op{number}_loop_body:
    var_ranges = {ranges}
{named}
    def body(self, ops):
{lines}
        return store


"""


def convolution(number: int, read: str, weight: str) -> str:
    return f"""\
op{number}: ExternKernelSchedulerNode(ExternKernelAlloc)
op{number}.unmet_dependencies = [StarDep(name='{read}', mode=None)]
op{number}.met_dependencies = [StarDep(name='{weight}', mode=None)]
op{number}.outputs = [
    buf{number}: ExternKernelAlloc
    buf{number}.layout = FixedLayout('cpu', torch.float32, size=[2, 4, 3, 3], {CHANNELS_LAST})
    buf{number}.users = [NodeUser(node=OUTPUT, can_inplace=False, is_weak=False)]
]
op{number}.node.kernel = extern_kernels.convolution


"""


def user(name: str) -> str:
    kind = "ExternKernelSchedulerNode" if name in ("op2",) else "SchedulerNode"
    return f"NodeUser(node={kind}(name='{name}'), can_inplace=False, is_weak=False)"


def copy(number: int, source: str, offset: str, layout: str, users: str) -> str:
    body = f"""
get_index = self.get_index('index0')
load = ops.load('{source}', get_index)
get_index_1 = self.get_index('index1')
store = ops.store('buf{number}', get_index_1, load, None)"""
    indexes = [f"72*p0 + p1 + 8*p2{offset}", "36*p0 + 9*p1 + p2"]
    return computed(number, layout, users, indexes, body, "{p0: 2, p1: 4, p2: 9}")


SPLIT = """\
class GraphModule(torch.nn.Module):
    def forward(self, x: "f32[2, 8, 3, 3][72, 1, 24, 8]cpu", weight: "f32[4, 4, 3, 3][36, 9, 3, 1]cpu"):
        made: "f32[2, 8, 3, 3][72, 1, 24, 8]cpu" = torch.ops.aten.relu.default(x)
        parts = torch.ops.aten.split.Tensor(made, 4, 1)
        first: "f32[2, 4, 3, 3][72, 1, 24, 8]cpu" = parts[0]
        second: "f32[2, 4, 3, 3][72, 1, 24, 8]cpu" = parts[1]
        convolution: "f32[2, 4, 3, 3][36, 1, 12, 4]cpu" = torch.ops.aten.convolution.default(second, weight, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)
        return (convolution, first, second)
"""  # noqa: E501


def test_a_part_is_copied_by_the_convolution_that_reads_it_unless_the_caller_wants_the_copy() -> (
    None
):
    dense = "'cpu', torch.float32, size=[2, 4, 3, 3], stride=[36, 9, 3, 1]"
    last = f"'cpu', torch.float32, size=[2, 4, 3, 3], {CHANNELS_LAST}"
    output = "NodeUser(node=OUTPUT, can_inplace=False, is_weak=False)"
    relu = """
get_index = self.get_index('index0')
load = ops.load('x', get_index)
relu = ops.relu(load)
get_index_1 = self.get_index('index0')
store = ops.store('buf0', get_index_1, relu, None)"""
    whole = "'cpu', torch.float32, size=[2, 8, 3, 3], stride=[72, 1, 24, 8]"
    ir = (
        computed(0, whole, f"{user('op1')}, {user('op3')}", ["p0"], relu, "{p0: 144}")
        + copy(1, "buf0", " + 4", last, user("op2"))
        + convolution(2, "buf1", "copied_weight")
        + copy(3, "buf0", " + 4", dense, output)
    )
    found = find_origins(FxGraph(parse_fx(SPLIT)), parse_ir(ir), {})
    assert found.nodes["op1", "body", "store"] == "convolution"
    assert found.nodes["op3", "body", "store"] == "second"  # not `first`: it begins elsewhere


def test_a_part_of_a_sum_is_recognised_among_many_values_of_its_size() -> None:
    others = "\n".join(
        f'        sum_{n}: "f32[8][1]cpu" = torch.ops.aten.sum.dim_IntList(wide, [1])'
        for n in range(2, 70)
    )
    fx = f"""\
class GraphModule(torch.nn.Module):
    def forward(self, x: "f32[64][1]cpu", y: "f32[64][1]cpu"):
        prod: "f32[64][1]cpu" = torch.ops.aten.mul.Tensor(x, y)
        sum_1: "f32[][]cpu" = torch.ops.aten.sum.default(prod)
        neg: "f32[][]cpu" = torch.ops.aten.neg.default(sum_1)
        exp: "f32[64][1]cpu" = torch.ops.aten.exp.default(prod)
        wide: "f32[8, 8][8, 1]cpu" = torch.ops.aten.view.default(exp, [8, 8])
{others}
        return (neg, sum_2)
"""
    body = """
get_index = self.get_index('index0')
load = ops.load('x', get_index)
load_1 = ops.load('y', get_index)
mul = ops.mul(load, load_1)
reduction = ops.reduction(torch.float32, torch.float32, 'sum', mul)
get_index_1 = self.get_index('index1')
store = ops.store_reduction('buf0', get_index_1, reduction)"""
    rest = """
get_index = self.get_index('index0')
load = ops.load('buf0', get_index)
reduction = ops.reduction(torch.float32, torch.float32, 'sum', load)
store = ops.store_reduction('buf1', get_index, reduction)"""
    ir = computed(
        0, "'cpu', torch.float32, size=[8], stride=[1]", user("op1"), ["8*p0 + p1", "p0"], body,
        "{p0: 8, p1: 8}",
    ) + computed(
        1, "'cpu', torch.float32, size=[], stride=[]", "", ["p0"], rest
    )  # fmt: skip
    found = find_origins(FxGraph(parse_fx(fx)), parse_ir(ir), {})
    assert found.held["buf0"] is not None
    assert found.nodes["op1", "body", "load"] == "sum_1"


def test_a_division_by_a_size_counts_twice() -> None:
    body = """
get_index = self.get_index('index0')
load = ops.load('x', get_index)
constant = ops.constant(8.0, torch.float32)
truediv = ops.truediv(load, constant)
get_index_1 = self.get_index('index0')
store = ops.store('buf0', get_index_1, truediv, None)"""
    layout = "'cuda:0', torch.float32, size=[8], stride=[1]"
    (node,) = parse_ir(computed(0, layout, "", ["p0"], body)).nodes
    assert Region(node, lambda _: False).distinct() == 4
    assert Region(node, lambda _: False, divisors={8.0}).distinct() == 3  # the graph's own number


def test_how_much_a_loop_on_a_cpu_may_hold_depends_on_the_version() -> None:
    (node,) = parse_ir(
        computed(0, "'cpu', torch.float32, size=[8], stride=[1]", "", ["p0"], """
get_index = self.get_index('index0')
load = ops.load('x', get_index)
store = ops.store('buf0', get_index, load, None)""")
    ).nodes  # fmt: skip
    newer, older = (Region(node, lambda _: False, long_loops=long) for long in (True, False))
    assert newer.most > older.most
