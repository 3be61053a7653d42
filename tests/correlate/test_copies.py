"""Which node a copy belongs to, and what is written where a pool looked up."""

from __future__ import annotations

import pytest

from tests.correlate.test_origins import node, origins, user
from tests.correlate.test_stored_values import computed

COPY = "load = ops.load('{read}', index0)\nstore = ops.store('buf{number}', index0, load, None)"


def graph(lines: str) -> str:
    body = "".join(f"        {line}\n" for line in lines.strip().split("\n"))
    return f"class GraphModule(torch.nn.Module):\n    def forward(self, {body.lstrip()}"


def extern(number: int, kernel: str, reads: str) -> str:
    return f"""\
op{number}: ExternKernelSchedulerNode(FallbackKernel)
op{number}.unmet_dependencies = [{reads}]
op{number}.outputs = [
    buf{number}: FallbackKernel
    buf{number}.layout = MultiOutputLayout(device=device(type='cpu'))
    buf{number}.users = []
]
op{number}.node.kernel = {kernel}


"""


VIEWED = """
arg0_1: "f32[2, 8][8, 1]cpu"):
exp: "f32[2, 8][8, 1]cpu" = torch.ops.aten.exp.default(arg0_1)
slice_1: "f32[2, 1][8, 1]cpu" = torch.ops.aten.slice.Tensor(exp, 1, 0, 1)
cat: "f32[2, 9][9, 1]cpu" = torch.ops.aten.cat.default([slice_1, exp], 1)
slice_2: "f32[2, 8][9, 1]cpu" = torch.ops.aten.slice.Tensor(cat, 1, 0, 8)
unsqueeze: "f32[2, 1, 8][8, 8, 1]cpu" = torch.ops.aten.unsqueeze.default(exp, 1)
return (slice_2, unsqueeze)
"""
EXP = """
load = ops.load('arg0_1', index0)
exp = ops.exp(load)
store = ops.store('buf0', index0, exp, None)"""


def test_a_copy_in_the_shape_of_a_view_is_of_the_views_source() -> None:
    stored = node(0, EXP, "[2, 8]", user("op1"))
    copied = node(1, COPY.format(read="buf0", number=1), "[2, 1, 8]", user("OUTPUT"))
    assert origins(graph(VIEWED), stored + copied).held["buf1"] == ("exp", 0)


def test_a_copy_may_be_of_something_far_away() -> None:
    near = [f'exp_{n}: "f32[8][1]cpu" = torch.ops.aten.exp.default(arg0_1)' for n in range(60)]
    lines = ['arg0_1: "f32[8][1]cpu"):', *near, "return (exp_0,)"]
    ir = ""
    for number in range(60):
        body = EXP.replace("buf0", f"buf{number}")
        ir += node(number, body, "[8]", user("OUTPUT"))
    ir += node(60, COPY.format(read="arg0_1", number=60), "[8]", user("OUTPUT"))
    found = origins(graph("\n".join(lines)), ir)
    assert found.held["buf60"] == ("arg0_1", 0)


SHARED = """
arg0_1: "f32[8][1]cpu", arg1_1: "f32[8][1]cpu", arg2_1: "f32[8][1]cpu"):
exp: "f32[8][1]cpu" = torch.ops.aten.exp.default(arg0_1)
convolution_backward = torch.ops.aten.convolution_backward.default(exp, arg1_1, arg2_1, [8])
getitem: "f32[8][1]cpu" = convolution_backward[0]
add: "f32[8][1]cpu" = torch.ops.aten.add.Tensor(exp, getitem)
return (add,)
"""


def test_what_loops_stored_is_copied_by_the_library_call_that_wants_other_strides() -> None:
    stored = node(0, EXP, "[8]", user("op1"))
    users = user("op2", "ExternKernelSchedulerNode")
    copied = node(1, COPY.format(read="buf0", number=1), "[8]", users)
    kernel = "torch.ops.aten.convolution_backward.default"
    call = extern(2, kernel, "StarDep(name='buf1', mode=None)")
    found = origins(graph(SHARED), stored + copied + call)
    assert found.nodes["op0", "body", "store"] == "exp"
    assert found.nodes["op1", "body", "store"] == "convolution_backward"


