"""Runs of profiler traces alone: the pages show what the traces say."""

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from html import unescape
from typing import Any

import pytest
from inductorscope import urls
from inductorscope.cli.local import read_paths
from inductorscope.reading.run import ReadResult
from inductorscope.settings import Settings
from starlette.testclient import TestClient

from tests.support.html import one_line
from tests.support.run_kinds import KINDS

SECOND = "rank1/compiled.json.gz"
"""Label of the second of two traces of one name."""
DEVICE_US = {"compiled": 1.952, "eager": 8.64}
"""Device time of the fixture's traces, summed from their events."""

Runs = dict[str, ReadResult]


@pytest.fixture(scope="module")
def traces(
    tmp_path_factory: pytest.TempPathFactory,
    opened: Callable[..., AbstractContextManager[TestClient]],
) -> Iterator[tuple[TestClient, Runs]]:
    settings = Settings(data=tmp_path_factory.mktemp("traces") / "data", database_url="")
    runs: Runs = {}
    for kind in (
        "trace of a GPU", "trace of a processor", "two traces of one name", "trace without events",
        "code and a trace of another program",
    ):  # fmt: skip
        folder = tmp_path_factory.mktemp("kind")
        KINDS[kind](folder)
        runs[kind] = read_paths(
            settings, [folder], name=kind, tags=[], origin="ingest",
            progress=lambda step, done, total, unit: None,
        )  # fmt: skip
    with opened(settings) as client:
        yield client, runs


def answer(traces: tuple[TestClient, Runs], kind: str, path: str = "") -> Any:
    client, runs = traces
    found = client.get(f"/api/runs/{runs[kind].run_id}{path}")
    assert found.status_code == 200
    return found.json()


def html(traces: tuple[TestClient, Runs], kind: str, path: str = "") -> str:
    client, runs = traces
    found = client.get(f"/runs/{runs[kind].run_id}{path}")
    assert found.status_code == 200
    return str(found.text)


def test_it_is_said_what_was_read(traces: tuple[TestClient, Runs]) -> None:
    _, runs = traces
    assert runs["trace of a GPU"].read == "1 profiler trace with 90 events"
    assert runs["two traces of one name"].read == "2 profiler traces with 194 events"
    both = runs["code and a trace of another program"].read
    assert both.startswith("1 graph with 1 generated kernel, 1 profiler trace with ")


def test_the_overview_has_the_figures_of_the_trace(traces: tuple[TestClient, Runs]) -> None:
    page = answer(traces, "trace of a GPU")
    assert page["verdict"]["label"] == "device 0.6\u202f% busy"
    assert page["profile"]["breakdown"]["total_us"] == pytest.approx(DEVICE_US["compiled"])
    (kernel,) = page["trace_kernels"]
    assert kernel["name"] == "triton_poi_fused_maximum_neg_0"
    assert kernel["time_us"] == pytest.approx(DEVICE_US["compiled"])
    assert sum(part["share"] for part in page["categories"]) == pytest.approx(1)
    text = html(traces, "trace of a GPU")
    for words in ("Device time", "Device busy", "Longest wait", "idle: inside compiled code"):
        assert words in text
    assert answer(traces, "trace of a GPU", "/kernels")["time_of"] == "whole trace"
    assert "of the whole trace" in html(traces, "trace of a GPU", "/kernels")
    assert "no timings" not in text
    assert "per step" not in text.partition("Longest wait")[0]  # its steps are not marked


def test_the_list_says_how_busy_the_device_was(traces: tuple[TestClient, Runs]) -> None:
    client, runs = traces
    rows = {row["id"]: row for row in client.get("/api/").json()["runs"]}
    labels = {kind: rows[run.run_id]["verdict"]["label"] for kind, run in runs.items()}
    assert labels["trace of a GPU"] == "device 0.6\u202f% busy"
    assert labels["trace of a processor"].startswith("thread ")
    assert labels["trace without events"] == "no timings"
    assert rows[runs["trace of a processor"].run_id]["device_kind"] == "cpu"


def test_operators_of_a_processor(traces: tuple[TestClient, Runs]) -> None:
    page = answer(traces, "trace of a processor")
    names = {row["name"] for row in page["trace_kernels"]}
    assert "aten::mm" in names
    assert page["profile"]["steps"] == 3
    text = html(traces, "trace of a processor", "/time")
    assert "Operators of the trace" in text
    assert "the slowest, per step" in one_line(text)


def test_two_traces_each_have_their_figures(traces: tuple[TestClient, Runs]) -> None:
    page = answer(traces, "two traces of one name")
    assert page["profile_labels"] == ["compiled", SECOND]
    for label, us in (("compiled", DEVICE_US["compiled"]), (SECOND, DEVICE_US["eager"])):
        asked = urls.with_query("/time", profile=label)
        time = answer(traces, "two traces of one name", asked)
        assert time["shown"]["label"] == label
        assert time["shown"]["breakdown"]["total_us"] == pytest.approx(us)
        kernels = sum(row["time_us"] for row in time["trace_kernels"])
        assert kernels == pytest.approx(us)
        assert f'title="{label}" aria-current="page"' in html(
            traces, "two traces of one name", asked
        )


def test_another_profile_than_that_of_the_code_shows_its_own_figures(filled: TestClient) -> None:
    run = filled.get("/api/").json()["runs"][0]["id"]
    whole = filled.get(urls.time(run)).text
    assert 'data-testid="lines"' in whole
    assert 'data-testid="trace-kernels"' not in whole
    eager = filled.get(urls.time(run, profile="eager")).text
    assert 'data-testid="lines"' not in eager
    assert 'data-testid="trace-kernels"' in eager
    (events,) = re.findall(r'href="([^"]+)">every\s+event', eager)
    assert filled.get(unescape(events)).status_code == 200


def test_code_that_the_trace_does_not_explain_keeps_its_graphs(
    traces: tuple[TestClient, Runs],
) -> None:
    page = answer(traces, "code and a trace of another program")
    assert page["kernel_time_us"] is None
    assert page["trace_kernels"]
    text = html(traces, "code and a trace of another program")
    assert 'data-testid="graphs"' in text
    assert 'data-testid="trace-kernels"' in text


def test_the_roofline_says_that_it_needs_the_code(traces: tuple[TestClient, Runs]) -> None:
    assert "No kernel's bytes are known" in html(traces, "trace of a GPU", "/roofline")


@pytest.mark.parametrize("tab", ["explorer", "memory"])
def test_pages_of_graphs_say_how_to_get_one(traces: tuple[TestClient, Runs], tab: str) -> None:
    text = html(traces, "trace of a GPU", f"/{tab}")
    assert "No compiled graph in these files" in text
    assert "TORCH_COMPILE_DEBUG=1" in text
    client, runs = traces
    run = runs["code and a trace of another program"].run_id
    assert client.get(f"/runs/{run}/{tab}").status_code == 302
