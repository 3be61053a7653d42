"""What the IR of older torch leaves out, from the output code.

Until 2.4 the IR has `kernel = None` for ATen kernels, and no layouts of buffers.
"""

from __future__ import annotations

import re

from inductorscope.correlate.nodes.fx_graph import DTYPES
from inductorscope.formats.code.output_code import OutputCode
from inductorscope.formats.code.wrapper_lines import parse_wrapper
from inductorscope.formats.graph.fx import FxText
from inductorscope.formats.graph.ir import IrBuffer, IrText, IrTextNode
from inductorscope.formats.text import split_top

_LOOP = re.compile(r"\bz\d+\b|\bp\d+\b")


def complete_ir(ir: IrText, code: OutputCode, text: str, graph: FxText) -> None:
    name_externs(ir, code)
    if ir.nodes and all(not buffer.dtype for node in ir.nodes for buffer in node.buffers):
        layouts = _allocated(text, code)
        device = next((each.device for each in layouts.values() if each.device), "cpu")
        for node in ir.nodes:
            for buffer in node.buffers:
                _lay_out(node, buffer, layouts, device)
        for given in graph.main():
            if given.kind == "placeholder" and given.dtype:
                dtype = DTYPES.get(given.dtype, given.dtype)
                ir.layouts.setdefault(given.name, IrBuffer(given.name, "", dtype, given.shape))


def name_externs(ir: IrText, code: OutputCode) -> None:
    calls = {name: call.kernel for call in code.calls if call.extern for name in call.results}
    for node in ir.nodes:
        if node.kind.startswith("Extern") and node.extern in ("", "None") and node.buffers:
            node.extern = calls.get(node.buffers[0].name, node.extern)


def _allocated(text: str, code: OutputCode) -> dict[str, IrBuffer]:
    """Buffers as the wrapper allocates them, takes them from others or views them; of those that a
    library returns, the sizes that it asserts."""
    known: dict[str, IrBuffer] = {}
    for line in parse_wrapper(text, code):
        layout = line.layout
        if layout is None:
            continue
        device = layout.device.partition(":")[0]
        for name in line.uses if line.kind == "assert" else line.defines:
            if line.kind != "assert" or name not in known:
                made = IrBuffer(name, "", layout.dtype, layout.shape, layout.stride, device)
                known[name] = made
    return known


def _lay_out(node: IrTextNode, buffer: IrBuffer, layouts: dict[str, IrBuffer], device: str) -> None:
    layout = layouts.get(buffer.name)
    if layout is not None:
        buffer.device, buffer.dtype = layout.device or device, layout.dtype
        buffer.size, buffer.stride = layout.size, layout.stride
    elif node.body is not None:  # it lives inside a kernel: the loops have its sizes
        buffer.device, buffer.size = device, _stored_sizes(node)


def _stored_sizes(node: IrTextNode) -> tuple[str, ...] | None:
    """The sizes of the loops that the last store's index depends on."""
    body = node.body
    if body is None:
        return None
    index = ""
    for block in body.blocks.values():
        indexes: dict[str, str] = {}
        for op in block.ops:
            if op.op == "get_index" and op.arguments:
                name = op.arguments[0].strip("'")
                indexes[op.name] = body.indexes.get(name, name)
            elif op.op in ("store", "store_reduction") and len(op.arguments) > 1:
                index = indexes.get(op.arguments[1], "")
    used = set(_LOOP.findall(index))
    loops = (item.partition(":") for item in split_top(body.var_ranges.strip()[1:-1]))
    return tuple(size.strip() for name, _, size in loops if name.strip() in used)
