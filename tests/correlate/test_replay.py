"""Which operation wrote which statement of a kernel, on lines that Inductor wrote."""

import pytest
from inductorscope.correlate.kernels.cpp import read_kernel
from inductorscope.correlate.kernels.statements import Block
from inductorscope.correlate.kernels.triton import read_blocks
from inductorscope.correlate.replay.align import replay
from inductorscope.correlate.replay.state import ReplayState
from inductorscope.formats.graph.ir import parse_ir


def node(number: int, indexes: str, body: str) -> str:
    """A scheduler node as `ir_post_fusion.txt` has it; `body` may hold further blocks."""
    written = "\n".join(f"    {line}" for line in [*indexes.split("; "), "def body(self, ops):"])
    lines = "\n".join(f"    {line}" for line in body.strip("\n").split("\n"))
    return f"""\
op{number}: SchedulerNode(ComputedBuffer)
op{number}.outputs = [
    buf{number}: ComputedBuffer
    buf{number}.layout = FixedLayout('cuda:0', torch.float32, size=[8, 128], stride=[128, 1])
]
class op{number}_loop_body:
    var_ranges = {{p0: 8, p1: 128}}
{written}
{lines}


"""


def written(
    block: Block, ir: str, pointers: dict[str, str], *, cpp: bool = False
) -> dict[str, str]:
    """What each temporary's statement was written by, `op.operation`; stores by their pointer."""
    places = {buffer: frozenset(names.split()) for buffer, names in pointers.items()}
    state = ReplayState(block, places, dict.fromkeys((f"buf{n}" for n in range(4)), False), cpp)
    for ir_node in parse_ir(ir).nodes:
        replay(state, ir_node)
    found: dict[str, str] = {}
    for statement in [*block.numbered, *block.others]:
        owner = state.result.owner.get(id(statement))
        name = statement.defines[0] if statement.defines else statement.pointer
        found[name] = f"{owner[0]}.{owner[2]}" if owner is not None else ""
    return found


def triton(text: str) -> Block:
    lines = ["def kernel(in_ptr0, out_ptr0):", *text.strip("\n").split("\n")]
    (block,), _ = read_blocks(lines, 1, len(lines))
    return block


LOOKUP = """\
    load = ops.load('arg0_1', index0)
    set_indirect0 = self.set_indirect0(load)
    get_index_1 = self.get_index('index1')
    load_1 = ops.load('arg1_1', get_index_1)
"""
LOOKUPS = node(
    0,
    "index0 = p0; index1 = 128*indirect0 + p1",
    LOOKUP
    + """\
    reduction = ops.reduction(torch.float32, torch.float32, 'sum', load_1)
    store_reduction = ops.store_reduction('buf0', index0, reduction)
    return store_reduction
""",
) + node(
    1,
    "index0 = p0; index1 = 128*indirect0 + p1; index2 = 128*p0 + p1",
    LOOKUP
    + """\
    neg = ops.neg(load_1)
    store = ops.store('buf1', index2, neg, None)
    return store
""",
)

