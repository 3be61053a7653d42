"""One person acts against another on the same server, through everything that both use.

Grace asks first, on a fresh server. Then Mallory attacks, and Ada asks what Grace asked: she must
get the same answers, apart from ids and times, and without waiting for more than a turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from inductorscope.settings import Settings
from inductorscope.store.database.engine import make_engine, sessions
from inductorscope.store.people import add_person
from inductorscope.store.tokens import add_token
from inductorscope.store.who import READ, RUN, UPLOAD

from tests.support.attacking import Health
from tests.support.serving import Served, serve

MODEL = """
import torch

def f(x, y):
    return torch.relu(x + y) * 3

inputs = torch.arange(8.0), torch.ones(8)
"""
HONEST = (
    """
import glob
print(sorted(glob.glob('/play/cache/**/*.so', recursive=True)))
print(sorted(glob.glob('/tmp/**/cache/*/*', recursive=True)))
"""
    + MODEL
    + """
print(torch.compile(f)(*inputs).tolist())
"""
)
POISONED = MODEL.replace("* 3", "* 5")
HOSTILE = (
    POISONED
    + """
import glob, os
torch.compile(f)(*inputs)
for file in glob.glob(os.environ['TORCHINDUCTOR_CACHE_DIR'] + '/**/*.so', recursive=True):
    open(file + '.new', 'w').write('no kernel')
    os.replace(file + '.new', file)
    print('replaced')
"""
)
SLEEP_SECONDS = 2
SLEEPS = f"import time; time.sleep({SLEEP_SECONDS})"


@dataclass
class Person:
    """Somebody with an account, at an address of their own."""

    client: httpx.Client

    def try_out(self, code: str) -> dict[str, Any]:
        answer = self.client.post("/api/play/tries", json={"code": code})
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def query(self, sql: str) -> dict[str, Any]:
        answer = self.client.get("/api/sql", params={"sql": sql})
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found


@dataclass
class Team:
    served: Served
    grace: Person
    mallory: Person
    ada: Person


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    data = tmp_path_factory.mktemp("team") / "data"
    env = {"INDUCTORSCOPE_ACCOUNTS": "1", "INDUCTORSCOPE_PLAYGROUND": "1"}
    with serve(data, "--workers", "0", env=env) as served:
        engine = make_engine(Settings(data=data, database_url="", accounts=True))
        now = datetime.now(UTC)
        with sessions(engine).begin() as session:
            tokens = [
                add_token(
                    session, "play", [READ, UPLOAD, RUN], now,
                    person=add_person(session, name, "author", now, "correct horse"),
                )
                for name in ("grace", "mallory", "ada")
            ]  # fmt: skip
        engine.dispose()
        people = [
            Person(
                httpx.Client(
                    base_url=served.url,
                    headers={
                        "Authorization": f"Bearer {token}",
                        "X-Forwarded-For": f"10.0.0.{number}",
                    },
                    timeout=200,
                    limits=httpx.Limits(max_connections=100),
                )
            )
            for number, token in enumerate(tokens, 1)
        ]
        yield Team(served, *people)


def without_times(tried: dict[str, Any]) -> dict[str, Any]:
    return {
        key: value for key, value in tried.items() if key != "run" and not key.endswith("seconds")
    }


def test_what_a_try_leaves_reaches_nobody_else(team: Team) -> None:
    fresh = team.grace.try_out(HONEST)
    assert fresh["error"] is None
    assert fresh["run"]
    hostile = team.mallory.try_out(HOSTILE)
    assert hostile["printed"].strip().endswith("replaced")
    assert without_times(team.ada.try_out(HONEST)) == without_times(fresh)
    assert hostile["error"] is None
    poisoned = team.ada.try_out(HONEST.replace("* 3", "* 5"))
    assert poisoned["error"] is None
    assert poisoned["printed"].splitlines()[-1] == "[5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0]"
    # Who compiles again has their own kernels.
    assert ".so" in team.grace.try_out(HONEST)["printed"]


def test_tries_that_take_long_hold_up_nobody(team: Team) -> None:
    with ThreadPoolExecutor(80) as pool, Health(team.served.url) as health:
        tries = [
            pool.submit(team.mallory.client.post, "/api/play/tries", json={"code": SLEEPS})
            for _ in range(8)
        ]
        ready = [pool.submit(team.mallory.client.post, "/api/play/ready") for _ in range(60)]
        assert team.ada.client.post("/api/play/ready").status_code == 200
        assert team.ada.try_out(MODEL)["error"] is None
        assert sum(done.done() for done in tries) <= 2
        assert team.ada.client.get("/").elapsed.total_seconds() < 2
        for each in (*tries, *ready):
            assert each.result().status_code in (200, 503)
    assert health.slowest < 1
    assert not health.failures
