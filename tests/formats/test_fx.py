"""FX graphs as text, of every spelling seen in real files."""

from __future__ import annotations

from pathlib import Path

from inductorscope.formats.fx import parse_annotation, parse_file_comment, parse_fx

TUTORIAL = """class <lambda>(torch.nn.Module):
    def forward(self, arg0_1: "u8[1, 8]", arg1_1: "u8[8390, 8]"):
        # File: /home/user/models/models.py:9 in foo1, code: a = torch.neg(x1)
        neg: "u8[1, 8]" = torch.ops.aten.neg.default(arg0_1);  arg0_1 = None

        # No stacktrace found for following nodes
        maximum = torch.ops.aten.maximum.default(arg1_1, neg);  arg1_1 = neg = None
        return (maximum,)
"""


def test_nodes_carry_lines_stacks_and_inputs():
    nodes = {node.name: node for node in parse_fx(TUTORIAL).nodes}
    neg = nodes["neg"]
    assert (neg.line, neg.op, neg.target) == (4, "neg", "torch.ops.aten.neg.default")
    assert (neg.dtype, neg.shape, neg.inputs) == ("u8", ("1", "8"), ["arg0_1"])
    assert (neg.stack_file, neg.stack_line) == ("/home/user/models/models.py", 9)
    assert (neg.stack_function, neg.stack_code) == ("foo1", "a = torch.neg(x1)")
    assert neg.users == ["maximum"]
    assert nodes["maximum"].stack_file == ""
    assert nodes["arg1_1"].kind == "placeholder"
    assert (nodes["output"].kind, nodes["output"].inputs) == ("output", ["maximum"])


def test_names_are_unique_within_their_class_only():
    inner = "class GraphModule(torch.nn.Module):\n    def forward(self, a):\n        b = a + 1\n"
    text = inner + inner.replace("    ", "        ").replace("class", "    class")
    parsed = parse_fx(text)
    assert parsed.graph_classes() == ["GraphModule", "GraphModule~2"]
    assert [node.name for node in parsed.main()] == ["a", "b"]


def test_keywords_and_devices_are_no_inputs():
    text = TUTORIAL.replace(
        "torch.ops.aten.maximum.default(arg1_1, neg)",
        "torch.ops.prims.iota.default(3, neg = 0, device = device(type='cuda', index=0))",
    ).replace("neg: ", "index: ")
    nodes = {node.name: node for node in parse_fx(text).nodes}
    assert nodes["maximum"].inputs == []


def test_getitem_and_expressions():
    text = "class G(M):\n    def forward(self, x, s0):\n        y = x[1];  x = None\n"
    text += "        z = s0 * 2\n"
    nodes = {node.name: node for node in parse_fx(text).nodes}
    assert (nodes["y"].op, nodes["y"].arguments) == ("getitem", ["x", "1"])
    assert (nodes["z"].op, nodes["z"].inputs) == ("expression", ["s0"])


def test_annotations_with_strides_and_devices():
    assert parse_annotation("f32[4, 256][256, 1]cuda:0") == ("f32", ("4", "256"))
    assert parse_annotation("bf16[]") == ("bf16", ())
    assert parse_annotation("Sym(s0)") == ("", None)


def test_file_comments():
    comment = "# File: C:\\models.py:12 in a.<locals>.b, code: f(x: int, in: str)"
    assert parse_file_comment(comment) == (
        "C:\\models.py",
        12,
        "a.<locals>.b",
        "f(x: int, in: str)",
    )
    assert parse_file_comment("# File: nothing here") is None


def test_real_graphs_have_a_node_for_every_call(shared: Path):
    for file in sorted((shared / "truth").rglob("fx_graph_transformed.py")):
        text = file.read_text()
        parsed = parse_fx(text)
        assert not parsed.problems
        assert len(parsed.nodes) > text.count(" = torch.ops.")
