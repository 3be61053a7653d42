"""Which nodes, graphs and kernel calls of two runs are the same; what a step's difference is."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inductorscope.analyze.compare.changes import change_points
from inductorscope.analyze.compare.graphs import Graph, match_graphs
from inductorscope.analyze.compare.kernels import Call, Group, match_calls
from inductorscope.analyze.compare.lines import moved_lines, same_files
from inductorscope.analyze.compare.nodes import Node, match_nodes
from inductorscope.analyze.compare.waterfall import StepTime, waterfall


def graph(*rows: tuple[str, str, str], backward: bool = False, size: int = 8) -> Graph:
    """Rows of name, operator and inputs; each name has a line."""
    nodes: dict[str, Node] = {}
    for name, target, inputs in rows:
        node = Node(name, target, f"f32[{size}]", ("model.py", ord(name[0])))
        node.inputs = [nodes[taken] for taken in inputs.split()]
        for source in set(node.inputs):
            source.users.append(node)
        nodes[name] = node
    return Graph("graph", backward, list(nodes.values()))


LAYERS = [
    ("x", "placeholder", ""),
    ("a", "mm", "x"), ("b", "relu", "a"), ("c", "add", "b x"),
    ("d", "mm", "c"), ("e", "relu", "d"), ("f", "add", "e c"),
    ("g", "mm", "f"), ("h", "relu", "g"), ("i", "add", "h f"),
]  # fmt: skip


def partners(left: Graph) -> dict[str, str | None]:
    return {node.name: node.partner.name if node.partner else None for node in left.nodes}


def without_lines(one: Graph) -> Graph:
    for node in one.nodes:
        node.place = None
    return one


@pytest.mark.parametrize("lines", [True, False])
@pytest.mark.parametrize("size", [8, 16])
def test_a_graph_beside_itself_pairs_node_by_node(lines: bool, size: int) -> None:
    left, right = graph(*LAYERS), graph(*LAYERS, size=size)
    if not lines:
        without_lines(left), without_lines(right)
    match_graphs([left], [right])
    assert all(name == other for name, other in partners(left).items())


@settings(max_examples=20)
@given(at=st.integers(1, len(LAYERS) - 1), other=st.booleans())
def test_a_node_inserted_anywhere_is_the_only_new_one(at: int, other: bool) -> None:
    name, target, inputs = LAYERS[at]
    rows = [*LAYERS]
    # The new node takes the place of the old one in its users' arguments.
    rows[at : at + 1] = [(f"{name}0", target, inputs), (name, "sigmoid", f"{name}0")]
    left, right = without_lines(graph(*LAYERS)), without_lines(graph(*rows))
    match_nodes(left.nodes, right.nodes)
    found = partners(left)
    assert found.pop(name) == f"{name}0"
    assert all(index == partner for index, partner in found.items())
    assert [node.name for node in right.nodes if not node.partner] == [name]


def test_lines_that_both_runs_have_tell_equal_operators_apart() -> None:
    rows = [("x", "placeholder", ""), ("a", "neg", "x"), ("b", "neg", "x")]
    left, right = graph(*rows), graph(rows[0], ("b", "neg", "x"), ("a", "neg", "x"))
    for side, lines in ((left, {"a": 1, "b": 2}), (right, {"a": 1, "b": 2})):
        for node in side.nodes[1:]:
            node.place, node.shared = ("model.py", lines[node.name]), True
    match_nodes(left.nodes, right.nodes)
    assert partners(left) == {"x": "x", "a": "a", "b": "b"}


def test_another_operator_for_the_same_line_is_its_counterpart() -> None:
    right = [(name, "gelu" if name == "e" else target, inputs) for name, target, inputs in LAYERS]
    left, other = graph(*LAYERS), graph(*right)
    match_nodes(left.nodes, other.nodes)
    assert partners(left)["e"] == "e"


def test_what_a_graph_saves_for_its_backward_says_nothing_of_its_nodes() -> None:
    rows = [
        ("x", "placeholder", ""), ("p", "view", "x"), ("q", "view", "x"), ("r", "view", "x"),
        ("a", "mul", "x p"), ("b", "mul", "a q"), ("c", "mul", "b r"),
    ]  # fmt: skip
    sides = [graph(*rows, ("output", "output", saved)) for saved in ("c p q", "c q r")]
    for node in (*sides[0].nodes, *sides[1].nodes):
        node.place = ("model.py", 1)
    match_graphs(sides[:1], sides[1:])
    assert all(name == partner for name, partner in partners(sides[0]).items())


def test_graphs_pair_by_direction_and_content_and_a_break_splits_one() -> None:
    whole, backward = graph(*LAYERS), graph(*LAYERS, backward=True)
    first, second = graph(*LAYERS[:4]), graph(("c", "placeholder", ""), *LAYERS[4:7])
    also = graph(*LAYERS, backward=True)
    match_graphs([backward, whole], [first, second, also])
    assert backward.partner is also
    assert whole.partner in (first, second)
    found = partners(whole)
    assert [found[name] for name in "abcdef"] == list("abcdef")
    assert [found[name] for name in "ghi"] == [None, None, None]


def calls(of: Graph, *kernels: tuple[str, str], code: str = "", us: float = 1.0) -> list[Call]:
    nodes = {node.name: node for node in of.nodes}
    return [
        Call(of, kernel, handle, "triton", "pointwise", code or kernel,
             [nodes[name] for name in names.split()], us, 1.0)
        for handle, (kernel, names) in enumerate(kernels)
    ]  # fmt: skip


def matched(left: Sequence[tuple[str, str]], right: Sequence[tuple[str, str]]) -> list[Group]:
    one, other = graph(*LAYERS), graph(*LAYERS)
    match_graphs([one], [other])
    return match_calls(calls(one, *left), calls(other, *right))


def named(groups: Sequence[Group]) -> dict[tuple[str, str], str]:
    def kernels(of: list[Call]) -> str:
        return " ".join(call.kernel for call in of)

    return {(kernels(group.left), kernels(group.right)): group.change for group in groups}


def test_kernels_pair_by_their_nodes_whatever_their_names() -> None:
    found = matched(
        [("k1", "a b"), ("k2", "c"), ("k3", "d e f"), ("k4", "g"), ("k5", "h i")],
        [("k2", "a b"), ("k1", "c"), ("k3", "d e"), ("k6", "f"), ("k7", "g h i")],
    )
    assert named(found) == {
        ("k1", "k2"): "changed",
        ("k2", "k1"): "changed",
        ("k3", "k3 k6"): "split",
        ("k4 k5", "k7"): "merged",
    }
    assert [group.known for group in found] == ["nodes", "nodes", "part", "part"]


def test_kernels_without_nodes_pair_by_code_then_by_name_and_the_rest_is_gone_or_new() -> None:
    one, other = graph(*LAYERS), graph(*LAYERS)
    match_graphs([one], [other])
    left = [
        *calls(one, ("fused_add_3", ""), code="same"),
        *calls(one, ("fused_mul_1", ""), ("u", "")),
    ]
    right = [*calls(other, ("fused_mul_7", ""), ("v", "")), *calls(other, ("w", ""), code="same")]
    found = match_calls(left, right)
    assert named(found) == {
        ("fused_add_3", "w"): "same code",
        ("fused_mul_1", "fused_mul_7"): "changed",
        ("u", ""): "gone",
        ("", "v"): "new",
    }
    assert [group.known for group in found] == ["code", "name", "", ""]


TIMES = st.one_of(st.none(), st.floats(0, 1e6))
LAUNCHES = st.one_of(st.none(), st.integers(0, 100))
NAMES = [name for name, *_ in LAYERS]


@settings(max_examples=40)
@given(data=st.data())
def test_the_parts_sum_to_the_difference_of_the_steps(data: st.DataObject) -> None:
    one, other = graph(*LAYERS), graph(*LAYERS)
    match_graphs([one], [other])
    sides = []
    for side in (one, other):
        kernels = [
            (f"k{number}", " ".join(data.draw(st.sets(st.sampled_from(NAMES), max_size=4))))
            for number in range(data.draw(st.integers(0, 6)))
        ]
        found = calls(side, *kernels)
        for call in found:
            call.time_us, call.launches = data.draw(TIMES), data.draw(LAUNCHES)
        sides.append(found)
    groups = match_calls(*sides)
    assert sorted(call.handle for group in groups for call in group.left) == list(
        range(len(sides[0]))
    )
    steps = []
    for found in sides:
        kernels_us = sum(call.time_us or 0.0 for call in found)
        more, overlap, idle = (data.draw(st.floats(0, 1e6)) for _ in range(3))
        whole = kernels_us + more - overlap + idle
        steps.append(StepTime(whole, kernels_us, more, -overlap, idle))
    bars = waterfall(groups, steps[0], steps[1], {})
    difference = steps[1].step_us - steps[0].step_us
    # Bars of a millionth of a millionth of the steps are left out.
    assert sum(bar.more_us for bar in bars) == pytest.approx(difference, abs=1e-5)


NOISE = [10.0, 10.3, 9.8, 10.1, 9.9, 10.2, 9.7, 10.4]


@pytest.mark.parametrize(
    ("values", "places"),
    [
        ([], []),
        (NOISE * 4, []),
        ([*NOISE[:4], 99.0, *NOISE[4:]], []),  # an outlier is no level
        ([42.0] * 5 + [43.0] * 5, [5]),
        (NOISE * 3 + [value + 1.5 for value in NOISE], [24]),
        (NOISE * 2 + [value * 2 for value in NOISE * 2] + NOISE * 2, [16, 32]),
    ],
)
def test_levels_change_where_noise_does_not(values: list[float], places: list[int]) -> None:
    assert change_points(values) == places


def test_lines_follow_edits_and_files_their_folder() -> None:
    assert moved_lines(["a", "b", "c"], ["a", "new", "b", "c"]) == {1: 1, 3: 2, 4: 3}
    left = {"/a/model.py": ["1"], "/a/loss.py": ["2"], "/a/fast.py": ["x", "y", "z"]}
    right = {"/b/model.py": ["3"], "/b/x.py": ["2"], "/b/slow.py": ["x", "y", "z", "new"]}
    assert same_files(left, right) == {
        "/b/x.py": "/a/loss.py",
        "/b/model.py": "/a/model.py",
        "/b/slow.py": "/a/fast.py",
    }
