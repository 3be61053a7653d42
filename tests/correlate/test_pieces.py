"""Which node a piece of a concatenation belongs to."""

from __future__ import annotations

from inductorscope.correlate.nodes.buffer_candidates import Comments, Origins
from inductorscope.correlate.nodes.fx_graph import FxGraph
from inductorscope.correlate.nodes.origins import find_origins
from inductorscope.formats.graph.fx import parse_fx
from inductorscope.formats.graph.ir import parse_ir

from tests.correlate.test_copies import COPY, EXP, concat, extern, graph
from tests.correlate.test_origins import node, origins, user


def piece(number: int, body: str, size: str, whole: int) -> str:
    joined = user(f"op{whole}", "NopKernelSchedulerNode")
    body = body.replace("store('buf0'", f"store('buf{number}'")
    return node(number, body, size, joined, "NonOwningLayout")


def copied(number: int, read: str, size: str, whole: int) -> str:
    return piece(number, COPY.format(read=read, number=number), size, whole)


def sines(size: str) -> str:
    """Nodes between others, so that these are far apart."""
    lines = (f'sin_{n}: "f32{size}cpu" = torch.ops.aten.sin.default(arg9_1)' for n in range(60))
    return "\n".join(lines)


def of(*numbers: int) -> str:
    return ", ".join(f"StarDep(name='buf{number}', mode=None)" for number in numbers)


def test_a_fill_is_its_own_the_first_time_and_then_the_concatenations() -> None:
    lines = """
arg0_1: "f32[8][1]cpu"):
full: "f32[8][1]cpu" = torch.ops.aten.full.default([8], 0)
cat: "f32[16][1]cpu" = torch.ops.aten.cat.default([full, arg0_1])
cat_1: "f32[16][1]cpu" = torch.ops.aten.cat.default([arg0_1, full])
return (cat, cat_1)
"""
    fill = (
        "constant = ops.constant(0.0, torch.float32)\nstore = ops.store('buf0', index0, constant)"
    )
    ir = piece(0, fill, "[8]", 2) + copied(1, "arg0_1", "[8]", 2) + concat(2, "[16]", of(0, 1))
    ir += copied(3, "arg0_1", "[8]", 5) + piece(4, fill, "[8]", 5) + concat(5, "[16]", of(3, 4))
    found = origins(graph(lines), ir).nodes
    assert (found["op0", "body", "constant"], found["op0", "body", "store"]) == ("full", "full")
    assert (found["op4", "body", "constant"], found["op4", "body", "store"]) == ("cat_1", "cat_1")


TURNED = """
arg0_1: "f32[4, 4][4, 1]cpu"):
mm: "f32[4, 4][4, 1]cpu" = torch.ops.aten.mm.default(arg0_1, arg0_1)
permute: "f32[4, 4][1, 4]cpu" = torch.ops.aten.permute.default(mm, [1, 0])
clone: "f32[4, 4][4, 1]cpu" = torch.ops.aten.clone.default(permute)
neg: "f32[4, 4][4, 1]cpu" = torch.ops.aten.neg.default(clone)
cat: "f32[12, 4][4, 1]cpu" = torch.ops.aten.cat.default([neg, clone, neg])
exp: "f32[4, 4][4, 1]cpu" = torch.ops.aten.exp.default(arg0_1)
cat_1: "f32[8, 4][4, 1]cpu" = torch.ops.aten.cat.default([mm, exp])
return (cat, cat_1)
"""


def product(size: str) -> str:
    made = extern(0, "extern_kernels.mm", "StarDep(name='arg0_1', mode=None)")
    layout = f"FixedLayout('cpu', torch.float32, size={size}, stride=[4, 1])"
    return made.replace("MultiOutputLayout(device=device(type='cpu'))", layout)


def test_a_piece_is_of_what_a_concatenation_as_large_as_its_memory_takes() -> None:
    ir = product("[4, 4]") + copied(1, "buf0", "[4, 4]", 3) + piece(2, EXP, "[4, 4]", 3)
    found = origins(graph(TURNED), ir + concat(3, "[8, 4]", of(1, 2))).nodes
    assert found["op1", "body", "load"] == found["op1", "body", "store"] == "cat_1"


