"""Failures explained: component, cause and fix, from texts alone."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inductorscope.analyze.failures.cpp import KernelText, locate, suspects
from inductorscope.analyze.failures.cpp_types import dtype_of, inferred, promoted
from inductorscope.analyze.failures.environment import fix_for
from inductorscope.analyze.failures.report import ReportParts, issue_markdown
from inductorscope.analyze.failures.text import explain
from inductorscope.formats.errors.compilers import Diagnostic
from inductorscope.formats.errors.temporary import without_temporary

KERNEL = """k = async_compile.cpp_pybinding(['const uint8_t*'], r'''
#include <torch/csrc/inductor/cpp_prefix.h>
extern "C"  void  kernel(const uint8_t* in_ptr0, const float* in_ptr1, uint8_t* out_ptr0)
{
    auto tmp0 = in_ptr0[static_cast<int64_t>(x0)];
    auto tmp1 = in_ptr1[static_cast<int64_t>(x0)];
    auto tmp2 = tmp0 << tmp0;
    auto tmp3 = decltype(tmp2)(tmp2 & tmp2);
    auto tmp4 = f(tmp0, tmp3);
    auto tmp5 = g(tmp1, tmp0);
    out_ptr0[static_cast<int64_t>(x0)] = tmp4;
}
''')""".splitlines()
KERNELS = [KernelText("g", "k", 100, KERNEL)]
SHOULD = {106: "u8", 107: "u8", 108: "u8", 109: "f32"}
"""Line of the output code → dtype of its node."""


def error(message: str, at: int, notes: tuple[str, ...] = ()) -> Diagnostic:
    return Diagnostic(
        "error", message, 1, "/tmp/k.cpp", at, 10, code=KERNEL[at - 1],
        notes=[Diagnostic("note", note, 1) for note in notes],
    )  # fmt: skip


def blamed(found: Diagnostic, should: dict[int, str] = SHOULD) -> list[tuple[str, int, bool]]:
    (place,) = locate(found, KERNELS)
    told = suspects(found, place, lambda line: (should.get(line, ""), True))
    return [(row.name, row.line, row.sure) for row in told]


def test_the_first_definition_of_a_wrong_type_is_to_blame_not_the_line_that_fails() -> None:
    """tmp3 has the wrong type only because tmp2 has."""
    found = error("no matching function for call to ‘f(unsigned char&, int&)’", 9)
    assert blamed(found) == [("tmp2", 106, True)]


def test_without_knowing_what_a_type_should_be_nothing_is_sure() -> None:
    found = error("no matching function for call to ‘f(unsigned char&, int&)’", 9)
    told = blamed(found, {})
    assert told[0][:2] == ("tmp4", 108)
    assert ("tmp3", 107, False) in told


def test_a_load_is_not_blamed() -> None:
    """A buffer's type is given: the operation does not fit what it takes."""
    found = error("no matching function for call to ‘g(float&, unsigned char&)’", 10)
    assert blamed(found, {105: "u8"} | SHOULD) == [
        ("tmp5", 109, True), ("tmp1", 105, False), ("tmp0", 104, False)
    ]  # fmt: skip


def test_a_name_that_is_not_there_is_the_lines_own_fault() -> None:
    told = blamed(error("‘tmp9’ was not declared in this scope", 9))
    assert told == [("tmp4", 108, True)]
    used = blamed(error("use of undeclared identifier 'tmp2'", 9))
    assert used[0] == ("tmp2", 106, False)


def test_operands_of_an_operator_are_judged_too() -> None:
    found = error("invalid operands of types ‘int’ and ‘int’ to binary ‘operator&’", 8)
    assert blamed(found, {106: "u8"}) == [("tmp2", 106, True)]


def test_a_line_is_found_by_its_text_where_the_number_does_not_fit() -> None:
    moved = error("x", 9)
    moved.at = 12
    (place,) = locate(moved, KERNELS)
    assert (place.line, place.kernel.name) == (108, "k")
    moved.code = "nothing of this kind"
    assert locate(moved, KERNELS) == []


@given(st.integers(-5, 40), st.text(max_size=60), st.text(max_size=60))
def test_no_words_of_a_compiler_raise(at: int, code: str, message: str) -> None:
    found = Diagnostic("error", message, 1, "/tmp/k.cpp", max(at, 1), 1, code=code)
    for place in locate(found, KERNELS):
        assert suspects(found, place, lambda _: ("u8", True))


def test_types_are_inferred_as_cpp_does() -> None:
    known = {"tmp0": "u8", "tmp1": "f32", "in_ptr0": "i64"}
    assert inferred("-tmp0", known) == "i32"
    assert inferred("decltype(tmp0)(-tmp0)", known) == "u8"
    assert inferred("(tmp0 + tmp1)", known) == "f32"
    assert inferred("tmp0 < tmp1", known) == "b8"
    assert inferred("in_ptr0[static_cast<int64_t>(x0)]", known) == "i64"
    assert inferred("c10::convert<float>(tmp0)", known) == "f32"
    assert inferred("std::exp(tmp0)", known) == ""
    assert dtype_of("const at::vec::Vectorized<c10::BFloat16>&") == "bf16"
    assert promoted("u8", "") == ""


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("x.cpp:29:10: fatal error: Python.h: No such file or directory", "Python's headers"),
        (
            "CalledProcessError: Command '['/usr/bin/gcc', '/tmp/tmpq1w2e3r4/main.c', '-shared', "
            "'-o', '/tmp/tmpq1w2e3r4/cuda_utils.cpython-311-x86_64-linux-gnu.so', '-lcuda']' "
            "returned non-zero exit status 1.",
            "a helper of Triton",
        ),
        ("x.cpp:2:10: fatal error: 'omp.h' file not found", "OpenMP"),
        ("InvalidCxxCompiler: No working C++ compiler found in cpp.cxx", "no working C++ compiler"),
        (
            "InvalidCxxCompiler: No working C++ compiler found in torch._inductor.config.cpp.cxx: "
            "(None, '/opt/icpx')",
            "that CXX names",
        ),
        ("sh: 1: g++: not found", "C++ compiler"),
        ("TritonMissing: Cannot find a working triton installation.", "Triton"),
        ("RuntimeError: Cannot find ptxas", "ptxas"),
        ("AssertionError: libcuda.so cannot found!", "libcuda"),
        ("OSError: [Errno 28] No space left on device", "disk"),
        ("g++: fatal error: Killed signal terminated program cc1plus", "memory"),
        ("x.cpp:3:10: fatal error: tbb/tbb.h: No such file or directory", "tbb/tbb.h"),
    ],
)
def test_faults_of_the_machine_are_told_with_a_fix(text: str, word: str) -> None:
    fix = fix_for(f"before\n{text}\nafter")
    assert fix is not None
    assert word in fix.what
    assert fix.do.endswith(".")
    assert fix.evidence in text
    assert explain(text).component == "environment"


