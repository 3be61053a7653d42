"""The plan of a wrapper's memory, against counts by hand and against what torch allocates."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inductorscope.analyze.memory.graph import memory_plan
from inductorscope.analyze.memory.records import MemoryPlan, Storage
from inductorscope.analyze.memory.sizes import evaluated, settled
from inductorscope.formats.code.layouts import Layout

KIB = 1024
WRAPPER = """
triton_poi_fused_neg_0 = async_compile.triton('triton_poi_fused_neg_0', '''
@triton_heuristics.pointwise(
    triton_meta={'signature': {'in_out_ptr0': '*fp32', 'in_ptr0': '*fp32', 'xnumel': 'i32'}},
)
@triton.jit
def triton_poi_fused_neg_0(in_out_ptr0, in_ptr0, xnumel, XBLOCK : tl.constexpr):
    xnumel = 1024
''', device_str='cuda')


def call(args):
    arg0_1, arg1_1 = args
    args.clear()
    assert_size_stride(arg0_1, (32, 32), (32, 1))
    assert_size_stride(arg1_1, (32, 32), (32, 1))
    with torch.cuda._DeviceGuard(0):
        buf0 = empty_strided_cuda((32, 32), (32, 1), torch.float32)
        extern_kernels.mm(arg0_1, arg1_1, out=buf0)
        del arg0_1
        buf1 = buf0; del buf0  # reuse
        triton_poi_fused_neg_0.run(buf1, arg1_1, 1024, stream=stream0)
        buf2 = empty_strided_cuda((64, 32), (32, 1), torch.float32)
        extern_kernels.mm(buf1, arg1_1, out=buf2)
        del arg1_1
        buf3 = reinterpret_tensor(buf1, (16, 64), (64, 1), 0); del buf1  # reuse
        extern_kernels.mm(buf2, buf2, out=buf3)
        del buf2
        buf4 = torch.ops.aten.sort.stable(buf3, stable=False)
        del buf3
        buf5 = buf4[0]
        assert_size_stride(buf5, (16, 64), (64, 1))
        buf6 = buf4[1]
        assert_size_stride(buf6, (16, 64), (64, 1))
        del buf4
        del buf6
    return (buf5, )


def get_args():
    arg0_1 = rand_strided((32, 32), (32, 1), device='cuda:0', dtype=torch.float32)
    arg1_1 = rand_strided((32, 32), (32, 1), device='cuda:0', dtype=torch.float32)
"""
IR = """op4: ExternKernelSchedulerNode(FallbackKernel)
op4.outputs = [
    buf5: MultiOutput
    buf5.layout = FixedLayout('cuda:0', torch.float32, size=[16, 64], stride=[64, 1])
    buf6: MultiOutput
    buf6.layout = FixedLayout('cuda:0', torch.int64, size=[16, 64], stride=[64, 1])
]
"""
SYMBOLIC = """
def call(args):
    arg0_1, arg1_1 = args
    args.clear()
    s0 = arg0_1
    assert_size_stride(arg1_1, (s0, 4), (4, 1))
    buf0 = empty_strided_cpu((s0, 4), (4, 1), torch.float32)
    buf1 = empty_strided_cpu((u7, 4), (4, 1), torch.float32)
    cpp_fused_neg_0(arg1_1, buf0, s0)
    return (buf0, buf1, )


def get_args():
    arg0_1 = 8
    arg1_1 = rand_strided((8, 4), (4, 1), device='cpu', dtype=torch.float32)
