"""The pages about compiling and their twins, on real logs."""

import re
import shutil
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from inductorscope import urls
from inductorscope.answers.compile.rows import work_rows
from inductorscope.cli.local import read_paths
from inductorscope.formats import vocabulary
from inductorscope.formats.capture_facts import (
    CaptureFacts,
    LoopFacts,
    VectorFacts,
)
from inductorscope.settings import Settings
from inductorscope.store.database.engine import make_engine, sessions
from inductorscope.store.tables.models import CompileStory
from inductorscope_server.rendering.filters import FILTERS
from jinja2 import Environment, FileSystemLoader
from sqlalchemy import delete
from starlette.testclient import TestClient

from tests.support.html import one_line, one_of_each

TEMPLATES = Path(__file__).resolve().parents[3] / "frontend" / "templates"
PARTS = ("time", "stacks", "symbols", "ranks", "fusing")


def read(settings: Settings, paths: list[Path], tags: list[str] | None = None) -> str:
    result = read_paths(
        settings, paths, name=None, tags=tags or [], origin="ingest",
        progress=lambda step, done, total, unit: None,
    )  # fmt: skip
    return result.run_id


@pytest.fixture(scope="module")
def run(own_settings: Settings, fixtures: Path) -> str:
    return read(own_settings, [fixtures / "dynamic"], ["watch:0123456789ab"])


@pytest.fixture(scope="module")
def known(run: str, client: TestClient) -> TestClient:
    return client


def api(client: TestClient, address: str) -> Any:
    answer = client.get(f"/api{address}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_the_story_links_to_its_evidence(known: TestClient, run: str) -> None:
    page = api(known, urls.compile_story(run))
    assert page["graphs"] == page["compiles"] == 6
    assert (page["breaks"], page["recompiles"]) == (4, 3)
    printed = page["break_places"][0]
    assert [line["text"] for line in printed["code"] if line["marked"]] == [
        '    print("graph break")'
    ]
    text = known.get(urls.artifact_text(printed["record"])).text
    assert text.startswith("Graph break in user code at /home/user/models/models.py:113")
    step = page["histories"][0]["steps"][1]
    assert (step["failures"][0]["old"], step["failures"][0]["new"]) == ("4", "9")
    assert "size mismatch" in known.get(urls.artifact_text(step["record"])).text


@pytest.mark.parametrize(("seconds", "overlaps"), [(53.8, True), (60.0, False), (None, False)])
def test_sums_of_parallel_work_say_that_they_are_sums(
    seconds: float | None, overlaps: bool
) -> None:
    """Compile time by the clock stands above them, and may be shorter."""
    environment = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True)
    environment.filters.update(FILTERS)
    environment.globals.update(vocabulary=vocabulary, urls=urls)
    rows = work_rows({vocabulary.TUNING: 33.6e6, vocabulary.CACHES: 23.2e6})
    used = (
        '{% import "fragments/_compile_macros.html" as c with context %}{{ c.work(rows, "", s) }}'
    )
    text = environment.from_string(used).render(rows=rows, s=seconds)
    sentence = "56.8\u202fs in all. Work overlaps, so it took 53.8\u202fs by the clock."
    assert (sentence in text) == overlaps


def test_pages_hold_no_style_and_lead_somewhere(known: TestClient, run: str) -> None:
    """They have most links in common."""
    links: dict[str, str] = {}
    for part in ("", "/list", "/3", "/list?only=broken&q=f", *map("/{}".format, PARTS)):
        answer = known.get(urls.compile_story(run) + part)
        assert answer.status_code == 200, part
        assert 'style="' not in answer.text, part
        here = {unescape(link) for link in re.findall(r'href="(/(?!static/)[^"#]*)', answer.text)}
        links |= dict.fromkeys(sorted(here)[:60], part)
    for link in one_of_each(links):
        assert known.get(link).status_code in (200, 302), f"{link} of {links[link]}"


def test_other_shapes_are_forecast(known: TestClient, run: str) -> None:
    address = urls.compile_story(run)
    page = known.get(address, params={"shapes": "x=(5,8),(1,8);flag=2"}).text
    assert "x=(5,8) flag=2: 0/1\n" in unescape(page)
    assert "2 &lt;= x.size(0), and x is (1, 8)" in page
    refused = known.get(f"/api{address}", params={"shapes": "x=f()"}).json()
    assert refused["shapes_problem"].startswith("'x=f()' cannot be read")
    assert refused["forecasts"] == []


