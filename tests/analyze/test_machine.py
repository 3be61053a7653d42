"""Occupancy as Nsight Compute shows it for the same kernels, and what instructions are."""

from pathlib import Path

import pytest
from inductorscope.analyze.machine.figures import mix_of, occupancy_of, widths_of
from inductorscope.analyze.machine.loops import STACK, kind_of
from inductorscope.analyze.machine.without import without
from inductorscope.formats.machine.cubin import CubinFacts, read_cubin
from inductorscope.formats.machine.ptx import arrays_of
from inductorscope.formats.machine.sass import read_sass, spills_of

# Warps of a block, registers, bytes of shared memory, and the theoretical occupancy in percent of
# an H200, as its report has them.
MEASURED = [
    (16, 28, 192, 100.0), (4, 16, 16, 100.0), (4, 25, 48, 100.0), (8, 16, 0, 100.0),
    (4, 26, 4096, 100.0), (4, 27, 4096, 100.0), (4, 28, 256, 100.0), (16, 32, 128, 100.0),
    (2, 48, 1024, 62.5), (8, 32, 0, 100.0), (8, 110, 0, 25.0), (1, 72, 0, 43.75),
]  # fmt: skip


@pytest.mark.parametrize(("warps", "registers", "shared", "percent"), MEASURED)
def test_occupancy_is_nsights(warps: int, registers: int, shared: int, percent: float) -> None:
    found = occupancy_of(90, warps, registers, shared)
    assert found is not None
    assert 100 * found.share == percent
    assert found.limited_by == (("registers",) if percent < 100 else ())


def test_shared_memory_limits_too() -> None:
    found = occupancy_of(90, 4, 32, 100_000)
    assert found is not None
    assert (found.warps, found.limited_by) == (8, ("shared memory",))
    assert occupancy_of(1, 4, 32, 0) is None


def test_instructions_by_kind_and_width() -> None:
    operations = ["LDG.E.EF.128", "STG.E.U8", "LDG.E", "HFMA2.MMA", "HGMMA.64x128x16.F32", "LDL.LU"]
    assert mix_of(operations) == {
        "global memory": 3, "floating point": 1, "tensor cores": 1, "local memory": 1,
    }  # fmt: skip
    assert widths_of(operations) == {8: 1, 32: 1, 128: 1}


def test_arrays_of_the_program_are_no_spills() -> None:
    """`sin` of a large number needs an array; what lies beyond it on the stack is spilled."""
    lines = ["STL [R1+0x18], R2", "STL [R1+0x1c], R2", "LDL R2, [R1]", "LDL R2, [R9+0x40]"]
    text = "\n".join(f"  /*{16 * at:04x}*/  {line} ;" for at, line in enumerate(lines))
    assert spills_of(read_sass(text), 28) == [False, True, False, False]
    assert spills_of(read_sass(text), 0) == [True, True, True, False]
    assert arrays_of(".local .align 4 .b8 \t__local_depot0[28];") == 28


LINES = {
    "    tmp5 = libdevice.exp(tmp4)": "    tmp5 = tmp4",
    "    tmp6 = tmp5 * tmp2": "    tmp6 = tmp5",
    "tmp0 = tl.load(in_ptr0 + (r0_1 + 64*x0), xmask, other=0.0).to(tl.float32)":
        "tmp0 = (r0_1 + 64*x0).to(in_ptr0.dtype.element_ty).to(tl.float32)",
    "    tl.store(out_ptr0 + (x0), tmp3, xmask)": "    pass",
    "auto tmp3 = at::vec::maximum(tmp1, tmp2);": "auto tmp3 = tmp1;",
    "auto tmp3 = decltype(tmp1)(-tmp2);": "auto tmp3 = tmp2;",
    "auto tmp0 = in_ptr0[static_cast<int64_t>(x0 + 8L*x1)];":
        "auto tmp0 = std::decay_t<decltype(*in_ptr0)>(x0 + 8L*x1);",
    "auto tmp0 = at::vec::Vectorized<float>::loadu(in_ptr0 + static_cast<int64_t>(x0), "
    "static_cast<int64_t>(16));": "auto tmp0 = at::vec::Vectorized<float>(x0);",
    "  tmp3.store(out_ptr0 + static_cast<int64_t>(x0));": "  ;",
    "out_ptr0[static_cast<int64_t>(x0)] = tmp3;": ";",
    # Of another type or shape, at a constant place, or no operation
    "tmp4 = tl.sum(tmp3, 1)[:, None]": "", "tmp4 = tmp3 < tmp2": "", "tmp4 = tmp3": "",
    "tmp4 = tmp3.to(tl.int64)": "", "tmp4 = tl.where(tmp1, tmp2, tmp3)": "",
    "tmp4 = tl.load(in_ptr0 + (0))": "", "tmp4 = tl.full([1], 0.5, tl.float32)": "",
    "auto tmp4 = in_ptr0[static_cast<int64_t>(7L)];": "", "auto tmp4 = tmp1 ? tmp2 : tmp3;": "",
    "auto tmp4 = at::vec::VecMask<float,1>(tmp1 > tmp2);": "", "}": "",
}  # fmt: skip
"""A line of a kernel, and the line without its operation."""


@pytest.mark.parametrize("line", LINES)
def test_a_line_without_its_operation(line: str) -> None:
    assert without(line) == LINES[line]


@pytest.mark.parametrize(
    ("operation", "operands", "kind"),
    [
        ("vmovups", "%zmm0,-0x70(%rbp)", STACK),
        ("vmulps", "(%rcx),%ymm1,%ymm2", "vectors of 256 bits"),
        ("vaddss", "%xmm0,%xmm1,%xmm2", "single numbers"),
        ("vgatherdps", "%xmm0,(%rax,%ymm1,4),%ymm2", "gathers"),
        ("call", "2110 <expf@plt>", "calls"),
        ("jne", "11a0 <kernel+0x60>", "control"),
        ("lea", "0x8(%rax),%rdx", "integers and addresses"),
    ],
)
def test_instructions_of_a_processor_by_kind(operation: str, operands: str, kind: str) -> None:
    assert kind_of(operation, operands) == kind


def test_registers_of_a_cubin(fixtures: Path) -> None:
    cubin = next(fixtures.glob("triton-cache/triton/K4*/*.cubin")).read_bytes()
    assert read_cubin(cubin) == CubinFacts(registers=8)
    for end in range(0, len(cubin), 97):
        read_cubin(cubin[:end])  # a damaged file has no facts, or some
