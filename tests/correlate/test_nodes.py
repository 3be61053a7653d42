"""Which FX node an operation belongs to, where the lowering shares one expression out."""

from __future__ import annotations

from inductorscope.correlate.nodes.buffer_candidates import Origins
from inductorscope.correlate.nodes.fx_graph import FxGraph
from inductorscope.correlate.nodes.origins import find_origins
from inductorscope.formats.graph.fx import parse_fx
from inductorscope.formats.graph.ir import parse_ir


def body_of(text: str, size: str, indexes: str, blocks: str = "") -> str:
    """A scheduler node as `ir_post_fusion.txt` has it: `op0`, which makes `buf0`."""
    written = "\n".join(f"    {line}" for line in indexes.split("; "))
    lines = "\n".join(f"        {line}" for line in text.strip().split("\n"))
    return f"""\
op0: SchedulerNode(ComputedBuffer)
op0.outputs = [
    buf0: ComputedBuffer
    buf0.layout = FixedLayout('cpu', torch.float32, size={size}, stride=[1])
    buf0.users = [
        NodeUser(node=OUTPUT, can_inplace=False, is_weak=False),
    ]
]
class op0_loop_body:
    var_ranges = {{p0: 8, p1: 8}}
{written}
    def body(self, ops):
{lines}
        return store
{blocks}

"""


def origins(fx: str, ir: str) -> Origins:
    return find_origins(FxGraph(parse_fx(fx)), parse_ir(ir), {})


PADS = """\
class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f32[8, 8][8, 1]cpu"):
        later: "f32[7, 8][8, 1]cpu" = torch.ops.aten.slice.Tensor(arg0_1, 0, 1, 9223372036854775807)
        constant_pad_nd: "f32[8, 8][8, 1]cpu" = torch.ops.aten.constant_pad_nd.default(later, [0, 0, 0, 1], 0.0)
        sooner: "f32[7, 8][8, 1]cpu" = torch.ops.aten.slice.Tensor(arg0_1, 0, 0, -1)
        constant_pad_nd_1: "f32[8, 8][8, 1]cpu" = torch.ops.aten.constant_pad_nd.default(sooner, [0, 0, 1, 0], 0.0)
        cat: "f32[8, 24][24, 1]cpu" = torch.ops.aten.cat.default([constant_pad_nd, arg0_1, constant_pad_nd_1], 1)
        return (cat,)
"""  # noqa: E501  # lines as torch writes them


def test_a_concatenation_owns_its_masks_and_gives_each_piece_to_its_argument() -> None:
    body = """
index_expr = ops.index_expr(index0, torch.int64)
constant = ops.constant(8, torch.int64)
lt = ops.lt(index_expr, constant)
masked_subblock1 = self.masked_subblock1(lt, 0.0)
ge = ops.ge(index_expr, constant)
constant_1 = ops.constant(16, torch.int64)
lt_1 = ops.lt(index_expr, constant_1)
and_ = ops.and_(ge, lt_1)
masked_subblock3 = self.masked_subblock3(and_, 0.0)
ge_1 = ops.ge(index_expr, constant_1)
masked_subblock4 = self.masked_subblock4(ge_1, 0.0)
where = ops.where(and_, masked_subblock3, masked_subblock4)
where_1 = ops.where(lt, masked_subblock1, where)
store = ops.store('buf0', index1, where_1, None)"""
    blocks = """\
    def masked_subblock1(self, ops):
        index_expr = ops.index_expr(index2, torch.int64)
        constant = ops.constant(7, torch.int64)
        lt = ops.lt(index_expr, constant)
        masked_subblock2 = self.masked_subblock2(lt, 0.0)
        return masked_subblock2
    def masked_subblock2(self, ops):
        load = ops.load('arg0_1', index3)
        return load
    def masked_subblock3(self, ops):
        load = ops.load('arg0_1', index4)
        return load
    def masked_subblock4(self, ops):
        index_expr = ops.index_expr(index5, torch.int64)
        constant = ops.constant(0, torch.int64)
        ge = ops.ge(index_expr, constant)
        masked_subblock5 = self.masked_subblock5(ge, 0.0)
        return masked_subblock5
    def masked_subblock5(self, ops):
        load = ops.load('arg0_1', index6)
        return load
"""
    indexes = (
        "index0 = p1; index1 = 24*p0 + p1; index2 = p0; index3 = 8*p0 + p1 + 8; "
        "index4 = 8*p0 + p1 - 8; index5 = p0 - 1; index6 = 8*p0 + p1 - 24"
    )
    found = origins(PADS, body_of(body, "[8, 24]", indexes, blocks)).nodes
    own = ("lt", "ge", "and_", "ge_1", "where", "where_1", "masked_subblock1", "masked_subblock4")
    assert {found["op0", "body", name] for name in own} == {"cat"}
    assert found["op0", "masked_subblock1", "lt"] == "constant_pad_nd"
    assert found["op0", "masked_subblock4", "ge"] == "constant_pad_nd_1"


