"""Which node an operation of a loop body belongs to, where several look alike."""

from __future__ import annotations

from inductorscope.correlate.kernels.cpp import read_kernel
from inductorscope.correlate.nodes.buffer_candidates import Origins
from inductorscope.correlate.nodes.fx_graph import FxGraph
from inductorscope.correlate.nodes.origins import find_origins
from inductorscope.formats.graph.fx import parse_fx
from inductorscope.formats.graph.ir import parse_ir


def node(number: int, body: str, size: str, users: str, layout: str = "FixedLayout") -> str:
    """A scheduler node as `ir_post_fusion.txt` has it."""
    lines = "\n".join(f"        {line}" for line in body.strip().split("\n"))
    return f"""\
op{number}: SchedulerNode(ComputedBuffer)
op{number}.outputs = [
    buf{number}: ComputedBuffer
    buf{number}.layout = {layout}('cpu', torch.float32, size={size}, stride=[1])
    buf{number}.users = [
        {users},
    ]
]
class op{number}_loop_body:
    var_ranges = {{p0: 8}}
    index0 = p0
    index1 = p0 + 8
    def body(self, ops):
{lines}
        return store


"""


def user(name: str, kind: str = "SchedulerNode") -> str:
    return f"NodeUser(node={kind}(name='{name}'), can_inplace=False, is_weak=False)"


def origins(fx: str, ir: str) -> Origins:
    return find_origins(FxGraph(parse_fx(fx)), parse_ir(ir), {})


SEEDS = """\
class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f32[8][1]cpu"):
        seeds: "i64[2][1]cpu" = torch.ops.prims.inductor_seeds.default(2, device(type='cpu'))
        seed: "i64[][]cpu" = torch.ops.prims.inductor_lookup_seed.default(seeds, 0)
        first: "f32[8][1]cpu" = torch.ops.prims.inductor_random.default([8], seed, 'rand')
        seed_1: "i64[][]cpu" = torch.ops.prims.inductor_lookup_seed.default(seeds, 1)
        second: "f32[8][1]cpu" = torch.ops.prims.inductor_random.default([8], seed_1, 'rand')
        return (first, second)
"""


def test_random_values_of_one_shape_are_told_apart_by_their_seeds() -> None:
    ir = """\
op0: ExternKernelSchedulerNode(RandomSeeds)
op0.outputs = [
    buf0: RandomSeeds
    buf0.layout = FixedLayout('cpu', torch.int64, size=[2], stride=[1])
    buf0.users = []
]


"""
    for number, seed in ((1, 1), (2, 0)):  # the second one is stored first
        body = f"""
get_index = self.get_index('index0')
load_seed = ops.load_seed('buf0', {seed})
index_expr = ops.index_expr(get_index, torch.int32)
rand = ops.rand(load_seed, index_expr)
get_index_1 = self.get_index('index0')
store = ops.store('buf{number}', get_index_1, rand, None)"""
        ir += node(number, body, "[8]", user("OUTPUT"))
    found = origins(SEEDS, ir)
    assert found.nodes["op1", "body", "rand"] == "second"
    assert found.nodes["op2", "body", "rand"] == "first"
    assert not found.others  # neither could be the other


PIECES = """\
class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f32[2, 8][8, 1]cpu"):
        one: "f32[8][1]cpu" = torch.ops.aten.select.int(arg0_1, 0, 0)
        other: "f32[8][1]cpu" = torch.ops.aten.select.int(arg0_1, 0, 1)
        cat: "f32[16][1]cpu" = torch.ops.aten.cat.default([one, one])
        cat_1: "f32[16][1]cpu" = torch.ops.aten.cat.default([other, one])
        cat_2: "f32[16][1]cpu" = torch.ops.aten.cat.default([one, other])
        return (cat, cat_1, cat_2)
"""