def test_compiles_are_filtered_sorted_and_counted(known: TestClient, run: str) -> None:
    everything = api(known, urls.compile_list(run))
    assert [row["ref"]["id"] for row in everything["compiles"]] == [
        "0/0", "1/0", "2/0", "0/1", "1/1", "2/1",
    ]  # fmt: skip
    assert everything["counts"]["broken"] == 4
    slow = api(known, urls.compile_list(run, sort="seconds", order="desc"))
    times = [row["seconds"] for row in slow["compiles"]]
    assert times == sorted(times, reverse=True)
    few = api(known, urls.compile_list(run, q="0/ f", only="recompiled"))
    assert few["total"] == 0 or all(row["recompile"] for row in few["compiles"])
    assert api(known, urls.compile_list(run, q="0/1"))["total"] == 1
    assert api(known, urls.compile_list(run, q="nothing"))["compiles"] == []
    part = known.get(urls.compile_list(run), headers={"hx-request": "true"}).text
    assert part.lstrip().startswith('<div id="compiles"')


def test_a_compile_shows_all_it_left(known: TestClient, run: str) -> None:
    page = api(known, urls.compile_one(run, 3))
    assert page["ref"]["id"] == "0/1"
    assert page["earlier"]["id"] == "0/0"
    whats = [row["what"] for row in page["records"]]
    assert whats.index("dynamo_output_graph") < whats.index("inductor_output_code")
    assert page["guards"]["count"] == 12
    assert page["guards"]["latency_us"] == 27.51
    assert [row["name"] for row in page["symbols"]] == ["s77"]
    assert sum(len(group["metrics"]) + len(group["empty"]) for group in
               page["metrics"][0]["groups"]) > 80  # fmt: skip
    graphs = [row for row in page["records"] if row["before"]]
    assert len(graphs) >= 5
    row = next(row for row in page["records"] if row["what"] == "dynamo_cpp_guards_str")
    difference = api(known, urls.compile_diff(run, row["earlier"], row["artifact"], plain=1))
    changed = [
        line["text"] for hunk in difference["difference"]["hunks"] for line in hunk
        if line["kind"] == "new"
    ]  # fmt: skip
    assert any("size=[None, 8]" in line for line in changed)
    assert known.get(urls.compile_diff(run, row["earlier"], row["artifact"])).status_code == 200


def test_time_adds_up(known: TestClient, run: str) -> None:
    page = api(known, urls.compile_part(run, "time"))
    assert sum(row["share"] for row in page["work"]) == pytest.approx(1)
    assert sum(row["us"] for row in page["work"]) == pytest.approx(page["busy_us"])
    assert page["seconds"] == pytest.approx(2.4257, abs=0.001)
    ends = [span["x_us"] + span["duration_us"] for span in page["spans"]]
    assert max(ends) <= page["span_us"] * 1.001


def test_phases_outside_of_compiles_are_in_the_sum_of_phases(filled: TestClient) -> None:
    """A kernel is autotuned at its first launch, after the compile."""
    run = filled.get("/api/").json()["runs"][0]["id"]
    page = api(filled, urls.compile_part(run, "time"))
    assert sum(row["share"] for row in page["phases"]) == pytest.approx(1)
    whole = page["busy_us"] + page["outside_us"]
    assert sum(row["self_us"] for row in page["phases"]) == pytest.approx(whole)
    (tuning,) = [row for row in page["phases"] if row["name"].endswith("benchmark_all_configs")]
    assert page["outside_us"] == pytest.approx(tuning["self_us"])
    assert "outside of them, such as autotuning" in filled.get(urls.compile_part(run, "time")).text


def test_what_is_not_there_is_said(known: TestClient, run: str) -> None:
    for address in (
        urls.compile_story("0" * 16), urls.compile_one("0" * 16, 0), urls.compile_one(run, 999),
        urls.compile_diff(run, 1, 10**9), urls.compile_list("0" * 16),
        *(urls.compile_part("0" * 16, part) for part in PARTS),
    ):  # fmt: skip
        answer = known.get(f"/api{address}")
        assert answer.status_code == 404, address
        assert answer.json()["error"]["do"]
    for wrong in ("list?page=0", "list?only=x", "list?sort=x", "diff?a=x&b=1"):
        assert known.get(f"/api{urls.compile_story(run)}/{wrong}").status_code == 422, wrong
    for wrong in ("-1", "99999999999", "x"):
        assert known.get(f"/api{urls.compile_story(run)}/{wrong}").status_code == 404, wrong


def test_a_run_of_an_older_version_says_what_is_missing(
    tmp_path: Path, fixtures: Path, opened: Any
) -> None:
    settings = Settings(data=tmp_path / "data", database_url="")
    run = read(settings, [fixtures / "cuda-foo1"])
    with sessions(make_engine(settings)).begin() as session:
        session.execute(delete(CompileStory))
    with opened(settings) as client:
        parts = [urls.compile_part(run, part) for part in PARTS if part != "fusing"]
        for address in (urls.compile_story(run), urls.compile_list(run), *parts):
            answer = client.get(address)
            assert answer.status_code == 200
            assert "an older version read it" in answer.text


