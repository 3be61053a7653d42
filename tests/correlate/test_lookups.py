"""Which node an operation belongs to where positions are looked up, scanned or summed."""

from __future__ import annotations

import pytest

from tests.correlate.test_copies import COPY, EXP, extern, graph
from tests.correlate.test_origins import node, origins, user
from tests.correlate.test_stored_values import computed

SCANNED = """
arg0_1: "f32[4, 2][2, 1]cpu"):
permute: "f32[2, 4][1, 2]cpu" = torch.ops.aten.permute.default(arg0_1, [1, 0])
cumsum: "f32[2, 4][4, 1]cpu" = torch.ops.aten.cumsum.default(permute, 1)
neg: "f32[2, 4][4, 1]cpu" = torch.ops.aten.neg.default(cumsum)
exp: "f32[2, 4][4, 1]cpu" = torch.ops.aten.exp.default(neg)
exp_1: "f32[2, 4][4, 1]cpu" = torch.ops.aten.exp.default(cumsum)
return (exp, exp_1)
"""


def test_a_copy_of_what_a_library_scanned_holds_the_result() -> None:
    ir = extern(0, "torch.ops.aten.cumsum.default", "StarDep(name='arg0_1', mode=None)")
    ir += node(1, COPY.format(read="buf0", number=1), "[2, 4]", user("op2"))
    negated = """
load = ops.load('buf1', index0)
neg = ops.neg(load)
exp = ops.exp(neg)
store = ops.store('buf2', index0, exp, None)"""
    found = origins(graph(SCANNED), ir + node(2, negated, "[2, 4]", user("OUTPUT")))
    assert found.held["buf1"] == ("cumsum", 0)
    assert found.nodes["op2", "body", "load"] == "neg"
    assert found.nodes["op2", "body", "store"] == "exp"


MASKED = """
):
full: "f32[4, 4][4, 1]cpu" = torch.ops.aten.full.default([4, 4], 1.0)
iota: "i64[8][1]cpu" = torch.ops.prims.iota.default(8, start = 0, step = 1, dtype = torch.int64)
convert: "f32[8][1]cpu" = torch.ops.prims.convert_element_type.default(iota, torch.float32)
mul: "f32[8][1]cpu" = torch.ops.aten.mul.Tensor(convert, 0.5)
convert_1: "i64[8][1]cpu" = torch.ops.prims.convert_element_type.default(mul, torch.int64)
row: "i64[8, 1][1, 1]cpu" = torch.ops.aten.unsqueeze.default(convert_1, -1)
index: "f32[8, 8][8, 1]cpu" = torch.ops.aten._unsafe_index.Tensor(full, [row, convert_1])
cumsum: "f32[8, 8][8, 1]cpu" = torch.ops.aten.cumsum.default(index, 0)
mul_1: "f32[8, 8][8, 1]cpu" = torch.ops.aten.mul.Tensor(cumsum, 6.0)
return (index, mul_1)
"""


@pytest.mark.parametrize("word", ["index_expr", "value_expr"])  # the second since torch 2.13
def test_what_is_looked_up_in_a_constant_computes_its_index_in_vain(word: str) -> None:
    body = f"""
get_index = self.get_index('index0')
{word} = ops.{word}(get_index, torch.float32)
constant = ops.constant(0.5, torch.float32)
mul = ops.mul({word}, constant)
to_dtype = ops.to_dtype(mul, torch.int64, src_dtype = torch.float32)
set_indirect0 = self.set_indirect0(to_dtype)
constant_1 = ops.constant(1.0, torch.float32)
store = ops.store('buf0', index0, constant_1, None)"""
    found = origins(graph(MASKED), node(0, body, "[8, 8]", user("OUTPUT"))).nodes
    assert found["op0", "body", "mul"] == "mul"
    assert found["op0", "body", "to_dtype"] == "convert_1"
    # Not the product of the scan, which loops would load.
    assert found["op0", "body", "constant_1"] == found["op0", "body", "store"] == "index"


