"""Search and the text of stored files, over HTTP, on the run of a real capture."""

import re
from html import unescape
from typing import Any

import pytest
from inductorscope import urls
from inductorscope.answers.search.reading import LINES_A_TEXT
from starlette.testclient import TestClient

from tests.support.html import one_line


@pytest.fixture(scope="module")
def run(filled: TestClient) -> str:
    return str(filled.get("/api/").json()["runs"][0]["id"])


def found(client: TestClient, **asked: str | int) -> Any:
    answer = client.get("/api/search", params=asked)
    assert answer.status_code == 200, answer.text
    return answer.json()


def whole_text(client: TestClient, artifact: int) -> list[str]:
    text: str = client.get(urls.artifact_text(artifact)).text
    return text.split("\n")


def test_every_hit_is_a_line_of_its_file(filled: TestClient) -> None:
    page = found(filled, q="tl.load")
    assert page["exact"]
    assert page["line_count"] > 0
    for text in page["texts"]:
        lines = whole_text(filled, text["place"]["artifact"])
        assert [hit["line"] for hit in text["hits"]] == [
            number for number, line in enumerate(lines, 1) if "tl.load" in line
        ][:LINES_A_TEXT]
        for hit in text["hits"]:
            assert "tl.load" in lines[hit["line"] - 1]
            assert {hit["text"][start:end] for start, end in hit["marks"]} == {"tl.load"}
            assert filled.get(hit["url"]).status_code == 200


def test_hits_lead_into_the_explorer_or_into_the_file(filled: TestClient) -> None:
    page = found(filled, q="tl.load", role="code")
    hit = page["texts"][0]["hits"][0]
    assert hit["kernel"]
    assert re.search(rf"/graphs/.*kernel={hit['kernel']}:\d+&sel=kernel:{hit['line']}$", hit["url"])
    page = found(filled, q="File", role="kernel_stacks")
    for text in page["texts"]:
        for hit in text["hits"]:
            assert hit["url"] == f"{text['place']['url']}?line={hit['line']}"


def test_kernels_and_runs_are_found_by_name(filled: TestClient, run: str) -> None:
    page = found(filled, q="triton_")
    assert page["kernels"]
    for kernel in page["kernels"]:
        assert "triton_" in kernel["name"]
        assert filled.get(kernel["url"]).status_code == 200
    assert [row["id"] for row in found(filled, q="foo1")["runs"]] == [run]
    # In one run names of others are not looked for.
    assert found(filled, q="foo1", run=run)["runs"] == []
    assert found(filled, q="triton_", run="0" * 16)["kernels"] == []


def test_pages_follow_each_other(filled: TestClient) -> None:
    first = found(filled, q="torch")
    for text in first["texts"]:
        artifact = text["place"]["artifact"]
        seen: list[int] = []
        cursor = ""
        while cursor is not None:
            page = found(filled, q="torch", file=artifact, cursor=cursor)
            seen += [hit["line"] for text in page["texts"] for hit in text["hits"]]
            cursor = page["next_cursor"]
        lines = whole_text(filled, artifact)
        assert seen == [number for number, line in enumerate(lines, 1) if "torch" in line.lower()]


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({}, "Search in code"),
        ({"q": "%"}, "too short"),
        ({"q": "nothingofthisname"}, "No match for"),
        ({"q": "nothingofthisname", "role": "source"}, "Search all texts"),
        ({"q": "<script>alert(1)</script>"}, "No match for"),
    ],
)
def test_the_page_says_what_to_do(filled: TestClient, asked: dict[str, str], told: str) -> None:
    text = filled.get("/search", params=asked).text
    assert told in unescape(one_line(text))
    assert "<script>alert" not in text
    assert 'style="' not in text


def test_an_empty_database_says_where_to_begin(client: TestClient) -> None:
    assert "Nothing to search yet" in client.get("/search?q=buf0").text
    assert found(client, q="buf0")["any_runs"] is False


def test_what_is_no_search_is_refused(filled: TestClient) -> None:
    for wrong in ("role=nonsense", "run=abc", "file=-1", "cursor=z9", "q=" + "x" * 201):
        answer = filled.get(f"/api/search?{wrong}")
        assert answer.status_code == 422, wrong
        assert answer.json()["error"]["where"].startswith("query.")


@pytest.fixture(scope="module")
def log(filled: TestClient, run: str) -> Any:
    files = filled.get(f"/api/runs/{run}/read").json()["files"]
    return next(file for file in files if file["role"] == "trace_log")


def test_a_file_is_shown_around_a_line(filled: TestClient, run: str, log: Any) -> None:
    lines = whole_text(filled, log["artifact"])
    page = filled.get(f"/api{urls.file(run, log['artifact'], line=900, last=903)}").json()
    assert page["first"] < 900 < page["last"] <= page["line_count"] == len(lines) - 1
    for line in page["lines"]:
        assert line["text"] == lines[line["number"] - 1][:2000]
        assert line["marked"] == (900 <= line["number"] <= 903)
    assert page["lines"][-1]["number"] == page["last"]


def test_earlier_and_later_lines_show_a_whole_file(filled: TestClient, run: str, log: Any) -> None:
    seen: list[int] = []
    line: int | None = 1
    while line is not None:
        page = filled.get(f"/api{urls.file(run, log['artifact'], line=line)}").json()
        numbers = [row["number"] for row in page["lines"]]
        seen += [number for number in numbers if not seen or number > seen[-1]]
        line = page["after"]
    assert seen == list(range(1, page["line_count"] + 1))
    back = filled.get(f"/api{urls.file(run, log['artifact'], line=page['before'])}").json()
    assert back["last"] >= page["first"] - 1


def test_lines_beyond_the_end_show_the_end(filled: TestClient, run: str, log: Any) -> None:
    page = filled.get(f"/api{urls.file(run, log['artifact'], line=10**9)}").json()
    assert page["line"] == page["last"] == page["line_count"]
    text = filled.get(urls.file(run, log["artifact"], line=10**9)).text
    assert f'id="L{page["line_count"]}"' in text


def test_a_file_belongs_to_its_run(filled: TestClient, run: str, log: Any) -> None:
    for address, what in (
        (urls.file(run, 10**9), "no stored file"),
        (urls.file("0" * 16, log["artifact"]), "There is no run"),
    ):
        answer = filled.get(f"/api{address}")
        assert answer.status_code == 404
        assert what in answer.json()["error"]["what"]


def test_what_is_not_text_is_downloaded(filled: TestClient, run: str) -> None:
    files = filled.get(f"/api/runs/{run}/read").json()["files"]
    trace = next(file for file in files if file["role"] == "chrome_trace")
    page = filled.get(urls.file(run, trace["artifact"])).text
    assert "not text" in page
    assert urls.artifact_raw(trace["artifact"]) in page
