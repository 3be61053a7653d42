"""Scheduler nodes as text, today's and yesterday's."""

import re
from pathlib import Path

from inductorscope.formats.graph.ir import IrTextNode, parse_ir

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


def test_fused_nodes_and_their_members() -> None:
    parsed = parse_ir(TODAY)
    nodes = parsed.by_name()
    fused = nodes["op0_op1"]
    assert fused.members == ["op0", "op1"]
    assert (fused.first_line, fused.last_line) == (1, 28)
    assert nodes["op0"].parent == nodes["op1"].parent == "op0_op1"
    assert [node.name for node in parsed.top()] == ["op0_op1", "op2"]
    assert nodes["op2"].extern == "extern_kernels.mm"
    assert not parsed.problems


def test_buffers_and_dependencies() -> None:
    nodes = parse_ir(TODAY).by_name()
    buffer = nodes["op0_op1"].buffers[0]
    assert (buffer.name, buffer.dtype, buffer.size) == ("buf1", "float32", ("2", "4"))
    assert (buffer.device, buffer.mutations) == ("cpu", ["arg1_1"])
    assert nodes["op0"].reads == ["arg0_1", "arg1_1"]


def test_loop_bodies() -> None:
    body = parse_ir(TODAY).by_name()["op0"].body
    assert body is not None
    assert body.indexes == {"index0": "p0"}
    assert [op.op for op in body.blocks["body"].ops] == [
        "get_index", "load", "masked_subblock", "store",
    ]  # fmt: skip
    masked = body.blocks["body"].ops[2]
    assert (masked.arguments, masked.line) == (["masked_subblock1", "load", "0.0"], 20)
    assert body.blocks["masked_subblock1"].result == "load"


def test_older_texts_name_nodes_after_buffers() -> None:
    parsed = parse_ir(TODAY.replace("op0", "buf0").replace("op1", "buf1").replace("op2", "buf2"))
    assert [node.name for node in parsed.top()] == ["buf0_buf1", "buf2"]
    assert parsed.by_name()["buf0_buf1"].members == ["buf0", "buf1"]


def nodes_of(fixtures: Path, name: str) -> dict[str, IrTextNode]:
    parsed = parse_ir((fixtures / "ir" / name).read_text())
    assert not parsed.problems
    return parsed.by_name()


def test_kernels_of_several_nodes_hold_fused_ones(fixtures: Path) -> None:
    nodes = nodes_of(fixtures, "cuda-combo.post.txt")
    outer = nodes["op0_op3_op1_op4_op2"]
    assert outer.kind == "ForeachKernelSchedulerNode"
    assert outer.members == ["op0", "op3", "op1", "op4", "op2"]
    assert nodes["op0_op3"].parent == nodes["op2"].parent == outer.name
    assert nodes["op3"].parent == "op0_op3"
    assert outer.last_line == nodes["op2"].last_line


def test_templates_and_kernels_of_the_user(fixtures: Path) -> None:
    template = nodes_of(fixtures, "cuda-template.post.txt")["op0"]
    assert (template.detail, template.body, template.parent) == (
        "MultiTemplateBuffer", None, "op0_op1",
    )  # fmt: skip
    assert template.reads == ["arg0_1", "arg1_1"]
    user = nodes_of(fixtures, "cuda-user.pre.txt")["op2"]
    assert (user.detail, user.writes) == ("UserDefinedTritonKernel", ["buf2"])
    assert user.buffers[0].mutations == ["buf0"]


def test_nodes_of_branches_bear_their_name(fixtures: Path) -> None:
    nodes = nodes_of(fixtures, "cpu-cond.post.txt")
    (node,) = nodes.values()
    assert (node.name, node.members) == ("false_graph_0_op0", ["false_graph_0_op0"])
    assert node.buffers[0].name == "false_graph_0_buf0"
    assert node.body is not None
    assert [op.op for op in node.body.blocks["body"].ops][:2] == ["get_index", "load"]
    fused = parse_ir("g_0_op0_g_0_op1: FusedSchedulerNode(SchedulerNode,SchedulerNode)\n")
    assert fused.nodes[0].members == ["g_0_op0", "g_0_op1"]


def test_a_listing_among_prose_ends_with_its_body(shared: Path) -> None:
    text = next((shared / "seeds").glob("001_*.txt")).read_text()
    (node,) = parse_ir(text).nodes
    lines = text.split("\n")
    assert (node.name, node.reads) == ("buf0", ["arg0_1", "arg1_1"])
    assert lines[node.first_line - 1] == "buf0: SchedulerNode(ComputedBuffer)"
    assert lines[node.last_line - 1] == "        return store"


