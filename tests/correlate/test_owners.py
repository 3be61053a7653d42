"""Whose an operation is, where several nodes could have asked for it."""

from __future__ import annotations

import pytest
from inductorscope.correlate.kernels.statements import Statement, describe
from inductorscope.correlate.replay.kernel_lines import align_call, read_kernel_text
from inductorscope.correlate.replay.schedule import CallSite
from inductorscope.formats.code.records import CodeCall, CodeKernel
from inductorscope.formats.graph.ir import parse_ir

from tests.correlate.test_copies import COPY, extern, graph
from tests.correlate.test_origins import node, origins, user

OUTPUT = user("OUTPUT")

ONE_ELEMENT = """
arg0_1: "f32[8, 1][1, 1]cpu"):
isnan: "b8[8, 1][1, 1]cpu" = torch.ops.aten.isnan.default(arg0_1)
any_1: "b8[8, 1][1, 1]cpu" = torch.ops.aten.any.dim(isnan, -1, True)
full: "f32[][]cpu" = torch.ops.aten.full.default([], 0.0)
where: "f32[8, 1][1, 1]cpu" = torch.ops.aten.where.self(any_1, full, arg0_1)
return (where,)
"""


def test_any_of_one_element_is_that_element() -> None:
    body = """
load = ops.load('arg0_1', index0)
isnan = ops.isnan(load)
constant = ops.constant(0.0, torch.float32)
where = ops.where(isnan, constant, load)
store = ops.store('buf0', index0, where, None)"""
    found = origins(graph(ONE_ELEMENT), node(0, body, "[8, 1]", OUTPUT))
    assert found.nodes["op0", "body", "isnan"] == "isnan"
    assert found.nodes["op0", "body", "where"] == "where"


NO_ELEMENTS = """
arg0_1: "f32[0][1]cpu"):
full: "f32[8][1]cpu" = torch.ops.aten.full.default([8], 3.0)
exp: "f32[0][1]cpu" = torch.ops.aten.exp.default(arg0_1)
written: "f32[8][1]cpu" = torch.ops.aten.slice_scatter.default(full, exp, 0, 0, 0)
sin: "f32[8][1]cpu" = torch.ops.aten.sin.default(written)
return (sin,)
"""


def test_of_a_value_without_elements_a_constant_is_read() -> None:
    body = """
get_index = self.get_index('index0')
index_expr = ops.index_expr(get_index, torch.int64)
constant = ops.constant(0, torch.int64)
lt = ops.lt(index_expr, constant)
masked_subblock1 = self.masked_subblock1(lt, 0.0)
constant_1 = ops.constant(3.0, torch.float32)
where = ops.where(lt, masked_subblock1, constant_1)
sin = ops.sin(where)
store = ops.store('buf0', index0, sin, None)"""
    ir = node(0, body, "[8]", OUTPUT).rstrip() + "\n"
    ir += "    def masked_subblock1(self, ops):\n"
    ir += "        constant = ops.constant(nan, torch.float32)\n        return constant\n"
    found = origins(graph(NO_ELEMENTS), ir)
    assert found.nodes["op0", "body", "where"] == "written"
    assert found.nodes["op0", "body", "store"] == "sin"