def test_a_watched_folder_has_an_address_that_stays(known: TestClient, run: str) -> None:
    assert api(known, urls.watch("0123456789ab"))["run"]["id"] == run
    answer = known.get(urls.watch("0123456789ab"))
    assert (answer.status_code, answer.headers["location"]) == (302, urls.compile_story(run))
    waiting = known.get(urls.watch("ffffffffffff"))
    assert waiting.status_code == 200
    assert "No log yet" in waiting.text
    assert known.get("/watch/x").status_code == 404
    assert "data-watch=" in known.get(urls.compile_story(run)).text


def test_ranks_name_their_first_difference(
    own_settings: Settings, known: TestClient, shared: Path
) -> None:
    logs = shared / "traces" / "logs"
    page = api(
        known, urls.compile_part(read(own_settings, [logs / "multi_rank_schedule"]), "ranks")
    )
    assert [row["rank"] for row in page["ranks"]] == [0, 1, 2]
    assert page["ranks"][2]["same_as"] == 0
    assert page["first_difference"]["text"] == (
        "in compile 0/0, rank 1 lacks reduce_scatter_tensor, which rank 0 runs as collective 3"
    )
    gone = [line["text"] for hunk in page["difference"]["hunks"] for line in hunk
            if line["kind"] == "gone"]  # fmt: skip
    assert '"torch.ops._c10d_functional.reduce_scatter_tensor.default",' in gone
    run = read(own_settings, [logs / "multi_rank_logs"])
    assert api(known, urls.compile_part(run, "ranks"))["difference"]["gone"] == 4
    assert "8, 1 without calls" in one_line(known.get(urls.run(run)).text)
    symbols = one_line(known.get(urls.compile_part(run, "symbols")).text)
    assert 'recompiles"> recompiled 6 times</a>, and made no size a symbol.' in symbols


# --- what torch says by itself, in captures ---

TUNED = """\
V1121 11:13:16.660000 13776 torch/_inductor/graph.py:20] [0/0] [__autotuning] begin
AUTOTUNE mm(64x128, 128x256)
  triton_mm_12 0.0092 ms 100.0% BLOCK_K=16, num_warps=4
  mm 0.0184 ms 50.0%
SingleProcess AUTOTUNE benchmarking takes 0.5 seconds and 0.2 seconds precompiling for 30 choices
"""


@pytest.fixture(scope="module")
def captured(
    own_settings: Settings, fixtures: Path, tmp_path_factory: pytest.TempPathFactory
) -> str:
    """The dynamic program's log as a capture has it, with what torch said."""
    root = tmp_path_factory.mktemp("captured")
    shutil.copytree(fixtures / "dynamic", root / "dynamic")
    (root / "torch_logs.txt").write_text(TUNED)
    CaptureFacts(
        state="complete", device="cpu", name="told",
        vectors=VectorFacts("avx512", [
            LoopFacts("none", "cpp_fused_0", ["op1"], ["4", "8"], 1, [16], [1]),
            LoopFacts("none", "cpp_fused_1", ["op2"], ["3"], reason="too short"),
        ]),
    ).write(root)  # fmt: skip
    return read(own_settings, [root])


def test_autotunings_have_their_candidates(client: TestClient, captured: str) -> None:
    assert api(client, urls.compile_part(captured, "time"))["tunings"] == 1
    (table,) = api(client, urls.tuned(captured))["tunings"]
    assert table["compile"]["id"] == "0/0"
    assert [(candidate["name"], candidate["slower"]) for candidate in table["candidates"]] == [
        ("triton_mm_12", 1.0), ("mm", 2.0),
    ]  # fmt: skip
    assert (table["count"], table["seconds"]) == (30, 0.5)
    text = client.get(urls.tuned(captured)).text
    assert "The log lists the fastest 2 of 30." in text
    assert "+100 %" in unescape(text).replace("\N{NARROW NO-BREAK SPACE}", " ")
    assert api(client, urls.tuned(captured, q="triton_mm_13"))["tunings"] == []


def test_loops_say_whether_and_why_they_are_not_vectorised(
    client: TestClient, captured: str
) -> None:
    told = api(client, urls.fusing(captured))["loops"]
    assert told["recorded"]
    assert (told["instructions"], told["vectorised"]) == ("avx512", 1)
    no, yes = told["rows"]
    assert (no["kernel"], no["vectorised"], no["how"]) == ("cpp_fused_1", False, "too short")
    assert (yes["loops"], yes["how"]) == (
        ["4", "8 (reduction)"], "16 at a time along the loop of 8",
    )  # fmt: skip
