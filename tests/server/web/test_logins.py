"""Logging in with the token: what the browser keeps, when it ends, and how guessing is slowed."""

import itertools
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta

import pytest
from inductorscope.settings import Settings
from inductorscope.store.logins import LIFETIME, VALUE, delete_expired_logins
from inductorscope.store.tables.people import Login
from inductorscope_server.access import attempts
from inductorscope_server.access.attempts import Attempts
from inductorscope_server.access.token import COOKIE, refusal_of_token
from inductorscope_server.web.errors import Refusal
from inductorscope_server.web.parts import Parts
from sqlalchemy import select, update
from starlette.testclient import TestClient

Opened = Callable[..., AbstractContextManager[TestClient]]

TOKEN = "0123456789abcdef-ö"
UPLOAD = {"files": [{"path": "a.txt", "size": 1}]}


def parts_of(client: TestClient) -> Parts:
    parts = client.app.state.parts  # type: ignore[attr-defined]
    assert isinstance(parts, Parts)
    return parts


def log_in(client: TestClient) -> str:
    """Logs in and returns the cookie's value."""
    client.cookies.clear()
    answer = client.post("/login", data={"token": TOKEN, "next": "/jobs"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/jobs")
    return str(client.cookies[COOKIE])


def may_write(client: TestClient, cookie: str, name: str = COOKIE) -> bool:
    """Whether a browser that has this cookie alone may announce an upload."""
    client.cookies.clear()
    answer = client.post("/api/uploads", json=UPLOAD, headers={"Cookie": f"{name}={cookie}"})
    assert answer.status_code in (201, 401)
    return bool(answer.status_code == 201)


def test_a_login_is_random_and_stored_as_a_hash(own_settings: Settings, opened: Opened) -> None:
    with opened(own_settings, token=TOKEN) as client:
        wrong = client.post("/login", data={"token": "guess", "next": "/jobs"})
        assert wrong.status_code == 403
        assert "not the server" in wrong.text
        right = client.post("/login", data={"token": TOKEN})
        (sent,) = [c for c in right.headers.get_list("set-cookie") if c.startswith(COOKIE)]
        assert "HttpOnly" in sent
        assert "samesite=strict" in sent.lower()
        values = {log_in(client) for _ in range(2)}
        assert len(values) == 2
        assert all(VALUE.fullmatch(value) for value in values)
        with parts_of(client).read() as session:
            stored = session.scalars(select(Login.digest)).all()
        assert not values & set(stored)
        assert not {TOKEN} & values
        assert all(may_write(client, value) for value in values)
        foreign = {"Origin": "https://evil.example", "Cookie": f"{COOKIE}={values.pop()}"}
        assert client.post("/api/uploads", json=UPLOAD, headers=foreign).status_code == 403


def test_the_token_in_a_cookie_opens_nothing(own_settings: Settings, opened: Opened) -> None:
    with opened(own_settings, token="0123456789abcdef") as client:
        assert not may_write(client, "0123456789abcdef")
        assert not may_write(client, "A" * 43)


def test_logging_out_ends_the_login_for_a_copy_of_its_cookie_too(
    own_settings: Settings, opened: Opened
) -> None:
    with opened(own_settings, token=TOKEN) as client:
        copied, other = log_in(client), log_in(client)
        client.cookies = {COOKIE: copied}
        assert "Log out" in client.get("/login").text
        assert client.post("/logout").status_code == 303
        assert not may_write(client, copied)
        assert may_write(client, other)


def test_a_login_ends_after_a_time(own_settings: Settings, opened: Opened) -> None:
    with opened(own_settings, token=TOKEN) as client:
        value = log_in(client)
        now = datetime.now(UTC)
        with parts_of(client).write.begin() as session:
            session.execute(update(Login).values(expires_at=now - timedelta(seconds=1)))
        assert not may_write(client, value)
        client.cookies = {COOKIE: value}
        assert client.post("/logout").status_code == 303
        kept = log_in(client)
        with parts_of(client).write.begin() as session:
            delete_expired_logins(session, now)
            assert len(session.scalars(select(Login.digest)).all()) == 1
            assert delete_expired_logins(session, now + LIFETIME - timedelta(hours=1)) == 0
        assert may_write(client, kept)


def test_another_token_ends_all_logins(own_settings: Settings, opened: Opened) -> None:
    with opened(own_settings, token=TOKEN) as client:
        value = log_in(client)
    with opened(own_settings, token="another token, which is long") as client:
        assert not may_write(client, value)


def test_a_token_in_other_letters_passes_in_a_header(
    own_settings: Settings, opened: Opened
) -> None:
    with opened(own_settings, token=TOKEN) as client:
        given = {b"Authorization": f"Bearer {TOKEN}".encode()}
        assert client.post("/api/uploads", json=UPLOAD, headers=given).status_code == 201


@pytest.mark.parametrize(
    ("token", "said"),
    [
        ("", None),
        ("0123456789abcdef", None),
        ("pässwörter sind ok", None),
        ("0123456789abcde", "has 15 characters"),
        (" 0123456789abcdef", "begins or ends with a space"),
        ("0123456789abcdef\x07", "control character"),
    ],
)
def test_tokens_that_can_be_guessed_are_refused(token: str, said: str | None) -> None:
    refusal = refusal_of_token(token)
    assert (refusal is None) == (said is None)
    if refusal is not None and said is not None:
        assert said in refusal
        assert "openssl rand" in refusal


# --- guessing ---


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def guess(slowed: Attempts, client: str) -> float:
    """Sends a wrong token; the seconds until it is checked."""
    wait = slowed.wait(client)
    if not wait:
        slowed.count(client)
    return wait


def test_a_few_mistakes_cost_nothing_and_many_are_slowed() -> None:
    clock = Clock()
    slowed = Attempts(clock)
    waits = [guess(slowed, "a") for _ in range(attempts.FREE + 10)]
    assert waits[: attempts.FREE + 1] == [0.0] * (attempts.FREE + 1)
    later = waits[attempts.FREE + 1 :]
    steps = [after - before for before, after in itertools.pairwise(later)]
    assert steps == pytest.approx([attempts.EVERY_SECONDS] * len(steps))
    for _ in range(int(attempts.LONGEST_WAIT_SECONDS / attempts.EVERY_SECONDS) - len(later)):
        guess(slowed, "a")
    with pytest.raises(Refusal) as refused:
        guess(slowed, "a")
    assert refused.value.status == 429
    assert int(refused.value.headers["Retry-After"]) >= 1
    clock.now += attempts.FREE * attempts.EVERY_SECONDS + attempts.LONGEST_WAIT_SECONDS + 1
    assert [guess(slowed, "a") for _ in range(attempts.FREE)] == [0.0] * attempts.FREE
    clock.now += attempts.REMEMBERED_SECONDS + 1
    assert guess(slowed, "a") == 0.0


def test_whoever_made_no_mistake_never_waits_for_others() -> None:
    slowed = Attempts(Clock())
    for client in range(1000):
        for _ in range(3):
            try:
                guess(slowed, f"guesser {client}")
            except Refusal:
                continue
    with pytest.raises(Refusal):
        guess(slowed, "guesser 0")
    assert slowed.wait("honest") == 0.0


def test_guesses_of_many_clients_are_slowed_together() -> None:
    clock = Clock()
    slowed = Attempts(clock)
    checked = 0
    clients = [f"guesser {number}" for number in range(100)]
    for client in clients:
        slowed.count(client)
    for _ in range(600):
        clock.now += 0.1
        for client in clients:
            try:
                checked += guess(slowed, client) >= 0
            except Refusal:
                continue
    most = 60 / attempts.EVERY_SECONDS_OF_ALL + attempts.FREE_OF_ALL
    assert checked <= most + attempts.LONGEST_WAIT_SECONDS / attempts.EVERY_SECONDS_OF_ALL + 1
