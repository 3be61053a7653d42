"""Ranks of a real, healthy job with a straggler, which sleeps 20 ms before each step."""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from inductorscope import urls
from inductorscope.cli.local import read_paths
from inductorscope.settings import Settings
from starlette.testclient import TestClient

SLEPT_US = 20_000
STRAGGLER = 5


@pytest.fixture(scope="module")
def job(
    fixtures: Path,
    tmp_path_factory: pytest.TempPathFactory,
    opened: Callable[..., AbstractContextManager[TestClient]],
) -> Iterator[tuple[TestClient, str, str]]:
    """The job with its logs, and its traces alone."""
    settings = Settings(data=tmp_path_factory.mktemp("ranks") / "data", database_url="")
    folder = tmp_path_factory.mktemp("traces")

    def read(*paths: Path) -> str:
        return read_paths(
            settings, list(paths), name="ranks", tags=[], origin="ingest",
            progress=lambda step, done, total, unit: None,
        ).run_id  # fmt: skip

    with tarfile.open(fixtures / "ranks" / "straggler.tar.xz") as files:
        files.extractall(folder, filter="data")
    whole, alone = read(folder), read(*sorted(folder.rglob("*.trace.json")))
    with opened(settings) as client:
        yield client, whole, alone


def test_ranks_of_a_healthy_job_do_not_differ(job: tuple[TestClient, str, str]) -> None:
    client, run, _ = job
    page = client.get("/api" + urls.compile_part(run, "ranks")).json()
    assert [row["rank"] for row in page["ranks"]] == list(range(8))
    assert page["aparts"] == []
    assert page["same"]
    assert "compiled the same graphs" in client.get(urls.compile_part(run, "ranks")).text


def test_the_straggler_is_named(job: tuple[TestClient, str, str]) -> None:
    """It is late to the first collective of each step, by at least what it slept."""
    client, run, _ = job
    late = client.get("/api" + urls.compile_part(run, "ranks")).json()["late"]
    slept = [row["call"] for row in late["rows"] if row["call"]["late_us"] > SLEPT_US * 0.9]
    assert {call["last"] for call in slept} == {STRAGGLER}
    assert sorted(call["number"] for call in slept) == [1, 4, 7]
    assert {call["name"] for call in slept} == {"all_reduce"}
    assert all(row["compile"] is not None for row in late["rows"])
    lengths = [row["call"]["late_us"] for row in late["rows"]]
    assert lengths == sorted(lengths, reverse=True)
    assert late["lateness"]["ranks"][0]["rank"] == STRAGGLER
    assert late["lateness"]["clocks"] == "host"
    assert late["lateness"]["parting"] == []


def test_traces_without_logs(job: tuple[TestClient, str, str]) -> None:
    client, _, run = job
    text = client.get(urls.compile_part(run, "ranks")).text
    assert f"Rank {STRAGGLER} comes last to" in text
    assert "No compiles in this run" not in text
    assert "Which rank is late to collectives?" in client.get(urls.time(run)).text


def test_without_traces_of_ranks_the_page_says_how_to_get_them(filled: TestClient) -> None:
    run = filled.get("/api/").json()["runs"][0]["id"]
    page = filled.get("/api" + urls.compile_part(run, "ranks")).json()
    assert page["late"] is None
    assert "export_chrome_trace" in filled.get(urls.compile_part(run, "ranks")).text
