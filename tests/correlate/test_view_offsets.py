"""Where views begin."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inductorscope.correlate.nodes.fx_graph import FxGraph
from inductorscope.correlate.nodes.view_offsets import constant_term, offset_in_memory
from inductorscope.formats.graph.fx import parse_fx
from inductorscope.formats.graph.ir import IrBuffer

SPLIT = """
class <lambda>(torch.nn.Module):
    def forward(self, arg0_1: "f32[28, 96]"):
        view: "f32[2, 14, 96]" = torch.ops.aten.reshape.default(arg0_1, [2, 14, 96])
        split = torch.ops.aten.split.Tensor(view, 32, -1)
        getitem: "f32[2, 14, 32]" = split[0]
        getitem_1: "f32[2, 14, 32]" = split[1]
        getitem_2: "f32[2, 14, 32]" = split[2]
        heads: "f32[2, 14, 4, 8]" = torch.ops.aten.reshape.default(getitem_1, [2, 14, 4, 8])
        permute: "f32[2, 4, 14, 8]" = torch.ops.aten.permute.default(heads, [0, 2, 1, 3])
        select: "f32[2, 14, 8]" = torch.ops.aten.select.int(permute, 1, -1)
        return (select,)
"""


def test_parts_of_a_product_begin_where_they_are_cut() -> None:
    graph = FxGraph(parse_fx(SPLIT))
    offsets = {name: graph.offset(name) for name in graph.values if name != "output"}
    assert [offsets[name] for name in ("getitem", "getitem_1", "getitem_2")] == [0, 32, 64]
    assert offsets["permute"] == 32
    assert offsets["select"] is None


@pytest.mark.parametrize(
    ("index", "term"),
    [
        ("96*p0 + 24*p1 + 8", 8),
        ("p0 - 4", -4),
        ("8*((p0//2)) + (ModularIndexing(p1, 1, 8)) + 16", 16),
        ("5", 5),
        ("24*p2 + 8*p3", 0),
        ("", 0),
    ],
)
def test_the_constant_of_an_index(index: str, term: int) -> None:
    assert constant_term(index) == term


@given(st.lists(st.text("p0123456789*()/+- ", max_size=20), max_size=3))
def test_any_index_is_read(parts: list[str]) -> None:
    assert isinstance(constant_term(" + ".join(parts)), int)


def test_the_offset_in_memory_follows_the_strides_of_the_buffer() -> None:
    """The second of three parts, along channels that lie innermost in memory."""
    graph = FxGraph(parse_fx(CHANNELS))
    offset, root = graph.offset("getitem_1"), graph.values["arg0_1"]
    assert offset == 16 * 4
    dense = IrBuffer("buf0", size=("2", "48", "4"), stride=("192", "4", "1"))
    last = IrBuffer("buf0", size=("2", "48", "4"), stride=("192", "1", "48"))
    symbolic = IrBuffer("buf0", size=("2", "48", "4"), stride=("192", "1", "s0"))
    assert offset_in_memory(offset, root, dense) == 64
    assert offset_in_memory(offset, root, last) == 16
    assert offset_in_memory(offset, root, symbolic) == offset


CHANNELS = """
class <lambda>(torch.nn.Module):
    def forward(self, arg0_1: "f32[2, 48, 4]"):
        split = torch.ops.aten.split.Tensor(arg0_1, 16, 1)
        getitem: "f32[2, 16, 4]" = split[0]
        getitem_1: "f32[2, 16, 4]" = split[1]
        return (getitem_1,)
"""
