"""Ranks of a real, healthy job with a straggler, which sleeps 20 ms before each step."""

import json
import re
import tarfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from inductorscope import urls
from inductorscope.cli.local import read_paths
from inductorscope.settings import Settings
from inductorscope.units import microseconds
from starlette.testclient import TestClient

from tests.support.html import one_line

SLEPT_US = 20_000
STRAGGLER = 5


@dataclass(frozen=True)
class Job:
    """Runs of a job's files, and a client that shows them."""

    client: TestClient
    whole: str
    traces: str
    """Without its logs."""
    missing: str
    """Of another job, where rank 2 skips a collective."""
    changed: str
    """Ranks 0 and 5 alone, where rank 5 compiled another function."""
    launches: str
    """Traces of ranks 0 and 5, and another one of each."""
    overlapped: dict[str, str]
    """Of rank 0 of three programs that torch 2.11 compiled with its overlap pass for an H200."""
    folder: Path
    """Of their files."""

    def ranks(self, run: str) -> Any:
        return self.client.get("/api" + urls.compile_part(run, "ranks")).json()


@pytest.fixture(scope="module")
def job(
    fixtures: Path,
    tmp_path_factory: pytest.TempPathFactory,
    opened: Callable[..., AbstractContextManager[TestClient]],
) -> Iterator[Job]:
    settings = Settings(data=tmp_path_factory.mktemp("ranks") / "data", database_url="")

    def unpacked(name: str) -> Path:
        folder = tmp_path_factory.mktemp("ranks")
        with tarfile.open(fixtures / "ranks" / name) as files:
            files.extractall(folder, filter="data")
        return folder

    def read(*paths: Path) -> str:
        return read_paths(
            settings, list(paths), name="ranks", tags=[], origin="ingest",
            progress=lambda step, done, total, unit: None,
        ).run_id  # fmt: skip

    folder = unpacked("straggler.tar.xz")
    whole, traces = read(folder), read(*sorted(folder.rglob("*.trace.json")))
    (log,) = folder.rglob("*rank_5_*.log")
    log.write_text(log.read_text().replace("torch.relu(", "torch.tanh("))
    changed = read(*folder.rglob("*rank_[05]_*.log"), *folder.rglob("rank[05].trace.json"))
    again = tmp_path_factory.mktemp("again")
    for trace in folder.rglob("rank[05].trace.json"):
        (again / trace.name).write_text(trace.read_text() + "\n")
    launches = read(*folder.rglob("rank[05].trace.json"), again)
    missing = read(unpacked("missing-collective.tar.xz"))
    folder = unpacked("overlap.tar.xz")
    overlapped = {part.name: read(part) for part in folder.iterdir()}
    with opened(settings) as client:
        yield Job(client, whole, traces, missing, changed, launches, overlapped, folder)


def test_ranks_of_a_healthy_job_do_not_differ(job: Job) -> None:
    page = job.ranks(job.whole)
    assert [row["rank"] for row in page["ranks"]] == list(range(8))
    assert page["differences"] == []
    assert page["same"]
    page = job.client.get(urls.compile_part(job.whole, "ranks")).text
    assert "compiled the same graphs" in one_line(page)


def test_the_straggler_is_named(job: Job) -> None:
    """It is late to the first collective of each step, by at least what it slept."""
    late = job.ranks(job.whole)["late"]
    slept = [row["call"] for row in late["rows"] if row["call"]["late_us"] > SLEPT_US * 0.9]
    assert {call["last"] for call in slept} == {STRAGGLER}
    assert sorted(call["number"] for call in slept) == [1, 4, 7]
    assert {call["name"] for call in slept} == {"all_reduce"}
    assert all(row["compile"] is not None and not row["differs"] for row in late["rows"])
    lengths = [row["call"]["late_us"] for row in late["rows"]]
    assert lengths == sorted(lengths, reverse=True)
    assert late["lateness"]["ranks"][0]["rank"] == STRAGGLER
    assert late["lateness"]["clocks"] == "host"
    assert late["lateness"]["parting"] == []


def test_traces_of_other_launches_are_not_passed_over_silently(job: Job) -> None:
    assert job.ranks(job.whole)["late"]["further"] == 0
    assert job.ranks(job.launches)["late"]["further"] == 2
    page = one_line(job.client.get(urls.compile_part(job.launches, "ranks")).text)
    assert "The first of each is compared; 2 other ones are not." in page