PUT_BACK = """
arg0_1: "f32[8][1]cpu", arg1_1: "f32[8][1]cpu", arg2_1: "i64[8][1]cpu", arg3_1: "i64[8][1]cpu"):
neg: "i64[8][1]cpu" = torch.ops.aten.neg.default(arg2_1)
index: "f32[8][1]cpu" = torch.ops.aten.index.Tensor(arg1_1, [neg])
mul: "f32[8][1]cpu" = torch.ops.aten.mul.Tensor(arg0_1, index)
empty: "i64[8][1]cpu" = torch.ops.aten.empty.memory_format([8])
index_put: "i64[8][1]cpu" = torch.ops.aten.index_put.default(empty, [neg], arg3_1)
index_1: "f32[8][1]cpu" = torch.ops.aten.index.Tensor(mul, [index_put])
sin: "f32[8][1]cpu" = torch.ops.aten.sin.default(index_1)
return (sin,)
"""
NEGATED = """
load = ops.load('arg2_1', index0)
neg = ops.neg(load)
store = ops.store('buf0', index0, neg, None)"""
PUT = """
load = ops.load('buf0', index0)
set_indirect0 = self.set_indirect0(load)
load_1 = ops.load('arg3_1', index0)
get_index_1 = self.get_index('index1')
store = ops.store('buf1', get_index_1, load_1, None)"""
READ_BACK = """
load = ops.load('buf1', index0)
set_indirect0 = self.set_indirect0(load)
get_index_1 = self.get_index('index1')
load_1 = ops.load('arg0_1', get_index_1)
get_index_2 = self.get_index('index1')
load_2 = ops.load('buf0', get_index_2)
set_indirect1 = self.set_indirect1(load_2)
get_index_3 = self.get_index('index2')
load_3 = ops.load('arg1_1', get_index_3)
mul = ops.mul(load_1, load_3)
sin = ops.sin(mul)
store = ops.store('buf2', index0, sin, None)"""


def test_what_is_written_at_indices_is_not_those_indices() -> None:
    ir = node(0, NEGATED, "[8]", f"{user('op1')}, {user('op2')}") + node(1, PUT, "[8]", user("op2"))
    ir = ir.replace("torch.float32, size", "torch.int64, size") + node(2, READ_BACK, "[8]", OUTPUT)
    ir = ir.replace("index1 = p0 + 8", "index1 = indirect0\n    index2 = indirect1")
    found = origins(graph(PUT_BACK), ir).nodes
    assert found["op2", "body", "set_indirect0"] == "index_1"
    assert found["op2", "body", "set_indirect1"] == found["op2", "body", "load_2"] == "index"
    assert found["op2", "body", "mul"] == "mul"


BOTH_WAYS = """
arg0_1: "f32[8, 8][8, 1]cpu", arg1_1: "i64[8][1]cpu"):
index: "f32[8, 8][8, 1]cpu" = torch.ops.aten.index.Tensor(arg0_1, [None, arg1_1])
index_1: "f32[8, 8][8, 1]cpu" = torch.ops.aten.index.Tensor(index, [arg1_1])
sin: "f32[8, 8][8, 1]cpu" = torch.ops.aten.sin.default(index_1)
return (sin,)
"""


def test_of_indices_that_look_alike_the_outer_node_computes_its_own_first() -> None:
    body = """
load = ops.load('arg1_1', index0)
set_indirect0 = self.set_indirect0(load)
get_index_1 = self.get_index('index1')
load_1 = ops.load('arg1_1', get_index_1)
set_indirect1 = self.set_indirect1(load_1)
get_index_2 = self.get_index('index2')
load_2 = ops.load('arg0_1', get_index_2)
sin = ops.sin(load_2)
store = ops.store('buf0', index0, sin, None)"""
    ir = node(0, body, "[8, 8]", OUTPUT).replace("{p0: 8}", "{p0: 8, p1: 8}")
    ir = ir.replace("index1 = p0 + 8", "index1 = p1\n    index2 = 8*indirect0 + indirect1")
    found = origins(graph(BOTH_WAYS), ir).nodes
    assert found["op0", "body", "set_indirect0"] == "index_1"
    assert found["op0", "body", "set_indirect1"] == "index"


MOVED = """
arg0_1: "f32[4, 2][2, 1]cpu"):
exp: "f32[4, 2][2, 1]cpu" = torch.ops.aten.exp.default(arg0_1)
flip: "f32[4, 2][2, 1]cpu" = torch.ops.aten.flip.default(exp, [0])
roll: "f32[4, 2][2, 1]cpu" = torch.ops.aten.roll.default(flip, [1], [0])
permute: "f32[2, 4][1, 2]cpu" = torch.ops.aten.permute.default(roll, [1, 0])
clone: "f32[2, 4][4, 1]cpu" = torch.ops.aten.clone.default(permute)
return (clone,)
"""


