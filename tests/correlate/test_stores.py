"""Which node a stored value belongs to: the one that computes it, or one that takes a copy."""

from __future__ import annotations

import pytest

from tests.correlate.test_copies import COPY, EXP, extern, graph
from tests.correlate.test_origins import node, origins, user

OUTPUT = "NodeUser(node=OUTPUT, can_inplace=False, is_weak=False)"


def stored(fx: str, *nodes: str) -> list[str]:
    """The node that each loop body's store belongs to."""
    found = origins(graph(fx), "".join(nodes)).nodes
    return [
        found[f"op{n}", "body", "store"] for n in range(20) if (f"op{n}", "body", "store") in found
    ]


def number(text: str, place: int) -> str:
    return text.replace("buf0", f"buf{place}")


def call(place: int, name: str) -> str:
    reads = f"StarDep(name='buf{place - 1}', mode=None)"
    return extern(place, f"torch.ops.aten.{name}.default", reads)


LIFTED = """
arg0_1: "f32[8][1]cpu"):
_tensor_constant0: "i64[2][1]cpu" = self._tensor_constant0
_tensor_constant1: "i64[2][1]cpu" = self._tensor_constant1
exp: "f32[8][1]cpu" = torch.ops.aten.exp.default(arg0_1)
lift_fresh_copy: "i64[2][1]cpu" = torch.ops.aten.lift_fresh_copy.default(_tensor_constant0)
cumsum: "i64[2][1]cpu" = torch.ops.aten.cumsum.default(lift_fresh_copy, -1)
lift_fresh_copy_1: "i64[2][1]cpu" = torch.ops.aten.lift_fresh_copy.default(_tensor_constant1)
cumsum_1: "i64[2][1]cpu" = torch.ops.aten.cumsum.default(lift_fresh_copy_1, -1)
return (exp, cumsum, cumsum_1)
"""


def test_equal_constants_are_stored_in_the_order_of_their_copies() -> None:
    body = """
get_index = self.get_index('index0')
index_expr = ops.index_expr(get_index, torch.int64)
constant = ops.constant(1, torch.int64)
lt = ops.lt(index_expr, constant)
constant_1 = ops.constant(16, torch.int64)
constant_2 = ops.constant(16, torch.int64)
where = ops.where(lt, constant_1, constant_2)
store = ops.store('buf0', index0, where, None)"""
    users = user("op9", "ExternKernelSchedulerNode")
    nodes = [node(0, EXP, "[8]", OUTPUT)]
    for place in (1, 3):
        constant = node(place, number(body, place), "[2]", users)
        nodes += [constant.replace("float32", "int64"), call(place + 1, "cumsum")]
    assert stored(LIFTED, *nodes) == ["exp", "lift_fresh_copy", "lift_fresh_copy_1"]


PARTS = """
arg0_1: "f32[1, 2, 4, 9]", arg1_1: "f32[1, 8, 4, 4]", arg2_1: "f32[8, 4, 1, 1]"):
convolution: "f32[1, 8, 4, 4]" = torch.ops.aten.convolution.default(arg1_1, arg2_1, None, [1, 1],\
 [0, 0], [1, 1], False, [0, 0], 2)
pool = torch.ops.prims._low_memory_max_pool_with_offsets.default(arg0_1, [1, 2], [1, 1], [0, 0],\
 [1, 1], False)
getitem: "f32[1, 2, 4, 8]" = pool[0]
USES
"""
POOL = """
load = ops.load('arg0_1', index0)
load_1 = ops.load('arg0_1', index1)
maximum = ops.maximum(load_1, load)
store = ops.store('buf0', index0, maximum, None)"""


def test_a_part_of_a_result_is_stored_by_the_node_unless_layouts_turn() -> None:
    uses = """\
sin: "f32[1, 2, 4, 8]" = torch.ops.aten.sin.default(getitem)
cos: "f32[1, 2, 4, 8]" = torch.ops.aten.cos.default(getitem)
return (convolution, sin, cos)"""
    pooled = node(0, POOL, "[1, 2, 4, 8]", user("op1")).replace("'cpu'", "'cuda:0'")
    assert stored(PARTS.replace("USES", uses), pooled) == ["pool"]


