"""Readings of loop bodies that use their parts again and again, and buffers of another kind."""

from __future__ import annotations

from inductorscope.correlate.kernels.cpp import read_kernel
from inductorscope.correlate.nodes.fx_graph import FxGraph
from inductorscope.correlate.nodes.origins import find_origins
from inductorscope.correlate.nodes.shared_costs import Ledger, Parts
from inductorscope.correlate.nodes.sizes import numel
from inductorscope.formats.graph.fx import parse_fx
from inductorscope.formats.graph.ir import parse_ir

_STEPS = 8
"""As many elements as Inductor unrolls."""

LARGEST = """\
class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f32[4, 8][8, 1]cpu", arg1_1: "f32[8, 8][8, 1]cpu"):
        unsqueeze: "f32[4, 8, 1]" = torch.ops.aten.unsqueeze.default(arg0_1, 2)
        add: "f32[4, 8, 8]" = torch.ops.aten.add.Tensor(unsqueeze, arg1_1)
        max_1 = torch.ops.aten.max.dim(add, 1)
        getitem: "f32[4, 8]" = max_1[0]
        getitem_1: "i64[4, 8]" = max_1[1]
        scatter: "i64[4, 8]" = torch.ops.aten.scatter.value(getitem_1, 1, getitem_1, 1)
        return (getitem_1, scatter)
"""


def _unrolled() -> str:
    """Where the largest of eight sums is, as Inductor's IR has it: each comparison reads what the
    one before it chose several times."""
    indexes: list[str] = []
    lines: list[str] = []

    def emit(name: str, call: str) -> str:
        lines.append(f"        {name} = ops.{call}")
        return name

    def read(step: int) -> str:
        sides = []
        for name, buffer, index in (
            (f"left_{step}", "arg0_1", f"8*p0 + {step}"),
            (f"right_{step}", "arg1_1", f"p1 + {8 * step}"),
        ):
            indexes.append(f"    index{len(indexes)} = {index}")
            lines.append(f"        at_{name} = self.get_index('index{len(indexes) - 1}')")
            sides.append(emit(name, f"load('{buffer}', at_{name})"))
        return emit(f"add_{step}", f"add({sides[0]}, {sides[1]})")

    best, where = read(0), emit("at_0", "constant(0, torch.int64)")
    for step in range(1, _STEPS):
        fresh = read(step)
        more = emit(f"gt_{step}", f"gt({best}, {fresh})")
        same = emit(f"eq_{step}", f"eq({best}, {fresh})")
        none, other = (
            emit(f"ne_{step}", f"ne({best}, {best})"),
            emit(f"no_{step}", f"ne({fresh}, {fresh})"),
        )
        unlike = emit(f"gt_{step}0", f"gt({none}, {other})")
        wins = emit(f"or_{step}", f"logical_or({more}, {unlike})")
        both = emit(f"and_{step}", f"logical_and({none}, {other})")
        ties = emit(f"or_{step}0", f"logical_or({same}, {both})")
        number = emit(f"at_{step}", f"constant({step}, torch.int64)")
        first = emit(f"lt_{step}", f"lt({where}, {number})")
        kept = emit(f"and_{step}0", f"logical_and({ties}, {first})")
        choice = emit(f"or_{step}1", f"logical_or({wins}, {kept})")
        best = emit(f"where_{step}", f"where({choice}, {best}, {fresh})")
        where = emit(f"where_{step}0", f"where({choice}, {where}, {number})")
    lines.append(f"        get_index = self.get_index('index{len(indexes)}')")
    emit("store", f"store('buf0', get_index, {where}, None)")
    indexes.append(f"    index{len(indexes)} = 8*p0 + p1")
    return _node(0, "torch.int64", "[4, 8]", "[8, 1]", indexes, lines)


def _node(
    number: int, dtype: str, size: str, stride: str, indexes: list[str], lines: list[str]
) -> str:
    return "\n".join([
        f"op{number}: SchedulerNode(ComputedBuffer)",
        f"op{number}.outputs = [",
        f"    buf{number}: ComputedBuffer",
        f"    buf{number}.layout = FixedLayout('cpu', {dtype}, size={size}, stride={stride})",
        f"    buf{number}.users = [NodeUser(node=OUTPUT, can_inplace=False, is_weak=False)]",
        "]",
        f"class op{number}_loop_body:",
        "    var_ranges = {p0: 4, p1: 8}",
        *indexes,
        "    def body(self, ops):",
        *lines,
        "        return store",
        "", "", "",
    ])  # fmt: skip


