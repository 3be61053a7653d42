"""Which operation wrote which statement of a Triton kernel: scans, repeated reductions, doubles."""

from inductorscope.correlate.replay.align import replay
from inductorscope.correlate.replay.kernel_lines import align_call, read_kernel_text
from inductorscope.correlate.replay.schedule import CallSite
from inductorscope.correlate.replay.state import ReplayState
from inductorscope.formats.code.output_code import CodeCall, CodeKernel
from inductorscope.formats.graph.ir import parse_ir

from tests.correlate.test_replay import node, triton, written

RECIPROCALS = """\
def kernel(in_ptr0, in_ptr1, out_ptr0, xnumel, XBLOCK : tl.constexpr):
    tmp0 = tl.load(in_ptr0 + (x0), xmask)
    tmp1 = tl.load(in_ptr1 + (x0), xmask)
    tmp2 = tl.full([1], 1, tl.int32)
    tmp3 = (tmp2 / tmp0)
    tmp4 = (tmp2 / tmp1)
    tmp5 = tmp3 + tmp4
    tmp6 = tmp5 * tmp0
    tl.store(out_ptr0 + (x0), tmp6, xmask)
"""


def test_the_one_that_a_reciprocal_divides_is_part_of_it() -> None:
    """Otherwise a later node that computes the same and more would seem to fit better."""
    sums = """\
    load = ops.load('arg0_1', index0)
    load_1 = ops.load('arg1_1', index0)
    reciprocal = ops.reciprocal(load)
    reciprocal_1 = ops.reciprocal(load_1)
    add = ops.add(reciprocal, reciprocal_1)
"""
    first = sums + "    store = ops.store('buf0', index0, add, None)\n    return store\n"
    second = (
        sums
        + """\
    mul = ops.mul(add, load)
    store = ops.store('buf1', index0, mul, None)
    return store
"""
    )
    nodes = parse_ir(node(0, "index0 = p0", first) + node(1, "index0 = p0", second)).nodes
    lines = RECIPROCALS.splitlines()
    kernel = CodeKernel("kernel", "triton", "poi", 1, len(lines), 1, 1, len(lines))
    pointers = {"arg0_1": "in_ptr0", "arg1_1": "in_ptr1", "buf1": "out_ptr0"}
    places = {buffer: frozenset([name]) for buffer, name in pointers.items()}
    site = CallSite(CodeCall("kernel", 0, True, 1, []), kernel, nodes, places)
    found = align_call(read_kernel_text(kernel, lines), site).lines
    assert [found[line][0][0] for line in range(2, 10)] == ["op0"] * 6 + ["op1"] * 2


CORNERS = """
    tmp0 = tl.load(in_ptr0 + (1 + 4*x0), xmask)
    tmp1 = tl.load(in_ptr0 + (4*x0), xmask)
    tmp2 = tmp0 - tmp1
    tmp3 = tmp1 * tmp0
    tl.store(out_ptr0 + (x0), tmp2, xmask)
    tl.store(out_ptr1 + (x0), tmp3, xmask)
"""


def test_a_load_is_found_again_by_the_numbers_in_its_index() -> None:
    first = node(
        0,
        "index0 = 4*p0 + 1; index1 = 4*p0; index2 = p0",
        """\
    get_index = self.get_index('index0')
    load = ops.load('arg0_1', get_index)
    get_index_1 = self.get_index('index1')
    load_1 = ops.load('arg0_1', get_index_1)
    sub = ops.sub(load, load_1)
    store = ops.store('buf0', index2, sub, None)
    return store
""",
    )
    second = node(  # the number of a loop is none of its numbers
        1,
        "index0 = 64*p0 + 4*p1; index1 = 64*p0 + 4*p1 + 1; index2 = 16*p0 + p1",
        """\
    get_index = self.get_index('index0')
    load = ops.load('arg0_1', get_index)
    get_index_1 = self.get_index('index1')
    load_1 = ops.load('arg0_1', get_index_1)
    mul = ops.mul(load, load_1)
    store = ops.store('buf1', index2, mul, None)
    return store
""",
    )
    places = {"arg0_1": "in_ptr0", "buf0": "out_ptr0", "buf1": "out_ptr1"}
    block = triton(CORNERS)
    state = ReplayState(block, {n: frozenset([p]) for n, p in places.items()}, {}, False)
    costs = [replay(state, ir_node) for ir_node in parse_ir(first + second).nodes]
    assert costs == [0.0, 0.0]
    assert state.values["body", "load"] == "tmp1"
    assert state.values["body", "load_1"] == "tmp0"


