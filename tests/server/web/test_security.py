"""Headers on every answer, host names, origins, and the token."""

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from inductorscope.settings import Settings
from inductorscope_server.access.login import own_path
from inductorscope_server.web.app import create_app
from inductorscope_server.web.security import host_is_ours
from sqlalchemy import text
from sqlalchemy.exc import OperationalError
from starlette.testclient import TestClient

Opened = Callable[..., AbstractContextManager[TestClient]]
BASE = "http://127.0.0.1:8765"

UPLOAD = {"files": [{"path": "a.txt", "size": 1}]}
ANSWERS = [
    ("GET", "/healthz", 200),
    ("GET", "/login", 200),
    ("GET", "/api/models", 200),
    ("GET", "/api/openapi.json", 200),
    ("GET", "/nowhere", 404),
    ("GET", "/api/nowhere", 404),
    ("GET", "/api/jobs/none", 404),
    ("GET", "/runs/not-an-id", 404),
    ("GET", "/static/nothing.js", 404),
    ("GET", "/%00", 400),
    ("POST", "/healthz", 405),
    ("POST", "/api/uploads", 422),
]


@pytest.mark.parametrize(("method", "path", "status"), ANSWERS)
def test_every_answer_is_protected(client: TestClient, method: str, path: str, status: int) -> None:
    answer = client.request(method, path)
    assert answer.status_code == status
    policy = answer.headers["content-security-policy"]
    assert "unsafe" not in policy
    for part in (
        "default-src 'none'",
        "script-src 'self'",
        "object-src 'none'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "form-action 'self'",
        "connect-src 'self'",
        "img-src 'self' data: blob:",
    ):
        assert part in policy.split("; ")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "same-origin"
    assert answer.headers["cross-origin-opener-policy"] == "same-origin"


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/api/runs/0123456789abcdef", "GET, PATCH, DELETE"),
        ("PUT", "/api/uploads", "GET, POST"),
        ("DELETE", "/login", "GET, POST"),
        ("POST", "/healthz", "GET"),
        ("GET", "/jobs/x/cancel", "POST"),
        ("POST", "/static/app.js", "GET, HEAD"),
    ],
)
def test_a_method_that_is_not_there_names_those_that_are(
    client: TestClient, method: str, path: str, allowed: str
) -> None:
    answer = client.request(method, path)
    assert (answer.status_code, answer.headers["allow"]) == (405, allowed)


def test_the_nonce_is_new_each_time_and_told_to_the_page(client: TestClient) -> None:
    seen = set()
    for _ in range(2):
        answer = client.get("/login")
        policy = answer.headers["content-security-policy"]
        found = re.search(r"style-src 'self' 'nonce-([\w-]+)'", policy)
        assert found
        assert f'nonce="{found[1]}"' in answer.text
        seen.add(found[1])
    assert len(seen) == 2


def test_a_mistake_of_ours_is_protected_too(
    own_settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inductorscope_server.api.captures.builtin_models", lambda: 1 / 0)
    app = create_app(own_settings)
    with TestClient(app, base_url=BASE, raise_server_exceptions=False) as client:
        answer = client.get("/api/models")
    assert answer.status_code == 500
    assert "details" in answer.json()["error"]["do"]
    assert "ZeroDivisionError" not in answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_a_database_that_fails_is_said(
    own_settings: Settings, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise OperationalError("SELECT secret", {}, Exception("database is locked"))

    monkeypatch.setattr("inductorscope_server.api.captures.builtin_models", fail)
    with opened(own_settings) as client:
        answer = client.get("/api/models")
    assert answer.status_code == 503
    assert "secret" not in answer.text


def test_a_database_of_another_version_is_said(
    database_url: str, tmp_path: Path, opened: Opened
) -> None:
    with opened(Settings(data=tmp_path / "data", database_url=database_url)) as client:
        parts = client.app.state.parts  # type: ignore[attr-defined]
        with parts.write.begin() as session:
            session.execute(text("ALTER TABLE runs RENAME COLUMN eager_ms TO eager"))
        answer = client.get("/api/")
    assert answer.status_code == 503
    error = answer.json()["error"]
    assert "not made for this version" in error["what"]
    assert "eager_ms" in error["what"]
    assert "newer version" in error["do"]


@pytest.mark.parametrize(
    ("header", "bound", "ours"),
    [
        ("127.0.0.1:8765", "127.0.0.1", True),
        ("localhost:8765", "127.0.0.1", True),
        ("LOCALHOST.", "127.0.0.1", True),
        ("[::1]:8765", "127.0.0.1", True),
        ("127.8.9.1", "127.0.0.1", True),
        ("scope.example", "scope.example", True),
        ("192.168.7.2:8765", "0.0.0.0", True),
        ("evil.example", "127.0.0.1", False),
        ("evil.example:8765", "0.0.0.0", False),
        ("192.168.7.2", "127.0.0.1", False),
        ("127.0.0.1.evil.example", "127.0.0.1", False),
        ("evil@127.0.0.1", "127.0.0.1", False),
        ("127.0.0.1/evil", "127.0.0.1", False),
        ("127.0.0.1:port", "127.0.0.1", False),
        ("[::1", "127.0.0.1", False),
        ("", "127.0.0.1", False),
    ],
)
def test_host_names(header: str, bound: str, ours: bool) -> None:
    assert host_is_ours(header, bound) is ours


def test_a_foreign_host_name_reaches_nothing(client: TestClient) -> None:
    answer = client.get("/api/models", headers={"Host": "rebound.example"})
    assert answer.status_code == 421
    assert "host name" in answer.json()["error"]["what"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 201),
        ({"Origin": BASE}, 201),
        ({"Sec-Fetch-Site": "same-origin"}, 201),
        ({"Sec-Fetch-Site": "none"}, 201),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Origin": "http://[broken"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site", "Origin": BASE}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Authorization": "Bearer anything"}, 403),
    ],
)
def test_other_sites_change_nothing(
    client: TestClient, headers: dict[str, str], status: int
) -> None:
    assert client.post("/api/uploads", json=UPLOAD, headers=headers).status_code == status


