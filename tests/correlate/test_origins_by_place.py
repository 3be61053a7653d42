"""Which node an operation belongs to, where only its place or the way of its index tells."""

from __future__ import annotations

from tests.correlate.test_origins import node, origins, user

SLICES = """\
class GraphModule(torch.nn.Module):
    def forward(self):
        full: "f32[8][1]cpu" = torch.ops.aten.full.default([8], 0)
        full_1: "f32[2][1]cpu" = torch.ops.aten.full.default([2], 1.0)
        first: "f32[8][1]cpu" = torch.ops.aten.slice_scatter.default(full, full_1, 0, -2, 99)
        slice_1: "f32[2][1]cpu" = torch.ops.aten.slice.Tensor(first, 0, -2, 99)
        add: "f32[2][1]cpu" = torch.ops.aten.add.Tensor(slice_1, 2)
        second: "f32[8][1]cpu" = torch.ops.aten.slice_scatter.default(first, add, 0, -2, 99)
        return (second,)
"""


def test_what_is_written_into_slices_within_slices_is_told_by_its_place() -> None:
    """All of it follows from indices alone, and each choice could be either scatter's."""
    body = """
get_index = self.get_index('index0')
index_expr = ops.index_expr(get_index, torch.int64)
constant = ops.constant(6, torch.int64)
ge = ops.ge(index_expr, constant)
masked_subblock1 = self.masked_subblock1(ge, 0.0)
index_expr_1 = ops.index_expr(get_index, torch.int64)
ge_1 = ops.ge(index_expr_1, constant)
masked_subblock2 = self.masked_subblock2(ge_1, 0.0)
constant_1 = ops.constant(0.0, torch.float32)
where = ops.where(ge_1, masked_subblock2, constant_1)
where_1 = ops.where(ge, masked_subblock1, where)
get_index_1 = self.get_index('index0')
store = ops.store('buf0', get_index_1, where_1, None)"""
    masked = """\
        return store
    def masked_subblock1(self, ops):
        get_index = self.get_index('index0')
        index_expr = ops.index_expr(get_index, torch.int64)
        constant = ops.constant(6, torch.int64)
        ge = ops.ge(index_expr, constant)
        masked_subblock3 = self.masked_subblock3(ge, 0.0)
        constant_1 = ops.constant(0.0, torch.float32)
        where = ops.where(ge, masked_subblock3, constant_1)
        constant_2 = ops.constant(2.0, torch.float32)
        add = ops.add(where, constant_2)
        return add
    def masked_subblock2(self, ops):
        constant = ops.constant(1.0, torch.float32)
        return constant
    def masked_subblock3(self, ops):
        constant = ops.constant(1.0, torch.float32)
        return constant
"""
    ir = node(0, body, "[8]", user("OUTPUT")).replace("        return store\n", masked)
    found = origins(SLICES, ir).nodes
    assert {found["op0", "body", name] for name in ("where_1", "ge", "masked_subblock1")} == {
        "second"
    }
    assert {found["op0", "body", name] for name in ("where", "ge_1", "masked_subblock2")} == {
        "first"
    }
    inner = ("where", "ge", "index_expr", "masked_subblock3")
    assert {found["op0", "masked_subblock1", name] for name in inner} == {"first"}
    assert found["op0", "masked_subblock1", "add"] == "add"


WEIGHTS = """\
class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f32[8][1]cpu"):
        sub: "f32[8][1]cpu" = torch.ops.aten.sub.Tensor(1.0, arg0_1)
        add: "f32[8][1]cpu" = torch.ops.aten.add.Tensor(arg0_1, 1.0)
        return (sub, add)
"""


def test_a_sum_is_no_difference_where_there_is_a_sum() -> None:
    body = """
get_index = self.get_index('index0')
load = ops.load('arg0_1', get_index)
constant = ops.constant(1.0, torch.float32)
add = ops.add(load, constant)
get_index_1 = self.get_index('index0')
store = ops.store('buf0', get_index_1, add, None)"""
    found = origins(WEIGHTS, node(0, body, "[8]", user("OUTPUT")))
    assert found.nodes["op0", "body", "add"] == "add"


REVERSED = """\
class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f32[8][1]cpu"):
        exp: "f32[8][1]cpu" = torch.ops.aten.exp.default(arg0_1)
        rev: "f32[8][1]cpu" = torch.ops.prims.rev.default(exp, [0])
        neg: "f32[8][1]cpu" = torch.ops.aten.neg.default(rev)
        return (exp, rev, neg)
"""


def test_what_is_read_from_its_end_is_what_was_reversed() -> None:
    body = """
get_index = self.get_index('index0')
load = ops.load('arg0_1', get_index)
exp = ops.exp(load)
get_index_1 = self.get_index('index1')
store = ops.store('buf0', get_index_1, exp, None)"""
    ir = node(0, body, "[8]", user("OUTPUT"))
    assert origins(REVERSED, ir).nodes["op0", "body", "store"] == "exp"
    backwards = ir.replace("index0 = p0\n", "index0 = 7 - p0\n").replace("p0 + 8", "p0")
    found = origins(REVERSED, backwards).nodes
    assert found["op0", "body", "store"] == "rev"
    assert found["op0", "body", "exp"] == "exp"


RESIZED = """\
class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f32[s0, 8][8, 1]cpu"):
        view: "f32[s0//2, 16][16, 1]cpu" = torch.ops.aten.reshape.default(arg0_1, [-1, 16])
        exp: "f32[s0//2, 16][16, 1]cpu" = torch.ops.aten.exp.default(view)
        var_mean = torch.ops.aten.var_mean.correction(exp, [1])
        getitem: "f32[s0//2][1]cpu" = var_mean[0]
        return (exp, getitem)
"""


def test_a_size_that_is_spelled_in_a_way_of_its_own_is_taken_if_no_other_fits() -> None:
    body = """
get_index = self.get_index('index0')
load = ops.load('arg0_1', get_index)
exp = ops.exp(load)
get_index_1 = self.get_index('index0')
store = ops.store('buf0', get_index_1, exp, None)"""
    found = origins(RESIZED, node(0, body, "[(s0*8//16), 16]", user("OUTPUT")))
    assert found.nodes["op0", "body", "exp"] == "exp"
