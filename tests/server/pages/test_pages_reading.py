"""What was read, and runs that are still being read, as pages tell it."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from inductorscope import urls
from inductorscope.cli.local import read_paths
from inductorscope.settings import Settings
from inductorscope.store.database.engine import make_engine, sessions
from inductorscope.store.tables.models import Job, Run
from sqlalchemy import update
from starlette.testclient import TestClient

from tests.support.half_read import HalfRead
from tests.support.html import one_line

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
    assert re.search(
        rf"partly read</span> {count} items in \d files? could not be read;", one_line(text)
    )
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
    result = read_paths(
        own_settings, [fixtures / "cuda-foo1"], name="old", tags=[], origin="ingest",
        progress=lambda step, done, total, unit: None,
    )  # fmt: skip
    engine = make_engine(own_settings)
    with sessions(engine).begin() as session:
        run = session.get_one(Run, result.run_id)
        report = {
            "files": [
                {name: getattr(file, name) for name in ("path", "role", "size", "graph")}
                for file in run.report.files
            ],
            "dropped": [{"file": "x.log", "reason": "cut off", "count": 3}],
        }
        session.execute(update(Run).values(report=report))
    engine.dispose()
    page = read(client, result.run_id)
    assert [item["count"] for item in page["dropped"]] == [3]
    assert page["logs"] == []
    assert client.get(urls.read(result.run_id)).status_code == 200
    log = client.get(f"/api{urls.log(result.run_id)}").json()
    assert log["records"]
    assert log["logs"][0]["artifact"]


@pytest.fixture
def half(own_settings: Settings, request: pytest.FixtureRequest) -> Iterator[HalfRead]:
    """A run that a test reads on; what is left of it goes."""
    engine = make_engine(own_settings)
    reading = HalfRead(sessions(engine), request.node.name)
    yield reading
    reading.writer.discard()
    engine.dispose()


def pages_of(run: str, graph: str | None = None) -> list[str]:
    addresses = [urls.run(run), urls.read(run), urls.log(run), urls.time(run), urls.run_state(run)]
    return [*addresses, urls.graph(run, graph)] if graph else addresses


def test_texts_of_a_graph_open_before_its_lines_are_linked(
    client: TestClient, half: HalfRead
) -> None:
    half.lay_out()
    links = client.get(urls.api_graph(half.id, "backward", "links"))
    assert links.json() == {"engine": "", "entities": [], "stages": {}}
    assert links.headers["cache-control"] == "no-store"
    explorer = client.get(urls.api_graph(half.id, "backward", "explorer")).json()
    assert "still being linked" in explorer["notes"][0]
    assert any(stage["files"] for stage in explorer["stages"])
    assert client.get(urls.api_graph(half.id, "sideways", "links")).status_code == 404


def test_every_page_works_at_every_step(client: TestClient, half: HalfRead) -> None:
    steps = (lambda: None, half.read_log, half.lay_out, half.link_one)
    for number, step in enumerate(steps):
        step()
        for address in pages_of(half.id, "backward" if number > 1 else None):
            for asked in (address, f"/api{address}"):
                answer = client.get(asked)
                assert answer.status_code == 200, f"{asked}: {answer.text}"
    half.finish()
    for address in pages_of(half.id, "forward"):
        assert client.get(address).status_code == 200
        assert "being read" not in client.get(address).text


def test_a_run_says_that_it_is_being_read_instead_of_judging(
    client: TestClient, half: HalfRead
) -> None:
    def row() -> Any:
        rows = client.get("/api/?q=&sort=created_at").json()["runs"]
        return next(row for row in rows if row["id"] == half.id)

    half.lay_out()
    half.link_one()
    assert (row()["state"], row()["verdict"]["label"]) == ("reading", "being read")
    listed = client.get("/").text
    assert "being read" in listed
    assert "1 of 2 graphs are linked" in listed
    assert 'hx-trigger="every 2s"' in listed  # the list follows
    page = client.get(urls.run(half.id)).text
    assert "lines are still being linked" in page
    assert page.count(">pending<") == 2  # neither graph has links yet
    half.finish()
    assert (row()["state"], row()["step"]) == ("complete", None)
    assert row()["verdict"]["label"] != "being read"
    assert "hx-trigger" not in client.get("/").text


def test_the_state_follows_and_asks_the_page_to_load_anew(
    client: TestClient, half: HalfRead
) -> None:
    def asked(graphs: int) -> tuple[str, str | None]:
        answer = client.get(urls.run_state(half.id, graphs=graphs))
        assert answer.headers["cache-control"] == "no-store"
        return answer.text, answer.headers.get("hx-refresh")

    half.read_log()
    text, refresh = asked(0)
    assert "Reading trace.log" in text
    assert refresh is None
    half.lay_out()
    assert asked(0)[1] == "true"  # the page has no graphs yet
    text, refresh = asked(2)
    assert refresh is None
    assert "2 graphs and 0 kernels so far" in one_line(text)
    half.link_one()
    state = client.get(f"/api{urls.run_state(half.id)}").json()
    assert (state["state"], state["kernel_count"], state["share"]) == ("reading", 1, None)
    half.finish()
    text, refresh = asked(2)
    assert refresh == "true"
    assert "hx-get" not in text


def test_a_run_that_could_not_be_read_says_where_to_look(
    client: TestClient, half: HalfRead
) -> None:
    half.writer.discard()
    answer = client.get(urls.run_state(half.id), headers={"HX-Request": "true"})
    assert answer.status_code == 404
    assert "The list of jobs says why" in answer.text


def test_what_is_here_already_can_be_searched(client: TestClient, half: HalfRead) -> None:
    half.read_log()
    half.lay_out()
    texts = client.get(f"/api/search?q=args&run={half.id}").json()["texts"]
    (text,) = texts  # the log's payload and both graphs' codes are one text
    assert text["place"]["reading"]
    own = [other["graph"] for other in text["elsewhere"] if other["run"]["id"] == half.id]
    assert own == ["backward"]
    files = client.get(f"/api{urls.read(half.id)}").json()["files"]
    assert {file["graph"] for file in files} == {None, "forward", "backward"}


def test_the_job_and_the_run_it_reads_lead_to_each_other(
    client: TestClient, own_settings: Settings, half: HalfRead
) -> None:
    engine = make_engine(own_settings)
    with sessions(engine).begin() as session:
        session.add(
            Job(
                id="ingest-half",
                kind="ingest",
                title="half",
                spec={},
                state="running",
                step="Reading trace.log",
                done=3,
                total=4,
                unit="bytes",
                run_id=half.id,
                created_at=datetime.now(UTC),
            )
        )
    engine.dispose()
    for address in (urls.job("ingest-half"), urls.jobs()):
        assert f'href="{urls.run(half.id)}"' in client.get(address).text
    state = client.get(f"/api{urls.run_state(half.id)}").json()
    assert (state["job"], state["share"], state["unit"]) == ("ingest-half", 0.75, "bytes")
    page = client.get(urls.run(half.id)).text
    assert f'href="{urls.job("ingest-half")}"' in page
    assert 'value="0.75"' in page
    # Who looks at the list of runs sees the first of it appear.
    assert 'hx-trigger="every 2s"' in client.get("/").text