"""


def live(plan: MemoryPlan, beginning: str) -> int:
    return next(step.live for step in plan.steps if step.text.startswith(beginning))


def storage(plan: MemoryPlan, name: str) -> Storage:
    return next(s for s in plan.storages if name in [h.name for h in s.holdings])


def test_live_bytes_as_counted_by_hand() -> None:
    plan = memory_plan(WRAPPER, IR)
    assert live(plan, "buf0 = empty") == 4 * KIB
    assert live(plan, "buf1 = buf0") == 4 * KIB
    assert live(plan, "buf2 = empty") == 12 * KIB
    assert live(plan, "buf3 = reinterpret") == 12 * KIB
    assert live(plan, "del buf2") == 4 * KIB
    # The sort returns 4 KiB of values and 8 KiB of indices beside its 4 KiB of input.
    assert live(plan, "buf4 = torch.ops") == 16 * KIB
    assert live(plan, "del buf3") == 12 * KIB
    assert live(plan, "del buf4") == 12 * KIB  # its parts have names of their own
    assert live(plan, "del buf6") == 4 * KIB
    assert live(plan, "return") == 4 * KIB
    assert (plan.peak, plan.device, plan.unknown) == (16 * KIB, "cuda", [])
    assert WRAPPER.split("\n")[plan.peak_line - 1].strip().startswith("buf4 = torch.ops")
    assert [plan.storages[number].nbytes for number in plan.peak_storages] == [8192, 4096, 4096]


def test_roles_totals_and_lives() -> None:
    plan = memory_plan(WRAPPER, IR)
    assert (plan.input_bytes, plan.output_bytes, plan.constant_bytes) == (8 * KIB, 4 * KIB, 0)
    assert plan.allocated == (4 + 8 + 4 + 8) * KIB
    assert storage(plan, "arg0_1").role == "input"
    assert storage(plan, "buf5").role == "output"
    first = storage(plan, "buf0")
    assert [holding.name for holding in first.holdings] == ["buf0", "buf1", "buf3"]
    assert [(touch.kernel, touch.reads, touch.writes) for touch in first.touches] == [
        ("extern_kernels.mm", False, True),
        ("triton_poi_fused_neg_0", True, True),
        ("extern_kernels.mm", True, False),
        ("extern_kernels.mm", False, True),
        ("torch.ops.aten.sort.stable", True, False),
    ]
    assert first.touches[1].pointer == "in_out_ptr0"
    assert storage(plan, "buf6").holdings[0].made_by == "op4"


@pytest.mark.parametrize(
    ("names", "held"),
    [
        (("primals_1", "primals_2"), [8, 8]),  # the caller keeps parameters and arguments
        (("mm", "tangents_1"), [4, 0]),  # only autograd's graph referred to them
        (("primals_1", "tangents_1"), [8, 4]),
    ],
)
def test_an_input_is_freed_only_where_the_caller_lets_go(
    names: tuple[str, str], held: list[int]
) -> None:
    text = WRAPPER.replace("arg0_1", names[0]).replace("arg1_1", names[1])
    plan = memory_plan(text, IR)
    after = {step.text: step.inputs // KIB for step in plan.steps}
    assert [after[f"del {name}"] for name in names] == held
    assert plan.peak_with_inputs == (16 + held[1]) * KIB  # the peak comes after both


def test_an_input_that_views_a_part_counts_its_elements() -> None:
    part = WRAPPER.replace("arg0_1, (32, 32), (32, 1)", "arg0_1, (32, 32), (96, 1)")
    assert storage(memory_plan(part), "arg0_1").nbytes == 4 * KIB
    expanded = WRAPPER.replace("arg0_1, (32, 32), (32, 1)", "arg0_1, (32, 32), (0, 1)")
    assert storage(memory_plan(expanded), "arg0_1").nbytes == 128
    padded = WRAPPER.replace("buf2 = empty_strided_cuda((64, 32), (32, 1)",
                             "buf2 = empty_strided_cuda((64, 32), (40, 1)")  # fmt: skip
    assert storage(memory_plan(padded), "buf2").nbytes == (63 * 40 + 32) * 4  # no view


def test_reuse_in_place_and_of_dead_memory() -> None:
    plan = memory_plan(WRAPPER, IR)
    assert [(r.name, r.before, r.nbytes, bool(r.in_place)) for r in plan.reuses] == [
        ("buf1", "buf0", 4 * KIB, True),
        ("buf3", "buf1", 4 * KIB, False),
    ]
    assert plan.avoided == 8 * KIB


def test_symbols_count_with_their_hint_and_say_so() -> None:
    plan = memory_plan(SYMBOLIC)
    assert plan.hints == {"s0": 8}
    made = storage(plan, "buf0")
    assert (made.nbytes, made.known) == (128, "hint")
    assert "s0 = 8" in made.reason
    unbacked = storage(plan, "buf1")
    assert (unbacked.nbytes, unbacked.known) == (None, "unknown")
    assert plan.unknown == [unbacked.number]
    assert plan.peak == 128
    assert [s.name for s in plan.storages if s.role == "input"] == ["arg1_1"]  # arg0_1 is a number


def test_a_pool_counts_once() -> None:
    text = """
def call(args):
    arg0_1, = args
    pool1 = empty_strided_cuda((4096, ), (1, ), torch.uint8)
    buf0 = alloc_from_pool(pool1, 0, torch.float32, (512, ), (1, ))
    buf1 = alloc_from_pool(pool1, 2048, torch.float32, (512, ), (1, ))
    extern_kernels.mm(buf0, buf1, out=buf1)
    del buf0
    del buf1
    return ()
