"""The IR of torch 2.2 names no layouts; the wrapper does."""

from __future__ import annotations

from inductorscope.correlate.links.texts import GraphTexts, parse_texts

IR = """\
buf0: SchedulerNode(ComputedBuffer)
buf0.writes = [MemoryDep('buf0', c0, {c0: 12})]
buf0.users = [NodeUser(node=SchedulerNode(name='buf1'), can_inplace=False, is_weak=False)]
class buf0_loop_body:
    var_ranges = {z0: 3, z1: 4}
    index0 = 4*z0 + z1
    def body(self, ops):
        get_index = self.get_index('index0')
        load = ops.load('arg0_1', get_index)
        exp = ops.exp(load)
        get_index_1 = self.get_index('index0')
        store = ops.store('buf0', get_index_1, exp, None)
        return store


buf1: SchedulerNode(ComputedBuffer)
buf1.users = [NodeUser(node=OUTPUT, can_inplace=False, is_weak=False)]
class buf1_loop_body:
    var_ranges = {z0: 3, z1: 4}
    index0 = 4*z0 + z1
    index1 = z0
    def body(self, ops):
        get_index = self.get_index('index0')
        load = ops.load('buf0', get_index)
        reduction = ops.reduction(torch.float32, torch.float32, 'sum', load)
        get_index_1 = self.get_index('index1')
        store_reduction = ops.store_reduction('buf1', get_index_1, reduction)
        return store_reduction


"""
CODE = """\
def call(args):
    arg0_1, = args
    buf2 = empty_strided((2, 3), (3, 1), device='cpu', dtype=torch.float32)
    {}
    cpp_fused_exp_sum_0(c_void_p(arg0_1.data_ptr()), c_void_p(buf1.data_ptr()))
    return (buf1, )
"""


def sizes(line: str) -> list[tuple[str, str, tuple[str, ...] | None]]:
    read = parse_texts(GraphTexts(post_grad="", ir_post=IR, code=CODE.format(line)))
    assert read.ir_post is not None
    return [(b.name, b.dtype, b.size) for node in read.ir_post.nodes for b in node.buffers]


def test_a_buffer_has_the_layout_that_the_wrapper_allocates() -> None:
    made = ("buf1", "float32", ("3",))
    assert made in sizes("buf1 = empty((3, ), device='cpu', dtype=torch.float32)")
    assert made in sizes("buf1 = empty_strided_cpu((3, ), (1, ), torch.float32)")
    assert made in sizes("buf1 = reinterpret_tensor(buf2, (3, ), (1, ), 0)  # alias")
    assert made in sizes("buf1 = reinterpret_tensor(buf2, (3, ), (1, )); del buf2  # reuse")
    assert ("buf1", "", ("3",)) in sizes("assert_size_stride(buf1, (3, ), (1, ))")
    assert ("buf1", "float32", ("2", "3")) in sizes("buf1 = buf2; del buf2  # reuse")


def test_a_buffer_inside_a_kernel_has_the_sizes_of_its_loops() -> None:
    assert sizes("pass") == [("buf0", "", ("3", "4")), ("buf1", "", ("3",))]


def test_an_input_has_the_type_that_the_graph_gives_it() -> None:
    graph = """\
class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: bf16[3, 4]):
        exp: bf16[3, 4] = torch.ops.aten.exp.default(arg0_1)
        return (exp,)
"""
    read = parse_texts(GraphTexts(post_grad=graph, ir_post=IR, code=CODE.format("pass")))
    assert read.ir_post is not None
    assert read.ir_post.layouts["arg0_1"].dtype == "bfloat16"
