"""Where the playground runs code, and where it does not. No test here starts torch."""

import re
from pathlib import Path

import pytest
from inductorscope import urls
from inductorscope.cli.local import read_paths
from inductorscope.playing.lessons import LESSONS
from inductorscope.settings import Settings
from inductorscope.store.tables.models import TRY
from inductorscope.store.who import OWNER, WHO, Who
from inductorscope_server.access.token import COOKIE
from inductorscope_server.pages.play import _kernels_of, is_on
from starlette.requests import Request
from starlette.testclient import TestClient

from tests.server.conftest import Opened
from tests.support.html import one_line

READY, TRIES = (urls.api(urls.play(word)) for word in ("ready", "tries"))


@pytest.mark.parametrize(
    ("changes", "on"),
    [
        ({}, True),
        ({"host": "localhost"}, True),
        ({"host": "0.0.0.0"}, False),
        ({"hosts": "proxy.example"}, False),
        ({"host": "0.0.0.0", "playground": True}, True),
    ],
)
def test_it_is_on_where_only_this_machine_reaches_it(
    own_settings: Settings, opened: Opened, changes: dict[str, object], on: bool
) -> None:
    with opened(own_settings, **changes) as client:
        assert client.get("/api/play").json()["on"] is on
        assert ('class="chip warn">off' in client.get("/play").text) is not on
        if not on:
            for address, body in ((READY, None), (TRIES, {"code": ""})):
                refused = client.post(address, json=body)
                assert refused.status_code == 403
                assert refused.json()["error"]["limit"] == "INDUCTORSCOPE_PLAYGROUND"


def test_code_needs_the_token_and_a_page_of_this_server(
    own_settings: Settings, opened: Opened
) -> None:
    assert is_on(own_settings)
    with opened(own_settings, token="t" * 16) as client:
        assert client.post(TRIES, json={"code": ""}).status_code == 401
        assert "Log in</a> to compile." in one_line(client.get("/play").text)
    with opened(own_settings) as client:
        foreign = client.post(TRIES, json={"code": ""}, headers={"origin": "http://evil.example"})
        assert foreign.status_code == 403


def test_only_a_persons_own_logins_share_kernels() -> None:
    def shared(who: Who, **headers: str) -> str:
        sent = [(name.encode(), value.encode()) for name, value in headers.items()]
        return _kernels_of(Request({"type": "http", "headers": sent, "state": {WHO: who}}))

    ada = Who("ada", frozenset(), person=1)
    first, second = ({"cookie": f"{COOKIE}={letter * 43}"} for letter in "ab")
    token = {"authorization": f"Bearer {'t' * 16}"}
    assert shared(ada, **first) == shared(ada, **second)
    others = [
        shared(ada), shared(ada, **token), shared(Who("bob", frozenset(), person=2), **first),
        shared(OWNER), shared(OWNER, **first), shared(OWNER, **second),
        _kernels_of(Request({"type": "http", "headers": [], "state": {WHO: ada}}), "a run"),
    ]  # fmt: skip
    assert len(set(others)) == len(others)
    assert all(re.fullmatch("[0-9a-f]{64}", name) for name in others)


@pytest.mark.parametrize(
    "body",
    [
        {"code": "", "config": {"cpp.cxx": "/bin/false"}},
        {"code": "x" * 200_001},
        {"code": "", "mode": "fast"},
        {"code": "", "model": "other.py:f"},
    ],
)
def test_only_what_the_page_offers_can_be_set(client: TestClient, body: dict[str, object]) -> None:
    assert client.post(TRIES, json=body).status_code == 422


def test_a_run_that_is_no_try_has_no_code(filled: TestClient) -> None:
    run = filled.get("/api/").json()["runs"][0]["id"]
    missing = filled.get(urls.play(run))
    assert missing.status_code == 404
    assert "was not made in the playground" in missing.text
    assert filled.get("/api/?tries=1").json()["runs"] == []


def test_a_graph_of_an_upload_is_a_program_to_read_first(filled: TestClient) -> None:
    run = filled.get("/api/").json()["runs"][0]["id"]
    slug = filled.get(f"/api/runs/{run}").json()["graphs"][0]["slug"]
    fork = filled.get(f"/api/runs/{run}/graphs/{slug}/fork?line=4").json()["fork"]
    assert fork["uploaded"]
    assert fork["code"].split("\n")[fork["line"] - 1].lstrip().startswith("neg")
    refused = filled.post(TRIES, json={"code": fork["code"], "fork": run})
    assert refused.status_code == 403
    assert "not agreed" in refused.json()["error"]["what"]


def test_lessons_have_what_a_try_needs() -> None:
    assert len(LESSONS) == 10
    assert len({lesson.id for lesson in LESSONS}) == len(LESSONS)
    for lesson in LESSONS:
        compile(lesson.code, lesson.id, "exec")
        assert lesson.look.endswith(".")


def test_a_try_is_shown_with_its_graph(
    own_settings: Settings, client: TestClient, fixtures: Path
) -> None:
    read = read_paths(
        own_settings, [fixtures / "cuda-foo1"], name="a try", tags=[], origin=TRY,
        progress=lambda step, done, total, unit: None,
    )  # fmt: skip
    page = client.get(urls.play(read.run_id))
    assert page.status_code == 200, page.text
    part = client.get(urls.play(read.run_id), headers={"hx-request": "true"}).text
    assert part.lstrip().startswith('<div class="play-result"')
    assert '<section class="explorer"' in part
    assert client.get("/api/").json()["runs"] == []
    assert [run["id"] for run in client.get("/api/?tries=1").json()["runs"]] == [read.run_id]