def test_what_an_unrolled_reduction_uses_again_counts_once() -> None:
    found = find_origins(FxGraph(parse_fx(LARGEST)), parse_ir(_unrolled()), {})
    assert found.nodes["op0", "body", f"where_{_STEPS - 1}0"] == "max_1"
    assert found.nodes["op0", "body", "gt_1"] == "max_1"
    assert found.nodes["op0", "body", "add_3"] == "add"
    assert found.costs["op0"] < 1.0  # no guess


HALF = """\
class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "bf16[4, 8][8, 1]cpu"):
        abs_1: "bf16[4, 8]" = torch.ops.aten.abs.default(arg0_1)
        mean: "bf16[4]" = torch.ops.aten.mean.dim(abs_1, [1])
        convert: "f32[4, 8]" = torch.ops.prims.convert_element_type.default(arg0_1, torch.float32)
        sum_1: "f32[4]" = torch.ops.aten.sum.dim_IntList(convert, [1])
        return (mean, sum_1)
"""


def test_reductions_of_half_precision_are_accumulated_in_single_precision() -> None:
    lines = """\
        get_index = self.get_index('index0')
        load = ops.load('arg0_1', get_index)
        to_dtype = ops.to_dtype(load, torch.float32, src_dtype = torch.bfloat16)
        abs_1 = ops.abs(to_dtype)
        reduction = ops.reduction(torch.float32, torch.float32, 'sum', abs_1)
        get_index_1 = self.get_index('index1')
        store = ops.store_reduction('buf0', get_index_1, reduction)"""
    ir = _node(
        0, "torch.float32", "[4]", "[1]",
        ["    index0 = 8*p0 + p1", "    index1 = p0"], lines.split("\n"),
    )  # fmt: skip
    found = find_origins(FxGraph(parse_fx(HALF)), parse_ir(ir), {})
    assert found.nodes["op0", "body", "reduction"] == "mean"


HALVED = """\
class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "Sym(s27)", arg1_1: "f32[4, s27][s27, 1]cpu"):
        glu: "f32[4, (s27//2)]" = torch.ops.aten.glu.default(arg1_1)
        return (glu,)
"""


def test_a_size_may_be_a_number_by_the_time_loops_are_written() -> None:
    lines = """\
        get_index = self.get_index('index0')
        load = ops.load('arg1_1', get_index)
        get_index_1 = self.get_index('index1')
        load_1 = ops.load('arg1_1', get_index_1)
        sigmoid = ops.sigmoid(load_1)
        mul = ops.mul(load, sigmoid)
        get_index_2 = self.get_index('index2')
        store = ops.store('buf0', get_index_2, mul, None)"""
    indexes = ["    index0 = 16*p0 + p1", "    index1 = 16*p0 + p1 + 8", "    index2 = 8*p0 + p1"]
    ir = _node(0, "torch.float32", "[4, 8]", "[8, 1]", indexes, lines.split("\n"))
    found = find_origins(FxGraph(parse_fx(HALVED)), parse_ir(ir), {})
    assert found.nodes["op0", "body", "mul"] == "glu"


def test_parts_count_once_however_they_are_joined() -> None:
    ledger = Ledger()
    left, right = Parts(ledger), Parts(ledger)
    left.add("load", 0.25)
    left.add("mul", 0.5)
    right.add("load", 0.25)
    right.add("add", 1.0)
    left.join(right)
    left.join(right)
    left.add("add", 1.0)
    assert left.cost == 1.75


SHORT = """\
class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f32[4, 2][2, 1]cpu"):
        _tensor_constant0: "f32[2]" = self._tensor_constant0
        lift: "f32[2]" = torch.ops.aten.lift_fresh_copy.default(_tensor_constant0)
        mul: "f32[4, 2]" = torch.ops.aten.mul.Tensor(arg0_1, lift)
        return (mul,)
"""


def test_constants_of_a_few_numbers_are_choices_by_position() -> None:
    lines = """\
        get_index = self.get_index('index0')
        load = ops.load('arg0_1', get_index)
        get_index_1 = self.get_index('index1')
        index_expr = ops.index_expr(get_index_1, torch.int64)
        constant = ops.constant(1, torch.int64)
        lt = ops.lt(index_expr, constant)
        constant_1 = ops.constant(0.25, torch.float32)
        constant_2 = ops.constant(0.75, torch.float32)
        where = ops.where(lt, constant_1, constant_2)
        mul = ops.mul(load, where)
        get_index_2 = self.get_index('index0')
        store = ops.store('buf0', get_index_2, mul, None)"""
    indexes = ["    index0 = 2*p0 + p1", "    index1 = p1"]
    ir = _node(0, "torch.float32", "[4, 2]", "[2, 1]", indexes, lines.split("\n"))
    found = find_origins(FxGraph(parse_fx(SHORT)), parse_ir(ir), {})
    assert found.nodes["op0", "body", "where"] == "_tensor_constant0"
    assert found.nodes["op0", "body", "mul"] == "mul"
    assert found.costs["op0"] < 1.0


