"""FX graphs as text, of every spelling seen in real files."""

import operator
import re
from pathlib import Path

import pytest
from inductorscope.formats.graph.fx import parse_annotation, parse_file_comment, parse_fx
from inductorscope.formats.log.trace_log import read_trace_log

TUTORIAL = """class <lambda>(torch.nn.Module):
    def forward(self, arg0_1: "u8[1, 8]", arg1_1: "u8[8390, 8]"):
        # File: /home/user/models/models.py:9 in foo1, code: a = torch.neg(x1)
        neg: "u8[1, 8]" = torch.ops.aten.neg.default(arg0_1);  arg0_1 = None

        # No stacktrace found for following nodes
        maximum = torch.ops.aten.maximum.default(arg1_1, neg);  arg1_1 = neg = None
        return (maximum,)
"""


def test_nodes_carry_lines_stacks_and_inputs() -> None:
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


def test_names_are_unique_within_their_class_only() -> None:
    inner = "class GraphModule(torch.nn.Module):\n    def forward(self, a):\n        b = a + 1\n"
    text = inner + inner.replace("    ", "        ").replace("class", "    class")
    parsed = parse_fx(text)
    assert parsed.graph_classes() == ["GraphModule", "GraphModule~2"]
    assert [node.name for node in parsed.main()] == ["a", "b"]


def test_keywords_and_devices_are_no_inputs() -> None:
    text = TUTORIAL.replace(
        "torch.ops.aten.maximum.default(arg1_1, neg)",
        "torch.ops.prims.iota.default(3, neg = 0, device = device(type='cuda', index=0))",
    ).replace("neg: ", "index: ")
    nodes = {node.name: node for node in parse_fx(text).nodes}
    assert nodes["maximum"].inputs == []


@pytest.mark.torch
def test_operators_in_place_are_nodes() -> None:
    """As torch prints them: what they do first, then the node as another name of the operand."""
    import torch  # which takes seconds of each process that collects the tests
    from torch.fx.graph import inplace_methods

    graph = torch.fx.Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y")
    for name in inplace_methods:
        index = [(slice(None), 0)] if name == "setitem" else []
        graph.call_function(getattr(operator, name), (x, *index, y))
    graph.output(x)
    module = torch.fx.GraphModule(torch.nn.Module(), graph)
    parsed = parse_fx(module.print_readable(print_output=False))
    assert not parsed.problems
    nodes = [node for node in parsed.nodes if node.kind == "call"]
    assert sorted(node.op for node in nodes) == sorted(inplace_methods)
    assert all(node.inputs == ["x", "y"] for node in nodes)
    (item,) = [node for node in nodes if node.op == "setitem"]
    assert (item.target, len(item.arguments)) == ("operator.setitem", 3)


def test_getitem_and_expressions() -> None:
    text = "class G(M):\n    def forward(self, x, s0):\n        y = x[1];  x = None\n"
    text += "        z = s0 * 2\n"
    nodes = {node.name: node for node in parse_fx(text).nodes}
    assert (nodes["y"].op, nodes["y"].arguments) == ("getitem", ["x", "1"])
    assert (nodes["z"].op, nodes["z"].inputs) == ("expression", ["s0"])


def test_annotations_with_strides_and_devices() -> None:
    assert parse_annotation("f32[4, 256][256, 1]cuda:0") == ("f32", ("4", "256"))
    assert parse_annotation("bf16[]") == ("bf16", ())
    assert parse_annotation("Sym(s0)") == ("", None)


def test_file_comments() -> None:
    comment = "# File: C:\\models.py:12 in a.<locals>.b, code: f(x: int, in: str)"
    assert parse_file_comment(comment) == (
        "C:\\models.py",
        12,
        "a.<locals>.b",
        "f(x: int, in: str)",
    )
    assert parse_file_comment("# File: nothing here") is None


def test_real_graphs_have_a_node_for_every_call(shared: Path) -> None:
    for file in sorted((shared / "truth").rglob("fx_graph_transformed.py")):
        text = file.read_text()
        parsed = parse_fx(text)
        assert not parsed.problems
        assert len(parsed.nodes) > text.count(" = torch.ops.")