MEAN = """
arg0_1: "f32[8, 4][4, 1]cpu"):
var_mean = torch.ops.aten.var_mean.correction(arg0_1, [1], correction = 0, keepdim = True)
getitem: "f32[8, 1][1, 1]cpu" = var_mean[0]
getitem_1: "f32[8, 1][1, 1]cpu" = var_mean[1]
sub: "f32[8, 4][4, 1]cpu" = torch.ops.aten.sub.Tensor(arg0_1, getitem_1)
return (getitem_1, sub)
"""


def test_a_mean_is_copied_for_the_caller() -> None:
    mean = """
load = ops.load('arg0_1', index0)
reduction = ops.reduction(torch.float32, torch.float32, 'sum', load)
store_reduction = ops.store_reduction('buf0', index0, reduction)"""
    stored = node(0, mean, "[8, 1]", user("op1"))
    copied = node(1, COPY.format(read="buf0", number=1), "[8, 1]", user("OUTPUT"))
    found = origins(graph(MEAN), stored + copied)
    assert found.nodes["op0", "body", "store_reduction"] == "var_mean"
    assert found.nodes["op1", "body", "store"] == "getitem_1"


POOLED = """
arg0_1: "i8[8][1]cpu", arg1_1: "f32[8][1]cpu"):
full: "f32[8][1]cpu" = torch.ops.aten.full.default([8], 0)
clone: "f32[8][1]cpu" = torch.ops.aten.clone.default(arg1_1)
offsets: "i64[8][1]cpu" = torch.ops.prims._low_memory_max_pool_offsets_to_indices.default(arg0_1)
clone_1: "i64[8][1]cpu" = torch.ops.aten.clone.default(offsets)
scatter_add: "f32[8][1]cpu" = torch.ops.aten.scatter_add.default(full, 0, clone_1, clone)
clone_2: "f32[8][1]cpu" = torch.ops.aten.clone.default(scatter_add)
return (clone_2,)
"""
SCATTER = """
load = ops.load('arg0_1', index0)
set_indirect0 = self.set_indirect0(load)
get_index_1 = self.get_index('index1')
check_bounds = ops.check_bounds(get_index_1, 8, True, False)
load_1 = ops.load('arg1_1', index0)
get_index_2 = self.get_index('index1')
store = ops.store('buf1', get_index_2, load_1, 'atomic_add')"""


def test_what_a_pool_looked_up_says_where_its_gradient_is_added() -> None:
    fill = """
constant = ops.constant(0.0, torch.float32)
store = ops.store('buf0', index0, constant, None)"""
    filled = node(0, fill, "[8]", user("op1"))
    scattered = node(1, SCATTER, "[8]", user("OUTPUT"), "MutationLayoutSHOULDREMOVE")
    scattered = scattered.replace("index1 = p0 + 8", "index1 = indirect0 + 2*p0")
    scattered = scattered.replace("    buf1.users", "    buf1.mutations = ['buf0']\n    buf1.users")
    found = origins(graph(POOLED), filled + scattered)
    assert found.nodes["op0", "body", "store"] == "scatter_add"
    assert found.nodes["op1", "body", "load"] == "offsets"
    assert found.nodes["op1", "body", "set_indirect0"] == "offsets"
    assert found.nodes["op1", "body", "check_bounds"] == "scatter_add"
    assert found.nodes["op1", "body", "load_1"] == "clone"
    assert found.nodes["op1", "body", "store"] == "scatter_add"


def concat(number: int, size: str, reads: str) -> str:
    return f"""\
op{number}: NopKernelSchedulerNode(ConcatKernel)
op{number}.unmet_dependencies = [{reads}]
op{number}.outputs = [
    buf{number}: ConcatKernel
    buf{number}.layout = FixedLayout('cpu', torch.float32, size={size}, stride=[1])
    buf{number}.users = []
]


"""