def test_a_late_rank_that_compiled_something_else(job: Job) -> None:
    rows = job.ranks(job.changed)["late"]["rows"]
    page = job.client.get(urls.compile_part(job.changed, "ranks")).text
    table = page[page.index('data-testid="ranks"') :].partition("</thead>")[0].lower()
    heads = re.findall(r">([a-z][a-z ]+)<", table)
    assert any(head.startswith("in ") for head in heads)
    assert len(heads) == len(set(heads))
    assert rows[0]["call"]["last"] == STRAGGLER
    assert rows[0]["differs"] == "dynamo_output_graph of compile 0/0 differs"


def _spent(trace: Path) -> list[list[tuple[float, float]]]:
    """From the events themselves: of each call of the graph the length of each collective, and
    how much of that a kernel ran, counted in tenths of a µs."""
    events = [event for event in json.loads(trace.read_bytes())["traceEvents"] if "dur" in event]
    kernels: set[int] = set()
    for event in events:
        if event["cat"] == "kernel":
            kernels.update(range(round(event["ts"] * 10), round((event["ts"] + event["dur"]) * 10)))
    works = sorted(
        (event["ts"], event["dur"]) for event in events
        if event["name"] == "gloo:all_reduce" and event["cat"] == "user_annotation"
    )  # fmt: skip
    times = [
        (us, sum(moment in kernels for moment in range(round(ts * 10), round((ts + us) * 10))) / 10)
        for ts, us in works
    ]
    size = len(times) // 3
    return [times[first : first + size] for first in range(0, len(times), size)]


@pytest.mark.parametrize("name", ["moved", "joined"])
def test_what_torch_expected_of_collectives_beside_the_trace(job: Job, name: str) -> None:
    (graph,) = job.ranks(job.overlapped[name])["overlaps"]
    assert (graph["rank"], graph["compile"], graph["compile_id"]) == (0, 0, "0/0")
    calls = _spent(job.folder / name / "rank0.json")
    assert graph["calls"] == len(calls) == 3
    for row, times in zip(graph["rows"], zip(*calls, strict=True), strict=True):
        assert row["traced_us"] == pytest.approx(sum(us for us, _ in times) / 3)
        assert row["traced_hidden_us"] == pytest.approx(sum(us for _, us in times) / 3, abs=2)
        assert row["traced_hidden_us"] <= row["traced_us"]
    page = one_line(job.client.get(urls.compile_part(job.overlapped[name], "ranks")).text)
    said = graph["verdict"].replace("torch", "Torch", 1)
    assert f"{said} <span" in page
    assert "(mean of 3 calls)" in page
    total = sum(sum(us for us, _ in call) for call in calls) / 3
    assert f"the trace has {microseconds(total)} of communication in a call" in graph["verdict"]


def test_times_that_torch_expected(job: Job) -> None:
    """The pass had 1331 µs for each matrix product and 720.5 µs for each collective; nothing is
    multiplied after the last one starts."""
    (moved,) = job.ranks(job.overlapped["moved"])["overlaps"]
    assert [(row["name"], row["op"], row["done"]) for row in moved["rows"]] == [
        ("all_reduce", "all_reduce", "8 → 3 operations before its wait"),
        ("all_reduce_1", "all_reduce", "7 → 7 operations before its wait"),
        ("all_reduce_2", "all_reduce", "6 → 6 operations before its wait"),
        ("all_reduce_3", "all_reduce", "5 → 5 operations before its wait"),
    ]
    assert [row["expected_us"] for row in moved["rows"]] == [pytest.approx(720.5)] * 4
    assert [row["expected_hidden_us"] for row in moved["rows"]] == [*[pytest.approx(720.5)] * 3, 0]
    expected, hidden = microseconds(4 * 720.5), microseconds(3 * 720.5)
    assert moved["verdict"].startswith(
        f"torch expected {expected} of communication in a call, {hidden} of it hidden; the trace "
    )
    (joined,) = job.ranks(job.overlapped["joined"])["overlaps"]
    (row,) = joined["rows"]
    assert row["done"] == (
        "all_reduce, all_reduce_1, all_reduce_2 and 1 more joined; 7 operations before its wait"
    )
    assert row["expected_us"] == row["expected_hidden_us"] == pytest.approx(4 * 13.4)


