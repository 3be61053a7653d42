"""Output code: kernels and calls of every generation."""

import re
from pathlib import Path

import pytest
from inductorscope.formats.code.output_code import OutputCode, parse_output_code
from inductorscope.formats.log.trace_log import read_trace_log

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


def test_older_code() -> None:
    code = parse_output_code(OLD)
    cpp, triton = code.kernels
    assert (cpp.kind, cpp.category, cpp.parameters) == ("cpp", "cpp_fused", ["in_ptr0", "out_ptr0"])
    assert (triton.category, triton.source_nodes) == ("triton_pointwise", ["a", "b"])
    assert triton.comment_line == triton.first_line - 1
    assert [(call.kernel, call.handle, call.handle_known) for call in code.calls] == [
        ("cpp_fused_neg_0", 1, False),
        ("triton_poi_fused_neg_1", 2, False),
        ("extern_kernels.mm", 3, False),
    ]
    assert OLD.split("\n")[code.wrapper_first - 1].startswith("def call(")
    assert not code.problems


def test_todays_code(fixtures: Path) -> None:
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


def test_a_kernel_that_never_ends_is_a_problem() -> None:
    code = parse_output_code("k = async_compile.triton('k', '''\ndef k(x):\n    tmp0 = 1\n")
    assert [kernel.name for kernel in code.kernels] == ["k"]
    assert code.problems


def test_every_handle_of_real_code_is_found(shared: Path) -> None:
    for file in sorted((shared / "truth").rglob("output_code.py")):
        text = file.read_text()
        code = parse_output_code(text)
        known = [call for call in code.calls if call.handle_known]
        assert len(known) == len(code.calls) == text.count("[Provenance debug handles]")
        assert len(code.kernels) == text.count(" = async_compile.") - 0
        assert all(kernel.parameters for kernel in code.kernels)


def calls_and_handles(text: str) -> tuple[int, int]:
    """Calls that carry a handle, and handles that stand in comments."""
    known = sum(call.handle_known for call in parse_output_code(text).calls)
    return known, len(re.findall(r"^\s*(?:#|//) \[Provenance debug handles\]", text, re.M))


@pytest.mark.parametrize(
    ("name", "kernels", "calls"),
    [
        ("cpu-cond.py", 2, 3),
        ("cpu-cppwrap.py", 5, 11),
        ("cuda-aotidyn.cpp", 1, 2),
        ("cuda-combo.py", 2, 2),
        ("cuda-coop.py", 2, 2),
        ("cuda-cppuser.py", 4, 4),
        ("cuda-foreach.py", 1, 1),
        ("cuda-mix.py", 2, 2),
        ("cuda-pool.py", 5, 9),
        ("cuda-user.py", 4, 4),
    ],
)
def test_kernels_and_calls_of_every_wrapper(
    fixtures: Path, name: str, kernels: int, calls: int
) -> None:
    text = (fixtures / "output-code" / name).read_text()
    code = parse_output_code(text)
    assert (len(code.kernels), len(code.calls)) == (kernels, calls)
    assert calls_and_handles(text) == (calls, calls)
    assert not code.problems
    assert all(kernel.parameters for kernel in code.kernels)
    lines = text.split("\n")
    for kernel in code.kernels:
        assert kernel.first_line <= kernel.body_first <= kernel.body_last <= kernel.last_line
        assert "(" in lines[kernel.body_first - 1]
        assert lines[kernel.body_last - 1].strip()


def read(fixtures: Path, name: str) -> OutputCode:
    return parse_output_code((fixtures / "output-code" / name).read_text())


def test_kernels_of_the_user_foreach_combo_and_cooperative_ones(fixtures: Path) -> None:
    user = read(fixtures, "cuda-user.py").by_name()
    assert (user["my_add_0"].kind, user["my_add_0"].parameters[0]) == ("user", "a_ptr")
    (foreach,) = read(fixtures, "cuda-foreach.py").kernels
    assert (foreach.kind, foreach.category, foreach.heuristic) == (
        "foreach",
        "triton_foreach",
        "foreach",
    )
    combo = read(fixtures, "cuda-combo.py").kernels[1]
    assert (combo.kind, combo.category) == ("combo", "triton_persistent_reduction")
    cooperative = read(fixtures, "cuda-coop.py").kernels[0]
    assert (cooperative.category, cooperative.heuristic) == (
        "triton_other",
        "cooperative_reduction",
    )


