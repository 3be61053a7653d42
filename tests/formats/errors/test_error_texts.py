"""What compilers and tracebacks say, taken apart; no text makes a reader raise."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inductorscope.formats.errors.compilers import read_compiler_output
from inductorscope.formats.errors.lowering import read_lowering_error
from inductorscope.formats.errors.tracebacks import quoted_frames, read_traceback
from inductorscope.formats.errors.triton import read_triton_error

GCC = """CppCompileError: C++ compile error

Command:
g++ /tmp/x/iq/cabc.main.cpp -shared -o /tmp/x/iq/cabc.main.so

Output:
/tmp/x/iq/cabc.main.cpp: In function ‘void kernel(const uint8_t*)’:
/tmp/x/iq/cabc.main.cpp:26:58: error: no matching function for call to ‘f(unsigned char&, int&)’
   26 |                   auto tmp3 = f(tmp0, tmp2);
      |                               ~^~~~~~~~~~~~
In file included from /tmp/x/pch.h:1:
/usr/include/prefix.h:964:17: note: candidate: ‘template<class T> T f(T, T)’
  964 | inline T f(T a, T b) {
      |          ^
/tmp/x/iq/cabc.main.cpp:26:58: note:   deduced conflicting types (‘unsigned char’ and ‘int’)
/tmp/x/iq/cabc.main.cpp:27:9: error: ‘tmp9’ was not declared in this scope
   27 |         tmp9;
      |         ^~~~
"""
CLANG = """/tmp/a.cpp:3:12: error: use of undeclared identifier 'tmp9'
  auto b = tmp9 + 1;
           ^
1 error generated.
"""
TOOLS = """/usr/bin/ld: cannot find -lgomp: No such file or directory
collect2: error: ld returned 1 exit status
sh: 1: g++: not found
"""
CHAINED = """Traceback (most recent call last):
  File "/home/user/a.py", line 3, in f
    g()
    ^^^
  File "/site-packages/torch/x.py", line 9, in g
    raise ValueError("a\\nb")
ValueError: a
b

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/home/user/a.py", line 12, in <module>
    f()
torch._dynamo.exc.BackendCompilerFailed: backend='x' raised:
ValueError: a

from user code:
   File "/home/user/model.py", line 7, in forward
    return z + 1
"""
LOWERING = """torch._inductor.exc.InductorError: LoweringException: AssertionError: not here
  target: aten._foobar.default
  args[0]: TensorBox(StorageBox(
    Pointwise(
      origin_node=add,
      origins=OrderedSet([add]),
    )
  ))
  args[1]: 3
Found from :
   File "/home/user/model.py", line 16, in forward
    a = torch.ops.aten._foobar(z)
"""
TRITON = """triton.compiler.errors.CompilationError: at 3:8:
def triton_poi_fused_add_0(in_ptr0, xnumel, XBLOCK):
    tmp0 = tl.load(in_ptr0)
    tmp1 = tl.maximum(tmp0)
           ^
TypeError("maximum() missing 1 required positional argument: 'y'")
"""


def test_a_compilers_error_has_its_place_its_quotation_and_its_notes() -> None:
    found = read_compiler_output(GCC)
    first, second = found.diagnostics
    assert found.command.startswith("g++ /tmp/x/iq/cabc.main.cpp")
    assert (first.at, first.column, first.function) == (26, 58, "void kernel(const uint8_t*)")
    assert first.code.strip() == "auto tmp3 = f(tmp0, tmp2);"
    assert first.code.index("f(") == first.marks.index("~")
    assert [note.message.strip()[:9] for note in first.notes] == ["candidate", "deduced c"]
    assert second.message == "‘tmp9’ was not declared in this scope"
    assert (second.at, second.notes) == (27, [])


def test_clang_quotes_without_numbers() -> None:
    (error,) = read_compiler_output(CLANG).errors()
    assert (error.at, error.column, error.code) == (3, 12, "  auto b = tmp9 + 1;")
    assert error.marks.index("^") == 11


def test_linkers_and_shells_speak_too() -> None:
    said = [(error.tool, error.message) for error in read_compiler_output(TOOLS).errors()]
    assert said == [
        ("ld", "cannot find -lgomp: No such file or directory"),
        ("collect2", "ld returned 1 exit status"),
        ("g++", "g++: not found"),
    ]


def test_a_message_that_is_repeated_counts_once() -> None:
    assert len(read_compiler_output(GCC + GCC).diagnostics) == 2


@pytest.mark.parametrize("indent", ["", "\t", "    "])
def test_chained_exceptions_keep_their_order_and_messages(indent: str) -> None:
    text = "\n".join(indent + line for line in CHAINED.split("\n"))
    first, second = read_traceback(text)
    assert (first.kind, first.message, first.relation) == ("ValueError", "a\nb", "")
    assert [(frame.line, frame.function) for frame in first.frames] == [(3, "f"), (9, "g")]
    assert first.frames[0].code == "g()"
    assert (second.kind, second.relation) == ("torch._dynamo.exc.BackendCompilerFailed", "cause")
    assert [(frame.file, frame.line, frame.code) for frame in second.user] == [
        ("/home/user/model.py", 7, "return z + 1")
    ]


def test_documents_lose_indentation() -> None:
    flat = "\n".join(line.strip() for line in CHAINED.split("\n"))
    assert [len(error.frames) for error in read_traceback(flat)] == [2, 1]


def test_a_lowering_error_names_operator_arguments_and_line() -> None:
    found = read_lowering_error(LOWERING)
    assert found is not None
    assert (found.target, found.operator) == ("aten._foobar.default", "_foobar")
    assert (found.kind, found.message) == ("AssertionError", "not here")
    assert [(arg.name, arg.origin) for arg in found.arguments] == [("args[0]", "add"),
                                                                  ("args[1]", "")]  # fmt: skip
    assert found.user[-1].line == 16


@pytest.mark.parametrize("kind", ["missing lowering", "missing decomposition"])
def test_an_operator_that_nothing_lowers(kind: str) -> None:
    found = read_lowering_error(f"E: {kind}\n  target: mylib.op.default\n  args[0]: 1")
    assert found is not None
    assert (found.kind, found.operator) == (kind, "op")


def test_triton_says_line_column_and_reason() -> None:
    found = read_triton_error(TRITON)
    assert found is not None
    assert (found.kind, found.line, found.column) == ("compile", 3, 8)
    assert found.kernel == "triton_poi_fused_add_0"
    assert found.excerpt[-1].strip() == "tmp1 = tl.maximum(tmp0)"
    assert "missing 1 required" in found.message


def test_a_kernel_that_does_not_fit() -> None:
    said = "out of resource: shared memory, Required: 327680, Hardware limit: 232448. Reducing"
    found = read_triton_error(f"triton.runtime.errors.OutOfResources: {said}")
    assert found is not None
    assert (found.resource, found.required, found.limit) == ("shared memory", 327680, 232448)


def test_the_assembler_refuses() -> None:
    text = "`ptxas` stderr:\nptxas /tmp/a.ptx, line 120; error   : Feature requires sm_80\n"
    found = read_triton_error(text)
    assert found is not None
    assert (found.kind, found.message) == ("ptxas", "Feature requires sm_80")


READERS: list[Callable[[str], object]] = [
    read_compiler_output, read_traceback, quoted_frames, read_lowering_error, read_triton_error,
]  # fmt: skip
WHOLE = (GCC + CLANG + TOOLS + CHAINED + LOWERING + TRITON).split("\n")
TEXTS = st.one_of(
    st.text(max_size=300),
    st.lists(st.sampled_from(WHOLE), max_size=40).map("\n".join),
    st.lists(st.sampled_from(WHOLE), max_size=20).map("".join),
)


@pytest.mark.parametrize("reader", READERS)
@given(text=TEXTS)
def test_no_text_makes_a_reader_raise(reader: Callable[[str], object], text: str) -> None:
    reader(text)


@given(text=TEXTS)
def test_what_is_told_stands_in_the_text(text: str) -> None:
    lines = text.split("\n")
    for diagnostic in read_compiler_output(text).diagnostics:
        assert diagnostic.message in lines[diagnostic.line - 1]
    for raised in read_traceback(text):
        for frame in raised.frames:
            assert frame.file in text
            assert (frame.code or "") in text
