"""The page of the server: what it stores, the trash, rules; and its metrics."""

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from inductorscope.cli.local import read_paths
from inductorscope.settings import Settings
from starlette.testclient import TestClient

Opened = Callable[..., AbstractContextManager[TestClient]]


def test_runs_go_through_the_trash_and_rules_are_kept(
    own_settings: Settings, opened: Opened, fixtures: Path
) -> None:
    run = read_paths(
        own_settings, [fixtures / "cuda-foo1"], name="foo1", tags=["ci"], origin="ingest",
        progress=lambda step, done, total, unit: None,
    ).run_id  # fmt: skip
    with opened(own_settings) as client:
        assert client.get("/server").status_code == 200
        files = client.get(f"/api/runs/{run}/read").json()["files"]
        text = next(f"/api/artifacts/{file['artifact']}/text" for file in files if file["artifact"])
        assert client.get(text).status_code == 200
        assert client.delete(f"/api/runs/{run}").status_code == 204
        for hidden in (f"/api/runs/{run}", f"/runs/{run}/read", text, f"/api/runs/{run}/time"):
            assert client.get(hidden).status_code == 404, hidden
        page = client.get("/api/server").json()
        assert page["trash"]["runs"][0]["id"] == run
        assert page["stored"]["contents"]["unused"] == 0
        assert page["trash"]["own"] == page["stored"]["contents"]["stored"] > 0
        assert client.get("/api/").json()["any_runs"] is False
        assert client.post(f"/server/trash/{run}/restore").headers["location"] == f"/runs/{run}"
        assert client.get(f"/runs/{run}").status_code == 200
        assert client.post(f"/server/trash/{run}/restore").status_code == 404

        assert client.post("/server/rules", data={"tag": "ci"}).status_code == 422
        rule = {"tag": "ci", "name": "", "days": "30", "gib": "0.5"}
        assert client.post("/server/rules", data=rule).status_code == 303
        (kept,) = client.get("/api/server").json()["rules"]
        assert kept["text"].startswith("Runs with the tag ci: kept for 30 days; at most 512")
        assert client.post(f"/server/rules/{kept['id']}/remove").status_code == 303
        quota = {"person": "*", "runs": "9", "jobs": "2", "minutes": "60"}
        assert client.post("/server/rules", data=quota | {"tag": "ci"}).status_code == 422
        assert client.post("/server/rules", data=quota).status_code == 303
        (kept,) = client.get("/api/server").json()["rules"]
        assert kept["text"] == (
            "Runs of each person: at most 9. Jobs of each person: at most 2 that run code at once; "
            "at most 60 minutes of workers in 24 hours."
        )
        assert client.post(f"/server/rules/{kept['id']}/remove").status_code == 303

        client.delete(f"/api/runs/{run}")
        assert client.post("/server/trash/empty").status_code == 303
        page = client.get("/api/server").json()
        assert (page["trash"]["count"], page["stored"]["contents"]["stored"]) == (0, 0)


def test_metrics_have_a_format_that_prometheus_reads(
    own_settings: Settings, opened: Opened
) -> None:
    with opened(own_settings) as client:
        client.post("/api/captures", json={"model": "neg-maximum-cat"})
        first = client.get("/jobs")
        answer = client.get("/metrics")
    assert first.headers["x-request-id"] != answer.headers["x-request-id"]
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    line = re.compile(r'(# TYPE \w+ \w+|\w+({\w+="[^"]*"(,\w+="[^"]*")*})? [-0-9.e+]+)')
    for text in answer.text.splitlines():
        assert line.fullmatch(text), text
    for part in (
        'inductorscope_request_seconds_count{method="GET",route="/jobs",status="200"} 1',
        'inductorscope_jobs{kind="capture",state="queued"} 1',
        'inductorscope_job_oldest_seconds{kind="capture",state="queued"} ',
        'inductorscope_runs{place="list"} 0',
        "inductorscope_workers 0",
    ):
        assert part in answer.text