TWO_LOOPS = """
    tmp0 = tl.load(in_ptr0 + (x0), xmask, eviction_policy='evict_last')
    _tmp8 = tl.full([XBLOCK, R0_BLOCK], 0, tl.float32)
    for r0_offset in tl.range(0, r0_numel, R0_BLOCK):
        tmp1 = tl.full([1, 1], 1024, tl.int32)
        tmp2 = tmp0 + tmp1
        tmp3 = tmp0 < 0
        tmp4 = tl.where(tmp3, tmp2, tmp0)
        tl.device_assert(((0 <= tmp4) & (tmp4 < 1024)) | ~(xmask), "index out of bounds")
        tmp6 = tl.load(in_ptr1 + (r0_1 + 128*tmp4), r0_mask & xmask, other=0.0)
        tmp7 = tl.broadcast_to(tmp6, [XBLOCK, R0_BLOCK])
        tmp9 = _tmp8 + tmp7
        _tmp8 = tl.where(r0_mask & xmask, tmp9, _tmp8)
    tmp8 = tl.sum(_tmp8, 1)[:, None]
    for r0_offset in tl.range(0, r0_numel, R0_BLOCK):
        tmp10 = tl.full([1, 1], 1024, tl.int32)
        tmp11 = tmp0 + tmp10
        tmp12 = tmp0 < 0
        tmp13 = tl.where(tmp12, tmp11, tmp0)
        tl.device_assert(((0 <= tmp13) & (tmp13 < 1024)) | ~(xmask), "index out of bounds")
        tmp15 = tl.load(in_ptr1 + (r0_1 + 128*tmp13), r0_mask & xmask, other=0.0)
        tmp16 = -tmp15
        tl.store(out_ptr1 + (r0_1 + 128*x0), tmp16, r0_mask & xmask)
"""


def test_an_index_is_wrapped_again_in_the_next_loop() -> None:
    pointers = {"arg0_1": "in_ptr0", "arg1_1": "in_ptr1", "buf1": "out_ptr1"}
    found = written(triton(TWO_LOOPS), LOOKUPS, pointers)
    assert found["tmp4"] == "op0.set_indirect0"
    assert {found[f"tmp{n}"] for n in (10, 11, 12, 13)} == {"op1.set_indirect0"}
    assert (found["tmp15"], found["tmp16"]) == ("op1.load_1", "op1.neg")


SCATTER = node(
    0,
    "index0 = p0; index1 = indirect0",
    """\
    load = ops.load('arg0_1', index0)
    set_indirect0 = self.set_indirect0(load)
    index_expr = ops.index_expr(index0, torch.int64)
    get_index_1 = self.get_index('index1')
    store = ops.store('buf0', get_index_1, index_expr, None)
    return store
""",
)

VECTORISED = """\
extern "C"  void  kernel(const int64_t* in_ptr0, int64_t* out_ptr0)
{
    auto tmp0 = at::vec::VectorizedN<int64_t,2>::loadu(in_ptr0 + static_cast<int64_t>(x0), static_cast<int64_t>(8));
    auto tmp1 = 56L;
    auto tmp2 = c10::convert<int64_t>(tmp1);
    auto tmp3 = at::vec::VectorizedN<int64_t,2>(tmp2);
    auto tmp4 = tmp0 + tmp3;
    auto tmp5 = static_cast<int64_t>(0);
    auto tmp6 = at::vec::VectorizedN<int64_t,2>(tmp5);
    auto tmp7 = at::vec::VecMask<int64_t,2>(tmp0 < tmp6);
    auto tmp8 = decltype(tmp4)::blendv(tmp0, tmp4, tmp7.template cast<int64_t,2>());
    auto tmp9 =
    [&]
    {
        __at_align__ std::array<int64_t, 8> tmpbuf;
        tmp8.store(tmpbuf.data(), static_cast<int64_t>(8));
        return tmpbuf;
    }
    ()
    ;
    auto tmp10 =
    [&]
    {
        __at_align__ std::array<int64_t, 8> tmpbuf;
        #pragma GCC unroll 8
        for (long x0_inner = 0; x0_inner < static_cast<int64_t>(8); x0_inner++)
        {
            tmpbuf[x0_inner] = static_cast<int64_t>(tmp9[x0_inner]);
        }
        return at::vec::VectorizedN<int64_t,2>::loadu(tmpbuf.data(), static_cast<int64_t>(8));
    }
    ()
    ;
    TORCH_CHECK((at::vec::VecMask<int64_t,2>((at::vec::VectorizedN<int64_t,2>(0) <= tmp10) & (tmp10 < at::vec::VectorizedN<int64_t,2>(56L)))).all_masked(), "index out of bounds: 0 <= tmp10 < 56L");
    auto tmp12 = x0;
    auto tmp13 = c10::convert<int64_t>(tmp12);
    auto tmp14 = at::vec::VectorizedN<int64_t,2>::arange(tmp13, 1);
}
"""  # noqa: E501  # lines as torch writes them