PRODUCT = """\
class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f32[8, 8, 2][16, 2, 1]cpu", arg1_1: "f32[8, 2, 1][2, 1, 1]cpu"):
        bmm: "f32[8, 8, 1][8, 1, 1]cpu" = torch.ops.aten.bmm.default(arg0_1, arg1_1)
        relu: "f32[8, 8, 1][8, 1, 1]cpu" = torch.ops.aten.relu.default(bmm)
        return (relu,)
"""


def test_a_product_without_a_library_is_multiplied_and_summed_by_its_node() -> None:
    body = """
load = ops.load('arg0_1', index0)
load_1 = ops.load('arg1_1', index1)
mul = ops.mul(load, load_1)
load_2 = ops.load('arg0_1', index2)
load_3 = ops.load('arg1_1', index3)
mul_1 = ops.mul(load_2, load_3)
add = ops.add(mul, mul_1)
relu = ops.relu(add)
store = ops.store('buf0', index4, relu, None)"""
    indexes = (
        "index0 = 16*p0 + 2*p1; index1 = 2*p0; index2 = 16*p0 + 2*p1 + 1; index3 = 2*p0 + 1; "
        "index4 = 8*p0 + p1"
    )
    found = origins(PRODUCT, body_of(body, "[8, 8, 1]", indexes)).nodes
    assert {found["op0", "body", name] for name in ("load", "mul", "mul_1", "add")} == {"bmm"}
    assert found["op0", "body", "relu"] == "relu"


GRID = """\
class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f32[9, 9][9, 1]cpu"):
        iota: "i64[8][1]cpu" = torch.ops.prims.iota.default(8, start = 0, step = 1, dtype = torch.int64)
        across: "i64[8][1]cpu" = torch.ops.aten.add.Tensor(iota, 1)
        iota_1: "i64[8][1]cpu" = torch.ops.prims.iota.default(8, start = 0, step = 1, dtype = torch.int64)
        down: "i64[8][1]cpu" = torch.ops.aten.add.Tensor(iota_1, 1)
        column: "i64[8, 1][1, 1]cpu" = torch.ops.aten.reshape.default(down, [8, 1])
        index: "f32[8, 8][8, 1]cpu" = torch.ops.aten._unsafe_index.Tensor(arg0_1, [column, across])
        return (index,)
"""  # noqa: E501  # lines as torch writes them


def test_rows_and_columns_of_one_length_are_told_apart() -> None:
    body = """
get_index = self.get_index('index0')
index_expr = ops.index_expr(get_index, torch.int64)
constant = ops.constant(1, torch.int64)
add = ops.add(index_expr, constant)
set_indirect0 = self.set_indirect0(add)
get_index_1 = self.get_index('index1')
index_expr_1 = ops.index_expr(get_index_1, torch.int64)
constant_1 = ops.constant(1, torch.int64)
add_1 = ops.add(index_expr_1, constant_1)
set_indirect1 = self.set_indirect1(add_1)
get_index_2 = self.get_index('index2')
load = ops.load('arg0_1', get_index_2)
get_index_3 = self.get_index('index3')
store = ops.store('buf0', get_index_3, load, None)"""
    indexes = "index0 = p0; index1 = p1; index2 = 9*indirect0 + indirect1; index3 = 8*p0 + p1"
    found = origins(GRID, body_of(body, "[8, 8]", indexes)).nodes
    assert (found["op0", "body", "add"], found["op0", "body", "add_1"]) == ("down", "across")


LAYOUTS = """\
class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f32[2, 3, 8, 8]", arg1_1: "f32[4, 3, 3, 3]"):
        relu: "f32[2, 3, 8, 8]" = torch.ops.aten.relu.default(arg0_1)
        convolution: "f32[2, 4, 8, 8]" = torch.ops.aten.convolution.default(relu, arg1_1, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)
        return (convolution,)
"""  # noqa: E501  # lines as torch writes them