def test_a_part_of_a_result_is_stored_into_the_memory_of_a_concatenation() -> None:
    uses = """\
cat: "f32[1, 2, 4, 16]" = torch.ops.aten.cat.default([getitem, arg1_1], -1)
return (convolution, cat)"""
    pooled = node(0, POOL, "[1, 2, 4, 8]", user("op1", "NopKernelSchedulerNode"))
    joined = """\
op1: NopKernelSchedulerNode(ConcatKernel)
op1.outputs = [
    buf1: ConcatKernel
    buf1.layout = FixedLayout('cpu', torch.float32, size=[1, 2, 4, 16], stride=[128, 64, 16, 1])
    buf1.users = []
]


"""
    assert stored(PARTS.replace("USES", uses), pooled + joined) == ["pool"]


JOINED = """
arg0_1: "f32[8][1]cpu", arg1_1: "i64[8][1]cpu"):
cat: "f32[16][1]cpu" = torch.ops.aten.cat.default([arg0_1, arg1_1])
return (cat,)
"""


def test_a_concatenation_converts_what_it_joins() -> None:
    body = """
load = ops.load('arg1_1', index0)
to_dtype = ops.to_dtype(load, torch.float32, src_dtype = torch.int64)
store = ops.store('buf0', index1, to_dtype, None)"""
    piece = node(0, body, "[8]", user("op1", "NopKernelSchedulerNode"), "NonOwningLayout")
    found = origins(graph(JOINED), piece).nodes
    assert {found["op0", "body", op] for op in ("load", "to_dtype", "store")} == {"cat"}


MASKED = """
arg0_1: "f32[8][1]cpu", arg1_1: "f32[8][1]cpu"):
exp: "f32[8][1]cpu" = torch.ops.aten.exp.default(arg0_1)
attention = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default(arg1_1, exp)
attention_1 = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default(arg1_1, exp)
return (attention, attention_1)
"""


@pytest.mark.parametrize("again", [True, False])
def test_what_is_computed_for_each_call_is_stored_by_the_calls(again: bool) -> None:
    name = "_scaled_dot_product_flash_attention_for_cpu"
    one, other = (user(each, "ExternKernelSchedulerNode") for each in ("op1", "op3"))
    if again:
        nodes = [node(0, EXP, "[8]", one), call(1, name)]
        nodes += [node(2, number(EXP, 2), "[8]", other), call(3, name)]
        assert stored(MASKED, *nodes) == ["attention", "attention_1"]
    else:
        users = f"{one},\n        {other}"
        nodes = [node(0, EXP, "[8]", users), call(1, name), call(3, name)]
        assert stored(MASKED, *nodes) == ["exp"]


EQUAL = """
arg0_1: "f32[8][1]cpu"):
exp: "f32[8][1]cpu" = torch.ops.aten.exp.default(arg0_1)
exp_1: "f32[8][1]cpu" = torch.ops.aten.exp.default(arg0_1)
sin: "f32[8][1]cpu" = torch.ops.aten.sin.default(exp)
return (sin, exp_1)
"""


def test_what_only_the_caller_reads_is_what_the_graph_returns() -> None:
    assert stored(EQUAL, node(0, EXP, "[8]", OUTPUT)) == ["exp_1"]


TURNED = """
arg0_1: "f32[8, 8][8, 1]cpu"):
exp: "f32[8, 8][8, 1]cpu" = torch.ops.aten.exp.default(arg0_1)
sin: "f32[8, 8][8, 1]cpu" = torch.ops.aten.sin.default(exp)
permute: "f32[8, 8][1, 8]cpu" = torch.ops.aten.permute.default(exp, [1, 0])
return (sin, permute)
"""


def test_a_returned_view_is_copied_although_it_has_the_shape_of_its_source() -> None:
    nodes = (
        node(0, EXP, "[8, 8]", user("op1")),
        node(1, COPY.format(read="buf0", number=1), "[8, 8]", OUTPUT),
    )
    assert stored(TURNED, *nodes) == ["exp", "permute"]


SHOWN = """
arg0_1: "f32[8][1]cpu"):
exp: "f32[8][1]cpu" = torch.ops.aten.exp.default(arg0_1)
expand: "f32[8][1]cpu" = torch.ops.aten.expand.default(exp, [8])
sin: "f32[8][1]cpu" = torch.ops.aten.sin.default(expand)
return (sin, expand)
"""


