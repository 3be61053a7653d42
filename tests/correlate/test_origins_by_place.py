"""Which node an operation belongs to, where only its place, its number or its turn tells."""

from __future__ import annotations

import pytest
from inductorscope.correlate.replay.loop_places import placed

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
        sin: "f32[8][1]cpu" = torch.ops.aten.sin.default(arg0_1)
        rev: "f32[8][1]cpu" = torch.ops.prims.rev.default(sin, [0])
        neg: "f32[8][1]cpu" = torch.ops.aten.neg.default(rev)
        return (sin, rev, neg)
"""


def test_what_is_read_from_its_end_is_what_was_reversed() -> None:
    body = """
get_index = self.get_index('index0')
load = ops.load('arg0_1', get_index)
sin = ops.sin(load)
get_index_1 = self.get_index('index1')
store = ops.store('buf0', get_index_1, sin, None)"""
    ir = node(0, body, "[8]", user("OUTPUT"))
    assert origins(REVERSED, ir).nodes["op0", "body", "store"] == "sin"
    backwards = ir.replace("index0 = p0\n", "index0 = 7 - p0\n").replace("p0 + 8", "p0")
    found = origins(REVERSED, backwards).nodes
    assert found["op0", "body", "store"] == "rev"
    assert found["op0", "body", "sin"] == "sin"


REVERSED_AGAIN = """\
class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f32[8][1]cpu", arg1_1: "f32[8][1]cpu"):
        rev: "f32[8][1]cpu" = torch.ops.prims.rev.default(arg1_1, [0])
        add: "f32[8][1]cpu" = torch.ops.aten.add.Tensor(arg0_1, rev)
        rev_1: "f32[8][1]cpu" = torch.ops.prims.rev.default(add, [0])
        return (add, rev_1)
"""


def test_each_value_that_is_read_from_its_end_was_reversed() -> None:
    body = """
get_index = self.get_index('index{}')
load = ops.load('arg0_1', get_index)
get_index_1 = self.get_index('index{}')
load_1 = ops.load('arg1_1', get_index_1)
add = ops.add(load, load_1)
get_index_2 = self.get_index('index0')
store = ops.store('buf0', get_index_2, add, None)"""
    for indices, made in (((0, 1), "add"), ((1, 0), "rev_1")):
        ir = node(0, body.format(*indices), "[8]", user("OUTPUT")).replace("p0 + 8", "7 - p0")
        found = origins(REVERSED_AGAIN, ir).nodes
        assert (found["op0", "body", "add"], found["op0", "body", "store"]) == ("add", made)


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


SCALED = """\
class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f32[8, 2][2, 1]cpu", arg1_1: "f32[8][1]cpu"):
        mean: "f32[8][1]cpu" = torch.ops.aten.mean.dim(arg0_1, [-1])
        add: "f32[8][1]cpu" = torch.ops.aten.add.Tensor(arg1_1, mean, alpha = 0.1)
        div: "f32[8][1]cpu" = torch.ops.aten.div.Tensor(mean, arg1_1)
        pow_1: "f32[8][1]cpu" = torch.ops.aten.pow.Tensor_Scalar(mean, 2)
        return (add, div, pow_1)
"""
MEAN = """
get_index = self.get_index('index0')
load = ops.load('arg0_1', get_index)
get_index_1 = self.get_index('index1')
load_1 = ops.load('arg0_1', get_index_1)
add = ops.add(load, load_1)
constant = ops.constant(2.0, torch.float32)
truediv = ops.truediv(add, constant)
get_index_2 = self.get_index('index0')"""


def test_a_scaled_sum_scales_and_the_mean_in_it_divides() -> None:
    body = f"""{MEAN}
load_2 = ops.load('arg1_1', get_index_2)
constant_1 = ops.constant(0.1, torch.float32)
mul = ops.mul(truediv, constant_1)
add_1 = ops.add(load_2, mul)
store = ops.store('buf0', get_index_2, add_1, None)"""
    found = origins(SCALED, node(0, body, "[8]", user("OUTPUT"))).nodes
    assert {found["op0", "body", name] for name in ("add_1", "mul", "constant_1")} == {"add"}
    assert {found["op0", "body", name] for name in ("add", "truediv", "constant")} == {"mean"}


def test_the_division_of_a_mean_is_not_that_of_who_divides_or_squares_it() -> None:
    ratio = f"""{MEAN}
