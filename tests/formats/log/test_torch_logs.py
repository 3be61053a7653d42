"""What TORCH_LOGS prints about fusing and speed, read, asked and shown."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inductorscope.analyze.compile.fusing import ask, in_words
from inductorscope.analyze.compile.gather import StoryGatherer
from inductorscope.analyze.compile.model import Spoken
from inductorscope.formats.log.torch_logs import TorchLogs, looks_like_torch_logs
from inductorscope.intake.sniff import role_of
from inductorscope.reading.notes import Notes

PREFIX = "V1121 11:13:16.660000 13776 torch/_inductor/scheduler.py:2059] [0/0] [__fusion] "


@pytest.fixture(scope="module")
def text(fixtures: Path) -> str:
    return (fixtures / "torch-logs" / "torch_logs.txt").read_text()


def read(text: str) -> TorchLogs:
    log = TorchLogs()
    for line in text.split("\n"):
        log.add(line)
    return log


def test_a_log_is_told_from_a_listing(text: str) -> None:
    assert role_of("torch_logs.txt", text.encode()) == "torch_logs"
    listed = PREFIX.replace("__fusion", "__output_code")
    assert not looks_like_torch_logs("\n".join(listed + "x = y" for _ in range(20)))
    assert not looks_like_torch_logs("")


def test_nodes_know_their_origins_and_lines(text: str) -> None:
    nodes = {node.name: node for node in read(text).nodes.values()}
    assert (nodes["op0"].kind, nodes["op0"].origins) == ("Pointwise", ["add", "sin"])
    assert (nodes["op0"].line, nodes["op0"].code) == (5, "b = torch.sin(y) + 1")
    assert nodes["op1"].kind == "ExternKernel"
    assert nodes["op9"].origins == ["clone", "permute"]


def test_the_line_of_a_node_is_its_innermost_frame() -> None:
    """As in the FX graph, and so in explorer and Time; not the caller's `x = block(x)`."""
    said = (
        "  SchedulerNode(name='op3'), Pointwise(['[8, 1]', 'origins=OrderedSet([tanh, relu])', "
        "'stack_traces = {', '  File \"/u/tiny.py\", line 41, in forward', '    x = block(x)', "
        "'        ^^^^^^^^', '  File \"/u/tiny.py\", line 10, in forward', "
        "'    h = torch.tanh(y)', '        ^^^^^^^^^^^^^', '', '}', 'stack_traces = {', "
        "'  File \"/u/tiny.py\", line 43, in forward', '    x = relu(x)', '', '}'])"
    )
    (node,) = read(PREFIX + said).nodes.values()
    assert (node.line, node.code) == (10, "h = torch.tanh(y)")


def test_what_was_tried_is_counted_once_a_reason(text: str) -> None:
    (fusion,) = read(text).fusions.values()
    assert (fusion.one, fusion.other, fusion.fused) == ("op0", "op9", False)
    assert (fusion.reason, fusion.count) == ("no shared data", 2)
    assert in_words(fusion.reason)


@pytest.mark.parametrize(
    ("said", "fused", "reason"),
    [
        ("fusing op1 with op2", True, ""),
        ("cannot fuse op1 with op2: device mismatch (cpu vs cuda:0)", False,
         "device mismatch (cpu vs cuda:0)"),
        ("can fuse (benchmark): fusing op1 with op2 cause \x1b[32m1.200\x1b[0mx speedup", True,
         "1.200x speedup"),
        ("cannot fuse (benchmark): fusing op1 with op2 cause \x1b[31m0.9\x1b[0mx slowdown", False,
         "0.9x slowdown"),
    ],
)  # fmt: skip
def test_every_way_of_saying_it(said: str, fused: bool, reason: str) -> None:
    (fusion,) = read(PREFIX + said).fusions.values()
    assert (fusion.one, fusion.other, fusion.fused, fusion.reason) == ("op1", "op2", fused, reason)


def test_hints_are_kept_with_who_said_them(text: str) -> None:
    hints = [(hint.text, hint.module) for hint in read(text).hints.values()]
    assert (
        "Using FallbackKernel: torch.ops.aten.cumsum.default",
        "torch/_inductor/graph.py:1002",
    ) in hints


def spoken(fixtures: Path) -> list[Spoken]:
    from inductorscope.reading.logs.torch_logs import read_torch_log

    story = StoryGatherer().story
    with (fixtures / "torch-logs" / "torch_logs.txt").open("rb") as raw:
        read_torch_log("torch_logs.txt", raw, story, Notes())
    return story.spoken


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        ("add", "clone", "were not fused in compile 0/0: no shared data"),
        ("op9", "sin", "were not fused in compile 0/0: no shared data"),
        ("add", "sin", "are already one node"),
        ("op0", "op7", "were never tried together"),
    ],
)
def test_any_pair_can_be_asked_for(fixtures: Path, one: str, other: str, said: str) -> None:
    (answer,) = ask(spoken(fixtures), one, other)
    assert said in answer


def test_nothing_is_answered_of_what_is_not_there(fixtures: Path) -> None:
    assert ask(spoken(fixtures), "add", "no_such_node") == []
    assert ask(spoken(fixtures), "", "") == []


BEGINNINGS = st.sampled_from(
    ["", "cannot fuse ", "fusing ", "  SchedulerNode(name='op1'), A(['origins={"]
)


@given(st.builds("{}{}{}".format, st.sampled_from(["", PREFIX]), BEGINNINGS, st.text()))
def test_no_text_makes_it_raise(text: str) -> None:
    log = read(text)
    assert log.lines == text.count("\n") + 1
    looks_like_torch_logs(text)


def test_a_run_of_a_text_alone_shows_it(fixtures: Path, tmp_path: Path) -> None:
    from inductorscope.answers.compile.fusing import fusing_page
    from inductorscope.cli.local import read_paths
    from inductorscope.settings import Settings
    from inductorscope.store.database.engine import make_engine, sessions

    settings = Settings(data=tmp_path / "data", database_url="")

    def nothing(*_told: Any) -> None:
        """Nobody looks at the progress."""

    result = read_paths(
        settings, [fixtures / "torch-logs"], name=None, tags=[], origin="ingest", progress=nothing
    )
    with sessions(make_engine(settings))() as session:
        page = fusing_page(session, result.run_id, q="clone", a="add", b="clone")
        assert page is not None
        assert page.logs == page.tried == 1
        assert [(row.reason, row.count) for row in page.reasons] == [("no shared data", 2)]
        assert "no shared data" in page.answers[0]
        assert "add" in page.names
