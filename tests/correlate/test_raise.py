"""Without IR, kernels are raised to loop bodies: what is then said agrees with what IR tells."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inductorscope.correlate.directory import read_texts
from inductorscope.correlate.graph import graph_links
from inductorscope.correlate.links.model import Confidence, GraphLinks
from inductorscope.correlate.links.texts import GraphTexts
from inductorscope.correlate.replay.kernel_lines import read_kernel_text
from inductorscope.correlate.without_ir.kernel import raise_kernel
from inductorscope.correlate.without_ir.records import RaisedBlock
from inductorscope.formats.code.output_code import parse_output_code
from inductorscope.formats.text import lines_of
from msgspec.structs import replace

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
COMPUTES = re.compile(r"\btmp|_ptr\d")


def code_of(name: str) -> Path:
    (found,) = (FIXTURES / name).rglob("output_code.py")
    return found


def without_ir(texts: GraphTexts) -> GraphTexts:
    """What a log holds of a graph."""
    return replace(texts, ir_pre=None, ir_post=None)


def inferred(links: GraphLinks) -> dict[int, set[str]]:
    result: dict[int, set[str]] = {}
    stage = links.stages["code"]
    for line, entity, known in zip(stage.lines, stage.entities, stage.confidence, strict=True):
        name = links.entities[entity]
        if known == Confidence.inferred and name.startswith("fx:"):
            result.setdefault(line, set()).add(name.removeprefix("fx:"))
    return result


@pytest.mark.parametrize(
    ("name", "answered"), [("cpu-ops-zoo", 0.8), ("cuda-adam", 0.4), ("cuda-foo1", 1.0)]
)
def test_a_log_alone_explains_lines_as_ir_does(name: str, answered: float) -> None:
    texts = read_texts(code_of(name))
    lines = lines_of(texts.code or "")
    with_ir = inferred(graph_links(texts))
    alone = inferred(graph_links(without_ir(texts)))
    wanted = {line for line in with_ir if COMPUTES.search(lines[line - 1])}
    both = wanted & alone.keys()
    agreeing = [line for line in both if alone[line] & with_ir[line]]
    assert len(both) >= answered * len(wanted)
    assert len(agreeing) >= 0.97 * len(both)


@pytest.mark.parametrize("name", ["cpu-ops-zoo", "cuda-adam"])
def test_what_is_inferred_without_ir_is_what_was_recorded(name: str) -> None:
    code = code_of(name)
    truth = json.loads((FIXTURES / name / "truth.json").read_text())[code.parent.name]
    texts = without_ir(read_texts(code))
    alone = inferred(graph_links(texts))
    lines = lines_of(texts.code or "")
    recorded = {int(number): {entry[2] for entry in found} for number, found in truth.items()}
    said = [n for n in alone.keys() & recorded.keys() if COMPUTES.search(lines[n - 1])]
    right = [number for number in said if alone[number] == recorded[number]]
    assert said
    assert len(right) >= 0.97 * len(said)


def test_where_there_is_ir_nothing_is_raised() -> None:
    texts = read_texts(code_of("cpu-ops-zoo"))
    links = graph_links(texts)
    told = {name.split(".")[0] for name in links.entities if name.startswith("op:")}
    assert told
    assert graph_links(without_ir(texts)).coverage.lines_inferred > 0
    assert not any(name.startswith("op:") for name in graph_links(without_ir(texts)).entities), (
        "operations of loop bodies that nobody saw"
    )


# --- kernels --------------------------------------------------------------------------------------

TRITON = """\
k = async_compile.triton('k', '''
@triton.jit
def k(in_ptr0, in_ptr1, in_out_ptr0, out_ptr0, xnumel, XBLOCK : tl.constexpr):
    xoffset = tl.program_id(0) * XBLOCK
    x0 = xindex
{body}
''', device_str='cuda')
"""
CPP = """\
k = async_compile.cpp_pybinding(['const float*', 'float*'], '''
extern "C" void kernel(const float* in_ptr0, float* out_ptr0)
{{
    {{
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(8L); x0+=8L)
        {{
{body}
        }}
    }}
}}
''')
"""


def raised(template: str, body: str) -> list[RaisedBlock]:
    indent = "    " if template is TRITON else " " * 12
    text = template.format(body="\n".join(indent + line for line in body.strip().split("\n")))
    (kernel,) = parse_output_code(text).kernels
    return raise_kernel(read_kernel_text(kernel, lines_of(text)))


def operations(blocks: list[RaisedBlock]) -> dict[str, str]:
    return {name: op.op for block in blocks for name, op in block.ops.items() if "@" not in name}


@pytest.mark.parametrize(
    ("template", "statement", "operation"),
    [
        (TRITON, "tmp2 = tmp0 * tmp1", "mul"),
        (TRITON, "tmp2 = triton_helpers.maximum(tmp0, tmp1)", "maximum"),
        (TRITON, "tmp2 = libdevice.rsqrt(tmp0)", "rsqrt"),
        (TRITON, "tmp2 = tmp0.to(tl.float32)", "to_dtype"),
        (TRITON, "tmp2 = tmp0 == 0", "logical_not"),
        (TRITON, "tmp2 = tl.full([1], 0.5, tl.float32)", "constant"),
        (TRITON, "tmp2 = x0", "index_expr"),
        (CPP, "auto tmp2 = decltype(tmp0)(-tmp0);", "neg"),
        (CPP, "auto tmp2 = decltype(tmp0)(1)/(decltype(tmp0)(1) + tmp0.neg().exp());", "sigmoid"),
        (CPP, "auto tmp2 = max_propagate_nan(tmp0, tmp1);", "maximum"),
        (CPP, "auto tmp2 = tmp0 ? tmp1 : tmp0;", "where"),
        (CPP, "auto tmp2 = 1 / std::sqrt(tmp0);", "rsqrt"),
        (CPP, "auto tmp2 = c10::convert<int64_t>(tmp0);", "to_dtype"),
    ],
)
def test_a_statement_tells_its_operation(template: str, statement: str, operation: str) -> None:
    if template is TRITON:
        body = f"tmp0 = tl.load(in_ptr0 + (x0))\ntmp1 = tl.load(in_ptr1 + (x0))\n{statement}\n"
        body += "tl.store(out_ptr0 + (x0), tmp2, None)"
    else:
        body = f"auto tmp0 = in_ptr0[x0];\nauto tmp1 = in_ptr0[x0 + 8L];\n{statement}\n"
        body += "out_ptr0[x0] = tmp2;"
    (block,) = raised(template, body)
    named = next(op for name, op in block.ops.items() if name.split("@")[0] == "tmp2")
    assert named.op == operation
    assert block.stores[0].value == "tmp2"


def test_a_reduction_over_a_loop_is_one_operation() -> None:
    body = """