AOT = """class <lambda>(torch.nn.Module):
    def forward(
        self,
        arg0_1: "u8[1, 8][8, 1]cuda:0",  # PlainAOTInput(idx=0)
        arg1_1: "u8[8390, 8][8, 1]cuda:0",  # PlainAOTInput(idx=1)
    ):
        neg: "u8[1, 8][8, 1]cuda:0" = torch.ops.aten.neg.default(arg0_1);  arg0_1 = None
        return (
            neg,  # PlainAOTOutput(idx=0)
            arg1_1,  # GradAOTOutput(grad_of=arg0_1)
        )
"""


def test_parameters_and_outputs_a_line_each() -> None:
    nodes = {node.name: node for node in parse_fx(AOT).nodes}
    assert (nodes["arg0_1"].line, nodes["arg0_1"].annotation) == (4, "u8[1, 8][8, 1]cuda:0")
    assert (nodes["arg1_1"].line, nodes["arg1_1"].shape) == (5, ("8390", "8"))
    assert nodes["neg"].inputs == ["arg0_1"]
    assert (nodes["output"].line, nodes["output"].last_line) == (8, 11)
    assert nodes["output"].inputs == ["neg", "arg1_1"]


def test_joint_graphs_take_their_arguments_apart() -> None:
    text = """class inner_f(torch.nn.Module):
    def forward(
        self,
        primals,
        tangents,
    ):
        primals_1: "f32[8]"  # PlainAOTInput(idx=0)
        tangents_1: "f32[4]"; tangents_2: "f32[2]";
        primals_1, tangents_1, tangents_2, = fx_pytree.tree_flatten_spec([primals, tangents], s)
        mul: "f32[8]" = torch.ops.aten.mul.Tensor(primals_1, tangents_1)
        return pytree.tree_unflatten([
            mul,  # PlainAOTOutput(idx=0)
        ], self._out_spec)
"""
    nodes = parse_fx(text).nodes
    assert [node.name for node in nodes] == [
        "primals_1", "tangents_1", "tangents_2", "mul", "output",
    ]  # fmt: skip
    assert [node.line for node in nodes] == [7, 8, 8, 10, 11]
    assert (nodes[1].kind, nodes[1].shape) == ("placeholder", ("4",))
    assert nodes[4].inputs == ["mul"]


def test_a_comment_that_lost_its_line_end() -> None:
    (graph,) = parse_fx(
        "# graph id: 139class GraphModule(torch.nn.Module):\n    def forward(self, x):\n"
    ).graph_classes()
    assert graph == "GraphModule"


def test_graphs_as_print_shows_them() -> None:
    text = """graph():
    %x_1 : [num_users=2] = placeholder[target=x_1]
    %w : torch.Tensor [#users=1] = get_attr[target=w]
    %sin : Tensor "f32[8][1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sin.default]\
(args = (%x_1,), kwargs = {})
    %relu : [num_users=1] = call_method[target=relu](args = (%sin, [%w, 2]), kwargs = {dim: 0})
    return (relu, sin)
Some words.
"""
    nodes = {node.name: node for node in parse_fx(text).nodes}
    assert list(nodes) == ["x_1", "w", "sin", "relu", "output"]
    assert (nodes["w"].kind, nodes["sin"].op, nodes["sin"].shape) == ("get_attr", "sin", ("8",))
    assert nodes["relu"].arguments == ["sin", "[w, 2]", "dim = 0"]
    assert nodes["relu"].inputs == ["sin", "w"]
    assert nodes["output"].inputs == ["relu", "sin"]
    assert (nodes["relu"].line, nodes["relu"].graph_class) == (5, "graph")


def test_what_logging_puts_before_lines_is_no_text() -> None:
    logged = "\n".join(
        f"[rank0]:V1121 07:03:54.123000 69 torch/_dynamo/x.py:7] [0/0] [__graph_code] {line}"
        for line in TUTORIAL.split("\n")
    )
    assert parse_fx(logged).nodes == parse_fx(TUTORIAL).nodes


def test_programs_around_a_graph_are_no_nodes(shared: Path) -> None:
    """The listings of a tutorial, saved whole with all of its prose."""
    text = next((shared / "seeds").glob("001_*.txt")).read_text()
    nodes = parse_fx(text).nodes
    assert [(node.graph_class, node.name) for node in nodes] == [
        ("", "arg0_1"), ("", "arg1_1"), ("", "neg"), ("", "maximum"), ("", "clone"), ("", "output"),
        ("forward2", "arg0_1"), ("forward2", "neg"), ("forward2", "output"),
    ]  # fmt: skip
    assert text.split("\n")[nodes[3].line - 1].strip().startswith("maximum = torch.ops")