def test_what_is_computed_in_the_shape_of_a_copy_is_stored_by_it() -> None:
    body = """
get_index = self.get_index('index1')
load = ops.load('arg0_1', get_index)
exp = ops.exp(load)
store = ops.store('buf0', index0, exp, None)"""
    ir = node(0, body, "[2, 4]", OUTPUT).replace("index1 = p0 + 8", "index1 = 7 - p0")
    found = origins(graph(MOVED), ir)
    assert found.held["buf0"] == ("clone", 0)
    assert found.nodes["op0", "body", "exp"] == "exp"


ATTENDED = """
arg0_1: "f32[2, 4][4, 1]cpu"):
attended = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default(arg0_1)
getitem: "f32[2, 4][1, 2]cpu" = attended[0]
permute: "f32[4, 2][2, 1]cpu" = torch.ops.aten.permute.default(getitem, [1, 0])
clone: "f32[4, 2][2, 1]cpu" = torch.ops.aten.clone.default(permute)
sin: "f32[4, 2][2, 1]cpu" = torch.ops.aten.sin.default(clone)
return (getitem, sin)
"""


def test_what_the_caller_receives_of_a_library_is_copied_before_it_is_cloned() -> None:
    kernel = "torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default"
    ir = extern(0, kernel, "StarDep(name='arg0_1', mode=None)")
    users = f"{user('op2')}, {OUTPUT}"
    ir += node(1, COPY.format(read="buf0", number=1), "[2, 4]", users)
    ir += node(2, COPY.format(read="buf1", number=2), "[4, 2]", OUTPUT)
    found = origins(graph(ATTENDED), ir).nodes
    assert found["op1", "body", "store"] == "getitem"
    assert found["op2", "body", "store"] == "clone"


SHARED = """
arg0_1: "f32[1, 8, 4][32, 4, 1]cpu", arg1_1: "f32[4, 8][8, 1]cpu"):
exp: "f32[1, 8, 4][32, 1, 8]cpu" = torch.ops.aten.exp.default(arg0_1)
view: "f32[8, 4][1, 8]cpu" = torch.ops.aten.reshape.default(exp, [8, 4])
{user}
permute: "f32[4, 8][8, 1]cpu" = torch.ops.aten.permute.default(view, [1, 0])
return (product, exp, permute)
"""
EXP = """
load = ops.load('arg0_1', index0)
exp = ops.exp(load)
store = ops.store('buf0', index0, exp, None)"""


def test_a_view_with_several_users_is_copied_where_mm_fixes_its_strides() -> None:
    mm = 'product: "f32[8, 8][8, 1]cpu" = torch.ops.aten.mm.default(view, arg1_1)'
    ir = node(0, EXP, "[1, 8, 4]", f"{user('op1')}, {OUTPUT}").replace("[1])", "[32, 4, 1])")
    users = f"{user('op2', 'ExternKernelSchedulerNode')}, {OUTPUT}"
    copied = node(1, COPY.format(read="buf0", number=1), "[8, 4]", users)
    ir += copied.replace("stride=[1]", "stride=[1, 8]")
    ir += extern(2, "extern_kernels.mm", "StarDep(name='buf1', mode=None)")
    found = origins(graph(SHARED.format(user=mm)), ir).nodes
    assert found["op1", "body", "store"] == "view"


def test_a_view_that_several_read_is_computed_for_the_library_call_that_reads_it() -> None:
    bmm = 'product: "f32[8, 8][8, 1]cpu" = torch.ops.aten.bmm.default(view, arg1_1)'
    ir = node(0, EXP, "[8, 4]", user("op1", "ExternKernelSchedulerNode"))
    ir += extern(1, "extern_kernels.bmm", "StarDep(name='buf0', mode=None)")
    text = graph(SHARED.format(user=bmm)).replace("(product, exp, permute)", "(product, permute)")
    assert origins(text, ir).nodes["op0", "body", "store"] == "product"


def test_vectors_of_integers_are_divided_with_the_rest_of_the_divisor_filled_up() -> None:
    text = "tmp0 / decltype(tmp2)::set(decltype(tmp2)(1), tmp2, static_cast<int64_t>(8))"
    divided = describe(Statement(f"auto tmp3 = {text};", [1]), "tmp3", text)
    assert "/" in divided.tags
    assert divided.uses == ("tmp0", "tmp2")