PART = """
arg0_1: "f32[4, 4][4, 1]cpu"):
mm: "f32[4, 4][4, 1]cpu" = torch.ops.aten.mm.default(arg0_1, arg0_1)
slice_1: "f32[4, 2][4, 1]cpu" = torch.ops.aten.slice.Tensor(mm, 1, 0, 2)
slice_2: "f32[4, 2][4, 1]cpu" = torch.ops.aten.slice.Tensor(mm, 1, 2, 4)
clone: "f32[4, 2][2, 1]cpu" = torch.ops.aten.clone.default(slice_2)
cat: "f32[8, 2][2, 1]cpu" = torch.ops.aten.cat.default([slice_1, slice_1])
return (cat, clone)
"""


def test_what_a_library_made_is_copied_though_it_is_of_no_loop() -> None:
    ir = product("[4, 4]") + copied(1, "buf0", "[4, 2]", 2) + concat(2, "[8, 2]", of(1))
    comments = Comments(members={"op1": frozenset(["cat", "clone"])})
    found: Origins = find_origins(FxGraph(parse_fx(graph(PART))), parse_ir(ir), {}, comments)
    assert found.held["buf1"] == ("mm", 0)
    assert found.nodes["op1", "body", "store"] == "cat"


CLONED = """
arg0_1: "f32[4, 4][4, 1]cpu"):
mm: "f32[4, 4][4, 1]cpu" = torch.ops.aten.mm.default(arg0_1, arg0_1)
{between}
permute: "f32[4, 4][1, 4]cpu" = torch.ops.aten.permute.default(mm, [1, 0])
clone: "f32[4, 4][4, 1]cpu" = torch.ops.aten.clone.default(permute)
slice_1: "f32[4, 2][4, 1]cpu" = torch.ops.aten.slice.Tensor(clone, 1, 0, 2)
cat: "f32[8, 2][2, 1]cpu" = torch.ops.aten.cat.default([slice_1, slice_1])
return (cat,)
"""


def test_what_a_library_made_is_read_by_the_copy_that_a_concatenation_takes() -> None:
    ir = product("[4, 4]") + copied(1, "buf0", "[4, 2]", 2) + concat(2, "[8, 2]", of(1))
    found = origins(graph(CLONED.format(between=sines("[4, 4]"))), ir).nodes
    assert (found["op1", "body", "load"], found["op1", "body", "store"]) == ("clone", "cat")


PARTS = """
arg0_1: "f32[8][1]cpu", arg1_1: "f32[4][1]cpu"):
exp: "f32[8][1]cpu" = torch.ops.aten.exp.default(arg0_1)
slice_1: "f32[4][1]cpu" = torch.ops.aten.slice.Tensor(exp, 0, 0, 4)
neg: "f32[4][1]cpu" = torch.ops.aten.neg.default(slice_1)
slice_2: "f32[4][1]cpu" = torch.ops.aten.slice.Tensor(exp, 0, 4, 8)
cat: "f32[8][1]cpu" = torch.ops.aten.cat.default([slice_2, arg1_1])
slice_3: "f32[4][1]cpu" = torch.ops.aten.slice.Tensor(exp, 0, 4, 8)
cat_1: "f32[8][1]cpu" = torch.ops.aten.cat.default([slice_3, arg1_1])
return (cat, cat_1, neg)
"""


def test_a_part_is_stored_by_the_next_concatenation_that_takes_it() -> None:
    ir = piece(0, EXP, "[4]", 2) + copied(1, "arg1_1", "[4]", 2) + concat(2, "[8]", of(0, 1))
    ir += piece(3, EXP, "[4]", 5) + copied(4, "arg1_1", "[4]", 5) + concat(5, "[8]", of(3, 4))
    found = origins(graph(PARTS), ir).nodes
    assert (found["op0", "body", "store"], found["op3", "body", "store"]) == ("cat", "cat_1")


