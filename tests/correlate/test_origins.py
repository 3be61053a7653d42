"""Which node an operation of a loop body belongs to, where several look alike."""

from __future__ import annotations

from inductorscope.correlate.buffer_candidates import Origins
from inductorscope.correlate.cpp_text import read_kernel
from inductorscope.correlate.fx_values import FxGraph
from inductorscope.correlate.origins import find_origins
from inductorscope.formats.fx import parse_fx
from inductorscope.formats.ir import parse_ir


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
    return find_origins(FxGraph(parse_fx(fx)), parse_ir(ir), {}, set())


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