def test_vectorised_indices_are_wrapped_and_checked_by_who_looks_up() -> None:
    lines = VECTORISED.split("\n")
    (block,) = read_kernel(lines, 1, len(lines)).blocks
    found = written(block, SCATTER, {"arg0_1": "in_ptr0", "buf0": "out_ptr0"}, cpp=True)
    assert {found[f"tmp{n}"] for n in (1, 4, 7, 8, 9, 10)} == {"op0.set_indirect0"}
    assert found["tmp14"] == "op0.index_expr"


SLICES = node(
    0,
    "index0 = p1; index1 = p2; index2 = 100*p0 + 10*p1 + p2 - 1; index4 = 144*p0 + 12*p1 + p2",
    """\
    get_index = self.get_index('index0')
    index_expr = ops.index_expr(get_index, torch.int64)
    constant = ops.constant(10, torch.int64)
    lt = ops.lt(index_expr, constant)
    masked_subblock1 = self.masked_subblock1(lt, 0.0)
    constant_1 = ops.constant(0.0, torch.float32)
    where = ops.where(lt, masked_subblock1, constant_1)
    get_index_2 = self.get_index('index4')
    store = ops.store('buf0', get_index_2, where, None)
    return store
def masked_subblock1(self, ops):
    get_index = self.get_index('index1')
    index_expr = ops.index_expr(get_index, torch.int64)
    constant = ops.constant(1, torch.int64)
    ge = ops.ge(index_expr, constant)
    masked_subblock2 = self.masked_subblock2(ge, 0.0)
    constant_2 = ops.constant(0.0, torch.float32)
    where = ops.where(ge, masked_subblock2, constant_2)
    return where
def masked_subblock2(self, ops):
    get_index = self.get_index('index2')
    load = ops.load('tangents_1', get_index)
    neg = ops.neg(load)
    return neg
""",
)

NESTED = """\
extern "C"  void  kernel(const float* in_ptr0, float* out_ptr0)
{
    auto tmp0 = x1;
    auto tmp1 = c10::convert<int64_t>(tmp0);
    auto tmp2 = static_cast<int64_t>(10);
    auto tmp3 = tmp1 < tmp2;
    auto tmp4 = [&]
    {
        auto tmp5 = x2;
        auto tmp6 = c10::convert<int64_t>(tmp5);
        auto tmp7 = at::vec::VectorizedN<int64_t,2>::arange(tmp6, 1);
        auto tmp8 = static_cast<int64_t>(1);
        auto tmp9 = at::vec::VectorizedN<int64_t,2>(tmp8);
        auto tmp10 = at::vec::VecMask<int64_t,2>(tmp7 >= tmp9);
        auto tmp16 = at::vec::VecMask<float,1>::from(tmp3);
        auto tmp17 = tmp10 & tmp16;
        auto tmp15 = [&]
        {
            auto tmp18 = tmp17.template cast<float,1>().template loadu<float,1>(in_ptr0 + static_cast<int64_t>((-1L) + x2 + 10L*x1 + 100L*x0));
            auto tmp19 = tmp18.neg();
            return tmp19;
        }
        ;
        auto tmp22 =
        [&]
        {
            if (tmp17.all_zero())
            {
                return at::vec::Vectorized<float>(static_cast<float>(0.0));
            }
            else
            {
                auto tmp20 = tmp15();
                auto tmp21 = at::vec::Vectorized<float>(static_cast<float>(0.0));
                return decltype(tmp20)::blendv(tmp21, tmp20, tmp17.template cast<float,1>());
            }
        }
        ()
        ;
        auto tmp23 = static_cast<float>(0.0);
        auto tmp24 = at::vec::Vectorized<float>(tmp23);
        auto tmp25 = decltype(tmp22)::blendv(tmp24, tmp22, tmp10.template cast<float,1>());
        return tmp25;
    }
    ;
    auto tmp26 = tmp3 ? tmp4() : at::vec::Vectorized<float>(static_cast<float>(0.0));
    auto tmp27 = static_cast<float>(0.0);
    auto tmp28 = at::vec::VecMask<float,1>::from(tmp3);
    auto tmp29 = at::vec::Vectorized<float>(tmp27);
    auto tmp30 = decltype(tmp26)::blendv(tmp29, tmp26, tmp28.template cast<float,1>());
    tmp30.store(out_ptr0 + static_cast<int64_t>(x2 + 12L*x1 + 144L*x0), static_cast<int64_t>(8));
}
"""  # noqa: E501  # lines as torch writes them


