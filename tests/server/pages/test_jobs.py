"""Jobs, their progress as it happens, and starting captures."""

import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest
from inductorscope.settings import Settings
from inductorscope.store.tables.models import Job, JobEvent
from inductorscope_server.web.parts import Parts
from sqlalchemy import update
from starlette.testclient import TestClient

from tests.support.sending import append

Opened = Callable[..., AbstractContextManager[TestClient]]


def started(client: TestClient, **more: object) -> str:
    answer = client.post("/api/captures", json={"model": "neg-maximum-cat", **more})
    assert answer.status_code == 202, answer.text
    assert answer.headers["location"] == f"/api/jobs/{answer.json()['job']}"
    return str(answer.json()["job"])


def parts_of(client: TestClient) -> Parts:
    parts: Any = client.app
    assert isinstance(parts.state.parts, Parts)
    return parts.state.parts


def change(client: TestClient, job: str, **values: object) -> None:
    with parts_of(client).write.begin() as session:
        session.execute(update(Job).where(Job.id == job).values(**values))


def log(client: TestClient, job: str, text: str) -> None:
    from datetime import UTC, datetime

    with parts_of(client).write.begin() as session:
        session.add(JobEvent(job_id=job, at=datetime.now(UTC), level="info", text=text))


def messages(text: str) -> Iterator[dict[str, Any]]:
    for message in text.split("\n\n"):
        if message.startswith("data: "):
            yield json.loads(message.removeprefix("data: "))


def test_the_models_there_are(client: TestClient) -> None:
    models = client.get("/api/models").json()["models"]
    assert "neg-maximum-cat" in [model["name"] for model in models]
    assert all(model["title"] and model["shows"] for model in models)


@pytest.mark.parametrize(
    ("spec", "status", "said"),
    [
        ({"model": "neg-maximum-kat"}, 422, "Did you mean"),
        ({"model": "os:system"}, 403, "Only built-in models"),
        ({"model": "/etc/passwd.py"}, 403, "Only built-in models"),
        ({"model": "neg-maximum-cat", "seconds": 1e9}, 422, "seconds"),
        ({"model": "neg-maximum-cat", "device": "tpu"}, 422, "device"),
        ({"model": "neg-maximum-cat", "config": {"a b": "1"}}, 422, "a b"),
        ({"model": "neg-maximum-cat", "hurry": True}, 422, "hurry"),
        ({}, 422, "model"),
    ],
)
def test_a_capture_that_cannot_be(
    client: TestClient, spec: dict[str, object], status: int, said: str
) -> None:
    answer = client.post("/api/captures", json=spec)
    assert answer.status_code == status
    assert said in answer.json()["error"]["what"]


def test_a_folder_of_models_opens_the_door(own_settings: Settings, opened: Opened) -> None:
    with opened(own_settings, model_folders="/models") as client:
        assert client.post("/api/captures", json={"model": "mine:make"}).status_code == 202


def test_jobs_come_newest_first_and_page_by_page(own_settings: Settings, opened: Opened) -> None:
    with opened(own_settings) as client:
        made = [started(client, name=f"job {number}") for number in range(53)]
        first = client.get("/api/jobs").json()
        assert [job["id"] for job in first["jobs"]] == made[:2:-1]
        rest = client.get("/api/jobs", params={"cursor": first["next_cursor"]}).json()
        assert [job["id"] for job in rest["jobs"]][:3] == made[2::-1]
        for job in made[1:]:
            client.post(f"/api/jobs/{job}/cancel")
        active = client.get("/api/jobs", params={"active": "1"}).json()["jobs"]
        assert made[0] in [job["id"] for job in active]
        assert all(job["active"] for job in active)


def test_cancelling_twice_and_nothing(client: TestClient) -> None:
    job = started(client)
    assert client.post(f"/api/jobs/{job}/cancel").json() == {"cancelled": True}
    assert client.post(f"/api/jobs/{job}/cancel").json() == {"cancelled": False}
    assert client.post("/api/jobs/none/cancel").status_code == 404
    assert client.get(f"/api/jobs/{job}").json()["job"]["state"] == "cancelled"


def test_what_failed_is_tried_again_once(client: TestClient) -> None:
    job = started(client, name="again", tags=["kept"])
    assert client.post(f"/api/jobs/{job}/again").status_code == 409
    change(client, job, state="failed", message="The machine was too small.")
    assert client.get(f"/api/jobs/{job}").json()["job"]["again"] is True
    for page in ("/jobs", f"/jobs/{job}"):
        assert f'action="/jobs/{job}/again"' in client.get(page).text
    strange = client.post(f"/jobs/{job}/again", headers={"Origin": "http://elsewhere.example"})
    assert strange.status_code == 403
    sent = client.post(f"/jobs/{job}/again")
    assert sent.status_code == 303
    new = sent.headers["location"].removeprefix("/jobs/")
    assert client.post(f"/api/jobs/{job}/again").json() == {"job": new}
    page = client.get(f"/api/jobs/{new}").json()
    assert (page["job"]["state"], page["job"]["title"]) == ("queued", "again")
    assert page["spec"] == client.get(f"/api/jobs/{job}").json()["spec"]
    before = client.get(f"/api/jobs/{job}").json()["job"]
    assert (before["again"], before["again_as"]) == (False, new)
    for address in ("/jobs", f"/jobs/{job}"):
        shown = client.get(address).text
        assert f'href="/jobs/{new}"' in shown
        assert f'action="/jobs/{job}/again"' not in shown
    assert client.post("/api/jobs/none/again").status_code == 404