BYTES = """
    tmp0 = tl.load(in_ptr0 + (r0_1 + 40*x0), r0_mask & xmask, other=0.0)
    tmp4 = tl.full([1, 1], 3, tl.uint8)
    tmp5 = tl.where((tmp0 < 0) != (tmp4 < 0), tl.where(tmp0 % tmp4 != 0, tmp0 // tmp4 - 1, \
tmp0 // tmp4), tmp0 // tmp4)
    tmp7 = tl.full([1, 1], 5, tl.uint8)
    tmp8 = (tmp5 % tmp7)
    tmp9 = tl.full([1, 1], 0, tl.int32)
    tmp10 = tmp8 != tmp9
    tmp11 = (libdevice.signbit(tmp8) != 0) if (tmp8).dtype is tl.float32 else tmp8 < 0
    tmp12 = (libdevice.signbit(tmp7) != 0) if (tmp7).dtype is tl.float32 else tmp7 < 0
    tmp13 = tmp11 != tmp12
    tmp14 = tmp10 & tmp13
    tmp15 = tmp8 + tmp7
    tmp16 = tl.where(tmp14, tmp15, tmp8)
    tl.store(out_ptr0 + (x0), tmp16, xmask)
"""


def test_a_division_ends_before_the_remainder_of_it() -> None:
    ir = node(
        0,
        "index0 = p0",
        """\
    load = ops.load('arg0_1', index0)
    constant = ops.constant(3, torch.uint8)
    floordiv = ops.floordiv(load, constant)
    constant_1 = ops.constant(5, torch.uint8)
    remainder = ops.remainder(floordiv, constant_1)
    store = ops.store('buf0', index0, remainder, None)
    return store
""",
    )
    found = written(triton(BYTES), ir, {"arg0_1": "in_ptr0", "buf0": "out_ptr0"})
    assert (found["tmp5"], found["tmp7"]) == ("op0.floordiv", "op0.constant_1")
    assert {found[f"tmp{n}"] for n in range(8, 17)} == {"op0.remainder"}


POOLED = """
    tmp0 = tl.load(in_ptr0 + (x0), xmask)
    tmp1 = tl.full([XBLOCK], 9, tl.int32)
    tmp2 = tmp0 + tmp1
    tmp3 = tmp0 < 0
    tmp4 = tl.where(tmp3, tmp2, tmp0)
    tl.device_assert(((0 <= tmp4) & (tmp4 < 9)) | ~(xmask), "index out of bounds: 0 <= tmp4 < 9")
    tmp6 = tmp4 + 2*((((-1) + x1) * (((-1) + x1) <= (2)) + (2) * ((2) < ((-1) + x1))))
    tmp7 = x1
    tmp8 = tmp6 == tmp7
    tl.store(out_ptr0 + (x0), tmp8, xmask)
"""


def test_the_smaller_of_two_places_in_an_index_is_no_test_for_a_negative_one() -> None:
    ir = node(
        0,
        "index0 = p0; index1 = indirect0 + 2*Min(2, p1 - 1); index2 = p1",
        """\
    get_index = self.get_index('index0')
    load = ops.load('arg0_1', get_index)
    set_indirect0 = self.set_indirect0(load)
    get_index_1 = self.get_index('index1')
    index_expr = ops.index_expr(get_index_1, torch.int64)
    get_index_2 = self.get_index('index2')
    index_expr_1 = ops.index_expr(get_index_2, torch.int32)
    eq = ops.eq(index_expr, index_expr_1)
    get_index_3 = self.get_index('index0')
    store = ops.store('buf0', get_index_3, eq, None)
    return store
""",
    )
    found = written(triton(POOLED), ir, {"arg0_1": "in_ptr0", "buf0": "out_ptr0"})
    assert {found[f"tmp{n}"] for n in range(1, 5)} == {"op0.set_indirect0"}
    assert [found[f"tmp{n}"] for n in (6, 7, 8)] == ["op0.index_expr", "op0.index_expr_1", "op0.eq"]