"""
    plan = memory_plan(text)
    assert (plan.peak, plan.allocated) == (4096, 4096)
    assert storage(plan, "buf1").inside == storage(plan, "pool1").number


def test_c_plus_plus_says_the_same(fixtures: Path) -> None:
    """By hand: buf0 16,384 (reused as buf1), buf2 8,192 (as buf6), 128 and 128, buf21 10,240, …"""
    plan = memory_plan((fixtures / "output-code" / "cpu-cppwrap.py").read_text())
    assert plan.cpp
    sizes = {name: storage(plan, name).nbytes for name in ("buf0", "buf2", "buf3", "buf5", "buf21")}
    assert sizes == {"buf0": 16384, "buf2": 8192, "buf3": 128, "buf5": 128, "buf21": 10240}
    # Held together: buf1 (buf0) and buf2, then buf2, buf3, buf5, buf21, buf7 and buf11.
    assert plan.peak == 8192 + 128 + 128 + 10240 + 4096 + 4096
    assert len(plan.unknown) == 3  # what sort and cumsum return: no type is written


@pytest.mark.parametrize(
    ("name", "peak"),
    [("forward_1.0", 67_020_864), ("backward_3.1", 30_201_856)],
)
def test_of_real_graphs_everything_is_known(shared: Path, name: str, peak: int) -> None:
    folder = next((shared / "traces" / "cuda-gpt-train").glob(f"**/model__0_{name}"))
    texts = [
        (folder / file).read_text()
        for file in ("output_code.py", "ir_post_fusion.txt", "fx_graph_transformed.py")
    ]
    plan = memory_plan(*texts)
    assert plan.unknown == []
    assert plan.peak == peak
    # Every byte that was allocated is freed, or returned.
    freed = sum(step.change for step in plan.steps if step.change < 0)
    given = sum(step.change for step in plan.steps if step.change > 0)
    assert given == plan.allocated
    assert given + freed == plan.steps[-1].live == plan.output_bytes


def test_expressions_of_sizes() -> None:
    hints = {"s0": 7, "s1": 3}
    assert evaluated("((s0 + 7)//8)*s1", hints) == 3
    assert evaluated("2*s0 - s1", hints) == 11
    assert evaluated("max(1, s0)", hints) == 7
    assert evaluated("s9", hints) is None
    assert evaluated("__import__('os')", hints) is None
    assert evaluated("s0**99", hints) is None
    assert settled(Layout(("s0", "4"), ("4", "1"), "float32", "cpu"), hints) == (
        Layout(("7", "4"), ("4", "1"), "float32", "cpu"),
        ("s0",),
    )


LINES = st.sampled_from(
    [
        "buf{a} = empty_strided_cuda(({n}, 32), (32, 1), torch.float32)",
        "buf{a} = buf{b}; del buf{b}  # reuse",
        "buf{a} = reinterpret_tensor(buf{b}, ({n}, ), (1, ), 0)",
        "del buf{a}",
        "buf{a} = buf{b}[0]",
        "buf{a} = torch.ops.aten.sort.stable(buf{b})",
        "extern_kernels.mm(buf{a}, buf{b}, out=buf{a})",
        "return (buf{a}, )",
        "buf{a}, buf{b}, = args",
        "buf{a} = alloc_from_pool(buf{b}, 0, torch.float32, ({n}, ), (1, ))",
        "assert_size_stride(buf{a}, (((((, ",
    ]
)


@given(st.lists(st.tuples(LINES, st.integers(0, 5), st.integers(0, 5), st.integers(0, 99))))
def test_any_wrapper_has_a_plan_that_adds_up(parts: list[tuple[str, int, int, int]]) -> None:
    body = "\n".join("    " + line.format(a=a, b=b, n=n) for line, a, b, n in parts)
    plan = memory_plan(f"def call(args):\n{body}\n    return ()\n")
    assert all(step.live >= 0 and step.inputs >= 0 for step in plan.steps)
    assert plan.peak == max((step.live for step in plan.steps), default=0)
    assert plan.peak <= plan.allocated
    for made in plan.storages:
        assert made.born <= made.freed <= max(plan.last_line, made.born)


@given(st.text(max_size=400), st.text(max_size=200), st.text(max_size=200))
def test_any_text_has_a_plan(code: str, ir: str, fx: str) -> None:
    memory_plan(code, ir, fx)