def test_an_upload_is_read_again_while_its_files_are_there(client: TestClient) -> None:
    jobs = parts_of(client).jobs
    upload = jobs.uploads.create("mine", [], [("half.zip", 4)])
    append(jobs.uploads, upload.id, 0, 0, b"PK\3\4")
    job = jobs.uploads.finish(upload.id)
    change(client, job, state="failed", message="half.zip is not whole.")
    new = str(client.post(f"/api/jobs/{job}/again").json()["job"])
    assert jobs.uploads.get(upload.id).job == new
    assert jobs.uploads.finish(upload.id) == new
    jobs.cancel(new)
    shutil.rmtree(parts_of(client).settings.uploads / upload.id)
    assert client.get(f"/api/jobs/{new}").json()["job"]["again"] is False
    refused = client.post(f"/api/jobs/{new}/again")
    assert refused.status_code == 409
    assert "Send them again" in refused.json()["error"]["do"]


@pytest.mark.parametrize("kind", ["benchmark", "numbers"])
def test_what_needs_a_run_is_tried_again_while_it_is_there(client: TestClient, kind: str) -> None:
    job = started(client)
    spec = {"run": "0123456789abcdef", "options": {}}
    change(client, job, state="failed", kind=kind, spec=spec)
    assert client.get(f"/api/jobs/{job}").json()["job"]["again"] is False
    assert client.post(f"/api/jobs/{job}/again").status_code == 404


def test_progress_is_told_as_it_happens_and_ends_with_the_job(client: TestClient) -> None:
    job = started(client)

    def work() -> None:
        time.sleep(0.5)
        change(client, job, state="running", step="Compiling", done=1, total=4, unit="steps")
        log(client, job, "first\nline")
        time.sleep(0.7)
        change(client, job, state="done", done=4, message="All well.")

    worker = threading.Thread(target=work)
    worker.start()
    answer = client.get(f"/api/jobs/{job}/events")
    worker.join()
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["cache-control"] == "no-store"
    told = list(messages(answer.text))
    assert [message["state"] for message in told] == ["queued", "running", "done"] or [
        message["state"] for message in told
    ] == ["queued", "running", "running", "done"]
    assert told[-1]["message"] == "All well."
    lines = [line["text"] for message in told for line in message["log"]]
    assert lines == ["first\nline"]
    assert (told[1]["step"], told[1]["done"], told[1]["total"]) == ("Compiling", 1, 4)


def test_progress_of_a_job_that_is_over_ends_at_once(client: TestClient) -> None:
    job = started(client)
    client.post(f"/api/jobs/{job}/cancel")
    told = list(messages(client.get(f"/api/jobs/{job}/events").text))
    assert [message["state"] for message in told] == ["cancelled"]
    assert client.get("/api/jobs/none/events").status_code == 404


def test_streams_end_when_the_server_stops(own_settings: Settings, opened: Opened) -> None:
    with opened(own_settings) as client:
        job = started(client)
        threading.Timer(0.5, parts_of(client).stopping.set).start()
        told = list(messages(client.get(f"/api/jobs/{job}/events").text))
        assert [message["state"] for message in told] == ["queued"]
        assert client.get("/healthz").status_code == 503


def test_the_jobs_pages(client: TestClient) -> None:
    job = started(client, name="<b>mine</b>")
    listed = client.get("/jobs")
    assert listed.status_code == 200
    assert "&lt;b&gt;mine" in listed.text
    assert "<b>mine" not in listed.text
    assert "&lt;b&gt;mine" in client.get(f"/jobs/{job}").text
    assert client.get("/jobs/none").status_code == 404
    cancelled = client.post(f"/jobs/{job}/cancel")
    assert (cancelled.status_code, cancelled.headers["location"]) == (303, f"/jobs/{job}")


def test_the_capture_form(client: TestClient) -> None:
    page = client.get("/capture")
    assert page.status_code == 200
    assert "neg-maximum-cat" in page.text
    assert 'value="cpu" selected>cpu</option>' in page.text
    assert 'value="cuda">cuda</option>' in page.text  # no worker runs that has none
    fields = {
        "model": "gpt-small",
        "device": "cpu",
        "dtype": "",
        "train": "on",
        "source": "on",
        "config": "max_autotune = True\n\nepilogue_fusion=False",
        "tags": "one, two",
        "seconds": "2",
    }
    sent = client.post("/capture", data=fields)
    assert sent.status_code == 303
    spec = client.get(f"/api{sent.headers['location']}").json()["spec"]
    assert spec["tags"] == ["one", "two"]
    capture = spec["capture"]
    assert capture["train"] is True
    assert capture["record"] is False
    assert capture["dtype"] is None
    assert capture["config"] == {"max_autotune": "True", "epilogue_fusion": "False"}
    for wrong in ({}, {**fields, "seconds": "long"}, {**fields, "model": "none"}):
        assert client.post("/capture", data=wrong).status_code == 422