TILED = """
    tmp1_mean = tl.zeros([YBLOCK, XBLOCK, R0_BLOCK], tl.float32)
    for r0_offset in tl.range(0, r0_numel, R0_BLOCK):
        tmp0 = tl.load(in_ptr0 + (r0_2 + 128*x1), r0_mask & xmask & ymask, other=0.0)
        tmp1_mean_next, tmp1_m2_next, tmp1_weight_next = triton_helpers.welford_reduce(
            tmp0, tmp1_mean, tmp1_m2, tmp1_weight, roffset == 0
        )
        tmp1_mean = tl.where(r0_mask & xmask & ymask, tmp1_mean_next, tmp1_mean)
    tmp2, tmp3, tmp4 = triton_helpers.welford(tmp1_mean, tmp1_m2, tmp1_weight, 2)
    tmp1 = tmp2[:, :, None]
    tmp5 = tmp3[:, :, None]
    tmp6 = tmp4[:, :, None]
    tl.store(out_ptr0 + (x1), tmp1, xmask & ymask)
"""


def test_a_reduction_in_tiles_of_two_dimensions_ends_with_all_its_results() -> None:
    ir = node(
        0,
        "index0 = 128*p0 + p1; index1 = p0",
        """\
    load = ops.load('arg0_1', index0)
    reduction = ops.reduction(torch.float32, torch.float32, 'welford_reduce', load)
    getitem = reduction[0]
    store_reduction = ops.store_reduction('buf0', index1, getitem)
    return None
""",
    )
    found = written(triton(TILED), ir, {"arg0_1": "in_ptr0", "buf0": "out_ptr0"})
    assert {found[f"tmp{n}"] for n in (1, 2, 5, 6)} == {"op0.reduction"}
    assert found["out_ptr0"] == "op0.store_reduction"


AFTER_LOOPS = """
    _tmp1 = tl.full([XBLOCK, R0_BLOCK], 0, tl.float32)
    for r0_offset in tl.range(0, r0_numel, R0_BLOCK):
        tmp0 = tl.load(in_ptr0 + (r0_1 + 128*x0), r0_mask & xmask, other=0.0)
        tmp2 = _tmp1 + tmp0
        _tmp1 = tl.where(r0_mask & xmask, tmp2, _tmp1)
    tmp1 = tl.sum(_tmp1, 1)[:, None]
    tmp3 = tl.full([1, 1], 72.0, tl.float32)
    tmp4 = (tmp1 / tmp3)
    tl.store(out_ptr0 + (x0), tmp4, xmask)
    _tmp6 = tl.full([XBLOCK, R0_BLOCK], 0, tl.float32)
    for r0_offset in tl.range(0, r0_numel, R0_BLOCK):
        tmp5 = tl.load(in_ptr1 + (r0_1 + 128*x0), r0_mask & xmask, other=0.0)
        tmp7 = _tmp6 + tmp5
        _tmp6 = tl.where(r0_mask & xmask, tmp7, _tmp6)
    tmp6 = tl.sum(_tmp6, 1)[:, None]
    tmp8 = tl.full([1, 1], 72.0, tl.float32)
    tmp9 = (tmp6 / tmp8)
    tl.store(out_ptr1 + (x0), tmp9, xmask)
"""


def test_a_number_is_written_again_after_the_next_loop() -> None:
    mean = """\
    load = ops.load('arg{n}_1', index0)
    reduction = ops.reduction(torch.float32, torch.float32, 'sum', load)
    constant = ops.constant(72.0, torch.float32)
    truediv = ops.truediv(reduction, constant)
    store_reduction = ops.store_reduction('buf{n}', index1, truediv)
    return None
"""
    indexes = "index0 = 128*p0 + p1; index1 = p0"
    ir = "".join(node(n, indexes, mean.format(n=n)) for n in (0, 1))
    pointers = {f"arg{n}_1": f"in_ptr{n}" for n in (0, 1)}
    pointers |= {f"buf{n}": f"out_ptr{n}" for n in (0, 1)}
    found = written(triton(AFTER_LOOPS), ir, pointers)
    assert (found["tmp3"], found["tmp4"]) == ("op0.constant", "op0.truediv")
    assert (found["tmp8"], found["tmp9"]) == ("op1.constant", "op1.truediv")