load_2 = ops.load('arg1_1', get_index_2)
truediv_1 = ops.truediv(truediv, load_2)
store = ops.store('buf0', get_index_2, truediv_1, None)"""
    found = origins(SCALED, node(0, ratio, "[8]", user("OUTPUT"))).nodes
    assert (found["op0", "body", "truediv_1"], found["op0", "body", "truediv"]) == ("div", "mean")
    square = f"""{MEAN}
mul = ops.mul(truediv, truediv)
store = ops.store('buf0', get_index_2, mul, None)"""
    squared = "\n".join(line for line in SCALED.split("\n") if "aten.div" not in line)
    found = origins(squared, node(0, square, "[8]", user("OUTPUT"))).nodes
    assert (found["op0", "body", "mul"], found["op0", "body", "truediv"]) == ("pow_1", "mean")


ASSERTED = """\
class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "b8[8][1]cpu", arg1_1: "b8[8][1]cpu"):
        _assert_async = torch.ops.aten._assert_async.msg(arg0_1, 'first')
        _assert_async_1 = torch.ops.aten._assert_async.msg(arg1_1, 'second')
        return ()
"""


def test_assertions_are_lowered_in_order() -> None:
    ir = ""
    for number in (0, 1):
        body = f"""
get_index = self.get_index('index0')
load = ops.load('arg{number}_1', get_index)
device_assert_async = ops.device_assert_async(load, 'message')
store = ops.store('buf{number}', get_index, device_assert_async, None)"""
        ir += node(number, body, "[]", user("OUTPUT"))
    found = origins(ASSERTED, ir).nodes
    assert found["op0", "body", "device_assert_async"] == "_assert_async"
    assert found["op1", "body", "load"] == "_assert_async_1"


FILLED = """\
class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "i64[4][1]cpu", arg1_1: "f32[4][1]cpu"):
        second: "f32[8][1]cpu" = torch.ops.aten.full.default([8], 0)
        first: "f32[8][1]cpu" = torch.ops.aten.full.default([8], 0)
        one: "f32[8][1]cpu" = torch.ops.aten.index_put_.default(first, [arg0_1], arg1_1, True)
        two: "f32[8][1]cpu" = torch.ops.aten.index_put_.default(second, [arg0_1], arg1_1, True)
        return (one, two)
"""


def test_a_fill_is_stored_when_it_is_written_into() -> None:
    body = """
get_index = self.get_index('index0')
constant = ops.constant(0.0, torch.float32)
store = ops.store('buf0', get_index, constant, None)"""
    scatter = """
get_index = self.get_index('index0')
load = ops.load('arg0_1', get_index)
set_indirect0 = self.set_indirect0(load)
load_1 = ops.load('arg1_1', get_index)
get_index_1 = self.get_index('index2')
store = ops.store('buf1', get_index_1, load_1, 'atomic_add')"""
    written = node(1, scatter, "[8]", user("OUTPUT"), "MutationLayoutSHOULDREMOVE")
    written = written.replace("    index1 =", "    index2 = indirect0\n    index1 =")
    written = written.replace("    buf1.users", "    buf1.mutations = ['buf0']\n    buf1.users")
    found = origins(FILLED, node(0, body, "[8]", user("op1")) + written).nodes
    assert found["op0", "body", "store"] == "first"
    assert found["op1", "body", "store"] == "one"


ONE_ROW = """\
class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f32[4, 1][1, 1]cpu", arg1_1: "i64[8][1]cpu", arg2_1: "i64[1][1]cpu"):
        exp: "f32[4, 1][1, 1]cpu" = torch.ops.aten.exp.default(arg0_1)
        index: "f32[8][1]cpu" = torch.ops.aten.index.Tensor(exp, [arg1_1, arg2_1])
        return (index,)
"""


def test_an_index_with_one_possible_place_is_checked_by_what_looks_it_up() -> None:
    body = """