def test_a_returned_view_that_repeats_nothing_is_what_is_stored() -> None:
    assert stored(SHOWN, node(0, EXP, "[8]", user("op1"))) == ["expand"]


CLONED = """
arg0_1: "f32[8][1]cpu"):
exp: "f32[8][1]cpu" = torch.ops.aten.exp.default(arg0_1)
clone: "f32[8][1]cpu" = torch.ops.aten.clone.default(exp)
view: "f32[2, 4][4, 1]cpu" = torch.ops.aten.view.default(clone, [2, 4])
clone_1: "f32[8][1]cpu" = torch.ops.aten.clone.default(exp)
view_1: "f32[2, 4][4, 1]cpu" = torch.ops.aten.view.default(clone_1, [2, 4])
return (view, view_1)
"""


def test_of_what_is_only_copied_the_copies_are_stored() -> None:
    nodes = [node(place, number(EXP, place), "[8]", user("op2")) for place in (0, 1)]
    assert stored(CLONED, *nodes) == ["clone", "clone_1"]


SPLIT = """
primals_1: "f32[2, 4, 3]", primals_2: "f32[8, 2, 1]"):
split = torch.ops.aten.split_with_sizes.default(primals_1, [2, 2], 1)
getitem: "f32[2, 2, 3]" = split[0]
convolution: "f32[2, 8, 3]" = torch.ops.aten.convolution.default(getitem, primals_2, None, [1],\
 [0], [1], False, [0], 1)
return (convolution, getitem)
"""


def test_a_view_of_an_argument_has_its_strides_and_a_call_copies_it() -> None:
    body = COPY.format(read="primals_1", number=0)
    copied = node(0, body, "[2, 2, 3]", user("op1", "ExternKernelSchedulerNode"))
    copied = copied.replace("stride=[1]", "stride=[6, 3, 1]").replace(
        "class op0",
        "primals_1_layout = FixedLayout('cpu', torch.float32, size=[2, 4, 3],"
        " stride=[12, 1, 4])\nclass op0",
    )
    ran = extern(1, "extern_kernels.convolution", "StarDep(name='buf0', mode=None)")
    nodes = [each.replace("'cpu'", "'cuda:0'") for each in (copied, ran)]
    assert stored(SPLIT, *nodes) == ["convolution"]


ONE_ROW = """
arg0_1: "i64[8][1]cpu", arg1_1: "f32[1, 4][4, 1]cpu"):
abs_1: "i64[8][1]cpu" = torch.ops.aten.abs.default(arg0_1)
embedding: "f32[8, 4][4, 1]cpu" = torch.ops.aten.embedding.default(arg1_1, abs_1)
sin: "f32[8, 4][4, 1]cpu" = torch.ops.aten.sin.default(embedding)
return (sin, abs_1)
"""


def test_an_index_into_one_row_is_loaded_by_what_looks_up() -> None:
    made = node(0, EXP.replace("exp", "abs"), "[8]", user("op1")).replace("float32", "int64")
    body = """
load = ops.load('buf0', index0)
set_indirect0 = self.set_indirect0(load)
load_1 = ops.load('arg1_1', index1)
sin = ops.sin(load_1)
store = ops.store('buf1', index0, sin, None)"""
    found = origins(graph(ONE_ROW), made + node(1, body, "[8, 4]", OUTPUT)).nodes
    assert found["op1", "body", "load"] == "embedding"


ALL_ALIKE = """
arg0_1: "f32[8][1]cpu"):
mask: "f32[8][1]cpu" = torch.ops.aten.full.default([8], 0.0)
other: "f32[8][1]cpu" = torch.ops.aten.full.default([8], 0.0)
attention = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default(arg0_1, mask)
attention_1 = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default(arg0_1, mask)
return (attention, attention_1, other)
"""


def test_a_mask_without_values_is_made_again_for_each_call() -> None:
    body = """
constant = ops.constant(0.0, torch.float32)
store = ops.store('buf0', index0, constant, None)"""
    nodes = []
    for place in (0, 2):
        users = user(f"op{place + 1}", "ExternKernelSchedulerNode")
        nodes.append(node(place, number(body, place), "[8]", users))
        nodes.append(call(place + 1, "_scaled_dot_product_flash_attention_for_cpu"))
    assert stored(ALL_ALIKE, *nodes) == ["attention", "attention_1"]