@pytest.mark.parametrize("mask", ["at::vec::VecMask<float,1>::from(tmp3)", "to_float_mask(tmp3)"])
def test_a_mask_within_a_mask_is_a_vector_first(mask: str) -> None:
    lines = NESTED.replace("at::vec::VecMask<float,1>::from(tmp3)", mask).split("\n")
    (block,) = read_kernel(lines, 1, len(lines)).blocks
    found = written(block, SLICES, {"tangents_1": "in_ptr0", "buf0": "out_ptr0"}, cpp=True)
    assert found["tmp16"] == found["tmp17"] == found["tmp20"] == "op0.masked_subblock2"
    assert (found["tmp19"], found["tmp26"]) == ("op0.neg", "op0.masked_subblock1")
    assert found["tmp25"] == found["tmp30"] == found["tmp28"] == "op0.where"


SUMS = """\
extern "C"  void  kernel(const float* in_ptr0, float* out_ptr0)
{
    {
        at::vec::Vectorized<float> tmp_acc0_vec = at::vec::Vectorized<float>(0);
        for(int64_t x1=static_cast<int64_t>(0L); x1<static_cast<int64_t>(4L); x1+=static_cast<int64_t>(1L))
        {
            auto tmp0 = at::vec::Vectorized<float>::loadu(in_ptr0 + static_cast<int64_t>(x0 + 8L*x1), static_cast<int64_t>(8L));
            tmp_acc0_vec = sum_masked_reduce(tmp_acc0_vec, tmp0, static_cast<int64_t>(8L));
        }
        if(C10_UNLIKELY(x0 >= static_cast<int64_t>(0L) && x0 < static_cast<int64_t>(8L)))
        {
            [&]
            {
                __at_align__ std::array<float, 8> tmpbuf;
                tmp_acc0_vec.store(tmpbuf.data(), static_cast<int64_t>(8L));
                #pragma GCC unroll 8
                for (long x0_inner = 0; x0_inner < static_cast<int64_t>(8L); x0_inner++)
                {
                    out_ptr0[static_cast<int64_t>(8L*x0 + 8L*x0_inner)] = tmpbuf[x0_inner];
                }
            }
            ()
            ;
        }
    }
}
"""  # noqa: E501  # lines as torch writes them


def test_what_a_reduction_stores_over_many_lines_is_its_own() -> None:
    lines = SUMS.split("\n")
    kernel = read_kernel(lines, 1, len(lines))
    (block,) = kernel.blocks
    assert [statement.pointer for statement in block.numbered] == ["in_ptr0"]
    (stored,) = [statement for statement in kernel.accumulations if statement.stores]
    assert (stored.accumulators, stored.pointer) == (("tmp_acc0",), "out_ptr0")
    assert "tmpbuf;" in lines[stored.lines[1] - 1]