LOOKED_UP_IN_VAIN = """
arg0_1: "f32[8][1]cpu"):
full: "f32[8][1]cpu" = torch.ops.aten.full.default([8], 1.0)
iota: "i64[8][1]cpu" = torch.ops.prims.iota.default(8, start = 0, step = 1, dtype = torch.int64)
convert: "f32[8][1]cpu" = torch.ops.prims.convert_element_type.default(iota, torch.float32)
mul: "f32[8][1]cpu" = torch.ops.aten.mul.Tensor(convert, 0.5)
convert_1: "i64[8][1]cpu" = torch.ops.prims.convert_element_type.default(mul, torch.int64)
index: "f32[8][1]cpu" = torch.ops.aten._unsafe_index.Tensor(full, [convert_1])
neg: "f32[8][1]cpu" = torch.ops.aten.neg.default(index)
add: "f32[8][1]cpu" = torch.ops.aten.add.Tensor(arg0_1, neg)
return (add,)
"""


def test_what_is_looked_up_in_a_constant_beside_a_load_computes_its_index_in_vain() -> None:
    body = """
load = ops.load('arg0_1', index0)
get_index = self.get_index('index0')
index_expr = ops.index_expr(get_index, torch.float32)
constant = ops.constant(0.5, torch.float32)
mul = ops.mul(index_expr, constant)
to_dtype = ops.to_dtype(mul, torch.int64, src_dtype = torch.float32)
set_indirect0 = self.set_indirect0(to_dtype)
constant_1 = ops.constant(1.0, torch.float32)
neg = ops.neg(constant_1)
add = ops.add(load, neg)
store = ops.store('buf0', index0, add, None)"""
    found = origins(graph(LOOKED_UP_IN_VAIN), node(0, body, "[8]", OUTPUT)).nodes
    assert found["op0", "body", "mul"] == "mul"
    assert found["op0", "body", "to_dtype"] == "convert_1"
    assert found["op0", "body", "add"] == "add"


PARTS = """
arg0_1: "f32[2, 8][8, 1]cpu"):
neg: "f32[2, 8][8, 1]cpu" = torch.ops.aten.neg.default(arg0_1)
slice_1: "f32[2, 4][8, 1]cpu" = torch.ops.aten.slice.Tensor(neg, 1, 0, 4)
slice_2: "f32[2, 4][8, 1]cpu" = torch.ops.aten.slice.Tensor(neg, 1, 4, 8)
clone: "f32[2, 4][4, 1]cpu" = torch.ops.aten.clone.default(slice_1)
clone_1: "f32[2, 4][4, 1]cpu" = torch.ops.aten.clone.default(slice_2)
return (clone, clone_1)
"""


def test_parts_of_a_computed_value_are_told_apart_by_where_they_begin() -> None:
    body = """
get_index = self.get_index('index1')
load = ops.load('arg0_1', get_index)
neg = ops.neg(load)
store = ops.store('buf0', index0, neg, None)"""
    ir = node(0, body, "[2, 4]", OUTPUT).replace("index1 = p0 + 8", "index1 = 8*p0 + p1 + 4")
    assert origins(graph(PARTS), ir).held["buf0"] == ("clone_1", 0)


SUMMED = """\
void kernel(const float* in_ptr0, float* out_ptr0, float* out_ptr1)
{
    for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(8L); x0+=1L)
    {
        {
            float tmp_acc0 = 0;
            for(int64_t x1=static_cast<int64_t>(0L); x1<static_cast<int64_t>(4L); x1+=1L)
            {
                {
                    auto tmp0 = in_ptr0[static_cast<int64_t>(x0 + 8L*x1)];
                    tmp_acc0 = tmp_acc0 + tmp0;
                }
            }
            out_ptr0[static_cast<int64_t>(x0)] = static_cast<float>(tmp_acc0);
            out_ptr1[static_cast<int64_t>(x0)] = static_cast<float>(tmp_acc0);
        }
    }
}
"""


