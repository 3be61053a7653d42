"""Numbers of elements, symbolic ones too, as far as they need to be told apart."""

from hypothesis import given
from hypothesis import strategies as st
from inductorscope.correlate.nodes.sizes import numel


def test_symbolic_sizes_are_products_of_their_factors() -> None:
    assert numel(("2", "3", "4")) == "24"
    assert numel(("s0", "6")) == numel(("3", "2*s0")) == "6*s"
    assert numel(("4*((s0//2))", "3")) == numel(("12", "((s0//2))"))
    assert numel(("s0*s1",)) == numel(("s1", "s0"))
    assert numel(None) == ""


def test_a_size_may_be_named_otherwise_in_the_graph_than_in_the_loops() -> None:
    assert numel(("2", "s29", "32")) == numel(("2", "s8", "32"))
    assert numel(("2", "s29", "32")) != numel(("2", "s29", "16"))


@given(st.lists(st.text("s0123456789*()/+- ", max_size=12), max_size=4))
def test_any_size_is_read_without_failing(shape: list[str]) -> None:
    assert isinstance(numel(tuple(shape)), str)