SOFTMAX = """
    _tmp1 = tl.full([XBLOCK, R0_BLOCK], float("-inf"), tl.float32)
    for r0_offset in tl.range(0, r0_numel, R0_BLOCK):
        tmp0 = tl.load(in_ptr0 + (r0_1 + 128*x0), r0_mask & xmask, other=0.0)
        tmp2 = triton_helpers.maximum(_tmp1, tmp0)
        _tmp1 = tl.where(r0_mask & xmask, tmp2, _tmp1)
    tmp1 = triton_helpers.max2(_tmp1, 1)[:, None]
    tl.store(out_ptr0 + (x0), tmp1, xmask)
    tl.store(out_ptr1 + (x0), tmp1, xmask)
    _tmp6 = tl.full([XBLOCK, R0_BLOCK], 0, tl.float32)
    for r0_offset in tl.range(0, r0_numel, R0_BLOCK):
        tmp3 = tl.load(in_ptr0 + (r0_1 + 128*x0), r0_mask & xmask, other=0.0)
        tmp4 = tmp3 - tmp1
        tmp5 = libdevice.exp(tmp4)
        tmp7 = _tmp6 + tmp5
        _tmp6 = tl.where(r0_mask & xmask, tmp7, _tmp6)
    tmp6 = tl.sum(_tmp6, 1)[:, None]
    tl.store(out_ptr2 + (x0), tmp6, xmask)
"""


ONLINE = """
    _tmp2_max = tl.full([XBLOCK, R0_BLOCK], float('-inf'), tl.float32)
    _tmp2_sum = tl.zeros([XBLOCK, R0_BLOCK], tl.float32)
    for r0_offset in tl.range(0, r0_numel, R0_BLOCK):
        tmp0 = tl.load(in_ptr0 + (r0_1 + 128*x0), r0_mask & xmask, other=0.0)
        tmp1 = tl.broadcast_to(tmp0, [XBLOCK, R0_BLOCK])
        _tmp2_max_next, _tmp2_sum_next = triton_helpers.online_softmax_combine(
            _tmp2_max, _tmp2_sum, tmp1, False
        )
        _tmp2_max = tl.where(r0_mask & xmask, _tmp2_max_next, _tmp2_max)
        _tmp2_sum = tl.where(r0_mask & xmask, _tmp2_sum_next, _tmp2_sum)
    tmp2, tmp3 = triton_helpers.online_softmax_reduce(
        _tmp2_max, _tmp2_sum, 1, False)
    tmp2 = tmp2[:, None]
    tmp3 = tmp3[:, None]
    for r0_offset in tl.range(0, r0_numel, R0_BLOCK):
        tmp4 = tl.load(in_ptr0 + (r0_1 + 128*x0), r0_mask & xmask, other=0.0)
        tmp5 = tmp4 - tmp2
        tmp6 = libdevice.exp(tmp5)
        tmp7 = (tmp6 / tmp3)
        tl.store(out_ptr0 + (r0_1 + 128*x0), tmp7, r0_mask & xmask)
"""


