"""The page of failures: of a capture whose kernel did not compile, and of logs of failures."""

import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from inductorscope.cli.local import read_paths
from inductorscope.settings import Settings
from inductorscope.store.database.engine import make_engine, sessions
from inductorscope.store.runs.diagnoses import write_diagnosis
from starlette.testclient import TestClient

from tests.server.conftest import Opened


def read(settings: Settings, path: Path, origin: str) -> str:
    return read_paths(
        settings, [path], name=None, tags=[], origin=origin, progress=lambda *_: None
    ).run_id


@pytest.fixture(scope="module")
def captured(
    own_settings: Settings, fixtures: Path, opened: Opened
) -> Iterator[tuple[TestClient, str]]:
    """A capture of here that failed."""
    run = read(own_settings, fixtures / "neg-does-not-compile", "capture")
    with opened(own_settings) as client:
        yield client, run


def test_the_error_is_at_its_line_and_neg_is_named(captured: tuple[TestClient, str]) -> None:
    client, run = captured
    (failure,) = client.get(f"/api/runs/{run}/failures").json()["failures"]
    assert (failure["component"], failure["cause"], failure["sure"]) == ("cpp", "neg", True)
    (error,) = failure["errors"]
    (line,) = [line for line in error["lines"] if line["marked"]]
    assert line["text"].strip() == "auto tmp3 = max_propagate_nan(tmp0, tmp2);"
    assert line["text"][error["start"] : error["end"]] == "max_propagate_nan(tmp0, tmp2)"
    (suspect,) = error["suspects"]
    assert suspect["text"] == "auto tmp2 = -tmp1;"
    assert [step["text"] for step in suspect["chain"]] == [
        "a = torch.neg(x1)",
        "neg = aten.neg.default(arg0_1)",
        "neg = ops.neg(load_1)",
        "auto tmp2 = -tmp1;",
    ]


def test_the_page_shows_it_and_offers_to_find_out_more(captured: tuple[TestClient, str]) -> None:
    client, run = captured
    text = client.get(f"/runs/{run}/failures").text
    assert "The cause is <code>neg</code>" in text
    assert f"/runs/{run}/graphs/model__0_inference_0.0?" in text
    assert 'method="post"' in text
    overview = client.get(f"/runs/{run}").text
    assert overview.count("The cause is <code>neg</code>") == 1
    assert f'href="/runs/{run}/failures"' in overview
    assert ">compiled</span>" not in overview


def test_the_report_has_the_kernel_the_error_and_what_diagnoses_found(
    captured: tuple[TestClient, str], own_settings: Settings
) -> None:
    client, run = captured
    engine = make_engine(own_settings)
    found = {
        "summary": {"verdict": "Cut down to one node."},
        "repro": {"text": "import torch\nprint('r')"},
    }
    with sessions(engine).begin() as session:
        write_diagnosis(
            session, run, "minify", "minify-1", datetime.now(UTC), complete=True, result=found
        )
    engine.dispose()
    report = client.get(f"/api/runs/{run}/failures/report.md").text
    assert "- torch: `2.13.0" in report
    assert "print('r')" in report
    assert "^ error: no matching function for call" in report
    assert "The cause is `neg`." in report
    assert f"/runs/{run}/failures" in report
    assert "Command:" not in report


def test_what_the_bisector_found_is_shown(
    captured: tuple[TestClient, str], own_settings: Settings
) -> None:
    client, run = captured
    path = f"/runs/{run}/failures/components"
    assert client.get(f"/api{path}").json()["found"] is None
    trial = {"backend": "inductor", "title": "Inductor", "outcome": "fails", "said": "fails"}
    step = {"backend": "inductor", "subsystem": "lowerings", "state": "test_disable",
            "good": True, "said": "without lowerings", "seconds": 1.5}  # fmt: skip
    result = {"summary": {"verdict": "Inductor: it."}, "trials": [trial], "bisect": [step],
              "found": {"backend": "inductor"}, "notes": ["A note."]}  # fmt: skip
    engine = make_engine(own_settings)
    with sessions(engine).begin() as session:
        write_diagnosis(
            session, run, "components", "components-1", datetime.now(UTC), complete=False,
            result=result,
        )  # fmt: skip
    engine.dispose()
    text = client.get(path).text
    assert "without lowerings" in text
    assert "A note." in text
    panel = client.get(f"/api/runs/{run}/failures").json()["panels"]["components"]
    assert (panel["verdict"], panel["complete"], panel["state"]) == ("Inductor: it.", False, "gone")


