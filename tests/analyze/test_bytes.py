"""Bytes and operations of kernels, against counts by hand, by force, and by Inductor."""

from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inductorscope.analyze.bytes.cpp import CppReader
from inductorscope.analyze.bytes.graph import CallWork, read_graph, work_of
from inductorscope.analyze.bytes.index import Space, distinct, reach
from inductorscope.analyze.bytes.library_flops import library_flops, operation
from inductorscope.analyze.bytes.triton import TritonReader
from inductorscope.formats.code.layouts import Layout


def space(**ranges: int) -> Space:
    return Space(ranges=dict(ranges), group={name: name for name in ranges})


@given(st.lists(st.tuples(st.integers(1, 12), st.integers(1, 5)), max_size=4))
def test_distinct_sums_as_counted_by_force(steps: list[tuple[int, int]]) -> None:
    sums = {
        sum(factor * value for (factor, _), value in zip(steps, values, strict=True))
        for values in product(*(range(size) for _, size in steps))
    }
    count, exact = distinct(steps)
    assert count >= len(sums)
    if exact:
        assert count == len(sums)


@pytest.mark.parametrize(
    ("index", "count", "exact"),
    [
        ("x0 + 256*x1", 256 * 8, True),
        ("x0", 256, True),
        ("x0 + x1", 263, True),
        ("7", 1, True),
        ("((-3) + x0 + 130*x1)", 256 * 8 - 0, False),
        ("x1 + 48*tmp4", 8, False),
        ("static_cast<int64_t>(x0 + 256L*x1)", 2048, True),
        ("(x0 // 4)", 64, True),
        ("tl.broadcast_to(x0, [XBLOCK, R0_BLOCK])", 256, True),
        ("c10::div_floor_integer(static_cast<int64_t>(x0), static_cast<int64_t>(2L))", 128, True),
    ],
)
def test_what_an_index_reaches(index: str, count: int, exact: bool) -> None:
    found = reach(index, space(x0=256, x1=8))
    assert found is not None
    if index.startswith("((-3)"):  # rows of 256 that begin every 130: they overlap
        assert (found.count, found.exact) == (256 + 130 * 7, True)
    else:
        assert (found.count, found.exact) == (count, exact)


@given(st.text(max_size=200))
def test_any_index_is_read_or_refused(index: str) -> None:
    found = reach(index, space(x0=4))
    assert found is None or found.count >= 0


TRITON = """
def triton_per_fused_add_sum_0(in_ptr0, in_ptr1, out_ptr0, out_ptr1, xnumel, r0_numel, XBLOCK):
    xnumel = 64
    r0_numel = 256
    xindex = xoffset + tl.arange(0, XBLOCK)[:, None]
    r0_index = tl.arange(0, R0_BLOCK)[None, :]
    r0_1 = r0_index
    x0 = xindex
    tmp0 = tl.load(in_ptr0 + (r0_1 + 256*x0), xmask, other=0.0)
    tmp1 = tl.load(in_ptr1 + (x0), xmask, eviction_policy='evict_last')
    tmp2 = tmp0 + tmp1
    tmp3 = tl.broadcast_to(tmp2, [XBLOCK, R0_BLOCK])
    tmp5 = tl.where(xmask, tmp3, 0)
    tmp6 = tl.sum(tmp5, 1)[:, None].to(tl.float32)
    tmp7 = tmp6 * tmp1
    tl.store(out_ptr0 + (r0_1 + 256*x0), tmp2, xmask)
    tl.store(out_ptr1 + (x0), tmp7, xmask)
""".strip().split("\n")