def test_a_kernel_that_chooses_names_its_members() -> None:
    text = (
        "multi_kernel_0 = async_compile.multi_kernel('multi_kernel_0', [\n"
        "    triton_red_fused_sum_0,\n    triton_per_fused_sum_1,\n], arg_index=arg_index)\n"
    )
    (kernel,) = parse_output_code(text).kernels
    assert (kernel.kind, kernel.last_line) == ("multi", 4)
    assert kernel.members == ["triton_red_fused_sum_0", "triton_per_fused_sum_1"]


def test_wrappers_in_cpp_inside_of_python(fixtures: Path) -> None:
    code = read(fixtures, "cpu-cppwrap.py")
    assert code.cpp
    relu, sort = code.calls[1], code.calls[6]
    assert (relu.kernel, relu.handle, relu.arguments) == ("cpp_fused_relu_0", 2, ["buf1"])
    assert (sort.kernel, sort.results) == ("aoti_torch_cpu_sort_stable", ["buf13", "buf14"])
    assert sort.extern
    assert code.by_name()["cpp_fused_sum_3"].parameters == ["in_ptr0", "out_ptr0"]
    gpu = read(fixtures, "cuda-cppuser.py")
    assert gpu.cpp
    assert gpu.calls[1].arguments[:3] == ["buf1", "arg1_1", "buf0"]
    assert (gpu.calls[0].stream, gpu.stream) == ("stream0", "stream0")
    assert gpu.by_name()["triton_poi_fused_sin_0"].fragment.nodes[:1] == ["sin"]


def test_wrappers_of_aotinductor(fixtures: Path) -> None:
    code = read(fixtures, "cuda-aotidyn.cpp")
    text = (fixtures / "output-code" / "cuda-aotidyn.cpp").read_text().split("\n")
    assert code.cpp
    assert text[code.wrapper_first - 1].startswith("void AOTInductorModel::run_impl(")
    assert text[code.wrapper_last - 1].startswith("} // AOTInductorModel::run_impl")
    (kernel,) = code.kernels
    assert (kernel.name, kernel.kind) == ("triton_per_fused__softmax_amax_mul_sin_sub_0", "triton")
    assert kernel.facts["num_load"] == 1
    softmax, product = code.calls
    assert (softmax.kernel, softmax.arguments[:2]) == (kernel.name, ["arg0_1", "buf2"])
    assert (product.kernel, product.handle) == ("aoti_torch_cuda_mm_out", 2)


def test_older_launches_name_their_arguments_a_line_before() -> None:
    text = """void AOTInductorModel::run_impl(
) {
    CUdeviceptr var_0 = reinterpret_cast<CUdeviceptr>(arg0_1.data_ptr());
    CUdeviceptr var_1;
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_get_data_ptr(buf0, reinterpret_cast<void**>(&var_1)));
    void* kernel_args_var_0[] = {&var_0, &var_1, &var_2};
    // [Provenance debug handles] triton_poi_fused_neg_0:1
    launchKernel(kernels.triton_poi_fused_neg_0, 1, 1, 1, 4, 0, kernel_args_var_0, stream);
}
"""
    (call,) = parse_output_code(text).calls
    assert (call.kernel, call.handle) == ("triton_poi_fused_neg_0", 1)
    assert call.arguments == ["arg0_1", "buf0", "var_2"]


def test_bare_kernels_are_kernels_without_calls() -> None:
    cpp = parse_output_code(
        'include "/tmp/x.h"\nextern "C" void kernel(const float* in_ptr0,\n'
        "                  float* out_ptr0)\n{\n    {\n        auto tmp0 = in_ptr0[0];\n    }\n}\n"
    )
    (kernel,) = cpp.kernels
    assert (kernel.kind, kernel.parameters) == ("cpp", ["in_ptr0", "out_ptr0"])
    assert (kernel.first_line, kernel.body_last, kernel.last_line) == (2, 8, 8)
    triton = parse_output_code(
        "import triton\n\n@triton_heuristics.pointwise(\n    size_hints={'x': 8},\n"
        "    inductor_meta={'num_load': 2},\n)\n@triton.jit\n"
        "def triton_poi_fused_neg_0(in_ptr0, out_ptr0, xnumel):\n"
        "    tmp0 = tl.load(in_ptr0 + (x0))\n\n    tl.store(out_ptr0 + (x0), tmp0)\n\nprint(1)\n"
    )
    (kernel,) = triton.kernels
    assert (kernel.name, kernel.category, kernel.heuristic) == (
        "triton_poi_fused_neg_0", "triton_pointwise", "pointwise",
    )  # fmt: skip
    assert (kernel.first_line, kernel.body_first, kernel.body_last) == (3, 8, 11)
    assert kernel.facts["num_load"] == 2
    assert not cpp.calls
    assert not triton.calls