def test_collectives_that_torch_moved_without_a_trace(job: Job) -> None:
    (graph,) = job.ranks(job.overlapped["untraced"])["overlaps"]
    assert graph["calls"] == 0
    assert [(row["op"], row["traced_us"]) for row in graph["rows"]] == [
        ("all_gather", None), ("all_gather", None), ("all_gather", None), ("all_reduce", None),
    ]  # fmt: skip
    assert graph["rows"][2]["done"] == (
        "all_gather_into_tensor_2, all_gather_into_tensor_3 joined; 3 operations before its wait"
    )
    assert graph["rows"][2]["expected_us"] == pytest.approx(2 * 541.7)
    page = one_line(job.client.get(urls.compile_part(job.overlapped["untraced"], "ranks")).text)
    assert "no trace of this rank shows these collectives." in page
    for run in (job.whole, job.traces):
        assert job.ranks(run)["overlaps"] == []
        page = job.client.get(urls.compile_part(run, "ranks")).text
        assert "that torch moved" not in page


def test_a_missing_collective_comes_first(job: Job) -> None:
    """The graphs, the guards and the code differ as well."""
    page = job.ranks(job.missing)
    assert page["first_difference"]["text"] == (
        "in compile 0/0, rank 2 lacks reduce_scatter_tensor, which rank 0 runs as collective 2"
    )
    assert {"collectives", "graphs", "code"} <= {apart["area"] for apart in page["differences"]}
    text = job.client.get(urls.compile_part(job.missing, "ranks")).text
    assert '<span class="chip bad">ranks hang</span>' in text


def test_a_missing_collective_is_a_failure_everywhere(job: Job) -> None:
    run = job.client.get(f"/api{urls.run(job.missing)}").json()
    lacks = "rank 2 lacks reduce_scatter_tensor, which rank 0 runs as collective 2"
    first = run["diagnosis"]["causes"][0]
    assert lacks in first["what"]
    assert (first["kind"], first["urgent"]) == ("failure", True)
    assert run["verdict"]["level"] == "bad"
    assert lacks in run["verdict"]["text"]
    whole = job.client.get(f"/api{urls.run(job.whole)}").json()
    assert all(cause["kind"] != "failure" for cause in whole["diagnosis"]["causes"])


def test_traces_without_logs(job: Job) -> None:
    text = job.client.get(urls.compile_part(job.traces, "ranks")).text
    assert f"Rank {STRAGGLER} comes last to" in one_line(text)
    assert "No compiles in this run" not in text
    assert "Which rank is late to collectives?" in job.client.get(urls.time(job.traces)).text


def test_without_traces_of_ranks_the_page_says_how_to_get_them(filled: TestClient) -> None:
    run = filled.get("/api/").json()["runs"][0]["id"]
    page = filled.get("/api" + urls.compile_part(run, "ranks")).json()
    assert page["late"] is None
    assert "export_chrome_trace" in filled.get(urls.compile_part(run, "ranks")).text


def test_a_rank_that_failed_is_marked_and_is_no_reference(
    own_settings: Settings, client: TestClient, shared: Path
) -> None:
    """Only rank 2 failed. Each rank has a compile 0/0."""
    folder = shared / "traces" / "logs" / "multi_rank_logs"
    run = read_paths(
        own_settings, [folder], name=None, tags=[], origin="ingest",
        progress=lambda step, done, total, unit: None,
    ).run_id  # fmt: skip
    page = client.get("/api" + urls.compile_part(run, "ranks")).json()
    two, three = page["ranks"]
    assert (page["first"], two["failed"], three["failed"]) == (3, 1, 0)
    assert (two["areas"]["failures"], three["areas"]) == (1, {})
    assert page["first_difference"]["text"] == (
        "as 0/0, rank 3 compiled kernel (gen_many_frames.py:6); "
        "rank 2 failed to compile fn (test_misc.py:10755)"
    )
    table = one_line(client.get(urls.compile_part(run, "ranks")).text)
    assert '<span class="chip bad">1 failed</span> of 1</td>' in table
    (failure,) = client.get("/api" + urls.failures(run)).json()["failures"]
    assert failure["on"] == "It failed on rank 2."
    assert failure["on"] in client.get(urls.failures(run)).text
    assert failure["on"] in client.get(urls.run(run)).text
    story = client.get("/api" + urls.compile_story(run)).json()
    assert any("1 compile failed on rank 2" in "".join(part["text"] for part in row["parts"])
               for row in story["said"])  # fmt: skip