def test_a_softmax_in_one_loop_has_its_largest_value_and_its_sum() -> None:
    part = """\
    load = ops.load('arg0_1', index0)
    reduction = ops.reduction(torch.float32, torch.float32, 'online_softmax_reduce', load)
    getitem = reduction[0]
    getitem_1 = reduction[1]
    store_reduction = ops.store_reduction('buf{n}', index1, {part})
    return None
"""
    quotient = """\
    load = ops.load('arg0_1', index0)
    load_1 = ops.load('buf0', index1)
    sub = ops.sub(load, load_1)
    exp = ops.exp(sub)
    load_2 = ops.load('buf1', index1)
    truediv = ops.truediv(exp, load_2)
    store = ops.store('buf2', index0, truediv, None)
    return store
"""
    indexes = "index0 = 128*p0 + p1; index1 = p0"
    ir = "".join(
        node(n, indexes, part.format(n=n, part=p)) for n, p in enumerate(["getitem", "getitem_1"])
    )
    pointers = {"arg0_1": "in_ptr0", "buf2": "out_ptr0"}
    found = written(triton(ONLINE), ir + node(2, indexes, quotient), pointers)
    steps = ("tmp1", "tmp2", "tmp3", "_tmp2_max", "_tmp2_sum", "_tmp2_max_next")
    assert {found[name] for name in steps} == {"op0.reduction"}
    assert [found[f"tmp{n}"] for n in (4, 5, 6, 7)] == [
        "op2.load", "op2.sub", "op2.exp", "op2.truediv",
    ]  # fmt: skip


def test_a_reduction_for_two_buffers_is_written_once_and_leaves_the_next_loop_alone() -> None:
    largest = """\
    load = ops.load('arg0_1', index0)
    reduction = ops.reduction(torch.float32, torch.float32, 'max', load)
    store_reduction = ops.store_reduction('buf{n}', index1, reduction)
    return None
"""
    total = """\
    load = ops.load('arg0_1', index0)
    load_1 = ops.load('buf{of}', index1)
    sub = ops.sub(load, load_1)
    exp = ops.exp(sub)
    reduction = ops.reduction(torch.float32, torch.float32, 'sum', exp)
    store_reduction = ops.store_reduction('buf{n}', index1, reduction)
    return None
"""
    indexes = "index0 = 128*p0 + p1; index1 = p0"
    ir = "".join(node(n, indexes, largest.format(n=n)) for n in (0, 1))
    ir += "".join(node(n, indexes, total.format(n=n, of=n - 2)) for n in (2, 3))
    pointers = {"arg0_1": "in_ptr0", **{f"buf{n}": f"out_ptr{n}" for n in range(3)}}
    found = written(triton(SOFTMAX), ir, pointers)
    assert (found["out_ptr0"], found["out_ptr1"]) == ("op0.store_reduction", "op1.store_reduction")
    assert [found[f"tmp{n}"] for n in (3, 4, 5, 6)] == [
        "op2.load", "op2.sub", "op2.exp", "op2.reduction",
    ]  # fmt: skip
    assert found["tmp1"] == "op0.reduction"


NORMED = """
    for r0_offset in tl.range(0, r0_numel, R0_BLOCK):
        tmp0 = tl.load(in_ptr0 + (r0_1 + 128*x0), r0_mask & xmask, other=0.0)
        tmp1 = -tmp0
        tmp2 = tl.broadcast_to(tmp1, [XBLOCK, R0_BLOCK])
        tmp3_mean_next, tmp3_m2_next, tmp3_weight_next = triton_helpers.welford_reduce(
            tmp2, tmp3_mean, tmp3_m2, tmp3_weight, roffset == 0
        )
        tmp3_mean = tl.where(r0_mask & xmask, tmp3_mean_next, tmp3_mean)
        tmp3_m2 = tl.where(r0_mask & xmask, tmp3_m2_next, tmp3_m2)
        tmp3_weight = tl.where(r0_mask & xmask, tmp3_weight_next, tmp3_weight)
        tl.store(out_ptr0 + (r0_1 + 128*x0), tmp1, r0_mask & xmask)
    tmp4, tmp5, tmp6 = triton_helpers.welford(tmp3_mean, tmp3_m2, tmp3_weight, 1)
    tmp3 = tmp4[:, None]
    tmp7 = tmp5[:, None]
    tmp8 = tmp6[:, None]
    for r0_offset in tl.range(0, r0_numel, R0_BLOCK):
        tmp9 = tl.load(out_ptr0 + (r0_1 + 128*x0), r0_mask & xmask, other=0.0)
        tmp10 = tmp9 - tmp3
        tmp11 = tmp10 * tmp7
        tl.store(out_ptr1 + (r0_1 + 128*x0), tmp11, r0_mask & xmask)
"""