def test_declarations_are_no_kernels(fixtures: Path) -> None:
    text = (fixtures / "output-code" / "cpu-cppwrap.py").read_text()
    assert text.count('extern "C"') == 10  # five declared, five defined
    assert len(parse_output_code(text).kernels) == 5


def test_every_log_payload_of_code_is_read(shared: Path) -> None:
    """Kernels and calls against counts by regular expression, code of many versions."""
    payloads = 0
    for log in sorted((shared / "traces").rglob("*.log")) + sorted(
        (shared / "traces" / "logs").glob("*.txt")
    ):
        if "trace" not in log.name and log.parent.name != "logs":
            continue
        with log.open("rb") as file:
            for record in read_trace_log(file):
                text = record.payload_text
                if record.kind == "inductor_output_code" and text:
                    payloads += 1
                    code = parse_output_code(text)
                    assert not code.problems
                    defined = re.findall(r"^\w+ = async_compile\.\w+\(", text, re.M)
                    assert len(code.kernels) == len(defined)
                    assert len(code.calls) == len(called_by_hand(text)), log
                    known, handles = calls_and_handles(text)
                    assert known == handles
    assert payloads > 20


def called_by_hand(text: str) -> list[str]:
    """Lines of the wrapper that call a kernel, found with one expression."""
    wrapper = text[text.index("async_compile.wait(globals())") :]
    wrapper = re.split(r"^(?:runner = |def benchmark_compiled_module)", wrapper, flags=re.M)[0]
    return re.findall(
        r"^ +(?:\w+ = )?(?:\w+\.run\(.*stream=|cpp_fused_\w+\(|extern_kernels\.\w+\("
        r"|(?:torch\.ops\.|aten\.)[\w.]+\()",
        wrapper,
        re.M,
    )


def test_types_of_cpp_functions(fixtures: Path) -> None:
    kernel = read(fixtures, "cpu-cppwrap.py").by_name()["cpp_fused_sum_3"]
    assert kernel.facts["signature"] == ["const float*", "float*"]


def test_heuristics_of_the_first_versions() -> None:
    text = OLD.replace("triton_poi_fused_neg_1", "triton__1")
    kernel = parse_output_code(text).by_name()["triton__1"]
    assert (kernel.heuristic, kernel.category) == ("pointwise", "triton_pointwise")
    assert kernel.parameters == ["in_ptr0", "out_ptr0", "xnumel", "XBLOCK"]


def test_code_that_logging_printed(fixtures: Path) -> None:
    text = (fixtures / "output-code" / "cuda-user.py").read_text()
    place = "V1121 07:03:54.123000 69 torch/_inductor/graph.py:7] [0/0] [__output_code] "
    logged = "\n".join(place + line for line in text.split("\n"))
    assert parse_output_code(logged) == parse_output_code(text)


@pytest.mark.parametrize(
    ("name", "kernels", "calls"),
    [
        ("mps.py", [("mps_lib_0", "metal", "other_fused")],
         [("mps_lib_0", ["buf0", "arg0_1", "threads=[8]"])]),
        ("halide.py", [("halide_kernel_0", "halide", "other_fused")],
         [("halide_kernel_0", ["arg0_1", "buf0"])]),
        ("cutlass.py",
         [("cuda_fused_mm_0", "cutlass", "native_template"),
          ("triton_poi_fused_relu_1", "triton", "triton_pointwise")],
         [("cuda_fused_mm_0", ["arg0_1", "arg1_1", "buf0", "None", "None", "stream0"]),
          ("triton_poi_fused_relu_1", ["buf1", "4096", "stream=stream0"])]),
        ("aoti-gpu/aoti-gpu.cpp", [],
         [("triton_poi_fused_relu_0", ["arg0_1", "buf0", "var_2"]),
          ("triton_per_fused_sum_1", ["buf0", "buf1"])]),
    ],
)  # fmt: skip
def test_kernels_in_other_languages_and_other_files(
    fixtures: Path, name: str, kernels: list[object], calls: list[object]
) -> None:
    code = parse_output_code((fixtures / "inputs" / name).read_text())
    assert [(kernel.name, kernel.kind, kernel.category) for kernel in code.kernels] == kernels
    assert [(call.kernel, call.arguments) for call in code.calls] == calls
    assert not any(call.extern for call in code.calls)
    assert code.problems == []