def test_a_sum_that_two_nodes_ask_for_is_written_once_and_stored_by_each() -> None:
    body = """
load = ops.load('arg0_1', index0)
reduction = ops.reduction(torch.float32, torch.float32, 'sum', load)
store_reduction = ops.store_reduction('buf{}', index1, reduction)"""
    nodes = parse_ir("".join(node(n, body.format(n), "[8]", OUTPUT) for n in range(2))).nodes
    lines = SUMMED.rstrip("\n").split("\n")
    kernel = CodeKernel("kernel", "cpp", "", 1, len(lines), 1, 1, len(lines))
    pointers = {"arg0_1": frozenset(["in_ptr0"])}
    pointers |= {f"buf{n}": frozenset([f"out_ptr{n}"]) for n in range(2)}
    site = CallSite(CodeCall("kernel", 0, True, 1, []), kernel, nodes, pointers)
    found = align_call(read_kernel_text(kernel, lines), site).lines
    assert [{key[0] for key in found[n]} for n in (11, 14, 15)] == [{"op0"}, {"op0"}, {"op1"}]


FITTING = """
arg0_1: "f32[1, 2, 2, 2][8, 4, 2, 1]cpu"):
neg: "f32[1, 2, 2, 2][8, 4, 2, 1]cpu" = torch.ops.aten.neg.default(arg0_1)
copy: "f32[1, 2, 2, 2][8, 4, 2, 1]cpu" = torch.ops.{call}
return (neg, copy)
"""


NEG = """
load = ops.load('arg0_1', index0)
neg = ops.neg(load)
store = ops.store('buf{}', index0, neg, None)"""


@pytest.mark.parametrize(
    "call",
    [
        "aten._adaptive_avg_pool2d.default(neg, [2, 2])",
        "prims.convert_element_type.default(neg, torch.float32)",
    ],
)
def test_a_pool_to_the_size_and_a_conversion_to_the_type_that_a_value_has_are_copies(
    call: str,
) -> None:
    ir = "".join(node(n, NEG.format(n), "[1, 2, 2, 2]", OUTPUT) for n in range(2))
    found = origins(graph(FITTING.format(call=call)), ir).nodes
    assert (found["op0", "body", "store"], found["op1", "body", "store"]) == ("neg", "copy")
    assert found["op1", "body", "neg"] == "neg"


SORTED = """
arg0_1: "i64[2, 4][4, 1]cuda:0"):
view: "i64[8][1]cuda:0" = torch.ops.aten.reshape.default(arg0_1, [8])
sort = torch.ops.aten.sort.default(view)
getitem: "i64[8][1]cuda:0" = sort[0]
getitem_1: "i64[8][1]cuda:0" = sort[1]
full: "i64[8][1]cuda:0" = torch.ops.aten.full.default([8], 0)
iota: "i64[8][1]cuda:0" = torch.ops.prims.iota.default(8, start = 0, step = 1)
index_put: "i64[8][1]cuda:0" = torch.ops.aten.index_put_.default(full, [getitem_1], iota)
sub: "i64[8][1]cuda:0" = torch.ops.aten.sub.Tensor(getitem, getitem_1)
return (index_put, sub)
"""
SORT = """
load = ops.load('arg0_1', index0)
index_expr = ops.index_expr(index0, torch.int16)
sort = ops.sort((torch.int64, torch.int16), (load, index_expr), False, False)
getitem = sort[0]
getitem_1 = sort[1]
store = ops.store('buf{}', index0, {}, None)"""


def test_a_sort_stores_values_and_indices_and_the_indices_in_16_bits() -> None:
    body = """
load = ops.load('buf0', index0)
load_1 = ops.load('buf1', index0)
to_dtype = ops.to_dtype(load_1, torch.int64, src_dtype = torch.int16)
sub = ops.sub(load, to_dtype)
store = ops.store('buf2', index0, sub, None)"""
    ir = node(0, SORT.format(0, "getitem"), "[8]", user("op2")).replace("float32", "int64")
    ir += node(1, SORT.format(1, "getitem_1"), "[8]", user("op2")).replace("float32", "int16")
    ir += node(2, body, "[8]", OUTPUT).replace("float32", "int64")
    found = origins(graph(SORTED), ir)
    assert [found.held[f"buf{n}"] for n in range(3)] == [("sort", 0), ("sort", 1), ("sub", 0)]
    assert found.nodes["op2", "body", "load_1"] == found.nodes["op2", "body", "to_dtype"] == "sort"


