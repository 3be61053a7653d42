"""What comments above kernels say about the calls and buffers of a graph.

The last line of a graph fragment, `#   return %mul_260,%buf47,%sum_9`, has a name for each buffer
that the kernel's first call writes, in the order in which they are computed: the node that the
buffer was made for, or its own name where Inductor knows no node.
"""

from inductorscope.correlate.buffers.origins import Comments
from inductorscope.correlate.nodes.fx_graph import FxGraph
from inductorscope.correlate.nodes.fx_value import FxValue
from inductorscope.correlate.nodes.lowerings import FILLS, SCATTERS
from inductorscope.correlate.nodes.sizes import numel
from inductorscope.correlate.replay.schedule import CallSite
from inductorscope.formats.graph.ir import IrBuffer, IrTextNode


def kernel_comments(
    sites: list[CallSite], nodes: dict[tuple[str, int], list[str]], graph: FxGraph
) -> Comments:
    """`nodes`: call → all its nodes, where known."""
    comments = Comments()
    first: dict[str, list[FxValue | None]] = {}
    for site in sites:
        known = nodes.get((site.call.kernel, site.call.handle))
        if known:
            names = [node.name for node in site.nodes]
            comments.members.update(dict.fromkeys(names, frozenset(known)))
        buffers = [(node, buffer) for node in site.nodes for buffer in node.buffers]
        if site.kernel.name not in first:
            first[site.kernel.name] = values = _returned(site, buffers, graph)
            comments.made_for.update(
                (buffer.name, value.name)
                for (_, buffer), value in zip(buffers, values, strict=False)
                if value is not None
            )
        elif len(values := first[site.kernel.name]) == len(buffers):
            comments.made_like.update(
                (buffer.name, graph.values[graph.root(value.name)[0]].op)
                for (_, buffer), value in zip(buffers, values, strict=True)
                if value is not None
            )
    return comments


def _returned(
    site: CallSite, buffers: list[tuple[IrTextNode, IrBuffer]], graph: FxGraph
) -> list[FxValue | None]:
    """The node that each buffer was made for; none where names and buffers do not agree."""
    names = site.kernel.fragment.returns
    if len(names) != len(buffers):
        return []
    values: list[FxValue | None] = []
    for (node, buffer), name in zip(buffers, names, strict=True):
        value = graph.values.get(name)
        if name != buffer.name and (value is None or value.numel != numel(buffer.size)):
            return []
        maker = graph.values.get(graph.root(name)[0])
        # The graph may lack what a view is of.
        unknown = value is None or maker is None or maker.view or _is_fill(value, node)
        values.append(None if unknown else value)
    return values


def _is_fill(value: FxValue, node: IrTextNode) -> bool:
    """Whether the buffer is a fill: what writes into one in place takes over its name."""
    blocks = node.body.blocks.values() if node.body is not None else ()
    computed = {op.op for block in blocks for op in block.ops} - {"get_index", "store"}
    return computed <= {"constant"} and value.op in SCATTERS | FILLS