def test_two_results_of_a_reduction_are_written_once_and_leave_the_next_loop_alone() -> None:
    indexes = "index0 = 128*p0 + p1; index1 = p0"
    negated = """\
    load = ops.load('arg0_1', index0)
    neg = ops.neg(load)
    store = ops.store('buf0', index0, neg, None)
    return store
"""
    result = """\
    load = ops.load('buf0', index0)
    reduction = ops.reduction(torch.float32, torch.float32, 'welford_reduce', load)
    getitem = reduction[0]
    getitem_1 = reduction[1]
    store_reduction = ops.store_reduction('buf{}', index1, {})
    return store_reduction
"""
    scaled = """\
    load = ops.load('buf0', index0)
    load_1 = ops.load('buf1', index1)
    sub = ops.sub(load, load_1)
    load_2 = ops.load('buf2', index1)
    mul = ops.mul(sub, load_2)
    store = ops.store('buf3', index0, mul, None)
    return store
"""
    bodies = [negated, result.format(1, "getitem"), result.format(2, "getitem_1"), scaled]
    ir = "".join(node(number, indexes, body) for number, body in enumerate(bodies))
    pointers = {"arg0_1": "in_ptr0", "buf0": "out_ptr0", "buf3": "out_ptr1"}
    found = written(triton(NORMED), ir, pointers)
    assert [found[f"tmp{n}"] for n in (9, 10, 11)] == ["op3.load", "op3.sub", "op3.mul"]


OVERWRITTEN = """
    tmp0 = tl.load(in_out_ptr0 + (x0), xmask)
    tmp1 = -tmp0
    tmp2 = libdevice.exp(tmp1)
    tl.store(in_out_ptr0 + (x0), tmp1, xmask)
    tl.store(out_ptr0 + (x0), tmp2, xmask)
"""


def test_memory_that_was_written_into_is_read_as_what_was_put_there() -> None:
    ir = node(
        0,
        "index0 = p0",
        """\
    load = ops.load('arg0_1', index0)
    neg = ops.neg(load)
    store = ops.store('buf0', index0, neg, None)
    return store
""",
    ).replace("]\nclass", "    buf0.mutations = ['arg0_1']\n]\nclass")
    ir += node(
        1,
        "index0 = p0",
        """\
    load = ops.load('arg0_1', index0)
    exp = ops.exp(load)
    store = ops.store('buf1', index0, exp, None)
    return store
""",
    )
    pointers = {"arg0_1": "in_out_ptr0", "buf0": "in_out_ptr0", "buf1": "out_ptr0"}
    found = written(triton(OVERWRITTEN), ir, pointers)
    assert (found["tmp0"], found["tmp1"], found["tmp2"]) == ("op0.load", "op0.neg", "op1.exp")


OTHERWISE = """
    tmp0 = x0
    tmp1 = tl.full([1], 3, tl.int64)
    tmp2 = tmp0 < tmp1
    tmp3 = tl.load(in_ptr0 + (x0), tmp2 & xmask, other=float("-inf"))
    tmp4 = tl.load(in_ptr0 + (x0), tmp2 & xmask, other=0.0)
    tl.store(out_ptr0 + (x0), tmp3, xmask)
    tl.store(out_ptr1 + (x0), tmp4, xmask)
"""


def test_a_masked_load_is_another_where_it_gives_something_else_outside() -> None:
    ir = ""
    for number, other in ((0, "float('-inf')"), (1, "0.0")):
        ir += node(
            number,
            "index0 = p0",
            f"""\
    index_expr = ops.index_expr(index0, torch.int64)
    constant = ops.constant(3, torch.int64)
    lt = ops.lt(index_expr, constant)
    masked_subblock1 = self.masked_subblock1(lt, {other})
    store = ops.store('buf{number}', index0, masked_subblock1, None)
    return store
def masked_subblock1(self, ops):
    load = ops.load('arg0_1', index0)
    return load
""",
        )
    pointers = {"arg0_1": "in_ptr0", "buf0": "out_ptr0", "buf1": "out_ptr1"}
    found = written(triton(OTHERWISE), ir, pointers)
    assert (found["tmp3"], found["tmp4"]) == ("op0.load", "op1.load")