CPP = """
{
    #pragma omp parallel num_threads(16)
    {
        #pragma omp for
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(64L); x0+=static_cast<int64_t>(1L))
        {
            for(int64_t x1=static_cast<int64_t>(0L); x1<static_cast<int64_t>(250L); x1+=static_cast<int64_t>(16L))
            {
                {
                    if(C10_LIKELY(x1 >= static_cast<int64_t>(0) && x1 < static_cast<int64_t>(240L)))
                    {
                        auto tmp0 = at::vec::Vectorized<float>::loadu(in_ptr0 + static_cast<int64_t>(x1 + 250L*x0), static_cast<int64_t>(16));
                        auto tmp1 = at::vec::Vectorized<float>::loadu(in_ptr1 + static_cast<int64_t>(x1), static_cast<int64_t>(16));
                        auto tmp2 = tmp0 + tmp1;
                        tmp2.store(out_ptr0 + static_cast<int64_t>(x1 + 250L*x0));
                    }
                    if(C10_UNLIKELY(x1 >= static_cast<int64_t>(240L) && x1 < static_cast<int64_t>(250L)))
                    {
                        auto tmp0 = at::vec::Vectorized<float>::loadu(in_ptr0 + static_cast<int64_t>(x1 + 250L*x0), static_cast<int64_t>(10L));
                        auto tmp1 = at::vec::Vectorized<float>::loadu(in_ptr1 + static_cast<int64_t>(x1), static_cast<int64_t>(10L));
                        auto tmp2 = tmp0 + tmp1;
                        tmp2.store(out_ptr0 + static_cast<int64_t>(x1 + 250L*x0), static_cast<int64_t>(10L));
                    }
                }
            }
        }
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(64L); x0+=static_cast<int64_t>(1L))
        {
            auto tmp0 = out_ptr0[static_cast<int64_t>(250L*x0)];
            auto tmp1 = std::exp(tmp0);
            in_out_ptr0[static_cast<int64_t>(x0)] = tmp1;
        }
    }
}
""".strip().split("\n")  # noqa: E501  # as Inductor writes it


def test_a_triton_kernel_by_hand() -> None:
    work = TritonReader({}).read_all(TRITON)
    assert work.readable
    reads = {name: sum(access.reads.values()) for name, access in work.accesses.items()}
    writes = {name: sum(access.writes.values()) for name, access in work.accesses.items()}
    assert reads == {"in_ptr0": 64 * 256, "in_ptr1": 64, "out_ptr0": 0, "out_ptr1": 0}
    assert writes == {"in_ptr0": 0, "in_ptr1": 0, "out_ptr0": 64 * 256, "out_ptr1": 64}
    # An add, a choice and a step of the sum for each element, and a product for each row.
    assert work.operations == 3 * 64 * 256 + 64
    assert work.reductions == 64 * 256


def test_a_cpp_kernel_by_hand() -> None:
    work = CppReader({}).read_all(CPP)
    assert work.readable
    reads = {name: sum(access.reads.values()) for name, access in work.accesses.items()}
    writes = {name: sum(access.writes.values()) for name, access in work.accesses.items()}
    assert reads == {"in_ptr0": 64 * 250, "in_ptr1": 250, "out_ptr0": 64, "in_out_ptr0": 0}
    assert writes == {"in_ptr0": 0, "in_ptr1": 0, "out_ptr0": 64 * 250, "in_out_ptr0": 64}
    assert not work.accesses["out_ptr0"].read_first  # it reads back what it wrote itself
    assert work.operations == 64 * 250 + 64


def test_lengths_that_the_call_gives() -> None:
    lines = [line for line in TRITON if "xnumel = 64" not in line]
    work = TritonReader({"xnumel": 16}).read_all(lines)
    assert sum(work.accesses["in_ptr0"].reads.values()) == 16 * 256


@given(st.lists(st.text(max_size=80), max_size=20))
def test_any_source_is_read(lines: list[str]) -> None:
    TritonReader({}).read_all(lines)
    CppReader({"ks0": 3}).read_all(lines)


def layout(*shape: int, dtype: str = "float32") -> Layout:
    return Layout(tuple(map(str, shape)), ("1",) * len(shape), dtype, "cpu")


@pytest.mark.parametrize(
    ("kernel", "operands", "arguments", "made", "flops"),
    [
        ("extern_kernels.mm", [(64, 32), (32, 16)], [], (64, 16), 2 * 64 * 32 * 16),
        ("extern_kernels.addmm", [(16,), (64, 32), (32, 16)], [], (64, 16), 2 * 64 * 32 * 16),
        ("extern_kernels.bmm", [(8, 64, 32), (8, 32, 16)], [], (8, 64, 16), 2 * 8 * 64 * 32 * 16),
        ("aoti_torch_cpu_addmm_out", [(16,), (4, 32), (32, 16)], [], (4, 16), 2 * 4 * 32 * 16),
        # 10 × 6 × 30 × 30 results, each of 3 × 3 × 3 products
        ("extern_kernels.convolution", [(10, 3, 32, 32), (6, 3, 3, 3)], ["transposed=False"],
         (10, 6, 30, 30), 2 * 10 * 6 * 30 * 30 * 27),
        ("torch.ops.aten.convolution_backward.default",
         [(10, 6, 30, 30), (10, 3, 32, 32), (6, 3, 3, 3)], ["[True, True, False]"],
         (1,), 2 * 2 * 10 * 6 * 30 * 30 * 27),
        ("torch.ops.aten.convolution_backward.default",
         [(10, 6, 30, 30), (10, 3, 32, 32), (6, 3, 3, 3)], ["[False, True, False]"],
         (1,), 2 * 10 * 6 * 30 * 30 * 27),
        ("torch.ops.aten._scaled_dot_product_flash_attention.default",
         [(2, 4, 128, 32), (2, 4, 128, 32), (2, 4, 128, 32)], [], (1,),
         2 * 2 * 4 * 128 * 128 * 64),
        ("torch.ops.aten.sort.stable", [(4, 4)], [], (4, 4), None),
        ("extern_kernels.mm", [(64, 32), (31, 16)], [], (64, 16), None),
    ],
)  # fmt: skip
def test_library_flops_by_hand(
    kernel: str, operands: list[tuple[int, ...]], arguments: list[str], made: tuple[int, ...],
    flops: int | None,
) -> None:  # fmt: skip
    given_ = [layout(*shape) for shape in operands]
    assert library_flops(kernel, given_, arguments, [layout(*made)]) == flops


