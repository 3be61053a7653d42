"""Runs compared: two in full, several in a table, from the page and the command line."""

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from inductorscope import urls
from inductorscope.analyze.measure.judge import Judged
from inductorscope.analyze.measure.result import (
    Cause,
    Kernel,
    Measurement,
    Share,
    Side,
    Swapped,
)
from inductorscope.cli.app import app
from inductorscope.cli.local import read_paths
from inductorscope.markdown.text import prose
from inductorscope.settings import Settings
from inductorscope.store.database.engine import make_engine, sessions
from inductorscope.store.runs.measurements import write_measurement
from inductorscope.store.tables.models import Job
from inductorscope.units import seconds
from starlette.testclient import TestClient
from typer.testing import CliRunner

from tests.support.html import one_line

Runs = tuple[str, str, str]


def edited(folder: Path, out: Path) -> Path:
    """The same capture with another setting, one more operator, and a renamed kernel."""
    shutil.copytree(folder, out)
    (out / "result.json").unlink()
    shutil.rmtree(out / "torch_trace")
    returned = "        return (maximum,)"
    more = '        abs_1: "u8[8390, 8]" = torch.ops.aten.abs.default(maximum)\n'
    edits = {
        "fx_graph_runnable.py": ("debug_partitioner = True", "debug_partitioner = False"),
        "fx_graph_transformed.py": (returned, more + returned.replace("maximum", "abs_1")),
        "output_code.py": ("triton_poi_fused_maximum_neg_0", "triton_poi_fused_maximum_neg_7"),
    }
    for name, (before, after) in edits.items():
        (file,) = out.glob(f"torch_compile_debug/*/torchinductor/*/{name}")
        text = file.read_text()
        assert before in text, name
        file.write_text(text.replace(before, after))
    return out


@pytest.fixture(scope="module")
def compared(
    tmp_path_factory: pytest.TempPathFactory,
    fixtures: Path,
    opened: Callable[..., AbstractContextManager[TestClient]],
) -> Iterator[tuple[TestClient, Settings, Runs]]:
    settings = Settings(data=tmp_path_factory.mktemp("compared") / "data", database_url="")
    other = edited(fixtures / "cuda-foo1", tmp_path_factory.mktemp("edited") / "foo1")
    folders = (fixtures / "cuda-foo1", other, fixtures / "dynamic")
    one, two, three = (
        read_paths(
            settings, [folder], name=name, tags=[], origin="ingest", progress=lambda *_: None
        ).run_id
        for folder, name in zip(folders, ("foo1", "foo1", "dynamic"), strict=True)
    )
    with opened(settings) as client:
        yield client, settings, (one, two, three)


def _json(client: TestClient, address: str) -> Any:
    answer = client.get(urls.api(address))
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_what_differs_is_named_inputs_first(
    compared: tuple[TestClient, Settings, Runs],
) -> None:
    client, _, (one, two, _) = compared
    page = _json(client, urls.compare(one, two))
    assert [(row["name"], row["a"], row["b"]) for row in page["inputs"]] == [
        ("functorch.debug_partitioner", "True", "False")
    ]
    assert page["said"][0]["label"] == "inputs differ"
    assert page["verdict"] == "cannot tell"
    assert [(row["side"], row["name"]) for row in page["nodes"]] == [("b", "abs_1")]
    (graph,) = page["graphs"]
    assert graph["gone_nodes"] == 0
    # A kernel under another name is the same kernel.
    assert (page["group_count"], page["changed"]) == (1, 0)
    assert sum(bar["more_us"] for bar in page["bars"]) == pytest.approx(page["step"]["more_us"])
    text = client.get(urls.compare(one, two)).text
    assert "functorch.debug_partitioner" in text