def test_a_concatenation_inside_another_is_copied_by_the_outer_one() -> None:
    lines = """
arg0_1: "f32[8][1]cpu"):
exp: "f32[8][1]cpu" = torch.ops.aten.exp.default(arg0_1)
cat: "f32[16][1]cpu" = torch.ops.aten.cat.default([exp, arg0_1])
cat_1: "f32[24][1]cpu" = torch.ops.aten.cat.default([cat, exp])
return (cat_1,)
"""
    inner, outer = user("op2", "NopKernelSchedulerNode"), user("op4", "NopKernelSchedulerNode")
    ir = node(0, EXP, "[8]", inner, "NonOwningLayout")
    ir += node(1, COPY.format(read="arg0_1", number=1), "[8]", inner, "NonOwningLayout")
    ir += concat(2, "[16]", "StarDep(name='buf0', mode=None), StarDep(name='buf1', mode=None)")
    ir += node(3, COPY.format(read="buf2", number=3), "[16]", outer, "NonOwningLayout")
    ir += concat(4, "[24]", "StarDep(name='buf3', mode=None)")
    found = origins(graph(lines), ir)
    assert found.nodes["op1", "body", "store"] == "cat"
    assert found.nodes["op3", "body", "load"] == "cat_1"
    assert found.nodes["op3", "body", "store"] == "cat_1"


def test_a_value_in_another_shape_is_stored_by_the_concatenation_that_it_is_a_piece_of() -> None:
    lines = """
arg0_1: "f32[2, 8][8, 1]cpu"):
exp: "f32[2, 8][8, 1]cpu" = torch.ops.aten.exp.default(arg0_1)
permute: "f32[8, 2][1, 8]cpu" = torch.ops.aten.permute.default(exp, [1, 0])
clone: "f32[8, 2][2, 1]cpu" = torch.ops.aten.clone.default(permute)
view: "f32[16][1]cpu" = torch.ops.aten.reshape.default(clone, [16])
cat: "f32[32][1]cpu" = torch.ops.aten.cat.default([view, view])
return (cat, exp)
"""
    joined = user("op1", "NopKernelSchedulerNode")
    ir = node(0, EXP, "[16]", joined, "NonOwningLayout")
    found = origins(graph(lines), ir + concat(1, "[32]", "StarDep(name='buf0', mode=None)"))
    assert found.nodes["op0", "body", "exp"] == "exp"
    assert found.nodes["op0", "body", "store"] == "cat"


def test_what_is_looked_up_in_a_repeated_input_is_read_by_the_repetition() -> None:
    lines = """
arg0_1: "f32[8][1]cpu", arg1_1: "i64[8][1]cpu"):
repeat: "f32[8][1]cpu" = torch.ops.aten.repeat.default(arg0_1, [1])
gather: "f32[8][1]cpu" = torch.ops.aten.gather.default(repeat, 0, arg1_1)
exp: "f32[8][1]cpu" = torch.ops.aten.exp.default(gather)
return (exp,)
"""
    body = """
load = ops.load('arg1_1', index0)
set_indirect0 = self.set_indirect0(load)
get_index_1 = self.get_index('index1')
load_1 = ops.load('arg0_1', get_index_1)
exp = ops.exp(load_1)
store = ops.store('buf0', index0, exp, None)"""
    ir = node(0, body, "[8]", user("OUTPUT")).replace("index1 = p0 + 8", "index1 = indirect0")
    found = origins(graph(lines), ir)
    assert found.nodes["op0", "body", "load_1"] == "repeat"
    assert found.nodes["op0", "body", "set_indirect0"] == "gather"


