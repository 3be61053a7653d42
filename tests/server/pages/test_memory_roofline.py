"""Memory, roofline, and what a kernel's page tells of bytes and test cases."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from inductorscope.answers.explorer.benchmark import add_benchmark
from inductorscope.answers.explorer.graph_texts import graph_texts
from inductorscope.answers.memory.memory import memory_page
from inductorscope.answers.parts import graph_of
from inductorscope.capturing.script.allocated import peak_of
from inductorscope.cli.local import read_paths
from inductorscope.formats.capture_facts import ScriptSteps
from inductorscope.formats.vocabulary import CODE, IR_POST, POST_GRAD
from inductorscope.progress import silent
from inductorscope.settings import Settings
from inductorscope.store.database.engine import make_engine, sessions
from inductorscope.store.tables.diagnoses import KernelBenchmark
from inductorscope.store.tables.models import Run
from inductorscope.store.who import OWNER
from sqlalchemy import delete
from starlette.applications import Starlette
from starlette.testclient import TestClient

from tests.server.conftest import Opened
from tests.support.html import one_line
from tests.support.places import ROOT

GRAPH = "model__0_inference_0.0"


@pytest.fixture(scope="module")
def run(filled: TestClient) -> str:
    return str(filled.get("/api/").json()["runs"][0]["id"])


@pytest.fixture(scope="module")
def kernel(filled: TestClient, run: str) -> str:
    (row,) = filled.get(f"/api/runs/{run}/roofline").json()["kernels"]
    return f"{row['name']}:{row['handle']}"


def test_what_a_library_writes_names_its_line(own_settings: Settings, fixtures: Path) -> None:
    read = read_paths(
        own_settings, [fixtures / "cpu-ops-zoo"], name="zoo", tags=[], origin="ingest",
        progress=silent,
    )  # fmt: skip
    with sessions(make_engine(own_settings))() as session:
        page = memory_page(session, read.run_id, GRAPH)
    (written,) = (row.made_for for row in page.storages if row.name == "buf4")  # by cumsum
    assert [line.line for line in written] == [89]


def test_memory_of_a_graph(filled: TestClient, run: str) -> None:
    page = filled.get(f"/api/runs/{run}/graphs/{GRAPH}/memory").json()
    assert page["missing"] == ""
    plan = page["plan"]
    # 8,390 × 8 bytes of output; as many and 8 of input
    assert (plan["peak"], plan["output_bytes"], plan["input_bytes"]) == (67120, 67120, 67128)
    (held,) = page["peak_storages"]
    assert held["name"] == "buf0"
    assert [line["line"] for line in held["made_for"]] == [9, 10]
    text = filled.get(f"/runs/{run}/graphs/{GRAPH}/memory").text
    assert "65.5\u202fKiB" in text
    assert "memory-data" in text


def test_memory_measured_at_the_peak_of_a_step(
    filled: TestClient, filled_settings: Settings, run: str
) -> None:
    page = filled.get(f"/api/runs/{run}/graphs/{GRAPH}/memory").json()
    assert page["measured"] is None
    born, mine = page["peak_storages"][0]["born"], __file__
    frames = {
        "wrapper": [{"filename": "/tmp/cxy.py", "line": born}, {"filename": mine, "line": 3}],
        "mine": [{"filename": "/torch/nn.py", "line": 1}, {"filename": mine, "line": 7}],
        "": [],
    }
    events = [
        {"action": action, "addr": addr, "size": size, "frames": frames[maker]}
        for action, addr, size, maker in (
            ("alloc", 1, 512, "mine"), ("segment_alloc", 9, 2048, ""),
            ("free_requested", 7, 100, ""), ("free_completed", 7, 100, ""),
            ("alloc", 2, 67584, "wrapper"), ("alloc", 3, 8, ""),
            ("free_requested", 1, 512, ""), ("alloc", 4, 16, "mine"),
        )
    ]  # fmt: skip
    peak = peak_of(events, 1000, {"/tmp/cxy.py": GRAPH})
    assert (peak.bytes, peak.before) == (69004, 900)
    engine = make_engine(filled_settings)
    with sessions(engine).begin() as session:
        row = session.get_one(Run, run)
        script = {"processes": [msgspec.to_builtins(ScriptSteps(peak=peak))]}
        environment, row.environment = row.environment, row.environment | {"script": script}
    try:
        measured = filled.get(f"/api/runs/{run}/graphs/{GRAPH}/memory").json()["measured"]
        text = filled.get(f"/runs/{run}/graphs/{GRAPH}/memory").text
    finally:
        with sessions(engine).begin() as session:
            session.get_one(Run, run).environment = environment
        engine.dispose()
    assert (measured["here"], measured["elsewhere"]) == (67584, 520)
    assert [(buffer["buffers"], buffer["nbytes"]) for buffer in measured["held"]] == [
        (["buf0"], 67584), ([], 512), ([], 8),
    ]  # fmt: skip
    assert "test_memory_roofline.py:7" in text
    assert "an unknown line" in text


def test_lines_and_buffers_have_pages(filled: TestClient, run: str) -> None:
    where = f"/api/runs/{run}/graphs/{GRAPH}/memory"
    sizes = [row["nbytes"] for row in filled.get(where).json()["storages"]]
    assert sizes == sorted(sizes, reverse=True)
    late = filled.get(where, params={"lines_from": 1000, "buffers_from": 1000}).json()
    assert (late["steps"], late["storages"]) == ([], [])
    assert filled.get(where, params={"lines_from": -1}).status_code == 422


def test_roofline_of_a_run(filled: TestClient, run: str) -> None:
    page = filled.get(f"/api/runs/{run}/roofline").json()
    assert page["peaks"]["provenance"] == "estimated"
    assert page["peaks"]["memory"] == 4.8e12  # the fixture's H200, by its data sheet
    (row,) = page["kernels"]
    assert (row["bytes"], row["how"]) == (134248.0, "counted")
    assert row["standing"]["bound"] == "memory"
    assert row["standing"]["roof_us"] == pytest.approx(134248 / 4.8e12 * 1e6)
    assert row["standing"]["share"] == pytest.approx(row["standing"]["roof_us"] / row["time_us"])
    assert filled.get(f"/runs/{run}/roofline").status_code == 200
    assert page["predicted_us"] is None  # its times are known
    none = filled.get(f"/api/runs/{run}/roofline", params={"bound": "compute"}).json()
    assert none["kernels"] == []
    small = filled.get(f"/api/runs/{run}/roofline?bound=small").json()
    assert (len(small["kernels"]), small["small"], small["saves"]) == (1, 1, None)
    empty = filled.get(f"/runs/{run}/roofline?bound=compute")
    assert "No kernel matches" in empty.text


@pytest.mark.parametrize(("name", "longest"), [("time", "map"), ("roofline", "kernels")])
def test_charts_read_what_their_page_sends(
    filled: TestClient, run: str, name: str, longest: str
) -> None:
    page = filled.get(f"/runs/{run}/{name}").text
    sent = json.loads(page.partition(f'id="{name}-data">')[2].partition("</script>")[0])
    entry = ROOT / "frontend/src/charts" / f"{name}.ts"
    imported = re.findall(r'from "(\./[\w-]+)"', entry.read_text())
    scripts = [entry, *(entry.parent / f"{module}.ts" for module in imported)]
    read = re.findall(r"\.(\w+)", "".join(script.read_text() for script in scripts))
    assert {*sent, *sent[longest][0]} - {*read} == set()


def test_kernel_tells_its_bytes_and_offers_its_test_case(
    filled: TestClient, run: str, kernel: str
) -> None:
    where = f"/runs/{run}/graphs/{GRAPH}/kernels/{kernel}"
    page = filled.get(f"/api{where}").json()
    traffic = {row["pointer"]: row for row in page["work"]["bytes"]["traffic"]}
    assert traffic["out_ptr0"]["writes"] == 67120
    assert page["may_benchmark"] is False
    text = filled.get(where).text
    assert "Download the test case" in text
    assert f'hx-get="{where}/case"' in text
    compared = one_line(filled.get(f"{where}/case").text)
    assert "It compares <code>buf0</code> with the same FX nodes in eager" in compared
    assert f'href="/api{where}/case.py"' in compared
    assert filled.get(f"/api{where}/case").json()["compared"] == ["buf0"]
    assert "never runs uploaded code" in text
    case = filled.get(f"/api{where}/case.py")
    assert case.headers["content-disposition"].startswith("attachment")
    assert "sandbox" in case.headers["content-security-policy"]
    compile(case.text, "case.py", "exec")
    assert f"{kernel.partition(':')[0]}.run(" in case.text
    assert "torch.ops.aten.maximum.default(" in case.text


@pytest.mark.parametrize(
    ("rate", "words"),
    [
        (160e9, "80.0\u202f% of the peak"),
        (314e9, "in the caches: 78.5\u202f% of their 400\u202fGB/s"),
        (900e9, "in the caches"),
    ],
)
def test_a_benchmark_faster_than_memory_is_compared_with_the_caches(
    filled: TestClient, filled_settings: Settings, run: str, kernel: str, rate: float, words: str
) -> None:
    engine = make_engine(filled_settings)
    name, _, handle = kernel.rpartition(":")
    peaks = {
        "device": "cpu", "memory_bytes_per_s": 200e9, "cache_bytes_per_s": 400e9,
        "matmul_flops": {"float32": 1e12},
    }  # fmt: skip
    with sessions(engine).begin() as session:
        row = session.get_one(Run, run)
        environment, row.environment = row.environment, row.environment | {"peaks": peaks}
        result = {"gb_per_s": rate / 1e9, "ms": {"kernel": 1.0}, "device": "cpu"}
        graph_id = graph_of(session, run, GRAPH).id
        add_benchmark(session, graph_id, name, int(handle), "job", datetime.now(UTC), result)
    try:
        text = filled.get(f"/runs/{run}/graphs/{GRAPH}/kernels/{kernel}").text
    finally:
        with sessions(engine).begin() as session:
            session.get_one(Run, run).environment = environment
            session.execute(delete(KernelBenchmark))
        engine.dispose()
    assert words in one_line(text)
    assert ("of the peak" in text) == (rate < 200e9)


def test_benchmarks_of_what_was_not_captured_here_are_refused(
    filled: TestClient, run: str, kernel: str
) -> None:
    where = f"/runs/{run}/graphs/{GRAPH}/kernels/{kernel}/benchmark"
    same = {"Origin": str(filled.base_url)}
    refused = filled.post(f"/api{where}", json={}, headers=same)
    assert refused.status_code == 403, refused.text
    assert "never run here" in refused.json()["error"]["what"]
    assert filled.post(where, headers=same).status_code == 403
    assert filled.post(f"/api{where}", json={"seconds": 1e9}, headers=same).status_code == 422


@pytest.mark.parametrize(
    "path",
    [
        "/runs/0123456789abcdef/roofline",
        "/runs/0123456789abcdef/graphs/x/memory",
        "/runs/{run}/graphs/x/memory",
        "/runs/{run}/graphs/" + GRAPH + "/kernels/none:1/case.py",
    ],
)
def test_what_is_not_here_is_404(filled: TestClient, run: str, path: str) -> None:
    address = path.format(run=run)
    prefix = "/api" if address.endswith("case.py") else ""
    assert filled.get(prefix + address).status_code == 404


@pytest.fixture(scope="module")
def limited(filled_settings: Settings, opened: Opened) -> Iterator[TestClient]:
    """The application with that run, whose answers have processes and limits."""
    with opened(filled_settings, alone=False) as client:
        yield client


def parts_of(client: TestClient) -> Any:
    """The parts of the application that the client calls."""
    assert isinstance(client.app, Starlette)
    return client.app.state.parts


@pytest.mark.parametrize(
    ("answer", "path"),
    [
        ("memory_page", "/runs/{run}/graphs/{graph}/memory"),
        ("case_check", "/runs/{run}/graphs/{graph}/kernels/{kernel}/case"),
    ],
)
def test_a_graph_over_a_limit_is_left_out_with_a_sentence(
    limited: TestClient, run: str, kernel: str, answer: str, path: str
) -> None:
    parts = parts_of(limited)
    with parts.read() as session:
        texts = graph_texts(session, graph_of(session, run, GRAPH).id)
    passed_over = parts.analysis._passed_over
    for read in (texts, texts.only(CODE, IR_POST, POST_GRAD)):
        known = passed_over.get((f"{answer} of run {run}", OWNER), {})
        known[read.name] = "takes longer than 10 seconds"
        passed_over[f"{answer} of run {run}", OWNER] = known
    page = limited.get(path.format(run=run, graph=GRAPH, kernel=kernel))
    passed_over.clear()
    assert page.status_code == 200
    assert "Analysing these texts takes longer than 10 seconds, so they are left out." in page.text


def test_a_run_without_its_story_still_has_its_page(limited: TestClient, run: str) -> None:
    passed_over = parts_of(limited).analysis._passed_over
    passed_over[f"run_page of run {run}", OWNER] = {"story of compiling": "needs more than 1 GiB"}
    page = limited.get(f"/runs/{run}")
    passed_over.clear()
    assert page.status_code == 200
    assert "not analysed" in page.text
    assert GRAPH in page.text
