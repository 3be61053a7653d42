"""Functions of a wrapper: those that compute subgraphs, and those that pass a library call on."""

from inductorscope.formats.code.output_code import parse_output_code
from inductorscope.formats.code.subgraphs import calls_as_run

NESTED = """
triton_a = async_compile.triton('triton_a', '''
''')

def outer_inner(args):
    outer_inner_arg0_1, = args
    triton_a.run(outer_inner_arg0_1, outer_inner_buf0, 8, stream=stream0)
    return (outer_inner_buf0, )

def outer(args):
    outer_arg0_1, = args
    extern_kernels.mm(outer_arg0_1, outer_arg0_1, out=outer_buf0)
    outer_inner_args = [outer_buf0]
    outer_buf1 = outer_inner(outer_inner_args)
    outer_inner_args = [outer_buf1]
    outer_buf2 = outer_inner(outer_inner_args)
    return (outer_buf2, )

def call(args):
    arg0_1, = args
    triton_a.run(arg0_1, buf0, 8, stream=stream0)
    outer_args = [buf0]
    buf1 = outer(outer_args)
    outer_args = [buf1]
    buf2 = outer(outer_args)
    return (buf2, )
"""


def test_calls_are_counted_through_functions() -> None:
    code = parse_output_code(NESTED)
    assert [(call.kernel, call.inside) for call in code.calls] == [
        ("triton_a", "outer_inner"), ("extern_kernels.mm", "outer"), ("triton_a", ""),
    ]  # fmt: skip
    region = ["extern_kernels.mm", "triton_a", "triton_a"]
    assert [call.kernel for call in calls_as_run(code)] == ["triton_a", *region, *region]
    (first, _) = code.functions["outer"].invoked
    assert (first.arguments, first.results) == (["buf0"], ["buf1"])


def test_functions_that_call_each_other_end() -> None:
    text = NESTED.replace("extern_kernels.mm(outer_arg0_1, outer_arg0_1, out=outer_buf0)",
                          "outer_buf9 = outer(outer_args)")  # fmt: skip
    assert len(calls_as_run(parse_output_code(text))) < 200_000


def test_a_library_kernel_behind_a_function_of_its_own() -> None:
    """Torch 2.14 with TORCH_COMPILE_DEBUG_EXTEND=1."""
    code = parse_output_code(
        "def extern_kernels_extern_kernels_addmm_5(*args, **kwargs):\n"
        "    return extern_kernels.addmm(*args, **kwargs)\n\n"
        "def call(args):\n"
        "    extern_kernels_extern_kernels_addmm_5(arg0_1, buf3, alpha=1, out=buf4)\n"
        "    return (buf4, )\n"
    )
    (call,) = code.calls
    assert (call.kernel, call.extern) == ("extern_kernels.addmm", True)