def test_what_is_padded_by_nothing_or_reduced_along_one_element_is_a_copy() -> None:
    lines = """
arg0_1: "f32[8, 1][1, 1]cpu"):
exp: "f32[8, 1][1, 1]cpu" = torch.ops.aten.exp.default(arg0_1)
{copy}
return (copy,)
"""
    summed = 'copy: "f32[8][1]cpu" = torch.ops.aten.sum.dim_IntList(exp, [1])'
    padded = 'copy: "f32[8, 1][1, 1]cpu" = torch.ops.aten.constant_pad_nd.default(exp, [0, 0], 0.0)'
    for copy, size in ((summed, "[8]"), (padded, "[8, 1]")):
        found = origins(graph(lines.format(copy=copy)), node(0, EXP, size, user("OUTPUT"))).nodes
        assert (found["op0", "body", "exp"], found["op0", "body", "store"]) == ("exp", "copy")


KEPT = """
arg0_1: "f32[2, 3, 4][12, 4, 1]cpu"):
exp: "f32[2, 3, 4][12, 4, 1]cpu" = torch.ops.aten.exp.default(arg0_1)
permute: "f32[2, 4, 3][12, 1, 4]cpu" = torch.ops.aten.permute.default(exp, [0, 2, 1])
clone: "f32[2, 4, 3][12, 1, 4]cpu" = torch.ops.aten.clone.default(permute)
return (permute, clone)
"""


def test_what_the_caller_receives_in_another_order_is_copied_before_its_copies_are() -> None:
    layout = "'cpu', torch.float32, size={}, stride={}"
    turned = layout.format("[2, 4, 3]", "[1, 6, 2]")
    ranges = "{p0: 2, p1: 3, p2: 4}"
    indexes = ["12*p0 + 4*p1 + p2", "p0 + 2*p1 + 6*p2"]
    ir = computed(0, layout.format("[2, 3, 4]", "[12, 4, 1]"), user("op1"), ["p0"], EXP)
    body = """
get_index = self.get_index('index0')
load = ops.load('buf0', get_index)
get_index_1 = self.get_index('index1')
store = ops.store('buf1', get_index_1, load, None)"""
    ir += computed(1, turned, user("op2"), indexes, body, ranges)
    ir += computed(2, turned, user("OUTPUT"), ["p0"], COPY.format(read="buf1", number=2))
    found = origins(graph(KEPT), ir)
    assert found.held["buf1"] == ("exp", 0)
    assert found.nodes["op1", "body", "store"] == "permute"
    assert found.nodes["op2", "body", "store"] == "clone"


TAKEN = """
arg0_1: "f32[4, 4][4, 1]cpu", arg1_1: "f32[4, 6][6, 1]cpu", arg2_1: "f32[2, 2, 1][2, 1, 1]cpu"):
mm: "f32[4, 6][6, 1]cpu" = torch.ops.aten.mm.default(arg0_1, arg1_1)
slice_1: "f32[4, 2][6, 1]cpu" = torch.ops.aten.slice.Tensor(mm, 1, 2, 4)
permute: "f32[2, 4][1, 6]cpu" = torch.ops.aten.permute.default(slice_1, [1, 0])
convolution: "f32[2, 4][4, 1]cpu" = torch.ops.aten.convolution.default(permute, arg2_1, None)
return (convolution, permute)
"""


def test_a_view_that_lies_in_memory_as_in_the_graph_is_copied_by_who_wants_it_otherwise() -> None:
    ir = extern(0, "extern_kernels.mm", "StarDep(name='arg0_1', mode=None)").replace(
        "MultiOutputLayout(device=device(type='cpu'))",
        "FixedLayout('cpu', torch.float32, size=[4, 6], stride=[6, 1])",
    )
    body = COPY.format(read="buf0", number=1).replace("'buf1', index0", "'buf1', index1")
    layout = "'cpu', torch.float32, size=[2, 4], stride=[4, 1]"
    users = user("op2", "ExternKernelSchedulerNode")
    ir += computed(1, layout, users, ["p0 + 6*p1 + 2", "4*p0 + p1"], body, "{p0: 2, p1: 4}")
    ir += extern(2, "extern_kernels.convolution", "StarDep(name='buf1', mode=None)")
    found = origins(graph(TAKEN), ir).nodes
    assert found["op1", "body", "load"] == found["op1", "body", "store"] == "convolution"