get_index = self.get_index('index0')
load = ops.load('arg1_1', get_index)
set_indirect0 = self.set_indirect0(load)
get_index_1 = self.get_index('index2')
load_1 = ops.load('arg2_1', get_index_1)
set_indirect1 = self.set_indirect1(load_1)
get_index_2 = self.get_index('index3')
load_2 = ops.load('arg0_1', get_index_2)
exp = ops.exp(load_2)
store = ops.store('buf0', get_index, exp, None)"""
    ir = node(0, body, "[8]", user("OUTPUT"))
    ir = ir.replace("index1 = p0 + 8", "index2 = 0\n    index3 = indirect0")
    found = origins(ONE_ROW, ir).nodes
    for name in ("load", "set_indirect0", "load_1", "set_indirect1"):
        assert found["op0", "body", name] == "index"
    assert found["op0", "body", "exp"] == "exp"


PARTS = """\
class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f32[8][1]cpu", arg1_1: "f32[4][1]cpu", arg2_1: "f32[][]cpu"):
        select: "f32[8][1]cpu" = torch.ops.aten.select_scatter.default(arg0_1, arg2_1, 0, 4)
        before: "f32[8][1]cpu" = torch.ops.aten.slice_scatter.default(arg0_1, arg1_1, 0, 0, -4)
        after: "f32[8][1]cpu" = torch.ops.aten.slice_scatter.default(arg0_1, arg1_1, 0, 4, 99)
        inner: "f32[8][1]cpu" = torch.ops.aten.slice_scatter.default(arg0_1, arg1_1, 0, 2, 6)
        return (select, before, after, inner)
"""


@pytest.mark.parametrize(
    ("tests", "written"),
    [
        ("inside = ops.lt(index_expr, constant)", "before"),
        ("inside = ops.ge(index_expr, constant)", "after"),
        (
            "constant_1 = ops.constant(2, torch.int64)\n"
            "ge = ops.ge(index_expr, constant_1)\n"
            "constant_2 = ops.constant(6, torch.int64)\n"
            "lt = ops.lt(index_expr, constant_2)\n"
            "inside = ops.and_(ge, lt)",
            "inner",
        ),
    ],
)
def test_a_slice_that_is_written_into_is_known_by_its_bounds(tests: str, written: str) -> None:
    body = f"""
get_index = self.get_index('index0')
index_expr = ops.index_expr(get_index, torch.int64)
constant = ops.constant(4, torch.int64)
{tests}
masked_subblock1 = self.masked_subblock1(inside, 0.0)
load = ops.load('arg0_1', get_index)
where = ops.where(inside, masked_subblock1, load)
store = ops.store('buf0', get_index, where, None)"""
    masked = """\
        return store
    def masked_subblock1(self, ops):
        get_index = self.get_index('index0')
        load = ops.load('arg1_1', get_index)
        return load
"""
    ir = node(0, body, "[8]", user("OUTPUT")).replace("        return store\n", masked)
    assert origins(PARTS, ir).nodes["op0", "body", "store"] == written


def test_what_is_selected_and_written_is_known_by_one_place() -> None:
    body = """
get_index = self.get_index('index0')
index_expr = ops.index_expr(get_index, torch.int64)
constant = ops.constant(4, torch.int64)
{test}
load = ops.load('arg2_1', get_index)
load_1 = ops.load('arg0_1', get_index)
where = ops.where(test, load, load_1)
store = ops.store('buf0', get_index, where, None)"""
    costs = [
        origins(PARTS, node(0, body.format(test=test), "[8]", user("OUTPUT"))).costs.get("op0", 9)
        for test in ("test = ops.eq(index_expr, constant)", "test = ops.ge(index_expr, constant)")
    ]
    assert costs[0] < 0.1 < 0.4 < costs[1]
    cut = node(0, body.format(test="test = ops.eq()"), "[8]", user("OUTPUT"))
    for damaged in (cut, cut.replace("ops.where(test, load, load_1)", "ops.where()")):
        origins(PARTS, damaged)  # as far as it can be read


SCATTERED = """\
class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "i64[4][1]cpu", arg1_1: "f32[4][1]cpu"):
        full: "f32[8][1]cpu" = torch.ops.aten.full.default([8], 0)
        part: "f32[8][1]cpu" = torch.ops.aten.slice_scatter.default(full, arg1_1, 0, 0, 4)
{between}
        one: "f32[8][1]cpu" = torch.ops.aten.index_put.default(full, [arg0_1], arg1_1, True)
        two: "f32[8][1]cpu" = torch.ops.aten.index_put_.default(full, [arg0_1], arg1_1, True)
        add: "f32[8][1]cpu" = torch.ops.aten.add.Tensor(part, one)
        return (add, two)