def test_flops_as_torch_counts_them() -> None:
    """torch's own counter, on calls it knows."""
    torch = pytest.importorskip("torch")
    from torch.utils.flop_counter import FlopCounterMode, sdpa_flop_count

    a, b, c = torch.ones(24, 40), torch.ones(40, 8), torch.ones(8)
    x, w = torch.ones(2, 4, 9, 9), torch.ones(6, 4, 3, 3)
    q = torch.ones(2, 3, 16, 8)
    with FlopCounterMode(display=False) as counter:
        torch.addmm(c, a, b)
        torch.conv2d(x, w)
        torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, q, q)
    known = {str(op).split(".")[-1]: flops for op, flops in counter.flop_counts["Global"].items()}
    made = torch.conv2d(x, w).shape
    assert known["addmm"] == library_flops(
        "extern_kernels.addmm", [layout(8), layout(24, 40), layout(40, 8)], [], []
    )
    assert known["convolution"] == library_flops(
        "extern_kernels.convolution", [layout(*x.shape), layout(*w.shape)], [], [layout(*made)]
    )
    attention = library_flops("aten._scaled_dot_product_attention", [layout(*q.shape)] * 3, [], [])
    assert attention == sdpa_flop_count(q.shape, q.shape, q.shape)


def test_names_of_operations() -> None:
    assert operation("extern_kernels.addmm") == "addmm"
    assert operation("torch.ops.mkldnn._linear_pointwise.binary") == "_linear_pointwise"
    assert operation("aoti_torch_cuda_bmm_out") == "bmm"


def works(shared: Path, name: str, direction: str) -> list[CallWork]:
    folder = next((shared / "traces" / name).glob(f"**/model__0_{direction}*"))
    code, ir = (folder / name for name in ("output_code.py", "ir_post_fusion.txt"))
    return work_of(read_graph(code.read_text(), ir.read_text(), None))


def test_bytes_are_those_that_inductor_estimates(shared: Path) -> None:
    """Where Inductor wrote its own estimate, nine of ten are equal to the byte. Others differ for
    cause: it counts writes of pointers that are only read, and none of what is added to."""
    equal = compared = 0
    for name in ("cuda-gpt-train", "cuda-gpt-max-autotune"):
        for direction in ("forward", "backward"):
            for work in works(shared, name, direction):
                if work.inductor_bytes is not None and work.operations is not None:
                    compared += 1
                    equal += work.bytes.total == round(work.inductor_bytes)
    assert compared > 250
    assert equal / compared > 0.9


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_templates_and_library_calls_do_the_same_products(shared: Path, direction: str) -> None:
    """Max-autotune replaces calls of a library by templates: the products are the same."""
    sums = [
        sum(work.products or 0 for work in works(shared, name, direction))
        for name in ("cuda-gpt-train", "cuda-gpt-max-autotune")
    ]
    assert sums[0] == sums[1] > 0
    if direction == "forward":  # four layers of width 256 on 1,024 tokens, and a head of 8,192
        layer = 2 * 1024 * 256 * (3 * 256 + 256 + 2 * 1024) + 4 * 4 * 8 * 256 * 256 * 32
        assert sums[0] == 4 * layer + 2 * 1024 * 256 * 8192


def test_bytes_of_the_tutorials_kernel(fixtures: Path) -> None:
    folder = next((fixtures / "cuda-foo1").glob("**/model__0_inference_0.0"))
    (work,) = work_of(read_graph((folder / "output_code.py").read_text(), None, None))
    # 8,390 × 8 bytes read and written, and 8 of the row that is negated
    assert (work.bytes.total, work.bytes.how) == (2 * 8390 * 8 + 8, "counted")