def test_sets_of_the_first_versions() -> None:
    text = """buf1: SchedulerNode(ComputedBuffer)
buf1.writes =
    {   MemoryDep(name='buf1', index=0, size=()),
        MemoryDep(name='buf1', index=0, size=(s0,))}
buf1.unmet_dependencies = {MemoryDep(name='buf0', index=c0, size=(s0,))}
buf1.met_dependencies = {MemoryDep(name='primals_2', index=c0, size=(s0,))}
buf1.group.device = cuda:0
"""
    (node,) = parse_ir(text).nodes
    assert (node.writes, node.reads) == (["buf1"], ["buf0", "primals_2"])


def test_every_node_and_operation_of_real_texts_is_read(shared: Path) -> None:
    operation = re.compile(r"^\s+\w+ = (?:ops|self)\.|^\s+\w+ = \w+\[", re.MULTILINE)
    files = sorted(shared.rglob("ir_*_fusion.txt"))[::3]
    assert len(files) > 20
    for file in files:
        text = file.read_text()
        parsed = parse_ir(text)
        assert not parsed.problems
        heads = re.findall(r"^\w+: \w*SchedulerNode\(", text, re.MULTILINE)
        assert len(parsed.nodes) == len(heads)
        bodies = [node.body for node in parsed.nodes if node.body is not None]
        assert len(bodies) == text.count("_loop_body:\n")
        read = sum(len(block.ops) for body in bodies for block in body.blocks.values())
        assert read == len(operation.findall(text))
        outputs = re.findall(r"^ {4}\w+: \w+$", text, re.MULTILINE)
        assert sum(len(node.buffers) for node in parsed.nodes) == len(outputs)


def test_a_listing_in_a_table_without_indentation(shared: Path) -> None:
    text = next((shared / "seeds").glob("002_*.txt")).read_text()
    parsed = parse_ir(text)
    (node,) = parsed.nodes
    assert not parsed.problems
    assert (node.name, node.reads, node.writes) == ("buf1", ["buf0", "primals_2"], ["buf1"])
    assert node.body is not None
    assert node.body.indexes == {"index0": "z0", "index1": "0"}
    assert [op.op for op in node.body.blocks["body"].ops] == [
        "get_index", "load", "get_index", "load", "add", "get_index", "reduction",
    ]  # fmt: skip
    lines = text.split("\n")
    assert "return reduction" in lines[node.last_line - 1]


def test_operations_on_doubles_as_they_were_called_until_26() -> None:
    text = (
        "op0: SchedulerNode(ComputedBuffer)\n"
        "class op0_loop_body:\n"
        "    var_ranges = {p0: 72}\n"
        "    def body(self, ops):\n"
        "        libdevice_sin = ops.libdevice_sin(load)\n"
        "        libdevice_exp = ops.libdevice_exp(self.get_index('index0'))\n"
    )
    (node,) = parse_ir(text).nodes
    assert node.body is not None
    ops = node.body.blocks["body"].ops
    assert [(op.name, op.op) for op in ops] == [
        ("libdevice_sin", "sin"),
        ("libdevice_exp", "exp"),
    ]


def test_nodes_that_are_called_as_their_buffers() -> None:
    """As until torch 2.4: members are indented, and buffers have no lines of their own."""
    text = (
        "buf0_buf1: FusedSchedulerNode(SchedulerNode,SchedulerNode)\n"
        "buf0_buf1.users = []\n"
        "    buf0_buf1.snodes[0] =\n"
        "    buf0: SchedulerNode(ComputedBuffer)\n"
        "    buf0.users = [NodeUser(node=SchedulerNode(name='buf1'), can_inplace=True)]\n"
        "    buf0_layout = FixedLayout('cpu', torch.float32, size=[4, 8], stride=[8, 1])\n"
        "    class buf0_loop_body:\n"
        "        var_ranges = {z0: 32}\n"
        "        def body(self, ops):\n"
        "            relu = ops.relu(load)\n"
        "    buf0_buf1.snodes[1] =\n"
        "    buf1: SchedulerNode(ComputedBuffer)\n"
        "    buf1.mutations = ['arg0_1']\n"
        "\n"
        "buf2: ExternKernelSchedulerNode(ExternKernelOut)\n"
        "buf2.node.kernel = extern_kernels.mm\n"
    )
    ir = parse_ir(text)
    assert [node.name for node in ir.top()] == ["buf0_buf1", "buf2"]
    assert [node.parent for node in ir.nodes] == [None, "buf0_buf1", "buf0_buf1", None]
    fused, first, second, extern = ir.nodes
    assert (fused.buffers, fused.last_line) == ([], 13)
    (buffer,) = first.buffers
    assert (buffer.name, buffer.kind, buffer.dtype) == ("buf0", "ComputedBuffer", "float32")
    assert (buffer.size, buffer.users) == (("4", "8"), ["buf1"])
    assert second.buffers[0].mutations == ["arg0_1"]
    assert first.body is not None
    assert [(op.op, op.line) for op in first.body.blocks["body"].ops] == [("relu", 10)]
    assert (extern.extern, extern.buffers[0].name) == ("extern_kernels.mm", "buf2")