"""


def test_a_fill_that_is_written_into_last_is_its_own() -> None:
    """Though what is written into its slice is stored nowhere."""
    body = """
get_index = self.get_index('index0')
constant = ops.constant(0.0, torch.float32)
store = ops.store('{filled}', get_index, constant, None)"""
    scatter = """
get_index = self.get_index('index0')
load = ops.load('arg0_1', get_index)
set_indirect0 = self.set_indirect0(load)
load_1 = ops.load('arg1_1', get_index)
get_index_1 = self.get_index('index2')
store = ops.store('{written}', get_index_1, load_1, 'atomic_add')"""
    ir = ""
    for number in (0, 2):
        filled, written = f"buf{number}", f"buf{number + 1}"
        ir += node(number, body.format(filled=filled), "[8]", user(f"op{number + 1}"))
        into = node(
            number + 1, scatter.format(written=written), "[8]", user("OUTPUT"),
            "MutationLayoutSHOULDREMOVE",
        )  # fmt: skip
        into = into.replace("    index1 =", "    index2 = indirect0\n    index1 =")
        ir += into.replace(
            f"    {written}.users", f"    {written}.mutations = ['{filled}']\n    {written}.users"
        )
    between = (f'neg_{n}: "f32[8][1]cpu" = torch.ops.aten.neg.default(part)' for n in range(60))
    fx = SCATTERED.format(between="\n".join(f"        {line}" for line in between))
    found = origins(fx, ir).nodes
    assert found["op1", "body", "store"] == "one"
    assert found["op2", "body", "store"] == "full"


def test_a_loop_is_the_same_whatever_it_is_called() -> None:
    apart = "{p0: 2, p1: 4, p2: 15, p3: 15}"
    assert placed("p3", apart) == placed("p2", "{p0: 8, p1: 15, p2: 15}")
    assert placed("p2", apart) != placed("p2", "{p0: 8, p1: 15, p2: 15}")
    assert placed("p0 + p1", "{p0: s0, p1: 4}") == ("4*s0", "<4:s0> + <1:4>")
    assert placed("0", "{}") == ("1", "0")


REFLECTED = """\
class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f32[6, 6][6, 1]cpu"):
        iota: "i64[8][1]cpu" = torch.ops.prims.iota.default(8)
        sub: "i64[8][1]cpu" = torch.ops.aten.sub.Tensor(iota, 1)
        abs_1: "i64[8][1]cpu" = torch.ops.aten.abs.default(sub)
        rows: "f32[8, 6][6, 1]cpu" = torch.ops.aten._unsafe_index.Tensor(arg0_1, [abs_1, None])
        both: "f32[8, 8][8, 1]cpu" = torch.ops.aten._unsafe_index.Tensor(rows, [None, abs_1])
        return (both,)
"""


def test_what_is_reflected_in_both_directions_is_looked_up_twice() -> None:
    """Both indices are arithmetic in the index of the one load, which says nothing of the first."""
    body = """
get_index = self.get_index('index0')
load = ops.load('arg0_1', get_index)
get_index_1 = self.get_index('index1')
store = ops.store('buf0', get_index_1, load, None)"""
    found = origins(REFLECTED, node(0, body, "[8, 8]", user("OUTPUT"))).nodes
    assert found["op0", "body", "load"] == "rows"
    assert found["op0", "body", "store"] == "both"


MIRRORED = """\
class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f32[6, 6][6, 1]cpu"):
        iota: "i64[8][1]cpu" = torch.ops.prims.iota.default(8, start = 0, step = 1)
        abs_1: "i64[8][1]cpu" = torch.ops.aten.abs.default(iota)
        rows: "f32[8, 6][6, 1]cpu" = torch.ops.aten._unsafe_index.Tensor(arg0_1, [abs_1, None])
        iota_1: "i64[8][1]cpu" = torch.ops.prims.iota.default(8, start = 0, step = 1)
        abs_2: "i64[8][1]cpu" = torch.ops.aten.abs.default(iota_1)
        both: "f32[8, 8][8, 1]cpu" = torch.ops.aten._unsafe_index.Tensor(rows, [None, abs_2])
        return (both,)
"""


def test_of_two_that_look_up_each_computes_the_index_of_its_dimension() -> None:
    body = """
