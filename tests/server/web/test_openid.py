"""Logging in by a real OpenID provider, in a process of its own."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import httpx
import pytest
from inductorscope.settings import Settings
from inductorscope_server.access.openid import COOKIE as BEGUN
from inductorscope_server.access.token import COOKIE
from starlette.testclient import TestClient

from tests.server.conftest import Opened

pytest.importorskip("authlib", reason="install the extra `dev` or `oidc`")
from tests.support.openid_provider import CLIENT, SECRET


@pytest.fixture(scope="module")
def provider() -> Iterator[str]:
    command = [sys.executable, "-m", "tests.support.openid_provider"]
    known = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3])}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=known) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address, "the provider did not start"
        yield address
        process.kill()


@pytest.fixture
def client(own_settings: Settings, opened: Opened, provider: str) -> Iterator[TestClient]:
    given = {"oidc_issuer": provider, "oidc_client": CLIENT, "oidc_secret": SECRET}
    with opened(own_settings, new_role="author", **given) as client:
        yield client


def begun(client: TestClient, then: str = "/jobs", **login: str) -> str:
    """Begins to log in; the address to which the provider leads back."""
    to_provider = client.get("/login/provider", params={"next": then})
    assert to_provider.status_code == 302
    answer = httpx.get(f"{to_provider.headers['location']}&{urlencode(login)}")
    back = urlsplit(answer.headers["location"])
    return f"{back.path}?{back.query}"


def logged_in(client: TestClient, **login: str) -> dict[str, str]:
    client.cookies.clear()
    answer = client.get(begun(client, **login))
    assert (answer.status_code, answer.headers["location"]) == (303, "/jobs")
    account: dict[str, str] = client.get("/api/account").json()
    return account


def test_people_are_known_by_issuer_and_subject(client: TestClient) -> None:
    assert "127.0.0.1" in client.get("/login").text
    ada = logged_in(client, login="1", name="ada")
    assert (ada["name"], ada["role"]) == ("ada", "author")
    assert logged_in(client, login="1", name="countess")["name"] == "ada"
    assert logged_in(client, login="2", name="ada")["name"] == "ada 2"


@pytest.mark.parametrize("wrong", ["issuer", "audience", "nonce", "time", "key"])
def test_a_wrong_answer_signs_nobody_in(client: TestClient, wrong: str) -> None:
    client.cookies.clear()
    answer = client.get(begun(client, login="1", wrong=wrong))
    assert answer.status_code == 403
    assert COOKIE not in client.cookies


def test_an_answer_counts_once_and_in_its_browser(client: TestClient) -> None:
    client.cookies.clear()
    back = begun(client, login="1")
    began = client.cookies[BEGUN]
    client.cookies.clear()
    assert client.get(back).status_code == 403
    client.cookies.set(BEGUN, began, path="/login")
    assert client.get(back.replace("state=", "state=x")).status_code == 403
    client.cookies.set(BEGUN, "nonsense", path="/login")
    assert client.get(back).status_code == 403
    client.cookies.set(BEGUN, began, path="/login")
    assert client.get(back).status_code == 303
    client.cookies.set(BEGUN, began, path="/login")
    assert client.get(back).status_code == 403  # the provider took its code back


def test_it_leads_to_no_other_site(client: TestClient) -> None:
    client.cookies.clear()
    answer = client.get(begun(client, "https://evil.example", login="1"))
    assert answer.headers["location"] == "/"


def test_a_provider_that_does_not_answer_is_named(own_settings: Settings, opened: Opened) -> None:
    given = {"oidc_issuer": "http://127.0.0.1:9", "oidc_client": CLIENT}
    with opened(own_settings, **given) as client:
        answer = client.get("/login/provider")
    assert answer.status_code == 502
    assert "127.0.0.1:9" in answer.text