TAKEN_TWICE = """
arg0_1: "f32[2, 8][8, 1]cpu", arg1_1: "f32[8][1]cpu"):
exp: "f32[2, 8][8, 1]cpu" = torch.ops.aten.exp.default(arg0_1)
view: "f32[16][1]cpu" = torch.ops.aten.reshape.default(exp, [16])
convolution: "f32[9][1]cpu" = torch.ops.aten.convolution.default(view, arg1_1, None)
view_1: "f32[16][1]cpu" = torch.ops.aten.reshape.default(exp, [16])
convolution_1: "f32[9][1]cpu" = torch.ops.aten.convolution.default(view_1, arg1_1, None)
return (convolution, convolution_1)
"""


def test_each_library_call_copies_what_it_takes_of_one_value() -> None:
    ir = node(0, EXP, "[2, 8]", user("op1"))
    for number in (1, 3):
        users = user(f"op{number + 1}", "ExternKernelSchedulerNode")
        ir += node(number, COPY.format(read="buf0", number=number), "[16]", users)
        read = f"StarDep(name='buf{number}', mode=None)"
        ir += extern(number + 1, "extern_kernels.convolution", read)
    found = origins(graph(TAKEN_TWICE), ir).nodes
    assert found["op1", "body", "store"] == "convolution"
    assert found["op3", "body", "store"] == "convolution_1"


COPIED_ONCE = """
arg0_1: "f32[2, 8][8, 1]cpu", arg1_1: "f32[8][1]cpu"):
exp: "f32[2, 8][8, 1]cpu" = torch.ops.aten.exp.default(arg0_1)
permute: "f32[8, 2][1, 8]cpu" = torch.ops.aten.permute.default(exp, [1, 0])
clone: "f32[8, 2][2, 1]cpu" = torch.ops.aten.clone.default(permute)
view: "f32[16][1]cpu" = torch.ops.aten.reshape.default(clone, [16])
convolution: "f32[9][1]cpu" = torch.ops.aten.convolution.default(view, arg1_1, None)
permute_1: "f32[8, 2][1, 8]cpu" = torch.ops.aten.permute.default(exp, [1, 0])
view_1: "f32[16][8]cpu" = torch.ops.aten.reshape.default(permute_1, [16])
convolution_1: "f32[9][1]cpu" = torch.ops.aten.convolution.default(view_1, arg1_1, None)
return (convolution, convolution_1)
"""


def test_a_copy_is_made_once_and_what_is_copied_besides_is_a_calls() -> None:
    ir = node(0, EXP, "[2, 8]", user("op1"))
    for number, size in ((1, "[8, 2]"), (3, "[16]")):
        users = user(f"op{number + 1}", "ExternKernelSchedulerNode")
        ir += node(number, COPY.format(read="buf0", number=number), size, users)
        read = f"StarDep(name='buf{number}', mode=None)"
        ir += extern(number + 1, "extern_kernels.convolution", read)
    found = origins(graph(COPIED_ONCE), ir).nodes
    assert found["op1", "body", "store"] == "clone"
    assert found["op3", "body", "store"] == "convolution_1"


ASKED_AGAIN = """
):
iota: "i64[8][1]cpu" = torch.ops.prims.iota.default(8, start = 0, step = 1, dtype = torch.int64)
convert: "f32[8][1]cpu" = torch.ops.prims.convert_element_type.default(iota, torch.float32)
sin: "f32[8][1]cpu" = torch.ops.aten.sin.default(convert)
fft: "c64[8][1]cpu" = torch.ops.aten._fft_c2c.default(sin, [0], 0, True)
fft_1: "c64[8][1]cpu" = torch.ops.aten._fft_c2c.default(sin, [0], 0, False)
return (fft, fft_1)
"""