get_index = self.get_index('index1')
index_expr = ops.index_expr(get_index, torch.int64)
abs_1 = ops.abs(index_expr)
set_indirect0 = self.set_indirect0(abs_1)
get_index_1 = self.get_index('index0')
index_expr_1 = ops.index_expr(get_index_1, torch.int64)
abs_2 = ops.abs(index_expr_1)
set_indirect1 = self.set_indirect1(abs_2)
get_index_2 = self.get_index('index2')
load = ops.load('arg0_1', get_index_2)
get_index_3 = self.get_index('index3')
store = ops.store('buf0', get_index_3, load, None)"""
    indexes = "index1 = p1\n    index2 = indirect0 + 6*indirect1\n    index3 = 8*p0 + p1\n"
    ir = node(0, body, "[8, 8]", user("OUTPUT")).replace("index1 = p0 + 8\n", indexes)
    found = origins(MIRRORED, ir.replace("{p0: 8}", "{p0: 8, p1: 8}")).nodes
    assert (found["op0", "body", "abs_1"], found["op0", "body", "abs_2"]) == ("abs_2", "abs_1")


SQUARE = """\
class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f32[9, 9][9, 1]cpu"):
        iota: "i64[8][1]cpu" = torch.ops.prims.iota.default(8, start = 0, step = 1)
        neg: "i64[8][1]cpu" = torch.ops.aten.neg.default(iota)
        column: "i64[8, 1][1, 1]cpu" = torch.ops.aten.unsqueeze.default(neg, -1)
        down: "i64[8, 1][1, 1]cpu" = torch.ops.aten.abs.default(column)
        across: "i64[8][1]cpu" = torch.ops.aten.abs.default(neg)
        index: "f32[8, 8][8, 1]cpu" = torch.ops.aten._unsafe_index.Tensor(arg0_1, [down, across])
        return (index,)
"""


def test_indices_that_are_computed_alike_are_told_apart_by_their_order() -> None:
    body = """
get_index = self.get_index('index0')
index_expr = ops.index_expr(get_index, torch.int64)
neg = ops.neg(index_expr)
abs_1 = ops.abs(neg)
set_indirect0 = self.set_indirect0(abs_1)
get_index_1 = self.get_index('index1')
index_expr_1 = ops.index_expr(get_index_1, torch.int64)
neg_1 = ops.neg(index_expr_1)
abs_2 = ops.abs(neg_1)
set_indirect1 = self.set_indirect1(abs_2)
get_index_2 = self.get_index('index2')
load = ops.load('arg0_1', get_index_2)
get_index_3 = self.get_index('index3')
store = ops.store('buf0', get_index_3, load, None)"""
    indexes = "index1 = p1\n    index2 = indirect1 + 9*indirect0\n    index3 = 8*p0 + p1\n"
    ir = node(0, body, "[8, 8]", user("OUTPUT")).replace("index1 = p0 + 8\n", indexes)
    found = origins(SQUARE, ir.replace("{p0: 8}", "{p0: 8, p1: 8}")).nodes
    assert (found["op0", "body", "abs_1"], found["op0", "body", "abs_2"]) == ("down", "across")


LOOKED_UP = """\
class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f32[9][1]cpu"):
        neg: "f32[9][1]cpu" = torch.ops.aten.neg.default(arg0_1)
        iota: "i64[4][1]cpu" = torch.ops.prims.iota.default(4, start = 0, step = 1)
        mul: "i64[4][1]cpu" = torch.ops.aten.mul.Tensor(iota, 2)
        add: "i64[4][1]cpu" = torch.ops.aten.add.Tensor(mul, 1)
        next: "f32[4][1]cpu" = torch.ops.aten._unsafe_index.Tensor(neg, [add])
        exp: "f32[4][1]cpu" = torch.ops.aten.exp.default(next)
        this: "f32[4][1]cpu" = torch.ops.aten._unsafe_index.Tensor(neg, [mul])
        exp_1: "f32[4][1]cpu" = torch.ops.aten.exp.default(this)
        return (exp, exp_1)
"""


def test_an_index_tells_values_apart_that_are_computed_alike() -> None:
    body = """