def test_every_node_of_every_logged_graph_is_read(shared: Path) -> None:
    """Statements and parameters against counts by expression, over logs of many versions."""
    graphs = 0
    for log in sorted((shared / "traces").rglob("*")):
        if not log.is_file() or not log.match("*log*.*") or "torchinductor" in log.parts:
            continue
        if "torch_trace" not in log.name and log.parent.name != "logs":
            continue
        with log.open("rb") as file:
            for record in read_trace_log(file):
                text = record.payload_text or ""
                if not re.search(r"_graph$", record.name or record.kind) or "class " not in text:
                    continue
                graphs += 1
                parsed = parse_fx(text)
                assert not parsed.problems
                made = [node for node in parsed.nodes if node.kind in {"call", "get_attr"}]
                assert len(made) == statements(text)
                taken = [node for node in parsed.nodes if node.kind == "placeholder"]
                assert len(taken) == parameters(text)
    assert graphs > 150


def statements(text: str) -> int:
    return len(re.findall(r'^\s*[A-Za-z_]\w*(?:: "[^"]*")? = (?!None\b)', text, re.M))


def parameters(text: str) -> int:
    """Of all signatures; where a joint graph takes them apart, what comes out of that."""
    names: list[str] = []
    for signature in re.findall(r"def forward\((.*?)\):\s*$", text, re.M | re.S):
        bare = re.sub(r'#[^\n]*|: "[^"]*"', "", signature)
        names += [name.strip() for name in bare.split(",") if name.strip() not in {"", "self"}]
    for apart, held in re.findall(r"^ +((?:\w+, )+)= fx_pytree\.\w+\(\[(.*?)\]", text, re.M):
        names = [name for name in names if name not in held.split(", ")]
        names += apart.split(", ")[:-1]
    return len(names)


def test_graphs_in_a_table_without_indentation(shared: Path) -> None:
    text = next((shared / "seeds").glob("002_*.txt")).read_text()
    nodes = [(node.graph_class, node.name, node.inputs) for node in parse_fx(text).nodes]
    assert nodes == [
        ("Repro", "add", []),
        ("Repro", "_foobar", ["add"]),
        ("Repro", "output", ["_foobar"]),
        ("Repro~2", "add", []),
        ("Repro~2", "relu", ["add"]),
        ("Repro~2", "output", ["relu"]),
    ]


@pytest.mark.parametrize("name", ["cpu-ops-zoo", "cuda-adam"])
def test_annotations_without_quotes_and_comments_without_functions(
    fixtures: Path, name: str
) -> None:
    """As torch wrote graphs until 2.2."""
    for path in (fixtures / name).rglob("fx_graph_*able.py"):
        new = path.read_text()
        old = re.sub(r'(\w: )"([^"]*)"', r"\1\2", new)
        old = re.sub(r"(# File: .*:\d+) in [^,]*, code: ", r"\1, code: ", old)
        assert old != new
        read = parse_fx(old)
        assert read.problems == []
        stripped = parse_fx(new)
        for node in stripped.nodes:
            node.stack_function = ""
        assert read == stripped


def test_symbols_without_quotes() -> None:
    text = (
        "class <lambda>(torch.nn.Module):\n"
        "    def forward(self, arg0_1: Sym(s0), arg1_1: f32[s0, 3]):\n"
        "        # File: /a/b.py:9, code: y = x.view(-1)\n"
        "        mul: Sym(3*s0) = arg0_1 * 3;  arg0_1 = None\n"
        "        view: f32[3*s0] = torch.ops.aten.view.default(arg1_1, [mul]);  mul = None\n"
        "        return (view,)\n"
    )
    nodes = {node.name: node for node in parse_fx(text).nodes}
    assert list(nodes) == ["arg0_1", "arg1_1", "mul", "view", "output"]
    assert (nodes["mul"].annotation, nodes["view"].shape) == ("Sym(3*s0)", ("3*s0",))
    assert (nodes["view"].stack_file, nodes["view"].stack_line) == ("/a/b.py", 9)
    assert nodes["view"].inputs == ["arg1_1", "mul"]


def test_lines_that_are_not_understood_are_listed() -> None:
    lines = [
        "class G(torch.nn.Module):",
        "    def forward(self, x):",
        "  y <- relu x",
        "  return y",
    ]
    text = "\n".join(lines)
    assert [problem.line for problem in parse_fx(text).problems] == [3]
    assert [problem.line for problem in parse_fx("hello\nworld\n").problems] == [1, 2, None]