def test_a_measurement_is_the_verdict_in_either_order(
    compared: tuple[TestClient, Settings, Runs],
) -> None:
    client, settings, (one, two, three) = compared
    judged = Judged("slower", 0.25, 0.2, 0.3, 0.001, 8.0, 10.0, 6)
    share = Share(0.8, 0.7, 0.9)
    kernel = Kernel("graph", "triton_poi_fused_0", 0, "triton", 1)
    swapped = Swapped(share, share)
    causes = [
        Cause("x", [kernel], [], "gone", 1.0, 2.0, None, share, judged, swapped=swapped),
        Cause("Python", [], [], "", 1.0, 1.1, None, Share(0.005, 0.0, 0.01)),
    ]
    sides = [Side([8.0] * 6, None, "2.13"), Side([10.0] * 6, None, "2.13")]
    found = Measurement(sides, judged, causes, Share(0.195, 0.1, 0.3), ["Busy."], 2)
    write = sessions(make_engine(settings))
    for number, complete in enumerate((True, False)):  # the newer one was stopped
        with write.begin() as session:
            now = datetime(2026, 1, 1 + number, tzinfo=UTC)
            write_measurement(session, one, three, f"m{number}", now, found, complete=complete)
    page = _json(client, urls.compare(one, three))
    assert page["verdict"] == "slower"
    (said,) = [line for line in page["said"] if line["to"] == "measured"]
    assert "25.0\u202f% longer, +20.0\u202f% to +30.0\u202f%" in said["text"]
    thin = "\u202f%"
    caused = f"80.0{thin} (70.0{thin} to 90.0{thin}): `triton_poi_fused_0`, gone; B's kernel adds"
    assert caused in said["text"]
    assert f"19.5{thin} unexplained" in said["text"]
    lines = page["measured"]["lines"]
    assert [line["text"] for line in lines][1:] == ["1 smaller cause", "unexplained"]
    assert sum(line["share"]["share"] for line in lines) == pytest.approx(1.0)
    assert sum(line["more_ms"] for line in lines) == pytest.approx(2.0)
    assert lines[0]["href"] == urls.kernel(one, "graph", "triton_poi_fused_0", 0)
    assert "2 processes were disturbed: Busy." in said["text"]
    back = _json(client, urls.compare(three, one))
    assert back["verdict"] == "faster"
    assert back["measured"]["found"]["judged"]["shift"] == pytest.approx(-0.2)
    text = client.get(urls.compare(one, three)).text
    assert "What caused it" in text
    asked = client.get(urls.markdown(urls.compare(one, three))).text
    assert prose(said["text"]) in asked
    assert "## What caused it" in asked
    assert f"{urls.kernel(one, 'graph', 'triton_poi_fused_0', 0)})" in asked
    # Code of uploads never runs.
    assert back["measured"]["refusal"]
    assert "/measure" not in text
    for other, status in ((three, 403), ("0" * 16, 404)):
        path = urls.api(f"{urls.compare(one, other)}/measure")
        assert client.post(path, json={}).status_code == status
    assert _json(client, urls.compare(one, two))["verdict"] == "cannot tell"


def test_a_measurement_that_failed_is_said(
    compared: tuple[TestClient, Settings, Runs],
) -> None:
    client, settings, (run, other, another) = compared
    job = Job(
        id="measure-failed", kind="measure", title="", spec={"run": run, "other": another},
        state="failed", step="", done=0, message="The program does not run.",
        created_at=datetime.now(UTC),
    )  # fmt: skip
    engine = make_engine(settings)
    with sessions(engine).begin() as session:
        session.add(job)
    engine.dispose()
    page = client.get(urls.compare(run, another)).text
    assert "The program does not run." in page
    assert urls.job("measure-failed") in page
    assert "The program does not run." not in client.get(urls.compare(run, other)).text


def test_peaks_and_versions_come_from_logs(
    compared: tuple[TestClient, Settings, Runs],
) -> None:
    client, _, (one, two, three) = compared
    peak = _json(client, urls.compare(one, three))["peak"]
    assert peak["a"]["bytes"] != peak["b"]["bytes"] > 0
    same = _json(client, urls.compare(one, two))["peak"]
    assert same["a"]["bytes"] == same["b"]["bytes"]
    assert _json(client, urls.run(one))["environment"]["versions"]["Triton"] == "3.6.0"


def test_compile_times_say_what_they_sum(compared: tuple[TestClient, Settings, Runs]) -> None:
    client, _, (one, _, three) = compared
    page = _json(client, urls.compare(one, three))
    took = [seconds(page["compiling"][f"{side}_seconds"]) for side in "ab"]
    (said,) = [line["text"] for line in page["said"] if line["label"] == "compile time"]
    assert f"{took[0]} in A, {took[1]} in B from start to end; of the work in them, " in said
    table = re.sub(r"<[^>]+>", "|", one_line(client.get(urls.compare(one, three)).text))
    assert re.search(f"the compiles, from start to end\\|+{took[0]}\\|+{took[1]}", table)