get_index = self.get_index('index0')
index_expr = ops.index_expr(get_index, torch.int64)
constant = ops.constant(2, torch.int64)
mul = ops.mul(index_expr, constant)
set_indirect0 = self.set_indirect0(mul)
get_index_1 = self.get_index('index1')
load = ops.load('arg0_1', get_index_1)
neg = ops.neg(load)
exp = ops.exp(neg)
store = ops.store('buf0', get_index, exp, None)"""
    ir = node(0, body, "[4]", user("OUTPUT")).replace("index1 = p0 + 8", "index1 = indirect0")
    assert origins(LOOKED_UP, ir).nodes["op0", "body", "exp"] == "exp_1"


POOLED = """\
class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f32[1, 6, 8]cpu"):
        pad: "f32[1, 8, 8]cpu" = torch.ops.aten.constant_pad_nd.default(arg0_1, [0, 0, 1, 1])
        pool: "f32[1, 7, 8]cpu" = torch.ops.aten.{}
        return (pool,)
"""


@pytest.mark.parametrize(
    "pool",
    [
        "avg_pool2d.default(pad, [2, 1], [1, 1])",
        "_low_memory_max_pool_with_offsets.default(pad, [2, 1], [1, 1], [0, 0], [1, 1], False)",
    ],
)
def test_a_pool_that_adds_no_border_has_no_masks(pool: str) -> None:
    inside = """
index_expr{n} = ops.index_expr(get_index, torch.int64)
ge{n} = ops.ge(index_expr{n}, zero)
lt{n} = ops.lt(index_expr{n}, constant)
and_{n} = ops.and_(ge{n}, lt{n})
also{n} = ops.and_(and_{n}, ge{n})
masked_subblock{n} = self.masked_subblock{n}(also{n}, 0.0)"""
    body = f"""
get_index = self.get_index('index0')
zero = ops.constant(0, torch.int64)
constant = ops.constant(6, torch.int64)
{inside.format(n=1).strip()}{inside.format(n=2)}
add = ops.add(masked_subblock1, masked_subblock2)
constant_1 = ops.constant(0.5, torch.float32)
mul = ops.mul(add, constant_1)
store = ops.store('buf0', get_index, mul, None)"""
    masked = "        return store\n" + "".join(
        f"""\
    def masked_subblock{number}(self, ops):
        get_index = self.get_index('index{number - 1}')
        load = ops.load('arg0_1', get_index)
        return load
"""
        for number in (1, 2)
    )
    ir = node(0, body, "[1, 7, 8]", user("OUTPUT")).replace("        return store\n", masked)
    found = origins(POOLED.format(pool), ir).nodes
    names = [f"{name}{n}" for n in (1, 2) for name in ("ge", "lt", "and_", "masked_subblock")]
    assert {found["op0", "body", name] for name in names} == {"pad"}
    assert {found["op0", "body", name] for name in ("add", "mul", "constant_1")} == {"pool"}


SPLIT = """\
class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f32[10, 8][8, 1]cpu"):
        sum_1: "f32[1, 8][8, 1]cpu" = torch.ops.aten.sum.dim_IntList(arg0_1, [0], True)
        return (sum_1,)
"""


def test_a_reduction_masks_what_the_last_of_its_equal_parts_lacks() -> None:
    body = """
get_index = self.get_index('index0')
index_expr = ops.index_expr(get_index, torch.int32)
constant = ops.constant(10, torch.int32)
lt = ops.lt(index_expr, constant)
masked_subblock1 = self.masked_subblock1(lt, 0)
reduction = ops.reduction(torch.float32, torch.float32, 'sum', masked_subblock1)
get_index_1 = self.get_index('index1')
store_reduction = ops.store_reduction('buf0', get_index_1, reduction)"""
    masked = """\
        return None
    def masked_subblock1(self, ops):
        get_index = self.get_index('index2')
        load = ops.load('arg0_1', get_index)
        return load
"""
    ir = node(0, body, "[1, 8, 4]", user("op1")).replace("        return store\n", masked)
    ir = ir.replace("{p0: 8}", "{p0: 4, p1: 8, p2: 3}").replace("    index0 = p0\n", "")
    indexes = "index0 = 3*p0 + p2\n    index1 = 8*p0 + p1\n    index2 = 24*p0 + p1 + 8*p2"
    found = origins(SPLIT, ir.replace("index1 = p0 + 8", indexes))
    assert {name for key, name in found.nodes.items() if key[0] == "op0"} == {"sum_1"}
    assert found.costs["op0"] < 0.7