def test_the_same_fault_at_other_temporary_paths_is_the_same() -> None:
    first, second = (
        f"Command '['/usr/bin/gcc', '/tmp/{folder}/main.c', '-o', '/tmp/{folder}/cuda_utils.so', "
        f"'-I/usr/include/python3.11']' returned 1; <function f at {address}>"
        for folder, address in (("tmpq1w2e3r4", "0x7f0a1b2c"), ("tmpzzzzzzzz", "0x7fffffff"))
    )
    assert without_temporary(first) == without_temporary(second)
    assert "/usr/bin/gcc" in without_temporary(first)
    other = first.replace("/usr/bin/gcc", "/usr/bin/clang")
    assert without_temporary(first) != without_temporary(other)


def test_a_healthy_text_has_no_fault() -> None:
    assert fix_for("error: no matching function for call to ‘f(int)’") is None


@pytest.mark.parametrize(
    ("message", "kind", "component"),
    [
        ("backend='mine' raised:\nRuntimeError: broken", "BackendCompilerFailed", "backend"),
        ("missing lowering\n  target: a.b.default", "MissingOperatorWithoutDecomp", "lowering"),
        ("call_function print", "torch._dynamo.exc.Unsupported", "dynamo"),
        ("CUDA out of memory. Tried", "torch.OutOfMemoryError", "memory"),
        ("x", "torch._inductor.exc.InductorError", "inductor"),
    ],
)
def test_the_component_is_named(message: str, kind: str, component: str) -> None:
    assert explain(message, kind=kind).component == component


def test_the_seeds_tracebacks_are_explained(shared: Path) -> None:
    """Documents they were written for."""
    text = (shared / "seeds" / "002_9cb94af76945c950.txt").read_text()
    plain = "\n".join(line.removeprefix("|  | ").removesuffix(" | ") for line in text.split("\n"))
    start = plain.index("Traceback (most recent call last):", plain.index("aten._foobar"))
    found = explain("", plain[start : start + 700])
    assert found.component == "lowering"
    assert found.lowering is not None
    assert found.lowering.operator == "_foobar"
    text = (shared / "seeds" / "001_34f7f559beed241a.txt").read_text()
    assert explain(text[: text.index("The correct implementation")]).component == "environment"
    listing = text[text.index("The logging gives the following") :]
    assert explain(listing[: listing.index("Let us also see")]).component == "cpp"


@given(st.text(max_size=200), st.text(max_size=200), st.text(max_size=50))
def test_nothing_that_is_said_makes_it_raise(message: str, trace: str, kind: str) -> None:
    assert explain(message, trace, kind).title


def test_a_report_fences_what_it_quotes() -> None:
    text = issue_markdown(ReportParts("m", title="T", repro="```\nprint()\n```", torch="2.13"))
    assert "````python\n```\nprint()" in text
    assert "- torch: `2.13`" in text
    script = "</script><script>`x`"
    parts = ReportParts(
        script, title=script, sentences=[script], cause=script, device=script,
        chain=[(script, script)], components=script, first_wrong=script,
    )  # fmt: skip
    for line in issue_markdown(parts).splitlines():
        assert "<script" not in re.sub(r"(`+).*?\1(?!`)", "", line.replace("\\<", ""))


@pytest.mark.parametrize(
    ("text", "title", "says"),
    [
        ("triton.compiler.errors.CompilationError: at 3:8:\n"
         "def triton_poi_fused_add_0(in_ptr0, xnumel, XBLOCK):\n    tmp0 = tl.load(in_ptr0)\n"
         "    tmp1 = tl.maximum(tmp0)\n           ^\nTypeError('no y')\n",
         "Triton rejected triton_poi_fused_add_0, line 3 of its function", "The message is: "),
        ("triton.runtime.errors.OutOfResources: out of resource: shared memory, "
         "Required: 327680, Hardware limit: 232448. Reducing block sizes may help.",
         "a kernel needs more shared memory than the GPU has", "It needs 327,680, the GPU has 232"),
        ("`ptxas` stderr:\nptxas /tmp/a.ptx, line 120; error   : Feature requires sm_80\n",
         "NVIDIA's assembler rejected a kernel", "The message is: Feature requires sm_80."),
    ],
)  # fmt: skip
def test_what_triton_says_is_explained(text: str, title: str, says: str) -> None:
    found = explain(text)
    assert (found.component, found.title) == ("triton", title)
    assert found.sentences[0].startswith(says)
