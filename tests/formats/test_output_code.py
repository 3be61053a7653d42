"""Output code: kernels and calls of every generation."""

from __future__ import annotations

from pathlib import Path

from inductorscope.formats.output_code import parse_output_code

OLD = """
from torch import device

cpp_fused_neg_0 = async_compile.cpp('''
#include "/tmp/torchinductor/cpp_prefix.h"
extern "C" void kernel(const float* in_ptr0,
                       float* out_ptr0)
{
    auto tmp0 = in_ptr0[static_cast<long>(0L)];
}
''')


# Source Nodes: [a, b], Original ATen: [aten.neg]
triton_poi_fused_neg_1 = async_compile.triton('triton_', '''
@pointwise(size_hints=[8])
@triton.jit
def triton_(in_ptr0, out_ptr0, xnumel, XBLOCK : tl.constexpr):
    tmp0 = tl.load(in_ptr0 + (x0), xmask)
''')


async_compile.wait(globals())
del async_compile

def call(args):
    arg0_1, = args
    args.clear()
    buf0 = empty_strided((8, ), (1, ), device='cpu', dtype=torch.float32)
    cpp_fused_neg_0(c_void_p(arg0_1.data_ptr()), c_void_p(buf0.data_ptr()))
    triton_poi_fused_neg_1.run(buf0, buf1, 8, grid=grid(8), stream=stream0)
    extern_kernels.mm(buf0, buf1, out=buf2)
    return (buf0, )


def benchmark_compiled_module(times=10, repeat=10):
    return print_performance(lambda: call([arg0_1]))
"""


def test_older_code():
    code = parse_output_code(OLD)
    cpp, triton = code.kernels
    assert (cpp.kind, cpp.category, cpp.parameters) == ("cpp", "cpp", ["in_ptr0", "out_ptr0"])
    assert (triton.category, triton.source_nodes) == ("poi", ["a", "b"])
    assert triton.comment_line == triton.first_line - 1
    assert [(call.kernel, call.handle, call.handle_known) for call in code.calls] == [
        ("cpp_fused_neg_0", 1, False),
        ("triton_poi_fused_neg_1", 2, False),
        ("extern_kernels.mm", 3, False),
    ]
    assert OLD.split("\n")[code.wrapper_first - 1].startswith("def call(")
    assert not code.problems


def test_todays_code(fixtures: Path):
    (file,) = (fixtures / "cuda-foo1").rglob("output_code.py")
    text = file.read_text()
    code = parse_output_code(text)
    (kernel,) = code.kernels
    assert code.aot_id == "0_inference"
    assert kernel.name == "triton_poi_fused_maximum_neg_0"
    assert kernel.fragment.nodes == ["neg", "maximum"]
    assert kernel.fragment.returns == ["maximum"]
    assert kernel.facts["num_load"] == 2
    assert kernel.facts["kernel_num_gb"] == 0.000134248
    assert text.split("\n")[kernel.body_last - 1].strip().startswith("tl.store(")
    (call,) = code.calls
    assert (call.kernel, call.handle, call.handle_known) == (kernel.name, 1, True)
    assert call.arguments == ["arg1_1", "arg0_1", "buf0", "67120", "stream=stream0"]
    assert call.fx_nodes == ["neg", "maximum"]


def test_a_kernel_that_never_ends_is_a_problem():
    code = parse_output_code("k = async_compile.triton('k', '''\ndef k(x):\n    tmp0 = 1\n")
    assert [kernel.name for kernel in code.kernels] == ["k"]
    assert code.problems


def test_every_handle_of_real_code_is_found(shared: Path):
    for file in sorted((shared / "truth").rglob("output_code.py")):
        text = file.read_text()
        code = parse_output_code(text)
        known = [call for call in code.calls if call.handle_known]
        assert len(known) == len(code.calls) == text.count("[Provenance debug handles]")
        assert len(code.kernels) == text.count(" = async_compile.") - 0
        assert all(kernel.parameters for kernel in code.kernels)
