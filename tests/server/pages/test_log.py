"""The log page and its twin, on the run of a real capture."""

import re
from html import unescape
from typing import Any

import pytest
from inductorscope import urls
from starlette.testclient import TestClient

from tests.support.html import one_of_each


@pytest.fixture(scope="module")
def run(filled: TestClient) -> str:
    return str(filled.get("/api/").json()["runs"][0]["id"])


def log(client: TestClient, run: str, **asked: str | int) -> Any:
    answer = client.get(f"/api{urls.log(run)}", params=asked)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_records_lead_to_their_payload_and_to_their_line(filled: TestClient, run: str) -> None:
    page = log(filled, run)
    (file,) = page["logs"]
    assert page["total"] == len(page["records"]) > 10
    for record in page["records"]:
        place = urls.artifact_text(file["artifact"], record["line"], record["line"])
        line = filled.get(place).text
        assert f'"{record["name"] or record["kind"]}"' in line
        if record["artifact"] is None:
            assert '"has_payload"' not in line
            continue
        last = record["line"] + record["lines"] - 1
        place = urls.artifact_text(file["artifact"], record["line"] + 1, last)
        in_log = [shown.removeprefix("\t") for shown in filled.get(place).text.split("\n")]
        payload = filled.get(urls.artifact_text(record["artifact"])).text
        assert "\n".join(in_log[: record["lines"] - 1]) == payload


def test_choices_narrow_the_records(filled: TestClient, run: str) -> None:
    everything = log(filled, run)
    chosen = log(filled, run, kind="artifact:fx_graph_runnable")
    assert [record["name"] for record in chosen["records"]] == ["fx_graph_runnable"]
    compile_id = everything["records"][-1]["compile_id"]
    of_compile = log(filled, run, compile=compile_id)
    listed = [record["compile_id"] for record in everything["records"]]
    assert len(of_compile["records"]) == listed.count(compile_id)
    assert {record["compile_id"] for record in of_compile["records"]} == {compile_id}
    after = everything["records"][4]["id"]
    assert log(filled, run, cursor=after)["records"] == everything["records"][5:]
    assert log(filled, run, compile="9/9")["records"] == []


def test_the_page_links_to_what_there_is(filled: TestClient, run: str) -> None:
    links: dict[str, str] = {}
    for asked in ("", "?kind=artifact", "?compile=0/0", "?compile=nothing"):
        text = filled.get(urls.log(run) + asked).text
        assert 'style="' not in text, asked
        here = {unescape(link) for link in re.findall(r'href="(/(?!static/)[^"#]*)', text)}
        assert len(here) > 3, asked
        links |= dict.fromkeys(sorted(here)[:80], asked)
    for link in one_of_each(links):
        assert filled.get(link).status_code in (200, 302), f"{link} of {links[link]}"


def test_the_run_page_leads_to_the_log(filled: TestClient, run: str) -> None:
    assert f'href="{urls.log(run)}"' in filled.get(urls.run(run)).text


def test_what_is_no_choice_is_refused(filled: TestClient, run: str) -> None:
    for wrong in ("rank=x", "rank=-1", "cursor=-1", "cursor=x", "compile=" + "1" * 201):
        assert filled.get(f"/api{urls.log(run)}?{wrong}").status_code == 422, wrong
    assert filled.get(f"/api{urls.log('0' * 16)}").status_code == 404