RETURNED = """
arg0_1: "f32[2, 4][4, 1]cuda:0"):
exp: "f32[2, 4][4, 1]cuda:0" = torch.ops.aten.exp.default(arg0_1)
expand: "f32[2, 2, 4][0, 4, 1]cuda:0" = torch.ops.aten.expand.default(exp, [2, 2, 4])
attended = torch.ops.aten._scaled_dot_product_efficient_attention.default(arg0_1, expand)
getitem: "f32[2, 4][4, 1]cuda:0" = attended[0]
return (getitem, exp)
"""


def test_what_the_caller_receives_too_is_stored_where_it_is_computed() -> None:
    users = f"{user('op1', 'ExternKernelSchedulerNode')}, {OUTPUT}"
    ir = node(0, EXP, "[2, 4]", users)
    kernel = "torch.ops.aten._scaled_dot_product_efficient_attention.default"
    ir += extern(1, kernel, "StarDep(name='arg0_1', mode=None), StarDep(name='buf0', mode=None)")
    assert origins(graph(RETURNED), ir).nodes["op0", "body", "store"] == "exp"


CONVOLVED = """
primals_1: "f32[2, C, 4, 4]", primals_2: "f32[C, C, 2, 2]"):
convolution: "f32[2, C, 2, 2]" = torch.ops.aten.convolution.default(primals_1, primals_2, None,\
 [2, 2], [0, 0], [1, 1], False, [0, 0], 1)
return (convolution, primals_2)
"""


@pytest.mark.parametrize(("channels", "maker"), [("8", "convolution"), ("128", "primals_2")])
def test_a_weight_is_copied_by_its_convolution_unless_inductor_chose_the_layout(
    channels: str, maker: str
) -> None:
    copied = node(
        0,
        COPY.format(read="primals_2", number=0),
        f"[{channels}, {channels}, 2, 2]",
        user("op1", "ExternKernelSchedulerNode"),
    )
    last = f"stride=[{4 * int(channels)}, 1, {2 * int(channels)}, {channels}])"
    reads = "StarDep(name='primals_1', mode=None), StarDep(name='buf0', mode=None)"
    called = extern(1, "extern_kernels.convolution", reads).replace(
        "MultiOutputLayout(device=device(type='cpu'))",
        f"FixedLayout('cpu', torch.float32, size=[2, {channels}, 2, 2], {last}",
    )
    ir = (copied.replace("stride=[1])", last) + called).replace("'cpu'", "'cuda:0'")
    text = graph(CONVOLVED.replace("C,", f"{channels},"))
    assert origins(text, ir).nodes["op0", "body", "store"] == maker


SCALED = """
arg0_1: "f32[2, 8, 16]", arg1_1: "f32[8, 8, 3]"):
mul: "f32[8, 8, 3]" = torch.ops.aten.mul.Tensor(arg1_1, 2.0)
convolution: "f32[2, 8, 14]" = torch.ops.aten.convolution.default(arg0_1, mul, None, [1], [0], [1],\
 False, [0], GROUPS)
return (convolution,)
"""


@pytest.mark.parametrize(("groups", "maker"), [("1", "mul"), ("2", "convolution")])
def test_of_lines_a_convolution_stores_what_it_reads_unless_channels_last_is_slower(
    groups: str, maker: str
) -> None:
    body = EXP.replace("arg0_1", "arg1_1").replace(
        "exp = ops.exp(load)", "two = ops.constant(2.0, torch.float32)\nexp = ops.mul(load, two)"
    )
    ir = node(0, body, "[8, 8, 3]", user("op1", "ExternKernelSchedulerNode"))
    reads = "StarDep(name='arg0_1', mode=None), StarDep(name='buf0', mode=None)"
    ir = (ir + extern(1, "extern_kernels.convolution", reads)).replace("'cpu'", "'cuda:0'")
    found = origins(graph(SCALED.replace("GROUPS", groups)), ir)
    assert found.nodes["op0", "body", "store"] == maker


