"""Scheduler nodes as text, today's and yesterday's."""

from __future__ import annotations

import re
from pathlib import Path

from inductorscope.formats.ir import parse_ir

TODAY = """op0_op1: FusedSchedulerNode(SchedulerNode,SchedulerNode)
op0_op1.writes = [MemoryDep('buf1', c0, {c0: 8})]
op0_op1.outputs = [
    buf1: ComputedBuffer
    buf1.layout = FixedLayout('cpu', torch.float32, size=[2, 4], stride=[4, 1])
    buf1.mutations = ['arg1_1']
    buf1.users = [NodeUser(node=OUTPUT, can_inplace=False, is_weak=False)]
]
op0_op1.snodes[0] =
op0: SchedulerNode(ComputedBuffer)
op0.met_dependencies = 
    [   MemoryDep('arg0_1', c0, {c0: 8}),
        MemoryDep('arg1_1', c0, {c0: 8})]
class op0_loop_body:
    var_ranges = {p0: 8}
    index0 = p0
    def body(self, ops):
        get_index = self.get_index('index0')
        load = ops.load('arg0_1', get_index)
        masked_subblock1 = self.masked_subblock1(load, 0.0)
        store = ops.store('buf0', get_index, masked_subblock1, None)
        return store
    def masked_subblock1(self, ops):
        load = ops.load('arg1_1', get_index)
        return load
op0_op1.snodes[1] =
op1: SchedulerNode(ComputedBuffer)
op1.writes = []


op2: ExternKernelSchedulerNode(ExternKernelOut)
op2.node.kernel = extern_kernels.mm
"""


def test_fused_nodes_and_their_members():
    parsed = parse_ir(TODAY)
    nodes = parsed.by_name()
    fused = nodes["op0_op1"]
    assert fused.members == ["op0", "op1"]
    assert (fused.first_line, fused.last_line) == (1, 28)
    assert nodes["op0"].parent == nodes["op1"].parent == "op0_op1"
    assert [node.name for node in parsed.top()] == ["op0_op1", "op2"]
    assert nodes["op2"].extern == "extern_kernels.mm"
    assert not parsed.problems


def test_buffers_and_dependencies():
    nodes = parse_ir(TODAY).by_name()
    buffer = nodes["op0_op1"].buffers[0]
    assert (buffer.name, buffer.dtype, buffer.size) == ("buf1", "float32", ("2", "4"))
    assert (buffer.device, buffer.mutations) == ("cpu", ["arg1_1"])
    assert nodes["op0"].reads == ["arg0_1", "arg1_1"]


def test_loop_bodies():
    body = parse_ir(TODAY).by_name()["op0"].body
    assert body is not None
    assert body.indexes == {"index0": "p0"}
    assert [op.op for op in body.blocks["body"].ops] == [
        "get_index", "load", "masked_subblock", "store",
    ]  # fmt: skip
    masked = body.blocks["body"].ops[2]
    assert (masked.arguments, masked.line) == (["masked_subblock1", "load", "0.0"], 20)
    assert body.blocks["masked_subblock1"].result == "load"


def test_older_texts_name_nodes_after_buffers():
    parsed = parse_ir(TODAY.replace("op0", "buf0").replace("op1", "buf1").replace("op2", "buf2"))
    assert [node.name for node in parsed.top()] == ["buf0_buf1", "buf2"]
    assert parsed.by_name()["buf0_buf1"].members == ["buf0", "buf1"]


def test_every_operation_of_real_texts_is_read(shared: Path):
    operation = re.compile(r"^\s+\w+ = (?:ops|self)\.|^\s+\w+ = \w+\[", re.MULTILINE)
    for file in sorted((shared / "truth").rglob("ir_*_fusion.txt")):
        text = file.read_text()
        parsed = parse_ir(text)
        bodies = [node.body for node in parsed.nodes if node.body is not None]
        read = sum(len(block.ops) for body in bodies for block in body.blocks.values())
        assert read == len(operation.findall(text))
        assert not parsed.problems