tmp0 = tl.load(in_ptr0 + (x0))
_tmp2 = tl.full([XBLOCK, R0_BLOCK], 0, tl.float32)
for r0_offset in tl.range(0, r0_numel, R0_BLOCK):
    tmp1 = tl.broadcast_to(tmp0, [XBLOCK, R0_BLOCK])
    tmp3 = _tmp2 + tmp1
    _tmp2 = tl.where(r0_mask & xmask, tmp3, _tmp2)
tmp2 = tl.sum(_tmp2, 1)[:, None]
tl.store(out_ptr0 + (x0), tmp2, xmask)
"""
    (block,) = raised(TRITON, body)
    reduction = block.ops["tmp2"]
    assert (reduction.op, reduction.detail) == ("reduction", "sum")
    assert len(reduction.lines) == 5  # its start, the spread value, both steps and the end
    assert [use.split("@")[0] for use in reduction.uses] == ["tmp0"]


def test_an_index_that_may_count_from_the_end_is_one_operation() -> None:
    body = """
tmp0 = tl.load(in_ptr0 + (x0))
tmp1 = tl.full([XBLOCK], 100, tl.int32)
tmp2 = tmp0 + tmp1
tmp3 = tmp0 < 0
tmp4 = tl.where(tmp3, tmp2, tmp0)
tl.device_assert((0 <= tmp4) & (tmp4 < 100), "index out of bounds: 0 <= tmp4 < 100")
tmp5 = tl.load(in_ptr1 + (x0 + 8*tmp4), None)
tl.store(out_ptr0 + (x0), tmp5, None)
"""
    (block,) = raised(TRITON, body)
    assert block.ops["tmp4"].op == "set_indirect"
    assert len(block.ops["tmp4"].lines) == 5
    assert block.ops["tmp5"].picks == ["tmp4"]


def test_a_body_under_a_mask_and_a_remainder_are_one_operation_each() -> None:
    masked = """
tmp0 = x0
tmp1 = tl.full([1], 4, tl.int64)
tmp2 = tmp0 < tmp1
tmp3 = tl.load(in_ptr0 + (x0), tmp2 & xmask, other=0.0)
tl.store(out_ptr0 + (x0), tmp3, xmask)
"""
    (block,) = raised(TRITON, masked)
    assert block.ops["tmp3"].op == "masked_subblock"
    remainder = """
tmp0 = tl.load(in_ptr0 + (x0))
tmp1 = tl.full([1], 3, tl.int64)
tmp2 = tmp0 % tmp1
tmp3 = tl.full([1], 0, tl.int32)
tmp4 = tmp2 != tmp3
tmp9 = tmp2 + tmp1
tmp10 = tl.where(tmp4, tmp9, tmp2)
tl.store(out_ptr0 + (x0), tmp10, None)
"""
    (block,) = raised(TRITON, remainder)
    assert block.ops["tmp10"].op == "remainder"
    assert len(block.ops["tmp10"].lines) == 5


def test_a_spread_value_belongs_to_its_first_user() -> None:
    body = """