TURNED = """
arg0_1: "f32[1, 4, 8]", arg1_1: "f32[8]", arg2_1: "f32[8]"):
permute: "f32[1, 8, 4]" = torch.ops.aten.permute.default(arg0_1, [0, 2, 1])
exp: "f32[1, 8, 4]" = torch.ops.aten.exp.default(permute)
permute_1: "f32[1, 4, 8]" = torch.ops.aten.permute.default(exp, [0, 2, 1])
sum_1: "f32[4]" = torch.ops.aten.sum.dim_IntList(permute_1, [0, 2])
backward = torch.ops.aten.convolution_backward.default(permute_1, arg1_1, arg2_1, [8])
getitem: "f32[8]" = backward[0]
return (sum_1, getitem)
"""


def test_what_is_computed_of_a_turned_value_is_turned_and_its_view_asks_for_a_copy() -> None:
    ir = node(0, EXP, "[1, 8, 4]", user("op1")).replace("stride=[1]", "stride=[32, 4, 1]")
    users = user("op2", "ExternKernelSchedulerNode")
    copied = node(1, COPY.format(read="buf0", number=1), "[1, 4, 8]", users)
    ir += copied.replace("stride=[1]", "stride=[32, 8, 1]")
    kernel = "torch.ops.aten.convolution_backward.default"
    ir += extern(2, kernel, "StarDep(name='buf1', mode=None)")
    assert origins(graph(TURNED), ir).nodes["op1", "body", "store"] == "permute_1"


OVERWRITTEN = """
arg0_1: "f32[8][1]cpu", arg1_1: "f32[4][1]cpu", arg2_1: "f32[12][1]cpu"):
written: "f32[12][1]cpu" = torch.ops.aten.slice_scatter.default(arg2_1, arg0_1, 0, 0, -4)
slice_1: "f32[4][1]cpu" = torch.ops.aten.slice.Tensor(written, 0, 8, 12)
copy: "f32[4][1]cpu" = torch.ops.aten.copy.default(slice_1, arg1_1)
clone: "f32[4][1]cpu" = torch.ops.aten.clone.default(slice_1)
again: "f32[12][1]cpu" = torch.ops.aten.slice_scatter.default(written, copy, 0, 8, 12)
return (clone, again)
"""


def test_a_copy_over_another_value_does_not_hold_that_value() -> None:
    body = """
get_index = self.get_index('index0')
index_expr = ops.index_expr(get_index, torch.int64)
constant = ops.constant(8, torch.int64)
lt = ops.lt(index_expr, constant)
masked_subblock1 = self.masked_subblock1(lt, 0.0)
load = ops.load('arg2_1', index0)
where = ops.where(lt, masked_subblock1, load)
store = ops.store('buf0', index0, where, None)"""
    ir = node(0, body, "[4]", OUTPUT).rstrip() + "\n"
    ir += """\
    def masked_subblock1(self, ops):
        load = ops.load('arg0_1', index0)
        return load
"""
    assert origins(graph(OVERWRITTEN), ir).nodes["op0", "body", "store"] == "clone"


FILLED = """
arg0_1: "f32[8][1]cpu"):
full: "f32[8][1]cpu" = torch.ops.aten.full.default([8], 0)
three: "f32[4][1]cpu" = torch.ops.aten.full.default([4], 3)
four: "f32[4][1]cpu" = torch.ops.aten.full.default([4], 4)
threes: "f32[8][1]cpu" = torch.ops.aten.slice_scatter.default(full, three, 0, 4, 8)
fours: "f32[8][1]cpu" = torch.ops.aten.slice_scatter.default(full, four, 0, 4, 8)
return (threes, fours)
"""


