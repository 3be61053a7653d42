"""Lines of the wrapper: what each does to memory, in Python and in C++."""

import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inductorscope.formats.code.layouts import Layout
from inductorscope.formats.code.output_code import parse_output_code
from inductorscope.formats.code.wrapper_lines import WrapperLine, parse_wrapper
from inductorscope.formats.text import lines_of

WRAPPER = """
def call(args):
    arg0_1, arg1_1 = args
    args.clear()
    s0 = arg0_1
    assert_size_stride(arg1_1, (8, 4), (4, 1))
    with torch.cuda._DeviceGuard(0):
        buf0 = empty_strided_cuda((8, 4), (4, 1), torch.bfloat16)
        buf1 = empty_strided((s0, 4), (4, 1), device='cpu', dtype=torch.float32)
        # Topologically Sorted Source Nodes: [a], Original ATen: [aten.mm]
        extern_kernels.mm(arg1_1, reinterpret_tensor(arg1_1, (4, 8), (1, 4), 0), out=buf0)
        del arg1_1
        buf2 = buf0; del buf0  # reuse
        buf3 = reinterpret_tensor(buf2, (4, 8), (8, 1), 0)  # alias
        buf4 = torch.ops.aten.sort.stable(buf3, stable=False)
        buf5 = buf4[0]
        buf6 = reinterpret_tensor(buf5, (32, ), (1, ), 0); del buf5  # reuse
        buf1.copy_(buf6, False)
    return (buf1, buf3, )


def get_args():
    from torch._dynamo.testing import rand_strided
    arg0_1 = 8
    arg1_1 = rand_strided((8, 4), (4, 1), device='cuda:0', dtype=torch.bfloat16)
"""


def read(text: str) -> list[WrapperLine]:
    return parse_wrapper(text, parse_output_code(text))


def by_line(text: str) -> dict[str, WrapperLine]:
    """Records by the beginning of their line, as far as its first bracket."""
    lines = lines_of(text)
    return {lines[made.line - 1].strip().partition("(")[0].strip(): made for made in read(text)}


def test_kinds_of_python_lines() -> None:
    kinds = [made.kind for made in read(WRAPPER)]
    assert kinds == [
        "other", "input", "other", "other", "assert", "device", "allocate", "allocate", "comment",
        "extern_call", "free", "reuse", "reinterpret", "extern_call", "unpack", "reuse", "copy",
        "return",
    ]  # fmt: skip


def test_allocations_have_bytes_or_a_reason() -> None:
    lines = by_line(WRAPPER)
    known = lines["buf0 = empty_strided_cuda"]
    assert known.layout == Layout(("8", "4"), ("4", "1"), "bfloat16", "cuda")
    assert (known.nbytes, known.reason) == (64, "")
    unknown = lines["buf1 = empty_strided"]
    assert unknown.nbytes is None
    assert unknown.reason == "a size is known at run time only: s0"


def test_names_are_defined_used_and_freed() -> None:
    lines = by_line(WRAPPER)
    reused = lines["buf2 = buf0; del buf0  # reuse"]
    assert (reused.defines, reused.uses, reused.frees) == (["buf2"], ["buf0"], ["buf0"])
    assert reused.layout == lines["buf0 = empty_strided_cuda"].layout
    viewed = lines["buf3 = reinterpret_tensor"]
    assert (viewed.uses, viewed.frees, viewed.offset) == (["buf2"], [], "0")
    assert viewed.layout == Layout(("4", "8"), ("8", "1"), "bfloat16", "cuda")
    assert lines["del arg1_1"].frees == ["arg1_1"]
    assert lines["return"].uses == ["buf1", "buf3"]
    assert lines["buf5 = buf4[0]"].uses == ["buf4"]
    assert lines["buf6 = reinterpret_tensor"].frees == ["buf5"]


def test_calls_know_the_shapes_of_what_they_name() -> None:
    call = by_line(WRAPPER)["extern_kernels.mm"]
    assert call.call is not None
    assert call.call.kernel == "extern_kernels.mm"
    assert call.operands["arg1_1"] == Layout(("8", "4"), ("4", "1"), "bfloat16", "cuda")
    assert call.operands["buf0"].dtype == "bfloat16"


def test_memory_spans_strides_and_scalars() -> None:
    assert Layout((), (), "float32").nbytes() == (4, "")
    assert Layout(("2", "3"), ("100", "1"), "float32").nbytes() == (412, "")
    assert Layout(("0", "3"), ("3", "1"), "int64").nbytes() == (0, "")
    assert Layout(("5",), ("0",), "bool").nbytes() == (1, "")
    nothing, reason = Layout(("5",), ("1",), "quint4").nbytes()
    assert nothing is None
    assert "quint4" in reason