CONVOLUTION = """\
op0: SchedulerNode(ComputedBuffer)
op0.outputs = [
    buf0: ComputedBuffer
    buf0.layout = FixedLayout('cpu', torch.float32, size=[2, 3, 8, 8], stride={taken})
    buf0.users = [NodeUser(node=ExternKernelSchedulerNode(name='op1'), can_inplace=False, is_weak=False)]
]
class op0_loop_body:
    var_ranges = {{p0: 6, p1: 64}}
    index0 = 64*p0 + p1
    def body(self, ops):
        load = ops.load('arg0_1', index0)
        relu = ops.relu(load)
        store = ops.store('buf0', index0, relu, None)
        return store


op1: ExternKernelSchedulerNode(ExternKernelAlloc)
op1.unmet_dependencies = [StarDep(name='buf0', mode=None)]
op1.met_dependencies = [StarDep(name='{weight}', mode=None)]
op1.outputs = [
    buf1: ExternKernelAlloc
    buf1.layout = FixedLayout('cpu', torch.float32, size=[2, 4, 8, 8], stride={made})
    buf1.users = []
]
op1.node.kernel = extern_kernels.convolution
"""  # noqa: E501  # lines as torch writes them


def test_a_convolution_copies_what_it_takes_unless_inductor_chose_the_layout() -> None:
    chosen = CONVOLUTION.format(taken="[192, 1, 24, 3]", made="[256, 1, 32, 4]", weight="buf9")
    found = origins(LAYOUTS, chosen).nodes
    assert found["op0", "body", "store"] == "relu"
    kept = CONVOLUTION.format(taken="[192, 64, 8, 1]", made="[256, 64, 8, 1]", weight="arg1_1")
    found = origins(LAYOUTS, kept).nodes
    assert found["op0", "body", "store"] == "convolution"


WRITTEN = """\
class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f32[10, 10][10, 1]cpu"):
        neg: "f32[10, 10][10, 1]cpu" = torch.ops.aten.neg.default(arg0_1)
        full_default: "f32[10, 12][12, 1]cpu" = torch.ops.aten.full.default([10, 12], 0)
        inner: "f32[10, 12][12, 1]cpu" = torch.ops.aten.slice_scatter.default(full_default, neg, 1, 1, 11)
        full_default_1: "f32[12, 12][12, 1]cpu" = torch.ops.aten.full.default([12, 12], 0)
        outer: "f32[12, 12][12, 1]cpu" = torch.ops.aten.slice_scatter.default(full_default_1, inner, 0, 0, 10)
        return (outer,)
"""  # noqa: E501  # lines as torch writes them


def test_a_slice_written_into_another_one_keeps_its_own_masks() -> None:
    body = """
index_expr = ops.index_expr(index0, torch.int64)
constant = ops.constant(10, torch.int64)
lt = ops.lt(index_expr, constant)
masked_subblock1 = self.masked_subblock1(lt, 0.0)
constant_1 = ops.constant(0.0, torch.float32)
where = ops.where(lt, masked_subblock1, constant_1)
store = ops.store('buf0', index3, where, None)"""
    blocks = """\
    def masked_subblock1(self, ops):
        index_expr = ops.index_expr(index1, torch.int64)
        constant = ops.constant(1, torch.int64)
        ge = ops.ge(index_expr, constant)
        masked_subblock2 = self.masked_subblock2(ge, 0.0)
        constant_1 = ops.constant(0.0, torch.float32)
        where = ops.where(ge, masked_subblock2, constant_1)
        return where
    def masked_subblock2(self, ops):
        load = ops.load('arg0_1', index2)
        neg = ops.neg(load)
        return neg
"""
    indexes = "index0 = p0; index1 = p1; index2 = 10*p0 + p1 - 1; index3 = 12*p0 + p1"
    found = origins(WRITTEN, body_of(body, "[12, 12]", indexes, blocks)).nodes
    assert {found["op0", "body", n] for n in ("lt", "where", "masked_subblock1")} == {"outer"}
    own = ("ge", "where", "masked_subblock2")
    assert {found["op0", "masked_subblock1", name] for name in own} == {"inner"}
    assert found["op0", "masked_subblock2", "neg"] == "neg"