def test_a_body_too_large_to_hold_is_refused_unread(client: TestClient) -> None:
    answer = client.post(
        "/api/uploads",
        content=b"{}",
        headers={"Content-Type": "application/json", "Content-Length": str(10**12)},
    )
    assert answer.status_code == 413


def test_writing_needs_the_token(own_settings: Settings, opened: Opened) -> None:
    with opened(own_settings, token="s3cret-ö") as client:
        assert client.get("/api/models").status_code == 200
        refused = client.post("/api/uploads", json=UPLOAD)
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"] == "Bearer"
        assert refused.json()["error"]["limit"] == "INDUCTORSCOPE_TOKEN"
        wrong = {"Authorization": "Bearer s3cret"}
        assert client.post("/api/uploads", json=UPLOAD, headers=wrong).status_code == 401


def test_the_token_in_its_header_passes_from_anywhere(
    own_settings: Settings, opened: Opened
) -> None:
    with opened(own_settings, token="s3cret") as client:
        given = {"Authorization": "Bearer s3cret", "Origin": "https://elsewhere.example"}
        assert client.post("/api/uploads", json=UPLOAD, headers=given).status_code == 201


def test_reading_needs_the_token_when_set_so(own_settings: Settings, opened: Opened) -> None:
    with opened(own_settings, token="s3cret", token_to_read=True) as client:
        assert client.get("/api/models").status_code == 401
        assert client.get("/healthz").status_code == 200
        assert client.get("/login").status_code == 200
        sent = client.get("/jobs?active=1")
        assert sent.status_code == 303
        assert sent.headers["location"] == "/login?next=/jobs%3Factive%3D1"
        given = {"Authorization": "Bearer s3cret"}
        assert client.get("/api/models", headers=given).status_code == 200


def test_a_link_from_another_site_gets_a_second_chance_to_send_the_cookie(
    own_settings: Settings,
    opened: Opened,
) -> None:
    with opened(own_settings, token="s3cret", token_to_read=True) as client:
        answer = client.get("/jobs", headers={"Sec-Fetch-Site": "cross-site"})
        assert answer.status_code == 200
        assert 'http-equiv="refresh"' in answer.text
        assert client.get("/jobs", headers={"Sec-Fetch-Site": "same-origin"}).status_code == 303


@pytest.mark.parametrize(
    "target",
    ["https://evil.example", "//evil.example", "/\\evil.example", "evil", "", "/\t/evil.example"],
)
def test_logging_in_leads_to_no_other_site(target: str) -> None:
    assert own_path(target) == "/"


def test_further_names_are_answered_to() -> None:
    names = "scope.example, Other.example"
    assert host_is_ours("scope.example:443", "127.0.0.1", names)
    assert host_is_ours("other.example", "127.0.0.1", names)
    assert not host_is_ours("evil.example", "127.0.0.1", names)
    assert not host_is_ours("evil.example", "127.0.0.1", "")
