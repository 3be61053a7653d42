"""What was read, and runs that are still being read, as pages tell it."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from inductorscope.local import read_paths
from inductorscope.settings import Settings
from inductorscope_server import urls
from starlette.testclient import TestClient

BROKEN = b"""\
V1121 01:24:58.555000 8487 torch/_dynamo/utils.py:2350] {"dynamo_start": {"stack": []}, \
"frame_id": 0, "frame_compile_id": 0, "attempt": 0}
this is no record at all
V1121 01:24:58.556000 8487 torch/_dynamo/utils.py:2350] {"artifact": {"name": "note", \
"encoding": "string"}, "frame_id": 0, "frame_compile_id": 0, "attempt": 0, \
"has_payload": "00000000000000000000000000000000"}
\tits digest is another
and this is none
V1121 01:24:58.557000 8487 torch/_dynamo/utils.py:2350] {"a_kind_of_2030": {}, "frame_id": 0, \
"frame_compile_id": 0, "attempt": 0}
"""


@pytest.fixture(scope="module")
def broken(own_settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A run of a log with two lines that are none of its format, and a damaged payload."""
    folder = tmp_path_factory.mktemp("broken")
    (folder / "trace.log").write_bytes(BROKEN)
    (folder / "notes.md").write_text("what is this?\n")
    result = read_paths(
        own_settings, [folder], name="broken", tags=[], origin="ingest",
        progress=lambda step, done, total, unit: None,
    )  # fmt: skip
    return result.run_id


def read(client: TestClient, run: str) -> Any:
    return client.get(f"/api{urls.read(run)}").json()


def test_what_could_not_be_read_is_told_with_its_line(client: TestClient, broken: str) -> None:
    page = read(client, broken)
    (dropped,) = (item for item in page["dropped"] if item["line"] is not None)
    assert (dropped["file"], dropped["line"], dropped["count"]) == ("trace.log", 2, 2)
    assert "this is no record at all" in dropped["example"]
    (repaired,) = page["repaired"]
    assert (repaired["line"], repaired["count"]) == (3, 1)
    for item in (dropped, repaired):
        place = urls.artifact_text(item["artifact"], item["at_line"], item["at_line"])
        assert client.get(place).text == BROKEN.decode().splitlines(keepends=True)[item["line"] - 1]
    text = unescape(client.get(urls.read(broken)).text)
    count = sum(item["count"] for item in page["dropped"])
    assert re.search(rf"partly read</span> {count} things in \d files? could not be read;", text)
    assert "this is no record at all" in text
    assert f'href="{urls.file(broken, dropped["artifact"], line=2)}"' in text


def test_every_file_says_what_it_became(client: TestClient, broken: str) -> None:
    page = read(client, broken)
    became = {file["path"]: file["became"] for file in page["files"]}
    assert became["trace.log"] == "3 records of 1 compile, 0 graphs"
    assert became["notes.md"]
    (log,) = page["logs"]
    assert {row["kind"]: row["count"] for row in log["kinds"]} == {
        "a_kind_of_2030": 1, "artifact:note": 1, "dynamo_start": 1,
    }  # fmt: skip
    for file in page["files"]:
        assert client.get(urls.file(broken, file["artifact"])).status_code == 200


def test_an_unknown_kind_is_marked(client: TestClient, broken: str) -> None:
    kinds = client.get(f"/api{urls.log(broken)}").json()["kinds"]
    assert [row["kind"] for row in kinds if not row["known"]] == ["a_kind_of_2030"]
    assert "unknown kind" in client.get(urls.log(broken)).text


def test_a_whole_upload_is_all_read(filled: TestClient) -> None:
    run = filled.get("/api/").json()["runs"][0]["id"]
    page = read(filled, run)
    assert page["dropped"] == []
    assert "all read" in filled.get(urls.read(run)).text
    assert all(file["became"] for file in page["files"])


def test_reports_of_earlier_versions_are_shown(
    client: TestClient, own_settings: Settings, broken: str, fixtures: Path
) -> None:
    from inductorscope.store.engine import make_engine, sessions
    from inductorscope.store.models import Run

    result = read_paths(
        own_settings, [fixtures / "cuda-foo1"], name="old", tags=[], origin="ingest",
        progress=lambda step, done, total, unit: None,
    )  # fmt: skip
    engine = make_engine(own_settings)
    with sessions(engine).begin() as session:
        run = session.get_one(Run, result.run_id)
        run.report = {
            "files": [
                {name: file[name] for name in ("path", "role", "size", "graph")}
                for file in run.report["files"]
            ],
            "dropped": [{"file": "x.log", "reason": "cut off", "count": 3}],
        }
    engine.dispose()
    page = read(client, result.run_id)
    assert [item["count"] for item in page["dropped"]] == [3]
    assert page["logs"] == []
    assert client.get(urls.read(result.run_id)).status_code == 200
    log = client.get(f"/api{urls.log(result.run_id)}").json()
    assert log["records"]
    assert log["logs"][0]["artifact"]
