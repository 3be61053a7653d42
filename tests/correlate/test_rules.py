"""Rules that no program of the corpus needs; it is the specification of all others."""

from __future__ import annotations

import pytest

from tests.support.loop_bodies import node, origins, user

ASSERTED = """\
class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "b8[8][1]cpu", arg1_1: "b8[8][1]cpu"):
        _assert_async = torch.ops.aten._assert_async.msg(arg0_1, 'first')
        _assert_async_1 = torch.ops.aten._assert_async.msg(arg1_1, 'second')
        return ()
"""


def test_assertions_are_lowered_in_order() -> None:
    ir = ""
    for number in (0, 1):
        body = f"""
get_index = self.get_index('index0')
load = ops.load('arg{number}_1', get_index)
device_assert_async = ops.device_assert_async(load, 'message')
store = ops.store('buf{number}', get_index, device_assert_async, None)"""
        ir += node(number, body, "[]", user("OUTPUT"))
    found = origins(ASSERTED, ir).nodes
    assert found["op0", "body", "device_assert_async"] == "_assert_async"
    assert found["op1", "body", "load"] == "_assert_async_1"


POOLED = """\
class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f32[1, 6, 8]cpu"):
        pad: "f32[1, 8, 8]cpu" = torch.ops.aten.constant_pad_nd.default(arg0_1, [0, 0, 1, 1])
        pool: "f32[1, 7, 8]cpu" = torch.ops.aten.{}
        return (pool,)
"""


@pytest.mark.parametrize(
    "pool",
    [
        "avg_pool2d.default(pad, [2, 1], [1, 1])",
        "_low_memory_max_pool_with_offsets.default(pad, [2, 1], [1, 1], [0, 0], [1, 1], False)",
    ],
)
def test_a_pool_that_adds_no_border_has_no_masks(pool: str) -> None:
    inside = """
index_expr{n} = ops.index_expr(get_index, torch.int64)
ge{n} = ops.ge(index_expr{n}, zero)
lt{n} = ops.lt(index_expr{n}, constant)
and_{n} = ops.and_(ge{n}, lt{n})
also{n} = ops.and_(and_{n}, ge{n})
masked_subblock{n} = self.masked_subblock{n}(also{n}, 0.0)"""
    body = f"""
get_index = self.get_index('index0')
zero = ops.constant(0, torch.int64)
constant = ops.constant(6, torch.int64)
{inside.format(n=1).strip()}{inside.format(n=2)}
add = ops.add(masked_subblock1, masked_subblock2)
constant_1 = ops.constant(0.5, torch.float32)
mul = ops.mul(add, constant_1)
store = ops.store('buf0', get_index, mul, None)"""
    masked = "        return store\n" + "".join(
        f"""\
    def masked_subblock{number}(self, ops):
        get_index = self.get_index('index{number - 1}')
        load = ops.load('arg0_1', get_index)
        return load
"""
        for number in (1, 2)
    )
    ir = node(0, body, "[1, 7, 8]", user("OUTPUT")).replace("        return store\n", masked)
    found = origins(POOLED.format(pool), ir).nodes
    names = [f"{name}{n}" for n in (1, 2) for name in ("ge", "lt", "and_", "masked_subblock")]
    assert {found["op0", "body", name] for name in names} == {"pad"}
    assert {found["op0", "body", name] for name in ("add", "mul", "constant_1")} == {"pool"}