TABLE = node(
    1,
    "index0 = p0; index1 = 8 - indirect0",
    """\
    load = ops.load('primals_2', index0)
    set_indirect0 = self.set_indirect0(load)
    get_index_1 = self.get_index('index1')
    index_expr = ops.index_expr(get_index_1, torch.float32)
    digamma = ops.digamma(index_expr)
    store = ops.store('buf1', index0, digamma, None)
    return store
""",
)
LOOKED_UP = """\
extern "C"  void  kernel(const int64_t* in_ptr0, float* out_ptr0)
{
    {
        auto tmp0 = in_ptr1[static_cast<int64_t>(0L)];
        (tmp0 ? 0 : (throw std::runtime_error("one_hot: no class"), 0));
    }
    {
        auto tmp0 = at::vec::VectorizedN<int64_t,2>::loadu(in_ptr0 + static_cast<int64_t>(x0), static_cast<int64_t>(8));
        auto tmp1 =
        [&]
        {
            __at_align__ std::array<float, 8> tmpbuf;
            #pragma GCC unroll 8
            for (long x0_inner = 0; x0_inner < static_cast<int64_t>(8); x0_inner++)
            {
                tmpbuf[x0_inner] = static_cast<int64_t>(8L + ((-1L)*tmp0[x0_inner]));
            }
            return at::vec::Vectorized<float>::loadu(tmpbuf.data(), static_cast<int64_t>(8));
        }
        ()
        ;
        auto tmp2 = calc_digamma(tmp1);
        tmp2.store(out_ptr0 + static_cast<int64_t>(x0), static_cast<int64_t>(8));
    }
}
"""  # noqa: E501  # lines as torch writes them


def test_looked_up_positions_and_called_functions_are_found() -> None:
    lines = LOOKED_UP.split("\n")
    *_, computing = read_kernel(lines, 1, len(lines)).blocks
    found = written(computing, TABLE, {"primals_2": "in_ptr0", "buf1": "out_ptr0"}, cpp=True)
    assert (found["tmp1"], found["tmp2"]) == ("op1.index_expr", "op1.digamma")


COMPUTED_INDEX = """\
{
    auto tmp0 = in_ptr0[static_cast<int64_t>(x0)];
    auto tmp1 = in_ptr1[static_cast<int64_t>(x0)];
    auto tmp2 = int64_t(tmp0 * tmp1);
    auto tmp3 = tmp2;
    auto tmp4 = c10::convert<int64_t>(tmp3);
    TORCH_CHECK((0 <= tmp4) & (tmp4 < 64L), "index out of bounds: 0 <= tmp4 < 64L");
    auto tmp6 = in_ptr2[static_cast<int64_t>(32L*tmp2)];
    out_ptr0[static_cast<int64_t>(x0)] = tmp6;
}
"""


def test_bounds_that_need_no_check_leave_the_next_check_alone() -> None:
    (block,) = read_kernel(COMPUTED_INDEX.split("\n"), 1, COMPUTED_INDEX.count("\n")).blocks
    ir = node(
        0,
        "index0 = p0; index1 = 0; index2 = 2; index3 = 32*indirect0",
        """\
    get_index_1 = self.get_index('index1')
    get_index_2 = self.get_index('index2')
    check_bounds = ops.check_bounds(get_index_1, get_index_2, False, False)
    load = ops.load('arg0_1', index0)
    load_1 = ops.load('arg1_1', index0)
    mul = ops.mul(load, load_1)
    set_indirect0 = self.set_indirect0(mul)
    get_index_3 = self.get_index('index3')
    load_2 = ops.load('arg2_1', get_index_3)
    store = ops.store('buf0', index0, load_2, None)
    return store
""",
    )
    places = {f"arg{n}_1": f"in_ptr{n}" for n in range(3)} | {"buf0": "out_ptr0"}
    found = written(block, ir, places, cpp=True)
    steps = {"tmp0": "load", "tmp1": "load_1", "tmp2": "mul", "tmp4": "set_indirect0"}
    assert {name: found[name] for name in steps} == {n: f"op0.{s}" for n, s in steps.items()}
    assert found["tmp6"] == "op0.load_2"
