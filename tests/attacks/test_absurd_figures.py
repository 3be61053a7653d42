"""Uploads with figures and texts that nothing real has: each page of their run answers, and *What
was read* counts what was left out."""

import gzip
import json
import re
import shutil
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from inductorscope.cli.local import read_paths
from inductorscope.formats.border import ABSURD, UNENCODABLE
from inductorscope.settings import Settings
from inductorscope.store.who import OWNER, VIEWER
from inductorscope_server.web.app import create_app
from starlette.testclient import TestClient

from tests.support.new_database import new_database
from tests.support.pages import OPENED
from tests.support.places import FIXTURES

BASE = "http://127.0.0.1:8765"
NUMBER = re.compile(r"(?<=[ :\[,])-?\d+(?:\.\d+)?(?=[,}\]\s]|$)")
HOSTILE = ("1e308", "-1e308", "9" * 30, "NaN", "-1", "9007199254740993000")


def trace(folder: Path, *events: dict[str, object]) -> None:
    plain = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 1}
    text = json.dumps({"traceEvents": [plain | event for event in events]})
    (folder / "compiled.trace.json").write_text(text)


def far_apart(folder: Path) -> None:
    trace(folder, {"ts": -1e308}, {"ts": 1e308})


def half_a_pair(folder: Path) -> None:
    trace(folder, {"name": "\ud800"}, {"cat": "cpu_op", "name": "a\udfffb", "tid": "\ud800"})


def huge_arguments(folder: Path) -> None:
    args = {"grid": [1e308, 1, 1], "block": [1e308, 1, 1], "est. achieved occupancy %": 1e308}
    trace(folder, {"ts": 1e300, "args": args}, {"ts": -1e308, "args": args})


def copied(name: str, folder: Path) -> None:
    """Copies a fixture, and unpacks its files."""
    shutil.copytree(FIXTURES / name, folder, dirs_exist_ok=True)
    for packed in folder.rglob("*.gz"):
        packed.with_suffix("").write_bytes(gzip.decompress(packed.read_bytes()))
        packed.unlink()


def lines_before_the_first(folder: Path) -> None:
    copied("dynamic", folder)
    for log in folder.rglob("*.log"):
        text = re.sub(r'(line(?:no)?"): \d+', r"\1: -1", log.read_text())
        log.write_text(re.sub(r'(co_filename"): "[^"]+"', r'\1: "/home/gone.py"', text))


def everything(folder: Path) -> None:
    """Every third figure of a run, in its trace, log, result and provenance."""
    copied("cuda-foo1", folder)
    places = count()

    def third(match: re.Match[str]) -> str:
        at = next(places)
        return match[0] if at % 3 else HOSTILE[at // 3 % len(HOSTILE)]

    for file in [*folder.rglob("*.json"), *folder.rglob("*.log")]:
        text = file.read_text()
        # A log's line is a record by what is before its JSON.
        heads = [
            line.partition("{")[0] if file.suffix == ".log" else "" for line in text.split("\n")
        ]
        file.write_text(
            "\n".join(
                head + NUMBER.sub(third, line.removeprefix(head))
                for head, line in zip(heads, text.split("\n"), strict=True)
            )
        )


ATTACKS: dict[Callable[[Path], None], str] = {
    far_apart: "an event without a time stamp counts from 0",
    half_a_pair: UNENCODABLE,
    huge_arguments: "an event without a time stamp counts from 0",
    lines_before_the_first: ABSURD,
    everything: ABSURD,
}
"""What makes an upload → what *What was read* says of it."""


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    data = tmp_path_factory.mktemp("absurd") / "data"
    new_database(data)
    return Settings(data=data, database_url="")


@pytest.fixture(scope="module")
def client(settings: Settings) -> Iterator[TestClient]:
    before = VIEWER.set(OWNER)
    with TestClient(
        create_app(settings, alone=True), base_url=BASE, raise_server_exceptions=False
    ) as client:
        yield client
    VIEWER.reset(before)


def pages_of(client: TestClient, run: str) -> Iterator[str]:
    """The pages of a run, its twins and its Markdown."""
    parts = {"run": run, "number": "0", "other": run}
    if graphs := client.get(f"/api/runs/{run}").json()["graphs"]:
        parts["slug"] = graphs[0]["slug"]
        explorer = client.get(f"/api/runs/{run}/graphs/{parts['slug']}/explorer").json()
        for kernel in explorer["kernels"][:1]:
            parts["kernel"] = f"{kernel['name']}:{kernel['calls'][0]['handle']}"
    for path in OPENED:
        named = set(re.findall(r"{(\w+)}", path))
        if "run" in named and named <= parts.keys():
            page = path.format(**parts)
            yield from (page, f"/api{page}", re.sub(r"(?=\?|$)", ".md", page, count=1))
    yield from (f"/api/runs/{run}/inductor.lock", f"/api/runs/{run}/failures/report.md")


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_each_page_of_an_absurd_run_answers(
    client: TestClient, settings: Settings, tmp_path: Path, attack: Callable[[Path], None]
) -> None:
    attack(tmp_path)
    run = read_paths(
        settings, [tmp_path], name="absurd", tags=[], origin="ingest", progress=lambda *_: None
    ).run_id
    assert client.get(f"/api/runs/{run}").status_code == 200
    answers = {page: client.get(page).status_code for page in pages_of(client, run)}
    assert len(answers) > 50
    assert {page: status for page, status in answers.items() if status >= 500} == {}
    assert ATTACKS[attack] in client.get(f"/api/runs/{run}/read").text
