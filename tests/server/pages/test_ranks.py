"""Ranks of a real, healthy job with a straggler, which sleeps 20 ms before each step."""

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
    with opened(settings) as client:
        yield Job(client, whole, traces, missing, changed, launches)


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
