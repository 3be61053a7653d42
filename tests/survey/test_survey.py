"""A survey compiles a matrix once, says what changed, and shows it."""

import re
import sys
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from inductorscope.analyze.compare.graphs import Graph
from inductorscope.analyze.compare.nodes import Node
from inductorscope.answers.compare.sides import Side
from inductorscope.cli.app import app, load_commands
from inductorscope.cli.surveying.matrix import MatrixError, find_python, read_matrix
from inductorscope.settings import Settings
from inductorscope.store.tables.surveys import SurveyCell
from inductorscope.survey import changes as survey_changes
from inductorscope.survey.cells import version_order
from inductorscope.survey.changes import VERSION, Change
from inductorscope.survey.events import as_markdown, events_of
from inductorscope_server.web.app import create_app
from starlette.testclient import TestClient
from typer.testing import CliRunner, Result

from bench.atlas.planted import CHANGES, planted_python

PROGRAM = """
import torch


def rows():
    def rows(x):
        return torch.nn.functional.gelu(x * 2) + 1

    return rows, (torch.randn(8, 16),)


def mine():
    def mine(x):
        return torch.nn.functional.gelu(x * 3) + 1

    return mine, (torch.randn(4, 4),)
"""


def cell(program: str, torch: str, changes: list[Change], device: str = "cpu") -> SurveyCell:
    run = f"{abs(hash((program, torch, device))):016x}"[-16:]
    return SurveyCell(
        key=run, survey="s", program=program, python=torch, torch=torch, device=device,
        mode="default", run_id=run, failure=None, seconds=1, created_at=datetime.now(UTC), made={},
        counts={"bytes": 1}, details={}, before=None, changes=msgspec.to_builtins(changes),
    )  # fmt: skip


def survey(changes: dict[str, list[Change]]) -> list[SurveyCell]:
    cells = []
    for program, own in changes.items():
        was, now = cell(program, "2.9.0", []), cell(program, "2.10.0", own)
        now.before = f"{was.run_id}:{VERSION}"
        cells += [now, was]
    return cells


def test_a_change_in_many_programs_is_one_event() -> None:
    gelu = Change("operations", {"gelu": 1, "erf": -1}, 0, ["m.py:3"])
    apart = [
        Change("apart", {pair: 1}, 1, ["m.py:4"], nbytes)
        for pair, nbytes in (("amax → sub", 64), ("sum → div", 128))
    ]
    other = Change("operations", {"gelu": 1, "erf": -1, "tanh": -1}, 0, ["m.py:9"])
    events = events_of(survey({"a": [gelu, apart[0]], "b": [apart[1], other], "c": []}))
    assert [event.text for event in events] == [
        "Since 2.10.0, no longer in one kernel: a reduction and another operation that reads it "
        "in 2 of 3 programs: `amax → sub`, `sum → div`; 2 kernels more",
        "Since 2.10.0, other operations in the graphs in 2 of 3 programs: `−erf`, `+gelu`, `−tanh`",
    ]
    assert [place.program for place in events[0].places] == ["b", "a"]
    assert (events[0].nbytes, events[1].nbytes) == (192, 0)
    assert "a, cpu, default: m.py:4" in as_markdown(events)
    assert len(events_of(survey({"a": [gelu], "c": []}), "c")) == 0


def test_words_that_only_some_kernels_lose_are_another_event() -> None:
    threads = Change("code", {"num_threads": -1}, 0, ["m.py:3"])
    both = Change("code", {"num_threads": -1, "Welford": -1}, 0, ["m.py:4"])
    events = events_of(survey({"a": [threads, both], "b": [threads], "c": [both]}))
    assert [(event.found, event.programs) for event in events] == [
        (["−num_threads"], 3), (["−Welford"], 2),
    ]  # fmt: skip
    assert [place.lines for place in events[1].places] == [["m.py:4"], ["m.py:4"]]


def test_operations_that_read_each_other_are_one_change() -> None:
    def node(name: str, line: int, *inputs: Node) -> Node:
        return Node(name, f"aten.{name}", "", ("m.py", line), inputs=list(inputs))

    def side(*nodes: Node) -> Side:
        return Side("r", [Graph("g", backward=False, nodes=list(nodes))])

    iota, scores = node("iota", 1), node("exp", 3)
    mask = node("ge", 2, node("unsqueeze", 2, iota))
    before = side(iota, scores, mask, node("where", 4, scores, mask), node("sin", 9))
    found = survey_changes._operations(before, side(node("exp", 3)), 0)
    changed = [(change.whats, change.lines) for change in found]
    assert changed == [
        ({"ge": -1, "iota": -1, "where": -1}, ["m.py:1", "m.py:2", "m.py:4"]),
        ({"sin": -1}, ["m.py:9"]),
    ]