TABLE = """
arg0_1: "i64[8][1]cpu", arg1_1: "f32[8][1]cpu"):
iota: "i64[8][1]cpu" = torch.ops.prims.iota.default(8, start = 0, step = 1, dtype = torch.int64)
lt: "b8[8][1]cpu" = torch.ops.aten.lt.Scalar(iota, 3)
bitwise_not: "b8[8][1]cpu" = torch.ops.aten.bitwise_not.default(lt)
full: "f32[][]cpu" = torch.ops.aten.full.default([], 0.0)
where: "f32[8][1]cpu" = torch.ops.aten.where.self(bitwise_not, full, arg1_1)
index: "f32[8][1]cpu" = torch.ops.aten.index.Tensor(where, [arg0_1])
return (lt, index)
"""
LOOKED_UP = """
load = ops.load('arg0_1', index0)
set_indirect0 = self.set_indirect0(load)
get_index_1 = self.get_index('index1')
load_1 = ops.load('buf0', get_index_1)
logical_not = ops.logical_not(load_1)
get_index_2 = self.get_index('index1')
load_2 = ops.load('arg1_1', get_index_2)
constant = ops.constant(0.0, torch.float32)
where = ops.where(logical_not, constant, load_2)
store = ops.store('buf1', index0, where, None)"""


def test_a_stored_table_of_positions_is_one_wherever_it_is_looked_up() -> None:
    table = """
get_index = self.get_index('index0')
index_expr = ops.index_expr(get_index, torch.int64)
constant = ops.constant(3, torch.int64)
lt = ops.lt(index_expr, constant)
store = ops.store('buf0', index0, lt, None)"""
    stored = node(0, table, "[8]", user("op1")).replace("torch.float32, size", "torch.bool, size")
    looked_up = node(1, LOOKED_UP, "[8]", user("OUTPUT"))
    looked_up = looked_up.replace("index1 = p0 + 8", "index1 = indirect0")
    found = origins(graph(TABLE), stored + looked_up).nodes
    assert found["op1", "body", "logical_not"] == "bitwise_not"
    assert found["op1", "body", "where"] == "where"
    assert found["op1", "body", "set_indirect0"] == found["op1", "body", "store"] == "index"


GATHERED = """
arg0_1: "i64[8][1]cpu"):
convert: "f32[8][1]cpu" = torch.ops.prims.convert_element_type.default(arg0_1, torch.float32)
sin: "f32[8][1]cpu" = torch.ops.aten.sin.default(convert)
gather: "f32[8][1]cpu" = torch.ops.aten.gather.default(sin, 0, arg0_1)
return (gather,)
"""


def test_what_looks_computed_values_up_is_not_those_values() -> None:
    body = """
load = ops.load('arg0_1', index0)
set_indirect0 = self.set_indirect0(load)
get_index_1 = self.get_index('index1')
load_1 = ops.load('arg0_1', get_index_1)
to_dtype = ops.to_dtype(load_1, torch.float32, src_dtype = torch.int64)
sin = ops.sin(to_dtype)
store = ops.store('buf0', index0, sin, None)"""
    ir = node(0, body, "[8]", user("OUTPUT")).replace("index1 = p0 + 8", "index1 = indirect0")
    found = origins(graph(GATHERED), ir)
    assert found.held["buf0"] == ("gather", 0)
    assert found.nodes["op0", "body", "sin"] == "sin"
    assert found.nodes["op0", "body", "set_indirect0"] == "gather"


SUMMED = """
arg0_1: "f32[12, 8][8, 1]cpu"):
slice_1: "f32[4, 8][8, 1]cpu" = torch.ops.aten.slice.Tensor(arg0_1, 0, 0, 4)
sum_1: "f32[8][1]cpu" = torch.ops.aten.sum.dim_IntList(slice_1, [0])
slice_2: "f32[8, 8][8, 1]cpu" = torch.ops.aten.slice.Tensor(arg0_1, 0, 4, 12)
sum_2: "f32[8][1]cpu" = torch.ops.aten.sum.dim_IntList(slice_2, [0])
clone: "f32[8][1]cpu" = torch.ops.aten.clone.default(sum_2)
return (sum_1, clone)
"""


@pytest.mark.parametrize(("rows", "value"), [(4, "sum_1"), (8, "sum_2")])
def test_sums_are_told_apart_by_what_they_sum_and_are_stored_before_they_are_copied(
    rows: int, value: str
) -> None:
    body = """
load = ops.load('arg0_1', index0)
reduction = ops.reduction(torch.float32, torch.float32, 'sum', load)
store_reduction = ops.store_reduction('buf0', index1, reduction)"""
    layout = "'cpu', torch.float32, size=[8], stride=[1]"
    ranges = f"{{p0: 8, p1: {rows}}}"
    ir = computed(0, layout, user("OUTPUT"), ["p0 + 8*p1", "p0"], body, ranges)
    assert origins(graph(SUMMED), ir).held["buf0"] == (value, 0)


