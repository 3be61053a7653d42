"""Differences of texts: whole, and the same whichever way they are found."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inductorscope.analyze.compile.difference import MOST_TOGETHER, difference
from inductorscope.analyze.compile.metrics import group_metrics
from inductorscope.analyze.ranks.differences import (
    Item,
    compare_items,
    difference_of_collectives,
    plain,
)

LINES = st.lists(st.sampled_from(["a", "b", "c", "d = 1", "e"]), max_size=40)


@given(LINES, LINES)
def test_gone_and_new_lines_lead_from_one_to_the_other(one: list[str], other: list[str]) -> None:
    found = difference(one, other, around=1000)
    lines = [line for hunk in found.hunks for line in hunk]
    if one == other:
        assert not found.gone
        assert not found.new
        assert not lines
        return
    assert [line.text for line in lines if line.kind != "new"] == one
    assert [line.text for line in lines if line.kind != "gone"] == other
    assert found.gone == sum(line.kind == "gone" for line in lines)
    assert found.new == sum(line.kind == "new" for line in lines)


def test_only_what_changed_is_shown_with_some_around() -> None:
    one = [f"line {number}" for number in range(100)]
    other = [*one[:50], "another", *one[51:]]
    found = difference(one, other)
    (hunk,) = found.hunks
    assert [line.before for line in hunk] == [48, 49, 50, 51, None, 52, 53, 54]
    gone, new = hunk[3], hunk[4]
    assert (gone.text, new.text) == ("line 50", "another")


def test_pairs_of_lines_say_where_they_part() -> None:
    found = difference(["size=[4, 8]"], ["size=[None, 8]"])
    gone, new = found.hunks[0]
    assert gone.changed is not None
    assert gone.text[slice(*gone.changed)] == "4"
    assert new.changed is not None
    assert new.text[slice(*new.changed)] == "None"


def test_whole_words_part() -> None:
    for one, other, differs, differing in (
        ("return (sum_1,)", "return (sin,)", "sum_1", "sin"),
        ("x12 = y", "x2 = y", "x12", "x2"),
        ("f(buf1)", "f(buf1_2)", "buf1", "buf1_2"),
        ("a b", "a  b", "", " "),
    ):
        gone, new = difference([one], [other]).hunks[0]
        assert [line.text[slice(*(line.changed or ()))] for line in (gone, new)] == [
            differs,
            differing,
        ]


def test_large_stretches_without_a_common_line_are_replaced_whole() -> None:
    one = ["x"] * (3 * MOST_TOGETHER) + ["y"]
    other = ["z"] * (3 * MOST_TOGETHER)
    found = difference(one, other)
    assert (found.gone, found.new) == (len(one), len(other))


def test_keys_decide_what_is_the_same() -> None:
    one, other = ["id 1", "a"], ["id 2", "b"]
    found = difference(one, other, keys=(["id", "a"], ["id", "b"]))
    assert (found.gone, found.new) == (1, 1)
    assert found.hunks[0][0].text == "id 1"


def test_addresses_say_nothing() -> None:
    assert plain("object at 0x7f5b8ab3e180") == plain("object at 0x7f0000000000")
    assert plain("# graph id: 6079333840") == plain("# graph id: 611394")
    assert plain("___check_obj_id(G['torch'], 140033418188480)") == plain(
        "___check_obj_id(G['torch'], 139775379674736)"
    )
    assert plain("size=[4, 8]") != plain("size=[9, 8]")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('arg0_1: "f32[4, 8][8, 1]cuda:0"', 'arg0_1: "f32[4, 8][8, 1]cuda:7"'),
        ("full = ops.full(device = device(type='cuda', index=0))",
         "full = ops.full(device = device(type='cuda', index=3))"),
        ("| +- EQUALS_MATCH: L['rank'] == 0", "| +- EQUALS_MATCH: L['rank'] == 5"),
        ("EQUALS_MATCH: G['dist'].local_rank == 0", "EQUALS_MATCH: G['dist'].local_rank == 12"),
        ("torch.ops._c10d_functional.all_reduce.default(x, 'sum', '3')",
         "torch.ops._c10d_functional.all_reduce.default(x, 'sum', '4')"),
        ('"estimated_runtime_ns": 1520.5,', '"estimated_runtime_ns": 1.2e+3,'),
        ("# kernel path: /scratch/a/lw/clwxdfvy3k6rhw2m4zhixrk2mkd5vlfcfsjz6syx3zkcvqrkbhhy.py",
         "# kernel path: /scratch/b/ab/cabxdfvy3k6rhw2m4zhixrk2mkd5vlfcfsjz6syx3zkcvqrkbhhy.py"),
        ("stream0 = get_raw_stream(0)", "stream2 = get_raw_stream(2)"),
    ],
)  # fmt: skip
def test_what_differs_between_ranks_of_a_healthy_job(one: str, other: str) -> None:
    assert plain(one) == plain(other)


def test_what_matters_between_ranks() -> None:
    assert plain("'sum', '3')") != plain("'avg', '3')")
    assert plain("L['x'].size()[0] == 4") != plain("L['x'].size()[0] == 5")


WAIT = "torch.ops._c10d_functional.wait_tensor.default"


@pytest.mark.parametrize(
    ("one", "other", "text"),
    [
        (["all_reduce_", "reduce_scatter_tensor", "all_gather"], ["all_reduce_", "all_gather"],
         "rank 1 lacks reduce_scatter_tensor, which rank 0 runs as collective 2"),
        (["all_reduce_"], ["all_reduce_", "broadcast", "broadcast"],
         "rank 0 lacks broadcast and 1 more, which rank 1 runs as collective 2"),
        (["all_reduce_", "all_gather"], ["broadcast", "all_gather"],
         "as collective 1, rank 0 runs all_reduce, rank 1 broadcast"),
        (["all_reduce_"], ["all_reduce_"], None),
    ],
)  # fmt: skip
def test_schedules_of_collectives(one: list[str], other: list[str], text: str | None) -> None:
    def logged(names: list[str]) -> bytes:
        full = [[f"torch.ops._c10d_functional.{name}.default", WAIT] for name in names]
        return json.dumps([text for pair in full for text in pair]).encode()

    assert difference_of_collectives(logged(one), logged(other), "rank 0", "rank 1") == text
    assert difference_of_collectives(b"{}", logged(other), "rank 0", "rank 1") is None


def item(what: str, digest: str, nth: int = 0) -> Item:
    return Item("0/0", 0, what, nth, digest, 1, 1)


def test_ranks_are_compared_item_by_item() -> None:
    one = [item("graph", "a"), item("guards", "b"), item("extra", "c")]
    other = [item("graph", "a"), item("guards", "x"), item("more", "d")]
    found = compare_items(one, other, str, most=3)
    assert found.shared == 1
    told = [(apart.what, apart.one is None, apart.other is None) for apart in found.differences]
    assert told == [("guards", False, False), ("extra", False, True), ("more", True, False)]
    assert compare_items(one, other, lambda digest: "", most=3).shared == 2


def test_all_figures_are_grouped_also_unknown_ones() -> None:
    told = {
        "compile_id": "0/0", "entire_frame_compile_time_s": 1.5, "guard_count": 11,
        "fail_type": None, "inductor_config": '{"a": 1}', "a_field_of_2030": [1, 2],
        "inductor_fx_local_cache_hit_count": 2, "is_forward": True, "gc_time_us": 5,
    }  # fmt: skip
    groups = {group.name: group for group in group_metrics(told)}
    names = {metric.name for group in groups.values() for metric in group.metrics}
    assert names | {name for group in groups.values() for name in group.empty} == set(told)
    assert groups["Failure and restarts"].empty == ["fail_type"]
    times = {metric.name: metric.unit for metric in groups["Time"].metrics}
    assert times == {"entire_frame_compile_time_s": "s", "gc_time_us": "us"}
    (settings,) = groups["Settings"].metrics
    assert settings.settings == {"a": "1"}