def test_versions_are_sorted_as_numbers() -> None:
    cells = [cell("a", torch, []) for torch in ("2.10.0", "2.9.1", "2.9.0+cpu")]
    assert [row.torch for row in sorted(cells, key=version_order)] == [
        "2.9.0+cpu", "2.9.1", "2.10.0",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("programs", "is not a matrix"),
        ("[programs]", "programs is empty"),
        ("pythons = 1\n[programs]\na = 'gpt'", "pythons"),
        ("[programs]\na = 'nothing'", r"programs\.a: There is no built-in model 'nothing'"),
        ("devices = ['H2OO']\n[programs]\na = 'gpt-small'", "devices: The GPU 'H2OO' is not known"),
        ("modes = ['max']\n[programs]\na = 'gpt-small'", "modes: The mode is 'max'"),
    ],
)
def test_a_matrix_that_is_none_says_where(text: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "matrix.toml"
    file.write_text(text)
    with pytest.raises(MatrixError, match=says):
        read_matrix(file)


def test_a_python_without_torch_is_named(tmp_path: Path) -> None:
    (tmp_path / "python").write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    (tmp_path / "python").chmod(0o755)
    with pytest.raises(MatrixError, match=r"pythons\.old: .*No module named 'msgspec'"):
        find_python(tmp_path / "m.toml", "old", "./python")
    with pytest.raises(MatrixError, match="is not a program"):
        find_python(tmp_path / "m.toml", "old", "./none")


def run(matrix: Path, *words: str) -> Result:
    load_commands()
    return CliRunner().invoke(
        app, ["survey", str(matrix), "--data", str(matrix.parent / "data"), *words]
    )


def test_a_survey_finds_what_a_torch_does_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)  # where torch refuses what is planted
    planted = planted_python(tmp_path / "planted", CHANGES["decomposition: no GELU"])
    (tmp_path / "program.py").write_text(PROGRAM)
    matrix = tmp_path / "small.toml"
    program = '[programs]\nrows = "program.py:rows"\n'
    matrix.write_text(f'[pythons]\na = "{sys.executable}"\nb = "{planted}"\n{program}')
    begun = run(matrix, "--minutes", "0")
    assert "2 cells: 0 done, 0 failed, 2 left." in begun.output
    found = run(matrix, "--markdown", str(tmp_path / "events.md"))
    assert found.exit_code == 0, found.output
    assert "2 cells: 2 done, 0 failed, 0 left." in found.output
    assert "[2/2] rows, b, cpu, default: 1 graph, 2 kernels" in found.output
    events = (tmp_path / "events.md").read_text()
    assert (
        "Since b, other operations in the graphs in 1 of 1 program: `−add`, `−erf`, `+gelu`"
        in events
    )
    assert "rows, cpu, default: program.py:7" in events
    assert "also launches of generated kernels: +1" in events
    with_own = run(matrix, "--with", str(tmp_path / "program.py:mine"))
    near = with_own.output.partition("## Near")[2]
    assert re.search(r"`rows` .*100 % \| `add`, `gelu`, `mul` \|", near), with_own.output
    assert "launches of generated kernels`: 2, 2" in with_own.output, with_own.output
    assert "+gelu" in with_own.output.partition("## Touching")[2]
    late = tmp_path / "late.toml"
    late.write_text(f"seconds = 1\n{program}")
    for words, compiled in (((), True), ((), False), (("--retry",), True)):
        failed = run(late, *words)
        assert failed.exit_code == 1
        assert "1 cell: 0 done, 1 failed, 0 left." in failed.output
        assert ("took longer than its time limit of 1 s" in failed.output) == compiled

    application = create_app(Settings(data=tmp_path / "data", database_url=""), alone=True)
    with TestClient(application, base_url="http://127.0.0.1:8765") as client:
        atlas = client.get("/api/atlas", params={"name": "small"}).json()
        assert [[figure["value"] for figure in row["cells"]] for row in atlas["rows"]] == [[1, 2]]
        assert atlas["rows"][0]["cells"][1]["more"] == "+1"
        assert client.get(atlas["events"][0]["places"][0]["href"]).status_code == 200
        assert client.get("/atlas?name=small").text.count("chip warn") == 1
        page = client.get("/atlas").text
        assert page.count("took longer") == 2
        assert "program.py:mine</a>" in page, "a run to compare"
        broken = client.get("/atlas?name=late&program=rows").text
        assert 'href="/atlas?name=late#failed"' in broken, "also if no torch compiled it"
        assert "--retry" in page
        whole = client.get("/api/atlas", params={"name": "small", "program": "rows"}).json()
        assert "bytes moved" in [row["figure"] for row in whole["rows"]]
        assert client.get("/atlas", params={"figure": "speed"}).status_code == 404
    site = tmp_path / "site" / "a survey.html"
    site.parent.mkdir()
    said = ["export", "/atlas?name=small", "-o", str(site), "--data", str(tmp_path / "data")]
    written = CliRunner().invoke(app, said)
    assert "Beside it: a survey.atom and 1 badge." in written.output, written.output
    assert {file.name for file in site.parent.iterdir()} == {
        "a survey.html", "a survey.atom", "a-survey-rows-cpu-default.svg",
    }  # fmt: skip
    assert '<link href="a%20survey.html#/atlas?name=small#' in site.with_suffix(".atom").read_text()