CONCAT = """\
op{number}: NopKernelSchedulerNode(ConcatKernel)
op{number}.outputs = [
    buf{number}: ConcatKernel
    buf{number}.layout = FixedLayout('cpu', torch.float32, size=[16], stride=[1])
    buf{number}.users = []
]


"""


def test_a_piece_of_a_concatenation_is_copied_by_the_concatenation() -> None:
    body = """
get_index = self.get_index('index1')
load = ops.load('arg0_1', get_index)
get_index_1 = self.get_index('index0')
store = ops.store('buf0', get_index_1, load, None)"""
    users = user("op1", "NopKernelSchedulerNode")
    ir = node(0, body, "[8]", users, "NonOwningLayout") + CONCAT.format(number=1)
    found = origins(PIECES, ir)
    assert found.nodes["op0", "body", "store"] == "cat_1"  # the first that takes what begins at 8
    assert found.nodes["op0", "body", "load"] == "cat_1"


TWINS = """\
class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f32[8][1]cpu"):
        neg: "f32[8][1]cpu" = torch.ops.aten.neg.default(arg0_1)
        neg_1: "f32[8][1]cpu" = torch.ops.aten.neg.default(arg0_1)
        cat: "f32[16][1]cpu" = torch.ops.aten.cat.default([neg, neg_1])
        return (cat,)
"""


def test_pieces_that_look_alike_are_taken_in_order() -> None:
    ir = ""
    for number in (0, 1):
        body = f"""
get_index = self.get_index('index0')
load = ops.load('arg0_1', get_index)
neg = ops.neg(load)
get_index_1 = self.get_index('index{number}')
store = ops.store('buf{number}', get_index_1, neg, None)"""
        ir += node(number, body, "[8]", user("op2", "NopKernelSchedulerNode"), "NonOwningLayout")
    found = origins(TWINS, ir + CONCAT.format(number=2))
    assert found.nodes["op0", "body", "neg"] == "neg"
    assert found.nodes["op1", "body", "neg"] == "neg_1"


MASKED = """\
extern "C"  void  kernel(const int64_t* in_ptr0, const float* in_ptr1, float* out_ptr0)
{
    auto tmp3 = x0 < 7;
    auto tmp4 = [&]
    {
        auto tmp5 = in_ptr0[static_cast<int64_t>(1L + x0)];
        auto tmp7 = c10::convert<int64_t>(tmp5);
        TORCH_CHECK(((0 <= tmp7) & (tmp7 < 9L)) | ~(tmp3), "index out of bounds");
        auto tmp9 = in_ptr1[static_cast<int64_t>(tmp5)];
        return tmp9;
    }
    ;
    out_ptr0[static_cast<int64_t>(x0)] = tmp3 ? tmp4() : 0;
}
"""


def test_a_check_under_a_mask_is_not_the_masks_own() -> None:
    """Else nothing says that an index was wrapped there, and the rest of the kernel is lost."""
    (block,) = read_kernel(MASKED.split("\n"), 1, 14).blocks
    (check,) = [statement for statement in block.others if statement.checks]
    assert check.lines == [8]
    assert "tmp7" in check.uses
    (mask,) = [statement for statement in block.numbered if statement.has_inner]
    assert 8 not in mask.lines


ALIKE = """\
class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f32[8][1]cpu"):
        cummax = torch.ops.aten.cummax.default(arg0_1, 0)
        getitem: "f32[8][1]cpu" = cummax[0]
        cummin = torch.ops.aten.cummin.default(arg0_1, 0)
        getitem_1: "f32[8][1]cpu" = cummin[0]
        return (getitem, getitem_1)
"""