def test_numbers_tell_apart_what_is_written_into_slices() -> None:
    ir = ""
    for place, number in enumerate((4, 3)):  # the second one is stored first
        body = f"""
get_index = self.get_index('index0')
index_expr = ops.index_expr(get_index, torch.int64)
constant = ops.constant(4, torch.int64)
ge = ops.ge(index_expr, constant)
masked_subblock1 = self.masked_subblock1(ge, 0.0)
constant_1 = ops.constant(0.0, torch.float32)
where = ops.where(ge, masked_subblock1, constant_1)
store = ops.store('buf{place}', index0, where, None)"""
        ir += f"""{node(place, body, "[8]", OUTPUT).rstrip()}
    def masked_subblock1(self, ops):
        constant = ops.constant({number}.0, torch.float32)
        return constant


"""
    found = origins(graph(FILLED), ir).nodes
    assert [found[f"op{place}", "body", "store"] for place in (0, 1)] == ["fours", "threes"]


DIVIDED = """
arg0_1: "f32[8][1]cpu", arg1_1: "f32[8][1]cpu"):
full: "f32[][]cpu" = torch.ops.aten.full.default([], 0.5)
div: "f32[8][1]cpu" = torch.ops.aten.div.Tensor(arg0_1, arg1_1)
mul: "f32[8][1]cpu" = torch.ops.aten.mul.Tensor(full, arg1_1)
return (div, mul)
"""


def test_a_division_by_a_tensor_is_no_multiplication_by_a_number() -> None:
    body = """
load = ops.load('arg1_1', index0)
constant = ops.constant(0.5, torch.float32)
mul = ops.mul(constant, load)
store = ops.store('buf0', index0, mul, None)"""
    found = origins(graph(DIVIDED), node(0, body, "[8]", OUTPUT)).nodes
    assert found["op0", "body", "mul"] == "mul"


IN_PLACE = """
arg0_1: "f32[8][1]cpu", arg1_1: "i64[4][1]cpu", arg2_1: "f32[4][1]cpu"):
index_put: "f32[8][1]cpu" = torch.ops.aten.index_put_.default(arg0_1, [arg1_1], arg2_1)
exp: "f32[8][1]cpu" = torch.ops.aten.exp.default(index_put)
return (exp,)
"""


def test_memory_that_a_call_writes_is_loaded_by_its_reader() -> None:
    put = extern(0, "aten.index_put_", "StarDep(name='arg0_1', mode=None)")
    put = put.replace("    buf0.users", "    buf0.mutations = ['arg0_1']\n    buf0.users")
    ir = put + node(1, EXP.replace("buf0", "buf1"), "[8]", OUTPUT)
    assert origins(graph(IN_PLACE), ir).nodes["op1", "body", "load"] == "exp"


EMPTY_SLICE = """
arg0_1: "f32[8][1]cpu", arg1_1: "f32[8][1]cpu"):
exp: "f32[8][1]cpu" = torch.ops.aten.exp.default(arg0_1)
slice_1: "f32[0][1]cpu" = torch.ops.aten.slice.Tensor(exp, 0, 8, 8)
full: "f32[8][1]cpu" = torch.ops.aten.full.default([8], 0)
written: "f32[8][1]cpu" = torch.ops.aten.slice_scatter.default(full, slice_1, 0, 8, 16)
add: "f32[8][1]cpu" = torch.ops.aten.add.Tensor(written, arg1_1)
return (add,)
"""


def test_a_slice_without_elements_is_read_from_its_source() -> None:
    body = """
get_index = self.get_index('index0')
index_expr = ops.index_expr(get_index, torch.int64)
constant = ops.constant(8, torch.int64)
ge = ops.ge(index_expr, constant)
masked_subblock1 = self.masked_subblock1(ge, 0.0)
constant_1 = ops.constant(0.0, torch.float32)
where = ops.where(ge, masked_subblock1, constant_1)
load = ops.load('arg1_1', index0)
add = ops.add(where, load)
store = ops.store('buf0', index0, add, None)"""
    ir = node(0, body, "[8]", OUTPUT).rstrip() + "\n"
    ir += """\
    def masked_subblock1(self, ops):
        load = ops.load('arg0_1', index0)
        exp = ops.exp(load)
        return exp
"""
    found = origins(graph(EMPTY_SLICE), ir).nodes
    assert (found["op0", "body", "add"], found["op0", "masked_subblock1", "exp"]) == ("add", "exp")
