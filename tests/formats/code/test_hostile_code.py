"""Texts made to hurt the readers of graphs, IR, code and wrappers: none raises, none hangs."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inductorscope.formats.code.output_code import parse_output_code
from inductorscope.formats.code.wrapper_lines import parse_wrapper
from inductorscope.formats.graph.fx import parse_fx
from inductorscope.formats.graph.fx_printed import parse_printed
from inductorscope.formats.graph.ir import parse_ir
from inductorscope.formats.text import closing, split_flat, split_top

READERS: dict[str, Callable[[str], object]] = {
    "fx": parse_fx,
    "ir": parse_ir,
    "code": parse_output_code,
    "wrapper": lambda text: parse_wrapper(text, parse_output_code(text)),
}
PIECES = [
    "x = f(", "    x = (", "k = async_compile.triton('k', '''", "async_compile.", "'''", '"""',
    "k = async_compile.multi_kernel('k', [", "    async_compile.triton('k', '''",
    'extern "C" void k(const float* a)', 'extern "C" void k(int a);', "{", "}", "@triton.jit",
    "def triton_k(x):", "@triton_heuristics.pointwise(", "@pointwise(", "def forward(self, a):",
    "    def forward(", "class G(M):", "class inner_f(torch.nn.Module):", "graph():", "return (a,",
    "    %x : [num_users=1] = placeholder[target=x]", "%x : [num_users=1] = call_function[target=",
    "    return x", "a, = fx_pytree.tree_flatten_spec([a])", 'a: "f32[2]"; ', "((((", "]]]]", "\\",
    "def call(args):", "void inductor_entry_impl(", "void A::run_impl(", "class Runner:",
    "    # [Provenance debug handles] k:1", "    // [Provenance debug handles] k:1",
    "    buf0 = buf0; del buf0", "    static constexpr int64_t a[] = {1, 2};",
    "    void* a[] = {&a, &b};", "    launchKernel(k, a, stream);", "    call_k(a, b, stream0);",
    "    f(aoti_torch_empty_strided(1, a, a, x, y, 0, &b_handle));", "    auto a = std::move(b);",
    "op0: SchedulerNode(ComputedBuffer)", "op0_op1: FusedSchedulerNode(A,B)",
    "op0_op1.snodes[0] =", "class op0_loop_body:", "    def body(self, ops):",
    "        load = ops.load('a', b)", "op0.writes = [MemoryDep('a', {", "op0.outputs = [", "]",
    "true_graph_0_op0: SchedulerNode(X)", "V1121 07:03:54.1 6 a.py:7] [0/0] [__x] a = b",
    "# graph id: 1class G(M):", "# File: /a.py:1 in f, code: x", "# Graph fragment:",
    "#   %a : Tensor = call_function[target=x](args = (%b,))", "#   return %a", "\x00", "\x85", "",
    "import a", "#include <a>", "# AOT ID: ['0']", "    buf0 = alloc_from_pool(buf0, 0, x, (1, ",
    "    return (buf0, )", "\u2028", "    stream0 = get_raw_stream(0)", "runner = Runner()",
]  # fmt: skip
TEXTS = st.one_of(
    st.text(max_size=300),
    st.lists(st.sampled_from(PIECES), max_size=40).map("\n".join),
    st.lists(st.sampled_from(PIECES), max_size=30).map("".join),
    st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=20)), max_size=20).map(
        "\r\n".join
    ),
)


@pytest.mark.parametrize("name", READERS)
@given(text=TEXTS)
def test_any_text_is_read(name: str, text: str) -> None:
    READERS[name](text)


@given(text=TEXTS)
def test_lines_that_are_told_exist(text: str) -> None:
    last = text.count("\n") + 1
    assert all(1 <= node.line <= node.last_line <= last for node in parse_fx(text).nodes)
    assert all(1 <= node.first_line <= node.last_line <= last for node in parse_ir(text).nodes)
    code = parse_output_code(text)
    assert all(
        1 <= kernel.comment_line <= kernel.first_line <= kernel.last_line <= last
        and kernel.first_line <= kernel.body_first <= kernel.body_last <= last
        for kernel in code.kernels
    )
    assert all(1 <= call.line <= last for call in code.calls)
    assert 0 <= code.wrapper_first <= code.wrapper_last <= last


@given(text=st.text(alphabet="()[]{}\"'\\,; ab", max_size=40))
def test_splitting_against_a_slow_reader(text: str) -> None:
    assert split_top(text) == slow_split(text, ",")
    assert split_top(text, ";") == slow_split(text, ";")
    if not set(text) & set("()[]{}\"'"):
        assert split_flat(text) == slow_split(text, ",")
    for position in range(len(text) + 1):
        assert closing(text, position) == slow_closing(text, position)


def slow_split(text: str, separator: str) -> list[str]:
    parts, depth, start, quote, skip = [], 0, 0, "", False
    for position, character in enumerate(text):
        if skip:
            skip = False
        elif quote:
            skip = character == "\\"
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            depth = max(0, depth - 1)
        elif character == separator and not depth:
            parts.append(text[start:position].strip())
            start = position + 1
    rest = text[start:]
    return [*parts, rest.strip()] if rest.strip() or (parts and rest) else parts


def slow_closing(text: str, position: int) -> int:
    depth, quote, skip = 0, "", False
    for place in range(position, len(text)):
        character = text[place]
        if skip:
            skip = False
        elif quote:
            skip = character == "\\"
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
            if depth <= 0:
                return place
    return len(text)


@given(
    line=st.text(
        alphabet="%x : [num_users=1]call_function[target(args),{}kwargs return", max_size=90
    )
)
def test_any_printed_line_is_read(line: str) -> None:
    parse_printed(line)


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("end", ["", "\n"])
def test_a_piece_again_and_again_is_read(name: str, end: str) -> None:
    """A reader that looked back, or ahead to the end, from each of them would not come back."""
    for piece in PIECES:
        READERS[name](f"{piece}{end}" * (20_000 // (len(piece) + 1)))


@pytest.mark.parametrize("name", READERS)
def test_pieces_in_any_order_are_read(name: str) -> None:
    chosen = random.Random(7)
    for _ in range(10):
        few = chosen.sample(PIECES, 4)
        READERS[name]("\n".join(chosen.choice(few) for _ in range(3_000)))


@pytest.mark.parametrize("name", ["code", "wrapper"])
def test_truncated_wrappers_are_read(fixtures: Path, name: str) -> None:
    for file in sorted((fixtures / "output-code").glob("*.[pc]*")):
        text = file.read_text()
        for cut in range(0, len(text), max(1, len(text) // 25)):
            READERS[name](text[:cut])