RELAID = """\
class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f32[2, 4, 3, 3][36, 9, 3, 1]cpu", arg1_1: "f32[2, 4, 1, 1]cpu"):
        permute: "f32[2, 3, 3, 4]" = torch.ops.aten.permute.default(arg0_1, [0, 2, 3, 1])
        clone: "f32[2, 3, 3, 4]" = torch.ops.aten.clone.default(permute)
        convolution: "f32[2, 2, 3, 3]" = torch.ops.aten.convolution.default(\
arg0_1, arg1_1, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
        return (clone, convolution)
"""


def test_memory_laid_out_anew_is_of_the_value_whose_shape_it_has() -> None:
    lines = """\
        get_index = self.get_index('index0')
        load = ops.load('arg0_1', get_index)
        get_index_1 = self.get_index('index1')
        store = ops.store('buf0', get_index_1, load, None)"""
    indexes = ["    index0 = 36*p0 + 9*p1 + p2", "    index1 = 36*p0 + p1 + 4*p2"]
    for size, owner in (("[2, 4, 3, 3]", "arg0_1"), ("[2, 3, 3, 4]", "clone")):
        ir = _node(0, "torch.float32", size, "[36, 1, 12, 4]", indexes, lines.split("\n"))
        found = find_origins(FxGraph(parse_fx(RELAID)), parse_ir(ir), {})
        assert found.nodes["op0", "body", "load"] == owner


def test_sizes_that_count_steps_are_the_same_however_they_are_written() -> None:
    assert numel(("(((s53 - 1)//2)) + 1", "4")) == numel(("((s53 + 1)//2)", "4"))
    assert numel(("(((s0 - 2)//2)) + 1",)) == numel(("(s0//2)",))
    assert numel(("(((s0 - 1)//2)) + 1",)) != numel(("((s0 + 2)//2)",))


def test_which_output_a_value_is_does_not_depend_on_what_was_asked_before() -> None:
    graph = FxGraph(parse_fx(LARGEST))
    assert graph.root("max_1") == ("max_1", 0)
    assert graph.root("getitem_1") == ("max_1", 1)


KNOWN = """\
{
auto tmp33 = static_cast<float>(0.0);
auto tmp47 = c10::convert<int64_t>(x1);
auto tmp48 = tmp47 >= tmp3;
auto tmp50 = tmp48 & tmp44;
auto tmp49 = [&]
{
    return tmp33;
}
;
auto tmp51 = tmp48 ? tmp49() : static_cast<float>(0.0);
}"""


def test_a_masked_body_that_is_known_already_stands_between_its_mask_and_its_call() -> None:
    lines = KNOWN.split("\n")
    (block,) = read_kernel(lines, 1, len(lines)).blocks
    names = [statement.defines[0] for statement in block.numbered]
    assert names[-3:] == ["tmp50", "tmp49", "tmp51"]
    assert [s.defines[0] for s in block.numbered if s.has_inner] == ["tmp49"]


WRITTEN = """\
class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f32[4, 8][8, 1]cpu", arg1_1: "i64[4][1]cpu"):
        full_default: "f32[4, 8]" = torch.ops.aten.full.default([4, 8], 0.0)
        index_put: "f32[4, 8]" = torch.ops.aten.{first}.default(full_default, [arg1_1], arg0_1)
        full_default_1: "f32[4, 8]" = torch.ops.aten.full.default([4, 8], 0.0)
        scatter: "f32[4, 8]" = torch.ops.aten.index_put.default(full_default_1, [arg1_1], arg0_1)
        return (index_put, scatter)
"""


def test_memory_that_is_written_in_place_is_filled_by_the_fill() -> None:
    lines = """\
        constant = ops.constant(0.0, torch.float32)
        get_index = self.get_index('index0')
        store = ops.store('buf0', get_index, constant, None)"""
    ir = _node(0, "torch.float32", "[4, 8]", "[8, 1]", ["    index0 = p0"], lines.split("\n"))
    ir = ir.replace("node=OUTPUT", "node=SchedulerNode(name='op1')")
    ir += _node(1, "torch.float32", "[4, 8]", "[8, 1]", ["    index0 = p0"], lines.split("\n"))
    ir = ir.replace("    buf1.users", "    buf1.mutations = ['buf0']\n    buf1.users")
    for first, owner in (("index_put_", "full_default"), ("index_put", "index_put")):
        graph = FxGraph(parse_fx(WRITTEN.format(first=first)))
        found = find_origins(graph, parse_ir(ir), {})
        assert found.nodes["op0", "body", "constant"] == owner
