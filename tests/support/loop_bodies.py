"""Scheduler nodes as `ir_post_fusion.txt` has them, and what their operations are matched with."""

from inductorscope.correlate.buffers.origins import Origins
from inductorscope.correlate.buffers.walk import find_origins
from inductorscope.correlate.nodes.fx_graph import FxGraph
from inductorscope.formats.graph.fx import parse_fx
from inductorscope.formats.graph.ir import parse_ir


def node(number: int, body: str, size: str, users: str, layout: str = "FixedLayout") -> str:
    """A scheduler node as `ir_post_fusion.txt` has it."""
    lines = "\n".join(f"        {line}" for line in body.strip().split("\n"))
    return f"""\
op{number}: SchedulerNode(ComputedBuffer)
op{number}.outputs = [
    buf{number}: ComputedBuffer
    buf{number}.layout = {layout}('cpu', torch.float32, size={size}, stride=[1])
    buf{number}.users = [
        {users},
    ]
]
class op{number}_loop_body:
    var_ranges = {{p0: 8}}
    index0 = p0
    index1 = p0 + 8
    def body(self, ops):
{lines}
        return store


"""


def user(name: str, kind: str = "SchedulerNode") -> str:
    return f"NodeUser(node={kind}(name='{name}'), can_inplace=False, is_weak=False)"


def origins(fx: str, ir: str) -> Origins:
    return find_origins(FxGraph(parse_fx(fx)), parse_ir(ir), {})