def test_scans_that_read_alike_are_taken_in_order() -> None:
    """They are stored when they are lowered: the first is not the second, which comes later."""
    ir = ""
    for number in (0, 1):
        body = f"""
get_index = self.get_index('index0')
load = ops.load('arg0_1', get_index)
index_expr = ops.index_expr(get_index, torch.int64)
scan1 = self.scan1((torch.float32, torch.int64), (load, index_expr))
getitem = scan1[0]
getitem_1 = scan1[1]
store = ops.store('buf{number}', get_index, getitem, None)"""
        ir += node(number, body, "[8]", user("OUTPUT"))
    both = origins(ALIKE, ir)
    assert both.nodes["op0", "body", "scan1"] == "cummax"
    assert both.nodes["op1", "body", "scan1"] == "cummin"
    assert not both.others
    only = origins(ALIKE, node(0, body.replace("buf1", "buf0"), "[8]", user("OUTPUT")))
    assert only.others["op0", "body", "scan1"] == ["cummin"]  # nobody else is that one


LOOKED_UP = """\
class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f32[1, 8, 8, 8][512, 1, 64, 8]cpu", arg1_1: "f32[8, 8, 1, 1][]cpu", \
arg2_1: "f32[8][1]cpu", arg3_1: "f32[1, 8, 8, 8][512, 1, 64, 8]cpu"):
        convolution: "f32[1, 8, 8, 8][512, 1, 64, 8]cpu" = torch.ops.aten.convolution.default(\
arg0_1, arg1_1, arg2_1, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
        add: "f32[1, 8, 8, 8][512, 1, 64, 8]cpu" = torch.ops.aten.add.Tensor(convolution, arg3_1)
        iota: "i64[16][1]cpu" = torch.ops.prims.iota.default(16, start = 0, step = 1)
        convert: "f32[16][1]cpu" = torch.ops.prims.convert_element_type.default(iota, torch.float32)
        mul: "f32[16][1]cpu" = torch.ops.aten.mul.Tensor(convert, 0.5)
        convert_1: "i64[16][1]cpu" = torch.ops.prims.convert_element_type.default(mul, torch.int64)
        rows: "i64[16, 1][1, 1]cpu" = torch.ops.aten.unsqueeze.default(convert_1, -1)
        index: "f32[1, 8, 16, 16][]cpu" = torch.ops.aten._unsafe_index.Tensor(\
add, [None, None, rows, convert_1])
        return (index,)
"""
CONVOLUTION = """\
op0: ExternKernelSchedulerNode(ExternKernelAlloc)
op0.outputs = [
    buf0: ExternKernelAlloc
    buf0.layout = FixedLayout('cpu', torch.float32, size=[1, 8, 8, 8], stride=[512, 1, 64, 8])
    buf0.users = []
]
op0.node.kernel = extern_kernels.convolution


"""


def test_a_bias_is_added_to_what_a_library_computed_where_both_are_looked_up() -> None:
    body = """
index_expr = ops.index_expr(p1, torch.float32)
constant = ops.constant(0.5, torch.float32)
mul = ops.mul(index_expr, constant)
to_dtype = ops.to_dtype(mul, torch.int64, src_dtype = torch.float32)
set_indirect0 = self.set_indirect0(to_dtype)
index_expr_1 = ops.index_expr(p2, torch.float32)
constant_1 = ops.constant(0.5, torch.float32)
mul_1 = ops.mul(index_expr_1, constant_1)
to_dtype_1 = ops.to_dtype(mul_1, torch.int64, src_dtype = torch.float32)
set_indirect1 = self.set_indirect1(to_dtype_1)
get_index_2 = self.get_index('index2')
load = ops.load('buf0', get_index_2)
get_index_3 = self.get_index('index3')
load_1 = ops.load('arg2_1', get_index_3)
add = ops.add(load, load_1)
load_2 = ops.load('arg3_1', get_index_2)
add_1 = ops.add(add, load_2)
get_index_4 = self.get_index('index0')
store = ops.store('buf1', get_index_4, add_1, None)"""
    text = node(1, body, "[1, 8, 16, 16]", user("OUTPUT")).replace(
        "    index1 = p0 + 8\n", "    index2 = 64*indirect0 + 8*indirect1 + p3\n    index3 = p3\n"
    )
    found = origins(LOOKED_UP, CONVOLUTION + text)
    assert found.nodes["op1", "body", "add"] == "convolution"
    assert found.nodes["op1", "body", "load_1"] == "convolution"
    assert found.nodes["op1", "body", "add_1"] == "add"