auto tmp0 = at::vec::Vectorized<float>::loadu(in_ptr0 + static_cast<int64_t>(x0), 8);
auto tmp1 = static_cast<float>(2.0);
auto tmp2 = at::vec::Vectorized<float>(tmp1);
auto tmp3 = tmp0 * tmp2;
tmp3.store(out_ptr0 + static_cast<int64_t>(x0));
"""
    (block,) = raised(CPP, body)
    product = block.ops["tmp3"]
    assert len(product.lines) == 2
    assert [use.split("@")[0] for use in product.uses] == ["tmp0", "tmp1"]


# --- whole graphs ---------------------------------------------------------------------------------

GRAPH = """\
class <lambda>(torch.nn.Module):
    def forward(self, arg0_1: "f32[8]", arg1_1: "f32[8]"):
        mul: "f32[8]" = torch.ops.aten.mul.Tensor(arg0_1, arg1_1)
        sub: "f32[8]" = torch.ops.aten.sub.Tensor(mul, arg1_1);  arg1_1 = None
        exp: "f32[8]" = torch.ops.aten.exp.default(sub);  sub = None
        return (mul, exp)
"""
CALLS = """
def call(args):
    arg0_1, arg1_1 = args
    args.clear()
    buf0 = empty_strided_cuda((8, ), (1, ), torch.float32)
    k.run(arg0_1, arg1_1, buf0, 8, stream=stream0)
    buf1 = buf0; del buf0  # reuse
    k2.run(buf1, arg1_1, 8, stream=stream0)
    return (buf1, )
"""


def test_memory_written_twice_is_another_buffer_each_time() -> None:
    first = TRITON.format(
        body="    tmp0 = tl.load(in_ptr0 + (x0))\n    tmp1 = tl.load(in_ptr1 + (x0))\n"
        "    tmp2 = tmp0 * tmp1\n    tl.store(out_ptr0 + (x0), tmp2, None)"
    ).replace("in_ptr1, in_out_ptr0,", "in_ptr1,")
    second = TRITON.format(
        body="    tmp0 = tl.load(in_out_ptr0 + (x0))\n    tmp1 = tl.load(in_ptr0 + (x0))\n"
        "    tmp2 = tmp0 - tmp1\n    tmp3 = tl_math.exp(tmp2)\n"
        "    tl.store(in_out_ptr0 + (x0), tmp3, None)"
    )
    second = second.replace("k = ", "k2 = ").replace("'k'", "'k2'").replace("def k(", "def k2(")
    second = second.replace("in_ptr0, in_ptr1, in_out_ptr0, out_ptr0", "in_out_ptr0, in_ptr0")
    code = first + second + CALLS
    links = inferred(graph_links(GraphTexts(post_grad=GRAPH, code=code)))
    said = {
        lines_of(code)[line - 1].strip(): names
        for line, names in links.items()
        if "tmp" in lines_of(code)[line - 1]
    }
    assert said["tmp2 = tmp0 * tmp1"] == {"mul"}
    assert said["tmp2 = tmp0 - tmp1"] == {"sub"}
    assert said["tmp3 = tl_math.exp(tmp2)"] == {"exp"}
    assert said["tl.store(in_out_ptr0 + (x0), tmp3, None)"] == {"exp"}


@pytest.mark.parametrize("name", ["cpu-ops-zoo", "cuda-adam", "cuda-foo1"])
@given(data=st.data())
@settings(max_examples=15)
def test_cut_off_and_damaged_code_never_raises(name: str, data: st.DataObject) -> None:
    texts = without_ir(read_texts(code_of(name)))
    lines = lines_of(texts.code or "")
    start = next(n for n, line in enumerate(lines) if "async_compile." in line)
    first = data.draw(st.integers(start, len(lines)))
    count = data.draw(st.integers(0, 40))
    damaged = lines[:first] + lines[first + count :]
    damaged = damaged[: data.draw(st.integers(len(damaged) // 2, len(damaged)))]
    links = graph_links(replace(texts, code="\n".join(damaged)))
    assert all(1 <= line <= len(damaged) for line in links.stages["code"].lines)


@given(st.lists(st.sampled_from(
    ["tmp0 = tl.load(in_ptr0 + (x0))", "tmp1 = tmp0 + tmp1", "tmp1 = tmp1[:, None]",
     "_tmp2 = tl.full([1], 0, tl.float32)", "tmp3 = _tmp2 + tmp0", "tmp2 = tl.sum(_tmp2, 1)",
     "tmp0 = tl.where(tmp1, tmp0, tmp2)", "tl.store(out_ptr0 + (tmp0), tmp2, None)",
     "tmp4, tmp5 = triton_helpers.welford(tmp0, tmp1)", "tl.atomic_add(out_ptr0 + (x0), tmp1)",
     "tmp6 = tl.load(in_ptr0 + (tmp6), tmp1 & xmask, other=0.0)"]), max_size=14))  # fmt: skip
def test_values_that_depend_on_themselves_end(body: list[str]) -> None:
    code = TRITON.format(body="\n".join("    " + line for line in body)) + CALLS
    graph_links(GraphTexts(post_grad=GRAPH, code=code))
