"""Conversions that the C++ back end adds to what is computed with half precision."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from inductorscope.correlate.kernels.cpp import read_kernel
from inductorscope.correlate.replay.align import replay
from inductorscope.correlate.replay.small_floats import dumped_operation, with_conversions
from inductorscope.correlate.replay.state import ReplayState
from inductorscope.formats.graph.ir import parse_ir
from inductorscope.formats.graph.ir_nodes import IrBlock, IrLoopBody, IrOp, IrTextNode


def node(number: int, body: str) -> str:
    lines = "\n".join(f"        {line}" for line in body.strip("\n").split("\n"))
    return f"""\
op{number}: SchedulerNode(ComputedBuffer)
op{number}.outputs = [
    buf{number}: ComputedBuffer
    buf{number}.layout = FixedLayout('cpu', torch.float16, size=[297], stride=[1])
]
class op{number}_loop_body:
    var_ranges = {{p0: 297}}
    index0 = p0
    def body(self, ops):
{lines}


"""


GAIN = """
get_index = self.get_index('index0')
load = ops.load('primals_2', get_index)
get_index_1 = self.get_index('index0')
load_1 = ops.load('primals_2', get_index_1)
get_index_2 = self.get_index('index0')
load_2 = ops.load('primals_1', get_index_2)
mul = ops.mul(load_2, load_2)
neg = ops.neg(mul)
exp = ops.exp(neg)
add = ops.add(load_1, exp)
truediv = ops.truediv(load, add)
get_index_3 = self.get_index('index0')
store = ops.store('buf0', get_index_3, truediv, None)
return store
"""
STATE = """
get_index = self.get_index('index0')
load = ops.load('primals_1', get_index)
get_index_1 = self.get_index('index0')
load_1 = ops.load('buf0', get_index_1)
get_index_2 = self.get_index('index0')
load_2 = ops.load('primals_3', get_index_2)
mul = ops.mul(load_1, load_2)
add = ops.add(load, mul)
get_index_4 = self.get_index('index0')
store = ops.store('buf1', get_index_4, add, None)
return store
"""
# `buf0` lives in the kernel alone: its store is gone, the conversion for it is not.
KERNEL = """\
extern "C" void kernel(const at::Half* in_ptr0, const at::Half* in_ptr1, at::Half* out_ptr0)
{
    {
        auto tmp0 = at::vec::Vectorized<at::Half>::loadu(in_ptr0 + static_cast<int64_t>(x0), static_cast<int64_t>(16));
        auto tmp2 = at::vec::Vectorized<at::Half>::loadu(in_ptr1 + static_cast<int64_t>(x0), static_cast<int64_t>(16));
        auto tmp10 = at::vec::Vectorized<at::Half>::loadu(in_ptr2 + static_cast<int64_t>(x0), static_cast<int64_t>(16));
        auto tmp1 = at::vec::convert<float,2,at::Half,1>(tmp0);
        auto tmp3 = at::vec::convert<float,2,at::Half,1>(tmp2);
        auto tmp4 = tmp3 * tmp3;
        auto tmp5 = tmp4.neg();
        auto tmp6 = tmp5.exp();
        auto tmp7 = tmp1 + tmp6;
        auto tmp8 = tmp1 / tmp7;
        auto tmp9 = at::vec::convert<at::Half,1,float,2>(tmp8);
        auto tmp11 = at::vec::convert<float,2,at::Half,1>(tmp10);
        auto tmp12 = tmp8 * tmp11;
        auto tmp13 = tmp3 + tmp12;
        auto tmp14 = at::vec::convert<at::Half,1,float,2>(tmp13);
        tmp14.store(out_ptr0 + static_cast<int64_t>(x0), static_cast<int64_t>(16));
    }
}
"""  # noqa: E501  # lines as torch writes them


def half(name: str) -> str:
    return "float16" if name.startswith(("buf", "primals")) else ""


def test_conversions_stand_where_the_back_end_puts_them() -> None:
    nodes = with_conversions(parse_ir(node(0, GAIN) + node(1, STATE)).nodes, half)
    lines = KERNEL.split("\n")
    (block,) = read_kernel(lines, 1, len(lines)).blocks
    pointers = {"primals_2": "in_ptr0", "primals_1": "in_ptr1", "primals_3": "in_ptr2",
                "buf1": "out_ptr0"}  # fmt: skip
    places = {name: frozenset([pointer]) for name, pointer in pointers.items()}
    state = ReplayState(block, places, {"buf0": True, "buf1": False}, cpp=True)
    assert [replay(state, each) for each in nodes] == [0.0, 0.0]
    found = {}
    for statement in block.numbered:
        owner = state.result.owner[id(statement)]
        body = nodes[int(owner[0][2:])].body
        found[statement.defines[0]] = f"{owner[0]}.{owner[2]} {dumped_operation(body, *owner[1:])}"
    assert found["tmp1"] == "op0.to_dtype load"
    assert found["tmp3"] == "op0.to_dtype_2 load_2"
    assert found["tmp9"] == "op0.to_dtype_3 truediv"
    assert found["tmp11"] == "op1.to_dtype_2 load_2"
    assert found["tmp12"] == "op1.mul mul"
    assert found["tmp14"] == "op1.to_dtype_3 add"


def test_a_conversion_that_is_converted_once_more_is_dropped() -> None:
    """The small float between two others is no type to compute with, so it is never made."""
    body = """
load = ops.load('arg0_1', index0)
to_dtype = ops.to_dtype(load, torch.float16, src_dtype = torch.float32)
to_dtype_1 = ops.to_dtype(to_dtype, torch.float32, src_dtype = torch.float32)
store = ops.store('out', index0, to_dtype_1, None)
return store
"""
    (found,) = with_conversions(parse_ir(node(0, body)).nodes, half)
    assert found.body is not None
    names = [op.name for op in found.body.blocks["body"].ops]
    assert names == ["load", "to_dtype_1", "store"]


_NAMES = st.sampled_from(["a", "b", "to_dtype", "to_dtype_1", "c"])
_OPS = st.sampled_from(["load", "store", "to_dtype", "to_dtype_bitcast", "constant", "add", "neg"])
_ARGUMENTS = st.lists(
    st.one_of(_NAMES, st.sampled_from(["'buf0'", "'x'", "torch.float16", "torch.float32", "(a, b)",
                                       "src_dtype = torch.float16", ""])), max_size=4,
)  # fmt: skip


@settings(max_examples=60)
@given(st.lists(st.tuples(_NAMES, _OPS, _ARGUMENTS), max_size=12), _NAMES)
def test_any_body_keeps_what_computes(ops: list[tuple[str, str, list[str]]], result: str) -> None:
    block = IrBlock("body", 1, 9, [IrOp(n, o, a, 1, "body") for n, o, a in ops], result)
    body = IrLoopBody(1, 9, blocks={"body": block})
    (found,) = with_conversions([IrTextNode("op0", "", "", ["op0"], 1, 9, body=body)], half)
    assert found.body is not None
    kept = [op.op for op in found.body.blocks["body"].ops if op.op != "to_dtype"]
    unique = {name: op for name, op, _ in ops}
    if len(unique) == len(ops):
        assert kept == [op for _, op, _ in ops if op != "to_dtype"]
