"""The pages of times: what they say sums up, and every table opens."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from inductorscope import urls
from inductorscope.cli.local import read_paths
from inductorscope.settings import Settings
from inductorscope.store.database.engine import make_engine, sessions
from inductorscope.store.tables.models import Run
from starlette.testclient import TestClient

from tests.support.html import one_line


@pytest.fixture(scope="module")
def trained(
    tmp_path_factory: pytest.TempPathFactory,
    shared: Path,
    opened: Callable[..., AbstractContextManager[TestClient]],
) -> Iterator[tuple[TestClient, dict[str, str]]]:
    """Training on a GPU and on a CPU, with the profiles that modules made of themselves."""
    settings = Settings(data=tmp_path_factory.mktemp("times") / "data", database_url="")
    for name in ("cuda-gpt-train", "cpu-gpt-train"):
        read_paths(
            settings, [shared / "traces" / name], name=name, tags=[], origin="ingest",
            progress=lambda step, done, total, unit: None,
        )  # fmt: skip
    with opened(settings) as client:
        runs = client.get("/api/").json()["runs"]
        yield client, {run["name"]: run["id"] for run in runs}


def page_of(trained: tuple[TestClient, dict[str, str]], name: str) -> dict[str, Any]:
    client, runs = trained
    found = client.get(f"/api/runs/{runs[name]}/time").json()
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("name", ["cuda-gpt-train", "cpu-gpt-train"])
def test_costs_of_lines_sum_to_the_kernels(
    trained: tuple[TestClient, dict[str, str]], name: str
) -> None:
    page = page_of(trained, name)
    whole = page["kernel_time_us"]
    assert sum(line["shared_us"] for line in page["source_lines"]) == pytest.approx(whole)
    assert all(line["time_us"] >= line["shared_us"] - 1e-9 for line in page["source_lines"])
    assert sum(tile["us"] for tile in page["map"] if not tile["parent"]) == pytest.approx(whole)
    tiles = {tile["id"]: tile["us"] for tile in page["map"]}
    for parent in {tile["parent"] for tile in page["map"]} - {""}:
        inside = sum(tile["us"] for tile in page["map"] if tile["parent"] == parent)
        assert inside == pytest.approx(tiles[parent]), parent
    assert all(line["path"].endswith("models.py") for line in page["source_lines"][:3])


def test_how_much_a_step_varies_is_said_where_it_is_known(
    filled: TestClient, filled_settings: Settings
) -> None:
    run = filled.get("/api/").json()["runs"][0]["id"]
    engine = make_engine(filled_settings)
    with sessions(engine).begin() as session:
        row = session.get_one(Run, run)
        before = row.eager_ms, row.compiled_ms, row.timings
        row.eager_ms, row.compiled_ms = None, 2.5
        row.timings = {"compiled": {"p10": 2.0, "p90": 3.0}, "eager": "unknown"}
    try:
        text = one_line(filled.get(f"/runs/{run}/time").text)
    finally:
        with sessions(engine).begin() as session:
            row = session.get_one(Run, run)
            row.eager_ms, row.compiled_ms, row.timings = before
        engine.dispose()
    assert "2.50 ms per step compiled (8 of 10 took 2.00 ms to 3.00 ms)" in text.replace(
        "\u202f", " "
    )


def test_kernels_say_what_their_times_are_of_and_leave_out(
    trained: tuple[TestClient, dict[str, str]],
) -> None:
    client, runs = trained
    run = runs["cuda-gpt-train"]
    page = client.get(f"/api/runs/{run}/kernels").json()
    whole = page_of(trained, "cuda-gpt-train")["shown"]
    assert page["time_of"] == "step"
    of_trace = sum(part["us"] for part in whole["breakdown"]["categories"])
    assert page["time_us"] + page["unattributed_us"] == pytest.approx(of_trace / whole["by"])
    assert "compiled code did not launch" in client.get(f"/runs/{run}/kernels").text
    kernel = next(
        row for row in page["kernels"] if "backward" in row["name"] and "forward" in row["graph"]
    )
    own = f"/runs/{run}/graphs/{kernel['graph']}/kernels/{kernel['name']}:{kernel['handle']}"
    assert "torch moved nodes" in client.get(own).text
    assert "output or saved" in client.get(f"/runs/{run}/graphs/{kernel['graph']}/memory").text
    assert ">Verdict<" in client.get(f"/runs/{run}/time").text
    assert ">Verdict<" not in client.get(f"/runs/{runs['cpu-gpt-train']}/time").text


@pytest.mark.parametrize("name", ["cuda-gpt-train", "cpu-gpt-train"])
def test_the_heat_of_lines_is_what_the_page_of_times_says(
    trained: tuple[TestClient, dict[str, str]], name: str
) -> None:
    client, runs = trained
    graph = client.get(f"/api/runs/{runs[name]}").json()["graphs"][0]["slug"]
    files = client.get(f"/api/runs/{runs[name]}/graphs/{graph}/heat").json()["files"]
    heat = {
        (file["path"], line): (time, share)
        for file in files
        for line, time, share in zip(file["lines"], file["time_us"], file["share"], strict=True)
    }
    told = {
        (line["path"], line["line"]): (line["time_us"], line["share"])
        for line in page_of(trained, name)["source_lines"]
        if line["path"] is not None
    }
    assert heat
    assert heat == told
    # A line's time is that of all graphs, and the explorer opens on the line that is dearest here.
    here = {
        (file["path"], line): graphs.get(graph, 0.0)
        for file in files
        for line, us, graphs in zip(file["lines"], file["shared_us"], file["graphs"], strict=True)
        if sum(graphs.values()) == pytest.approx(us)
    }
    assert here.keys() == heat.keys()
    opens = client.get(f"/api/runs/{runs[name]}/graphs/{graph}/explorer").json()["opens"]
    assert here[opens["path"], opens["line"]] == max(here.values()) > 0
    missing = client.get(f"/api/runs/{runs[name]}/graphs/nothing_0/heat")
    assert missing.status_code == 404


@pytest.mark.parametrize("name", ["cuda-gpt-train", "cpu-gpt-train"])
def test_groups_sum_to_the_profiles(trained: tuple[TestClient, dict[str, str]], name: str) -> None:
    page = page_of(trained, name)
    profiles = {profile["label"]: profile for profile in page["profiles"]}
    both = profiles["compiled"]["facts"]["comparison"]
    for side in ("eager", "compiled"):
        total = profiles[side]["facts"]["breakdown"]["total_us"] / both["steps"]
        assert both[f"{side}_us"] == pytest.approx(total)
        assert sum(group[f"{side}_us"] for group in both["groups"]) == pytest.approx(total)
    fused = {group["group"]: group for group in both["groups"]}["element-wise, reductions, copies"]
    assert fused["eager_us"] > fused["compiled_us"] > 0
    client, runs = trained  # Kernels sums a call with the copies inside it
    assert "a copy inside a convolution counts as a copy" in one_line(
        client.get(urls.time(runs[name])).text
    )


def test_busy_by_both_definitions(trained: tuple[TestClient, dict[str, str]]) -> None:
    """A module that profiled itself says the same over the wall as its own log."""
    page = page_of(trained, "cuda-gpt-train")
    backward = next(profile for profile in page["profiles"] if "backward" in profile["label"])
    assert backward["over_wall"] == pytest.approx(0.2654, abs=1e-4)
    assert (backward["steps"], backward["wall_us"]) == (100, 1546)
    assert backward["facts"]["attributed_us"] > 0.98 * backward["facts"]["kernel_us"]


@pytest.mark.parametrize("of", ["lines", "nodes", "trace", "rows"])
@pytest.mark.parametrize("name", ["cuda-gpt-train", "cpu-gpt-train"])
def test_tables_open(trained: tuple[TestClient, dict[str, str]], name: str, of: str) -> None:
    client, runs = trained
    for number, profile in enumerate(page_of(trained, name)["profiles"]):
        asked = f"/runs/{runs[name]}/time/table?of={of}&profile={profile['id']}"
        found = client.get(f"/api{asked}").json()
        assert found["total"] >= len(found[of]) > 0
        for sort in found["sorts"] if number == 0 else ():
            for order in ("asc", "desc"):
                answer = client.get(f"{asked}&sort={sort}&order={order}")
                assert answer.status_code == 200
                assert 'data-testid="rows"' in answer.text
        assert 'data-testid="rows"' in client.get(asked).text
        assert "Nothing matches" in client.get(f"{asked}&q=nothing-of-this-name").text
    assert client.get(f"/runs/{runs[name]}/time").status_code == 200


def test_pages_of_a_table_follow_one_another(
    trained: tuple[TestClient, dict[str, str]],
) -> None:
    client, runs = trained
    address = f"/api/runs/{runs['cuda-gpt-train']}/time/table?of=nodes"
    seen: list[tuple[str, str]] = []
    first = client.get(address).json()
    for start in range(0, first["total"], first["page"]):
        rows = client.get(f"{address}&first={start}").json()["nodes"]
        seen += [(row["graph"], row["name"]) for row in rows]
    assert len(set(seen)) == len(seen) == first["total"]


def test_a_profile_of_another_run(trained: tuple[TestClient, dict[str, str]]) -> None:
    client, runs = trained
    other = page_of(trained, "cpu-gpt-train")["profiles"][0]["id"]
    answer = client.get(f"/api/runs/{runs['cuda-gpt-train']}/time/table?of=trace&profile={other}")
    assert answer.status_code == 404
    assert "has no profile" in answer.json()["error"]["what"]


def test_a_kernel_opens_on_its_dearest_call(trained: tuple[TestClient, dict[str, str]]) -> None:
    client, runs = trained
    run = f"/api/runs/{runs['cuda-gpt-train']}"
    rows = client.get(f"{run}/kernels").json()["kernels"]
    several = [row for row in rows if row["calls"] > 1]
    assert several
    for row in several:
        of = f"{run}/graphs/{row['graph']}/kernels/{row['name']}:{row['handle']}"
        page = client.get(of).json()
        times = [call["time"]["time_us"] for call in page["calls"]]
        assert page["call"]["time"]["time_us"] == max(times), row["name"]


def test_kernels_of_less_than_a_wave_are_listed(trained: tuple[TestClient, dict[str, str]]) -> None:
    client, runs = trained
    run = runs["cuda-gpt-train"]
    page = client.get(f"/api/runs/{run}/kernels?order=waves").json()
    waves = [row["waves"] for row in page["kernels"] if row["waves"] is not None]
    assert waves == sorted(waves)
    link = f"/runs/{run}/kernels?fill=part&amp;order=waves"
    assert link in client.get(f"/runs/{run}/kernels").text
    part = client.get(f"/api/runs/{run}/kernels?fill=part&order=waves").json()["kernels"]
    assert len(part) == page["under_a_wave"] == sum(wave < 1 for wave in waves) < len(waves)


def test_kernels_of_equal_graphs_are_one_row(
    tmp_path: Path, fixtures: Path, opened: Callable[..., AbstractContextManager[TestClient]]
) -> None:
    """Four layers, compiled one by one to the same code."""
    settings = Settings(data=tmp_path, database_url="")
    read = read_paths(
        settings, [fixtures / "equal-layers.tar.xz"], name="layers", tags=[], origin="ingest",
        progress=lambda *_: None,
    )  # fmt: skip
    with opened(settings) as client:
        page = client.get(f"/api/runs/{read.run_id}/kernels").json()
        rows = page["kernels"]
        assert [row["equal"] for row in rows] == [4] * 3
        assert page["all_count"] == 12
        assert rows[0]["calls"] == 4
        assert sum(row["time_us"] or 0 for row in rows) == pytest.approx(page["time_us"])
        assert "\u00d7 4</span>" in client.get(f"/runs/{read.run_id}/kernels").text
        own = client.get(f"/api/runs/{read.run_id}/kernels?graph={rows[0]['graph']}").json()
        assert [row["equal"] for row in own["kernels"]] == [1] * 3
        assert rows[0]["time_us"] > own["kernels"][0]["time_us"]