def test_what_depends_on_positions_only_is_made_anew_for_each_call() -> None:
    body = """
get_index = self.get_index('index0')
index_expr = ops.index_expr(get_index, torch.float32)
sin = ops.sin(index_expr)
store = ops.store('buf{number}', index0, sin, None)"""
    ir = ""
    for number in (0, 2):
        users = user(f"op{number + 1}", "ExternKernelSchedulerNode")
        ir += node(number, body.format(number=number), "[8]", users)
        read = f"StarDep(name='buf{number}', mode=None)"
        ir += extern(number + 1, "torch.ops.aten._fft_c2c.default", read)
    found = origins(graph(ASKED_AGAIN), ir).nodes
    assert found["op0", "body", "sin"] == found["op2", "body", "sin"] == "sin"
    assert found["op0", "body", "store"] == "fft"
    assert found["op2", "body", "store"] == "fft_1"


TWICE = """
arg0_1: "f32[2, 8][8, 1]cpu", arg1_1: "f32[8][1]cpu"):
exp: "f32[2, 8][8, 1]cpu" = torch.ops.aten.exp.default(arg0_1)
view: "f32[16][1]cpu" = torch.ops.aten.reshape.default(exp, [16])
convolution: "f32[9][1]cpu" = torch.ops.aten.convolution.default(view, arg1_1, None)
return (convolution,)
"""


def test_a_copy_of_a_copy_is_of_the_call_that_asks_in_the_end() -> None:
    ir = node(0, EXP, "[2, 8]", user("op1"))
    ir += node(1, COPY.format(read="buf0", number=1), "[16]", user("op2"))
    called = user("op3", "ExternKernelSchedulerNode")
    ir += node(2, COPY.format(read="buf1", number=2), "[16]", called)
    ir += extern(3, "extern_kernels.convolution", "StarDep(name='buf2', mode=None)")
    found = origins(graph(TWICE), ir)
    assert found.nodes["op1", "body", "store"] == found.nodes["op2", "body", "store"]
    assert found.nodes["op2", "body", "load"] == "convolution"
    assert found.held["buf2"] == ("exp", 0)


@pytest.mark.parametrize(
    ("last", "size"), [("clone.default(view)", "[16]"), ("repeat.default(view, [2])", "[32]")]
)
def test_a_copy_of_a_copy_reads_what_the_first_one_copies(last: str, size: str) -> None:
    shape = size.strip("[]")
    lines = f"""
arg0_1: "f32[2, 8][8, 1]cpu"):
permute: "f32[8, 2][1, 8]cpu" = torch.ops.aten.permute.default(arg0_1, [1, 0])
clone: "f32[8, 2][2, 1]cpu" = torch.ops.aten.clone.default(permute)
view: "f32[16][1]cpu" = torch.ops.aten.reshape.default(clone, [16])
last: "f32[{shape}][1]cpu" = torch.ops.aten.{last}
return (last,)
"""
    ir = node(0, COPY.format(read="arg0_1", number=0), size, user("OUTPUT"))
    found = origins(graph(lines), ir)
    assert found.held["buf0"] == ("last", 0)
    assert found.nodes["op0", "body", "load"] == "clone"
    assert found.nodes["op0", "body", "store"] == "last"


def test_a_convolution_without_images_takes_what_loops_stored() -> None:
    lines = TWICE.replace("reshape.default(exp, [16])", "abs.default(exp)").replace("view", "abs_1")
    body = EXP.replace("ops.exp(load)", "ops.exp(load)\nabs = ops.abs(exp)")
    body = body.replace("exp, None)", "abs, None)")
    ir = node(0, body, "[16]", user("op1", "ExternKernelSchedulerNode"))
    ir += extern(1, "extern_kernels.convolution", "StarDep(name='buf0', mode=None)")
    found = origins(graph(lines), ir).nodes
    assert found["op0", "body", "abs"] == found["op0", "body", "store"] == "abs_1"