MIRRORED = """\
class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f32[8, 8][8, 1]cpu"):
        exp: "f32[8, 8][8, 1]cpu" = torch.ops.aten.exp.default(arg0_1)
        iota: "i64[10][1]cpu" = torch.ops.prims.iota.default(10, start = -1, step = 1, dtype = torch.int64)
        abs_1: "i64[10][1]cpu" = torch.ops.aten.abs.default(iota)
        index: "f32[8, 10][10, 1]cpu" = torch.ops.aten._unsafe_index.Tensor(exp, [None, abs_1])
        index_1: "f32[10, 10][10, 1]cpu" = torch.ops.aten._unsafe_index.Tensor(index, [abs_1])
        return (index_1,)
"""  # noqa: E501  # lines as torch writes them


def test_what_is_mirrored_twice_is_computed_by_its_own_node() -> None:
    body = """
load = ops.load('arg0_1', index0)
exp = ops.exp(load)
store = ops.store('buf0', index1, exp, None)"""
    indexes = "index0 = 8*Abs(p0 - 1) + Abs(p1 - 1); index1 = 10*p0 + p1"
    found = origins(MIRRORED, body_of(body, "[10, 10]", indexes)).nodes
    assert found["op0", "body", "exp"] == "exp"
    assert found["op0", "body", "store"] == "index_1"


SIZES = """\
class <lambda>(torch.nn.Module):
    def forward(self, arg0_1: "Sym(s0)", arg1_1: "f32[s0, 4]"):
        sym_size_int = torch.ops.aten.sym_size.int(arg1_1, 0)
        mul = sym_size_int * 4
        add = arg0_1 + 1
        mul_1: "f32[s0, 4]" = torch.ops.aten.mul.Tensor(arg1_1, mul)
        return (mul_1,)
"""


def test_a_size_is_no_value_of_a_loop_body() -> None:
    graph = FxGraph(parse_fx(SIZES))
    sizes = [name for name, value in graph.values.items() if value.number]
    assert sizes == ["sym_size_int", "mul", "add"]


POWER = """\
class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f32[8, 8][8, 1]cpu"):
        pow_1: "f32[8, 8][8, 1]cpu" = torch.ops.aten.pow.Tensor_Scalar(arg0_1, 1.0)
        mul: "f32[8, 8][8, 1]cpu" = torch.ops.aten.mul.Scalar(pow_1, 2.0)
        return (mul,)
"""


def test_a_power_of_one_is_a_copy_and_reads_what_it_copies() -> None:
    body = """
load = ops.load('arg0_1', index0)
constant = ops.constant(2.0, torch.float32)
mul = ops.mul(load, constant)
store = ops.store('buf0', index0, mul, None)"""
    found = origins(POWER, body_of(body, "[8, 8]", "index0 = 8*p0 + p1")).nodes
    assert found["op0", "body", "load"] == "pow_1"
    assert {found["op0", "body", name] for name in ("constant", "mul", "store")} == {"mul"}


WHOLE = """\
class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: f32[8, 8], arg1_1: f32[8]):
        full: f32[8, 8] = torch.ops.aten.full.default([8, 8], 0)
        select_scatter: f32[8, 8] = torch.ops.aten.select_scatter.default(full, arg1_1, 0, 0)
        slice_scatter: f32[8, 8] = torch.ops.aten.slice_scatter.default(full, select_scatter, 1, 0, 9223372036854775807)
        add: f32[8, 8] = torch.ops.aten.add.Tensor(arg0_1, slice_scatter)
        return (add,)
"""  # noqa: E501  # lines as torch writes them


def test_what_is_written_over_a_whole_value_keeps_its_own_choice() -> None:
    body = """
load = ops.load('arg0_1', index0)
index_expr = ops.index_expr(index1, torch.int32)
constant = ops.constant(0, torch.int32)
eq = ops.eq(index_expr, constant)
load_1 = ops.load('arg1_1', index2)
constant_1 = ops.constant(0.0, torch.float32)
where = ops.where(eq, load_1, constant_1)
add = ops.add(load, where)
store = ops.store('buf0', index0, add, None)"""
    indexes = "index0 = 8*p0 + p1; index1 = p0; index2 = p1"
    found = origins(WHOLE, body_of(body, "[8, 8]", indexes)).nodes
    chosen = ("index_expr", "constant", "eq", "load_1", "constant_1", "where")
    assert {found["op0", "body", name] for name in chosen} == {"select_scatter"}
    assert {found["op0", "body", name] for name in ("load", "add", "store")} == {"add"}
