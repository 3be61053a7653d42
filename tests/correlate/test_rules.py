"""Rules that no program of the corpus needs; it is the specification of all others."""

from __future__ import annotations

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