def test_of_values_of_positions_one_is_taken_that_a_later_concatenation_takes() -> None:
    lines = """
arg0_1: "f32[8][1]cpu"):
iota: "f32[8][1]cpu" = torch.ops.prims.iota.default(8, start = 0, step = 1)
sin: "f32[8][1]cpu" = torch.ops.aten.sin.default(iota)
cat: "f32[16][1]cpu" = torch.ops.aten.cat.default([sin, arg0_1])
iota_1: "f32[8][1]cpu" = torch.ops.prims.iota.default(8, start = 0, step = 1)
sin_1: "f32[8][1]cpu" = torch.ops.aten.sin.default(iota_1)
cat_1: "f32[16][1]cpu" = torch.ops.aten.cat.default([sin_1, arg0_1])
return (cat, cat_1)
"""
    sine = """
index_expr = ops.index_expr(index0, torch.float32)
sin = ops.sin(index_expr)
store = ops.store('buf0', index0, sin, None)"""
    ir = piece(0, sine, "[8]", 2) + copied(1, "arg0_1", "[8]", 2) + concat(2, "[16]", of(0, 1))
    ir += piece(3, sine, "[8]", 5) + copied(4, "arg0_1", "[8]", 5) + concat(5, "[16]", of(3, 4))
    found = origins(graph(lines), ir).nodes
    assert (found["op0", "body", "sin"], found["op3", "body", "sin"]) == ("sin", "sin_1")


def test_what_was_turned_and_turned_back_is_copied_by_the_concatenation() -> None:
    lines = """
arg0_1: "f32[2, 8][8, 1]cpu"):
exp: "f32[2, 8][8, 1]cpu" = torch.ops.aten.exp.default(arg0_1)
permute: "f32[8, 2][1, 8]cpu" = torch.ops.aten.permute.default(exp, [1, 0])
permute_1: "f32[2, 8][8, 1]cpu" = torch.ops.aten.permute.default(permute, [1, 0])
cat: "f32[4, 8][8, 1]cpu" = torch.ops.aten.cat.default([permute_1, arg0_1])
return (cat,)
"""
    ir = piece(0, EXP, "[2, 8]", 1) + concat(1, "[4, 8]", of(0))
    found = origins(graph(lines), ir).nodes
    assert (found["op0", "body", "exp"], found["op0", "body", "store"]) == ("exp", "cat")


NESTED = """
arg0_1: "f32[8][1]cpu", arg1_1: "f32[8][1]cpu"):
exp: "f32[8][1]cpu" = torch.ops.aten.exp.default(arg0_1)
cat: "f32[16][1]cpu" = torch.ops.aten.cat.default([exp, arg1_1])
{between}
neg: "f32[8][1]cpu" = torch.ops.aten.neg.default(arg0_1)
slice_1: "f32[8][1]cpu" = torch.ops.aten.slice.Tensor(cat, 0, 8, 16)
cat_1: "f32[16][1]cpu" = torch.ops.aten.cat.default([neg, slice_1])
slice_2: "f32[8][1]cpu" = torch.ops.aten.slice.Tensor(cat_1, 0, 8, 16)
cat_2: "f32[16][1]cpu" = torch.ops.aten.cat.default([exp, slice_2])
return (cat_2,)
"""


def test_a_part_of_a_concatenation_is_copied_by_the_one_that_takes_it() -> None:
    ir = piece(0, EXP, "[8]", 2) + copied(1, "arg1_1", "[8]", 2) + concat(2, "[16]", of(0, 1))
    part = """
get_index = self.get_index('index1')
load = ops.load('buf2', get_index)
store = ops.store('buf0', index0, load, None)"""
    neg = EXP.replace("exp", "neg")
    ir += piece(3, neg, "[8]", 5) + piece(4, part, "[8]", 5) + concat(5, "[16]", of(3, 4))
    found = origins(graph(NESTED.format(between=sines("[8]"))), ir)
    assert found.held["buf4"] == ("cat", 0)
    assert found.nodes["op4", "body", "store"] == "cat_1"