@pytest.mark.parametrize(
    ("checkpoint", "goes_on"),
    [({"answers": "01"}, True), ({"text": "of an earlier version"}, False)],
)
def test_a_stopped_search_can_go_on(
    captured: tuple[TestClient, str], own_settings: Settings, checkpoint: dict[str, str],
    goes_on: bool,
) -> None:  # fmt: skip
    client, run = captured
    path, job = f"/runs/{run}/failures/minify", f"minify-stopped-{goes_on}"
    summary = {"verdict": "So far.", "operations": 2, "fails_alone": None}
    result = {
        "summary": summary, "checkpoint": checkpoint, "notes": [], "failure": None, "graphs": [],
        "original": [], "repro": None,
    }  # fmt: skip
    engine = make_engine(own_settings)
    with sessions(engine).begin() as session:
        write_diagnosis(
            session, run, "minify", job, datetime.now(UTC), complete=False, result=result
        )
    engine.dispose()
    page = client.get(path, params={"job": job}).text
    assert ("Continue from" in page) == goes_on
    assert (f'value="{job}"' in page) == goes_on
    assert "checkpoint" not in client.get(f"/api{path}", params={"job": job}).json()["found"]
    if not goes_on:
        answer = client.post(f"/api{path}", json={"resume": job})
        assert (answer.status_code, answer.json()["error"]["what"]) == (
            409, "That search cannot go on.",
        )  # fmt: skip


def test_what_was_uploaded_is_explained_but_never_run(
    own_settings: Settings, fixtures: Path, opened: Opened, tmp_path: Path
) -> None:
    import shutil

    folder = tmp_path / "uploaded"
    shutil.copytree(fixtures / "neg-does-not-compile", folder)
    (folder / "notes.txt").write_text("another content")
    run = read(own_settings, folder, "upload")
    with opened(own_settings) as client:
        page = client.get(f"/api/runs/{run}/failures").json()
        assert page["failures"][0]["cause"] == "neg"
        assert "never executed" in page["refusal"]
        assert 'action="/runs' not in client.get(f"/runs/{run}/failures").text
        answer = client.post(f"/api/runs/{run}/failures/components")
        assert answer.status_code == 403
        assert "never run" in answer.json()["error"]["what"]


def test_a_run_without_failures_says_so(filled: TestClient) -> None:
    run = filled.get("/api/").json()["runs"][0]["id"]
    assert filled.get(f"/api/runs/{run}/failures").json()["failures"] == []
    assert "Nothing failed" in filled.get(f"/runs/{run}/failures").text
    assert filled.get("/api/runs/0123456789abcdef/failures").status_code == 404


def test_a_log_of_a_failure_is_explained(
    own_settings: Settings, shared: Path, opened: Opened
) -> None:
    run = read(own_settings, shared / "traces" / "logs" / "comp_failure.log", "upload")
    with opened(own_settings) as client:
        (failure,) = client.get(f"/api/runs/{run}/failures").json()["failures"]
        for path in ("kernels", "time"):
            page = client.get(f"/runs/{run}/{path}").text
            assert "It failed before" in page
            assert "No kernel in this run" not in page
    assert failure["component"] == "backend"
    assert "broken_backend" in failure["title"]
    assert failure["user"]["function"] == "broken_backend"
    folded = [part["shown"] for step in failure["chain"] for part in step["folds"]]
    assert folded == [False, True]
    assert failure["record"]


def test_what_draft_export_stepped_over_is_a_failure(
    own_settings: Settings, shared: Path, opened: Opened
) -> None:
    run = read(own_settings, shared / "traces" / "logs" / "export.log", "upload")
    with opened(own_settings) as client:
        (failure,) = client.get(f"/api/runs/{run}/failures").json()["failures"]
        page = client.get(f"/runs/{run}/failures").text
    assert failure["component"] == "export"
    assert failure["title"] == "Export would fail: Eq((((-u0)//3)) + 5, 0) depends on data"
    assert (failure["user"]["line"], failure["user"]["code"]) == (279, "return z[:a]")
    assert "torch._check(…)" in page


class Hostile:
    """Unpickling it would make a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.folder),)


def test_a_link_that_was_recorded_says_so(captured: tuple[TestClient, str]) -> None:
    client, run = captured
    graph = f"/api/runs/{run}/graphs/model__0_inference_0.0"
    answer = client.get(f"{graph}/reason", params={"stage": "code", "line": 57}).json()
    (reason,) = answer["reasons"]
    assert (reason["code"], reason["nodes"], reason["certainty"]) == (
        "recorded",
        ["fx:neg"],
        "exact",
    )
    assert "nothing is inferred" in reason["sentence"]


@pytest.mark.torch
def test_saved_tensors_are_values_and_no_code_of_theirs_runs(
    own_settings: Settings, fixtures: Path, opened: Opened, tmp_path: Path
) -> None:
    import torch

    folder = tmp_path / "upload"
    shutil.copytree(fixtures / "aoti-cpu", folder)
    torch.save(torch.ones(4), folder / "before_launch_cpp_fused_0_buf0.pt")
    values = torch.tensor([1.0, float("nan"), 2.0, float("nan")])
    torch.save(values, folder / "after_launch_cpp_fused_0_buf0.pt")
    torch.save(Hostile(tmp_path / "ran"), folder / "after_launch_cpp_fused_1_buf1.pt")
    run = read(own_settings, folder, "ingest")
    assert not (tmp_path / "ran").exists()
    with opened(own_settings) as client:
        page = client.get(f"/api/runs/{run}/failures/values").json()
        assert page["sentence"] == (
            "The first bad value is NaN (2 of 4 elements) in argument buf0 of cpp_fused_0, after "
            "launch 1 of 1."
        )
        told = client.get(f"/api/runs/{run}/read").json()
    assert "the tensor is not read: Weights only load failed" in str(told)