def test_pools_hold_buffers(fixtures: Path) -> None:
    text = (fixtures / "output-code" / "cuda-pool.py").read_text()
    pooled = {made.defines[0]: made for made in read(text) if made.kind == "allocate"}
    assert (pooled["pool4"].nbytes, pooled["pool4"].inside) == (24576, "")
    buf2 = pooled["buf2"]
    assert (buf2.inside, buf2.offset, buf2.nbytes) == ("pool4", "16384", 8192)
    assert buf2.layout == Layout(("32", "64"), ("64", "1"), "float32", "cuda")
    freed = [name for made in read(text) for name in made.frees]
    assert "buf6" in freed


def test_cpp_wrappers_say_the_same_as_python(fixtures: Path) -> None:
    text = (fixtures / "output-code" / "cpu-cppwrap.py").read_text()
    lines = read(text)
    kinds = Counter(made.kind for made in lines)
    # Counted with grep: `aoti_torch_empty_strided(`, `.reset();`, `// reuse`, `// alias` and
    # `var_1`, `output_handles[`.
    assert kinds["allocate"] == 9
    assert kinds["free"] == 15
    assert kinds["reuse"] == 5
    assert kinds["reinterpret"] == 3
    assert kinds["return"] == 4
    assert (kinds["call"], kinds["extern_call"], kinds["input"]) == (5, 6, 8)
    allocated = {made.defines[0]: made for made in lines if made.kind == "allocate"}
    assert allocated["buf0"].layout == Layout(("32", "128"), ("128", "1"), "float32", "cpu")
    assert allocated["buf0"].nbytes == 16384
    (alias,) = (made for made in lines if made.defines == ["buf20"])
    assert (alias.kind, alias.uses, alias.offset) == ("reinterpret", ["buf21"], "64")
    (moved,) = (made for made in lines if made.defines == ["buf1"])
    assert (moved.kind, moved.frees, moved.layout) == ("reuse", ["buf0"], allocated["buf0"].layout)
    (sort,) = (made for made in lines if "buf13" in made.defines and made.kind == "extern_call")
    assert sort.uses == ["buf11"]


def test_sizes_known_at_run_time_only_are_named(fixtures: Path) -> None:
    text = (fixtures / "output-code" / "cuda-aotidyn.cpp").read_text()
    allocated = [made for made in read(text) if made.kind == "allocate"]
    assert [made.defines for made in allocated] == [["buf2"], ["buf3"]]
    assert allocated[0].layout == Layout(("s77", "64"), ("64", "1"), "float32", "cuda")
    assert allocated[0].reason == "a size is known at run time only: s77"


def test_real_wrappers_against_counts_by_hand(shared: Path) -> None:
    for file in sorted((shared / "truth").rglob("output_code.py")):
        text = file.read_text()
        code = parse_output_code(text)
        lines = parse_wrapper(text, code)
        wrapper = "\n".join(lines_of(text)[code.wrapper_first - 1 : code.wrapper_last])
        kinds = Counter(made.kind for made in lines)
        assert kinds["allocate"] == len(re.findall(r" = empty_strided_\w+\(", wrapper))
        assert kinds["reuse"] == len(re.findall("# reuse", wrapper))
        assert kinds["free"] == len(re.findall(r"^ +del ", wrapper, re.M))
        assert kinds["call"] + kinds["extern_call"] == len(code.calls)
        assert kinds["assert"] == len(re.findall(r"^ +assert_", wrapper, re.M))
        known = {name for made in lines for name in made.defines}
        assert {name for made in lines for name in made.frees} <= known
        assert {name for made in lines for name in made.uses} <= known


PIECES = st.sampled_from([line for line in WRAPPER.split("\n") if line.strip()] + [
    "void inductor_entry_impl(", "    buf0.reset();", "    auto buf1 = std::move(buf0);  // reuse",
    "    static constexpr int64_t int_array_0[] = {32L, };", "    RAIIAtenTensorHandle buf0(t);",
    "    f(aoti_torch_empty_strided(1, int_array_0, int_array_0, cached_torch_dtype_int64,"
    " cached_torch_device_type_cpu, 0, &buf0_handle));", "}", "empty_strided((", "del ,",
    "    f(aoti_torch__alloc_from_pool(buf0, 0, x, 1, int_array_0, int_array_0, &t));",
    "    buf9 = alloc_from_pool(buf0, 0,", "    buf9 = reinterpret_tensor(buf0", "\x00",
])  # fmt: skip


@given(pieces=st.lists(PIECES, max_size=40), text=st.text(max_size=200))
def test_any_wrapper_is_read(pieces: list[str], text: str) -> None:
    whole = "\n".join([*pieces[:9], text, *pieces[9:]])
    last = whole.count("\n") + 1
    assert all(1 <= made.line <= last for made in read(whole))


@pytest.mark.parametrize(
    "line",
    [
        "    buf0 = empty_strided_cuda(" + "(" * 50_000,
        "    buf0 = buf0" + "; del buf0" * 20_000,
        "    " + "a, " * 50_000 + "b = args",
        "    buf0 = empty_strided_cuda((" + "9, " * 50_000 + "), (1, ), torch.int64)",
    ],
)
def test_long_lines_are_read(line: str) -> None:
    (_, made) = read(f"def call(args):\n{line}\n")
    assert made.line == 2