DROPPED = """
arg0_1: "f32[8][1]cpu"):
empty: "f32[8][1]cpu" = torch.ops.aten.empty.memory_format([8], device = device(type='cpu'))
bernoulli: "f32[8][1]cpu" = torch.ops.aten.bernoulli.p(empty, 0.9)
sub: "f32[8][1]cpu" = torch.ops.aten.sub.Tensor(1, bernoulli)
mul: "f32[8][1]cpu" = torch.ops.aten.mul.Tensor(arg0_1, sub)
return (mul,)
"""


def test_bernoulli_fills_memory_of_its_own() -> None:
    body = """
constant = ops.constant(nan, torch.float32)
store = ops.store('buf0', index0, constant, None)"""
    ir = node(0, body, "[8]", user("op1", "ExternKernelSchedulerNode"))
    drawn = extern(1, "torch.ops.aten.bernoulli_.float", "StarDep(name='buf0', mode=None)")
    drawn = drawn.replace("    buf1.users", "    buf1.mutations = ['buf0']\n    buf1.users")
    found = origins(graph(DROPPED), ir + drawn)
    assert found.nodes["op0", "body", "constant"] == found.nodes["op0", "body", "store"]
    assert found.externs["buf1"] == found.nodes["op0", "body", "store"] == "bernoulli"


ADDED = """
arg0_1: "f32[2, 8][8, 1]cpu", arg1_1: "f32[16][1]cpu"):
exp: "f32[2, 8][8, 1]cpu" = torch.ops.aten.exp.default(arg0_1)
full: "f32[32][1]cpu" = torch.ops.aten.full.default([32], 0)
view: "f32[16][1]cpu" = torch.ops.aten.reshape.default(exp, [16])
scatter_add: "f32[32][1]cpu" = torch.ops.aten.scatter_add.default(full, 0, view, arg1_1)
return (scatter_add,)
"""


def test_a_scatter_copies_its_indices_though_its_memory_is_filled() -> None:
    fill = """
constant = ops.constant(0.0, torch.float32)
store = ops.store('buf0', index0, constant, None)"""
    called = user("op3", "ExternKernelSchedulerNode")
    ir = node(0, fill, "[32]", called) + node(1, EXP.replace("buf0", "buf1"), "[2, 8]", user("op2"))
    ir += node(2, COPY.format(read="buf1", number=2), "[16]", called)
    call = extern(3, "aten.scatter_reduce_.two", "StarDep(name='buf2', mode=None)")
    ir += call.replace("    buf3.users", "    buf3.mutations = ['buf0']\n    buf3.users")
    found = origins(graph(ADDED), ir).nodes
    assert found["op0", "body", "store"] == "scatter_add"
    assert found["op1", "body", "store"] == "exp"
    assert found["op2", "body", "load"] == found["op2", "body", "store"] == "scatter_add"


TWICE = """
arg0_1: "f32[4, 4][4, 1]cpu", arg1_1: "i64[4][1]cpu"):
index: "f32[4, 4][4, 1]cpu" = torch.ops.aten.index.Tensor(arg0_1, [None, arg1_1])
index_1: "f32[4, 4][4, 1]cpu" = torch.ops.aten.index.Tensor(index, [arg1_1])
exp: "f32[4, 4][4, 1]cpu" = torch.ops.aten.exp.default(index_1)
return (exp, index_1)
"""


def test_two_lookups_with_one_index_are_both_made() -> None:
    body = """
load = ops.load('arg1_1', index0)
set_indirect0 = self.set_indirect0(load)
load_1 = ops.load('arg1_1', index1)
set_indirect1 = self.set_indirect1(load_1)
get_index = self.get_index('index2')
load_2 = ops.load('arg0_1', get_index)
store = ops.store('buf0', index0, load_2, None)"""
    ir = node(0, body, "[4, 4]", user("op1"))
    ir = ir.replace("index1 = p0 + 8", "index1 = p1\n    index2 = 4*indirect0 + indirect1")
    assert origins(graph(TWICE), ir).nodes["op0", "body", "store"] == "index_1"