def test_a_run_beside_itself_is_one_line(compared: tuple[TestClient, Settings, Runs]) -> None:
    client, _, (one, _, _) = compared
    page = _json(client, urls.compare(one, one))
    assert [line["text"] for line in page["said"]] == ["This is one run: nothing differs."]
    assert "<h2" not in client.get(urls.compare(one, one)).text


def test_ticked_runs_lead_to_a_comparison_or_a_table(
    compared: tuple[TestClient, Settings, Runs],
) -> None:
    client, _, runs = compared
    assert f'value="{runs[0]}" form="compare"' in client.get("/").text
    chosen = _json(client, urls.compare(runs[0]))
    assert [run["id"] for run in chosen["offered"]] == [runs[1], runs[2]]  # its name first
    two = client.get("/compare", params={"run": runs[:2]})
    assert two.headers["location"] == urls.compare(*runs[:2])
    table = client.get("/api/compare", params={"run": runs}).json()
    graphs = next(row for row in table["figures"] if row["name"] == "Graphs")
    assert [value["odd"] for value in graphs["values"]] == [False, False, True]
    assert client.get("/compare", params={"run": runs}).text.count('title="Stands out') >= 1
    assert client.get("/api/compare", params={"run": ["0" * 16]}).status_code == 404
    assert client.get("/api/compare", params={"run": ["x"]}).status_code == 422


def test_a_history_has_every_run_of_a_name_and_follows_a_kernel(
    compared: tuple[TestClient, Settings, Runs],
) -> None:
    client, _, (one, two, _) = compared
    assert [row["name"] for row in _json(client, urls.history())["names"]] == ["dynamic", "foo1"]
    page = _json(client, urls.history(name="foo1", figure="kernels"))
    assert [(run["id"], run["value"]) for run in page["runs"]] == [(one, 1), (two, 1)]
    assert (page["title"], page["known"], page["changes"]) == ("Kernels", 2, [])
    (graph,) = _json(client, urls.compare(one, two))["graphs"]
    kernel = f"{one}/{graph['a']}/triton_poi_fused_maximum_neg_0"
    followed = _json(client, urls.history(kernel=kernel))["runs"]
    assert [run["kernel"] for run in followed] == [
        "triton_poi_fused_maximum_neg_0", "triton_poi_fused_maximum_neg_7",
    ]  # fmt: skip
    assert {run["change"] for run in followed} == {"same code"}
    single = one_line(client.get(urls.history(name="dynamic", figure="graphs")).text)
    assert "One run of dynamic so far. The next capture" in single
    names = one_line(client.get(urls.history(figure="eager_ms")).text)
    assert "No name has two runs with this figure so far" in names
    assert "1 name without this figure" in names
    assert "Median before" not in names
    assert "Median before" in client.get(urls.history(figure="kernels")).text
    assert "No run of nobody" in client.get(urls.history(name="nobody")).text
    assert "No run of tag none" in client.get(urls.history(tag="none")).text
    for wrong in (urls.history(name="foo1", figure="x"), urls.history(kernel=f"{one}/x/y")):
        assert client.get(urls.api(wrong)).status_code == 404
    assert f'"{urls.compare(one, two)}"' in client.get(urls.run(two)).text


def test_the_command_prints_markdown_or_json(
    compared: tuple[TestClient, Settings, Runs],
) -> None:
    from inductorscope.cli.commands.text import diff

    assert diff  # importing it registers the command
    client, settings, (one, two, _) = compared
    asked = ["diff", one[:8], two[:8], "--data", str(settings.data)]
    printed = CliRunner().invoke(app, asked)
    assert printed.exit_code == 0, printed.output
    assert printed.stdout in client.get(urls.markdown(urls.compare(one, two))).text
    assert "| configuration | `functorch.debug_partitioner` | `True` | `False` |" in printed.stdout
    assert '"said"' in CliRunner().invoke(app, [*asked, "--json"]).stdout
