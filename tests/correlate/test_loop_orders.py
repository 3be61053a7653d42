"""Which loop bodies fusion traced again while it compared the loops of kernels."""

from __future__ import annotations

import pytest
from inductorscope.correlate.replay.loop_orders import retraced_nodes
from inductorscope.correlate.replay.reordering import reordered_nodes
from inductorscope.formats.graph.ir import parse_ir

ROWS, COLUMNS = "128*p0 + p1", "p0 + 128*p1"


def kernel(number: int, index: str, ranges: str, reduces: bool = False) -> str:
    """A kernel that reads all of `arg0_1` in the order of `index`."""
    value = "load"
    body = """\
        get_index = self.get_index('index0')
        load = ops.load('arg0_1', get_index)
"""
    if reduces:
        value = "reduction"
        body += "        reduction = ops.reduction(torch.float32, torch.float32, 'sum', load)\n"
    return f"""\
op{number}: SchedulerNode(ComputedBuffer)
op{number}.outputs = [
    buf{number}: ComputedBuffer
    buf{number}.layout = FixedLayout('cuda:0', torch.float32, size=[8, 128], stride=[128, 1])
]
class op{number}_loop_body:
    var_ranges = {ranges}
    index0 = {index}
    def body(self, ops):
{body}        get_index_1 = self.get_index('index0')
        store = ops.store('buf{number}', get_index_1, {value}, None)
        return store


"""


def retraced(*kernels: str) -> set[str]:
    ir = parse_ir("".join(kernels))
    return retraced_nodes(ir, ir)


by_rows = "{p0: 8, p1: 128}"
by_columns = "{p0: 128, p1: 8}"


def test_a_kernel_is_reordered_to_match_a_reduction_and_back() -> None:
    columns = kernel(0, COLUMNS, by_columns, reduces=True)
    rows = kernel(2, ROWS, by_rows, reduces=True)
    assert retraced(columns, kernel(1, ROWS, by_rows), rows) == {"op1"}


def test_kernels_that_walk_memory_alike_keep_their_loops() -> None:
    assert retraced(kernel(0, ROWS, by_rows), kernel(1, ROWS, by_rows)) == set()


def test_inner_loops_that_do_not_change_an_index_do_not_count() -> None:
    rows = kernel(1, "p0", "{p0: 2, p1: 64}")
    assert retraced(kernel(0, "p0", "{p0: 2}"), rows) == {"op0"}


def test_loops_are_told_apart_by_how_far_their_first_turn_moves() -> None:
    window = "64*p2 + 16*((p1//2)) + 2*(ModularIndexing(p0, 1, 8)) + (ModularIndexing(p1, 1, 2))"
    turned = "64*p2 + 16*((p0//2)) + (ModularIndexing(p0, 1, 2)) + 2*(ModularIndexing(p1, 1, 8))"
    columns = kernel(0, window, "{p0: 8, p1: 4, p2: 16}", reduces=True)
    assert retraced(columns, kernel(1, turned, "{p0: 4, p1: 8, p2: 16}")) == {"op1"}
    assert retraced(columns, kernel(1, turned, "{p0: 8, p1: 4, p2: 16}")) == set()
    unknown = turned.replace("p0//2", "p0**2")
    assert retraced(columns, kernel(1, unknown, "{p0: 4, p1: 8, p2: 16}")) == set()


def test_a_loop_may_stop_moving_at_the_smaller_of_two_places() -> None:
    clipped, turned = "128*p1 + Min(127, p0)", "128*p0 + Min(127, p1)"
    columns = kernel(0, clipped, by_columns, reduces=True)
    assert retraced(columns, kernel(1, turned, by_rows)) == {"op1"}
    # Neither of two loops moves in its first turn, so nothing tells them apart.
    still, turned = "64*p2 + Min(0, p0) + Min(0, p1)", "64*p2 + Min(0, p1) + Min(0, p0)"
    columns = kernel(0, still, "{p0: 8, p1: 4, p2: 16}", reduces=True)
    assert retraced(columns, kernel(1, turned, "{p0: 4, p1: 8, p2: 16}")) == set()


def test_what_fused_although_it_shares_little_keeps_its_loops() -> None:
    kernels = [kernel(0, "p0", "{p0: 2, p1: 64}", reduces=True), kernel(1, "p0", "{p0: 2}")]
    assert retraced(*kernels) == {"op1"}
    fused = "op0_op1: FusedSchedulerNode(SchedulerNode,SchedulerNode)\n" + "".join(
        f"op0_op1.snodes[{number}] =\n{each}" for number, each in enumerate(kernels)
    )
    assert retraced_nodes(parse_ir("".join(kernels)), parse_ir(fused)) == set()


def test_two_reductions_keep_their_loops() -> None:
    columns = kernel(0, COLUMNS, by_columns, reduces=True)
    assert retraced(columns, kernel(1, ROWS, by_rows, reduces=True)) == set()


def test_another_part_of_the_memory_is_no_reason() -> None:
    assert retraced(kernel(0, f"{COLUMNS} + 1024", by_columns), kernel(1, ROWS, by_rows)) == set()


def test_code_for_a_processor_is_never_reordered() -> None:
    kernels = [kernel(0, COLUMNS, by_columns), kernel(1, ROWS, by_rows)]
    assert retraced(*kernels) == {"op0"}
    assert retraced(*(each.replace("'cuda:0'", "'cpu'") for each in kernels)) == set()


@pytest.mark.parametrize("size", ["s0", "8*s0", "((s0 + 7)//8)", "s0**2 - 1"])
def test_sizes_may_be_symbols_that_have_several_names(size: str) -> None:
    columns = kernel(0, f"p0 + 128*p1*{size}", f"{{p0: {size}, p1: 8}}", reduces=True)
    rows = kernel(1, f"128*p0*{size} + p1", f"{{p0: 8, p1: {size.replace('s0', 's1')}}}")
    assert retraced(columns, rows) == {"op1"}


def test_loops_over_symbols_are_merged_or_reordered() -> None:
    rows, merged = kernel(0, "s0*p0 + p1", "{p0: 8, p1: s0}"), kernel(0, "p0", "{p0: 8*s1}")
    turned = kernel(0, "p0 + s0*p1", "{p0: s1, p1: 8}")
    assert reordered_nodes(parse_ir(rows), parse_ir(merged)) == set()
    assert reordered_nodes(parse_ir(rows), parse_ir(turned)) == {"op0"}


def test_sizes_that_nobody_can_read_are_left_alone() -> None:
    assert retraced(kernel(0, COLUMNS, "{p0: s0, p1: ²}"), kernel(1, ROWS, by_rows)) == set()


def test_scans_keep_their_loops_as_reductions_do() -> None:
    scan = kernel(0, COLUMNS, by_columns, reduces=True).replace(
        "ops.reduction(torch.float32, torch.float32, 'sum', load)",
        "self.scan1((torch.float32,), (load,))",
    )
    assert retraced(scan, kernel(1, ROWS, by_rows, reduces=True)) == set()


def test_kernels_are_compared_in_the_order_before_fusion() -> None:
    kernels = [kernel(0, COLUMNS, by_columns), kernel(1, ROWS, by_rows)]
    before, after = parse_ir("".join(kernels)), parse_ir("".join(reversed(kernels)))
    assert retraced_nodes(before, after) == {"op0"}