LIBRARY = """\
op1: ExternKernelSchedulerNode(FallbackKernel)
op1.outputs = [
    buf1: FallbackKernel
    buf1.layout = FixedLayout('cpu', torch.float32, size=[8], stride=[1])
    buf1.users = [NodeUser(node=OUTPUT, can_inplace=False, is_weak=False)]
]
op1.node.kernel = {kernel}


"""
ASKED = """\
class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: f32[8]):
        exp: f32[8] = torch.ops.aten.exp.default(arg0_1)
        library: f32[8] = {kernel}.default(exp{rest})
        mul: f32[8] = torch.ops.aten.mul.Tensor(library, {factor})
        return (mul,)
"""
EXP = """
load = ops.load('arg0_1', index0)
exp = ops.exp(load)
store = ops.store('buf0', index0, exp, None)"""


def owner_of_the_input(
    kernel: str, rest: str, *, factor: str = "exp", dense_scans: bool = False
) -> str:
    """Whose the store of a library's input is; a product by `factor` may compute it again."""
    text = node(0, EXP, "[8]", user("op1", "ExternKernelSchedulerNode"))
    ir = parse_ir(text + LIBRARY.format(kernel=kernel))
    ir.dense_scans = dense_scans
    fx = ASKED.format(kernel=kernel, rest=rest, factor=factor)
    return find_origins(FxGraph(parse_fx(fx)), ir, {}).nodes["op0", "body", "store"]


def test_until_torch_2_2_a_running_sum_copies_its_input() -> None:
    assert owner_of_the_input("torch.ops.aten.cumsum", ", 0", dense_scans=True) == "library"
    assert owner_of_the_input("torch.ops.aten.cumsum", ", 0") == "exp"


def test_the_first_flash_attention_on_a_cpu_takes_its_input_as_it_is() -> None:
    kernel = "torch.ops.aten._scaled_dot_product_flash_attention"
    assert owner_of_the_input(kernel, ", exp, exp", factor="2.0") == "exp"
    newer = kernel + "_for_cpu"
    assert owner_of_the_input(newer, ", exp, exp", factor="2.0") == "library"


DROPPED = """\
class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: f32[8]):
        bernoulli: f32[8] = torch.ops.aten.bernoulli.p(arg0_1, 0.9)
        bernoulli_1: f32[8] = torch.ops.aten.bernoulli.p(arg0_1, 0.9)
        return (bernoulli, bernoulli_1)
"""
OVERWRITES = """\
op{number}: ExternKernelSchedulerNode(InplaceBernoulliFallback)
op{number}.unmet_dependencies = [StarDep(name='{buffer}', mode=None)]
op{number}.outputs = [
    buf{number}: InplaceBernoulliFallback
    buf{number}.layout = NoneLayout
    buf{number}.mutations = ['{buffer}']
]
op{number}.node.kernel = aten.bernoulli_


"""


def test_what_a_library_overwrites_was_copied_by_the_same_node() -> None:
    copy = "load = ops.load('arg0_1', index0)\nstore = ops.store('buf{n}', index0, load, None)"
    ir = ""
    for number in (0, 2):
        extern = user(f"op{number + 1}", "ExternKernelSchedulerNode")
        ir += node(number, copy.format(n=number), "[8]", extern)
        ir += OVERWRITES.format(number=number + 1, buffer=f"buf{number}")
    found = origins(DROPPED, ir)
    assert found.externs == {"buf1": "bernoulli", "buf3": "bernoulli_1"}
    assert found.nodes["op2", "body", "store"] == "bernoulli_1"
