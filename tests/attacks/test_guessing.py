"""Guessing the token, in its header and at the login page, in parallel and without pause."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from tests.support.serving import Served, serve

TOKEN = "the-token-of-the-tests"
AT_ONCE = 8
SECONDS = 5.0
UPLOAD = {"files": [{"path": "a.txt", "size": 1}]}


def attack(url: str, token: str, stop: threading.Event) -> None:
    """Guesses until `stop` is set, from an address of its own, so that other attacks are not slowed
    with it. Raises AssertionError if a guess passes."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        guessers = [pool.submit(guess, url, number, stop, "127.0.0.3") for number in range(AT_ONCE)]
        for answers in (guesser.result() for guesser in guessers):
            assert not answers[200] + answers[201] + answers[303], answers


def guess(url: str, number: int, stop: threading.Event, source: str | None = None) -> Counter[int]:
    """One guesser; the number of answers by status."""
    answers: Counter[int] = Counter()
    transport = httpx.HTTPTransport(local_address=source)
    with httpx.Client(base_url=url, timeout=60, transport=transport) as client:
        while not stop.is_set():
            wrong = f"guess-{number}-{sum(answers.values())}"
            if number % 2:
                answer = client.post("/login", data={"token": wrong})
            else:
                sent = {"Authorization": f"Bearer {wrong}"}
                answer = client.post("/api/uploads", json=UPLOAD, headers=sent)
            answers[answer.status_code] += 1
    return answers


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    env = {"INDUCTORSCOPE_TOKEN": TOKEN}
    data: Path = tmp_path_factory.mktemp("guessing") / "data"
    with serve(data, "--workers", "0", env=env) as served:
        yield served


def test_guesses_are_slowed_and_people_are_not(served: Served) -> None:
    stop = threading.Event()
    elsewhere = httpx.HTTPTransport(local_address="127.0.0.2")
    with (
        ThreadPoolExecutor(AT_ONCE) as pool,
        ExitStack() as closing,
        httpx.Client(base_url=served.url, timeout=10) as logged_in,
        httpx.Client(base_url=served.url, timeout=10, transport=elsewhere) as newcomer,
    ):
        assert logged_in.post("/login", data={"token": TOKEN}).status_code == 303
        guessers = [pool.submit(guess, served.url, number, stop) for number in range(AT_ONCE)]
        closing.callback(stop.set)
        time.sleep(2)  # more than the free attempts
        longest = 0.0
        until = time.monotonic() + SECONDS - 2
        given = {"Authorization": f"Bearer {TOKEN}"}
        while time.monotonic() < until:
            begun = time.monotonic()
            # At the guessers' own address: a browser that is logged in, and reading.
            announced = logged_in.post("/api/uploads", json=UPLOAD)
            assert announced.status_code == 201
            assert logged_in.delete(f"/api/uploads/{announced.json()['id']}").is_success
            assert logged_in.get("/").status_code == 200
            # Elsewhere: somebody who has just got the token.
            announced = newcomer.post("/api/uploads", json=UPLOAD, headers=given)
            assert announced.status_code == 201
            address = f"/api/uploads/{announced.json()['id']}"
            assert newcomer.delete(address, headers=given).is_success
            longest = max(longest, time.monotonic() - begun)
            time.sleep(0.1)
        # And with the token at the guessers' address, after a wait.
        begun = time.monotonic()
        late = httpx.post(f"{served.url}/api/uploads", json=UPLOAD, headers=given, timeout=30)
        assert (late.status_code, time.monotonic() - begun < 20) == (201, True)
        stop.set()
        answers: Counter[int] = Counter()
        for guesser in guessers:
            answers += guesser.result()
    checked = answers[401] + answers[403]
    print(f"{checked} guesses checked in {SECONDS:.0f} s, {answers}; longest wait {longest:.2f} s")
    assert checked <= 20 + 2 * (SECONDS + 20)
    assert longest < 2.0
    assert served.said().count("wrong token") <= 10
