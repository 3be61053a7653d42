"""Every page and its JSON twin, on the run of a real capture."""

import base64
import json
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
import zstandard
from inductorscope import urls
from inductorscope.answers.compile.diff import DiffPage
from inductorscope.cli.local import read_paths
from inductorscope.plugins import PluginError
from inductorscope.settings import Settings
from inductorscope_server.pages.table import PAGES
from inductorscope_server.rendering.templating import Pages, web_folder
from inductorscope_server.web.app import create_app
from inductorscope_server.web.pages import Page, check
from starlette.testclient import TestClient

from tests.support.html import one_line, one_of_each
from tests.support.pages import OPENED

Opened = Callable[..., AbstractContextManager[TestClient]]
GRAPH = "model__0_inference_0.0"


@pytest.fixture(scope="module")
def run(filled: TestClient) -> str:
    return str(filled.get("/api/").json()["runs"][0]["id"])


@pytest.fixture(scope="module")
def explorer(filled: TestClient, run: str) -> Any:
    return filled.get(urls.api_graph(run, GRAPH, "explorer")).json()


@pytest.fixture(scope="module")
def parts(filled: TestClient, run: str, explorer: Any) -> dict[str, str]:
    """The parts of addresses."""
    kernel = explorer["kernels"][0]
    files = filled.get(f"/api{urls.read(run)}").json()["files"]
    return {
        "run": run,
        "other": run,
        "slug": GRAPH,
        "kernel": urls.kernel_key(kernel["name"], kernel["calls"][0]["handle"]),
        "number": "0",
        "artifact": next(str(file["artifact"]) for file in files if file["role"] == "trace_log"),
    }


STATES = (
    "/compare?run={run}",
    "/?q=foo1&sort=kernel_count&order=asc",
    "/search?q=tl.load",
    "/runs/{run}/graphs/{slug}?panes=post_grad,kernel&sel=post_grad:7",
)


@pytest.mark.parametrize("path", [*OPENED, *STATES])
def test_page_and_twin(filled: TestClient, parts: dict[str, str], path: str) -> None:
    address = path.format(**parts)
    page = filled.get(address)
    assert page.status_code == 200, page.text
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "Inductorscope" in re.findall(r"<title>(.*?)</title>", page.text, re.DOTALL)[0]
    assert 'style="' not in page.text
    assert "<style" not in page.text
    assert not re.search(r"<script(?![^>]*\bsrc=)(?![^>]*type=.application/json)", page.text)
    assert not re.search(r"\son[a-z]+=", page.text)
    twin = filled.get(f"/api{address}")
    assert twin.status_code == 200, twin.text
    assert twin.headers["content-type"] == "application/json"


def test_addresses_in_pages_lead_somewhere(filled: TestClient, parts: dict[str, str]) -> None:
    links: dict[str, str] = {}
    for path in (*OPENED, *STATES):
        text = filled.get(path.format(**parts)).text
        links |= dict.fromkeys(re.findall(r'(?:href|src)="(/[^"#]*)"', text)[:60], path)
    for link in one_of_each(links):
        if not link.startswith("/static/"):  # those are there after a build
            answer = filled.get(link.replace("&amp;", "&"))
            assert answer.status_code in (200, 302), f"{link} on {links[link]}"


def test_the_navigation_of_a_run_marks_each_of_its_pages(filled: TestClient, run: str) -> None:
    of_run = [page for page in PAGES if page.tab and page.path.startswith(urls.RUN)]
    firsts = {page.tab: page for page in reversed(of_run)}
    listed = [firsts[tab] for tab in dict.fromkeys(page.tab for page in of_run) if tab != "Ranks"]
    assert [page.tab for page in listed][:4] == ["Overview", "Explorer", "Kernels", "Time"]
    for page in of_run:
        if "{" in page.path.removeprefix(urls.RUN) or page.tab == "Ranks":
            continue
        answer = filled.get(urls.at(page.path, run=run), follow_redirects=True)
        if answer.status_code == 422:  # it needs more than the run
            continue
        nav = re.search(r'<nav class="run-nav" .*?</nav>', answer.text, re.DOTALL)
        assert nav is not None
        assert re.findall(r'href="([^"]+)"', nav[0]) == [
            urls.at(row.path, run=run) for row in listed
        ]
        assert re.findall(r'aria-current="page"[^>]*>(\w+)<', one_line(nav[0])) == [page.tab]
        if page.view:
            views = re.search(
                rf'<nav class="run-nav views" aria-label="Views of {page.tab}">.*?</nav>',
                answer.text, re.DOTALL,
            )  # fmt: skip
            assert views is not None
            assert f'aria-current="page">{page.view}<' in one_line(views[0])


async def load_number(number: int) -> DiffPage:
    raise NotImplementedError


async def untyped(number):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201  # the mistake
    raise NotImplementedError


@pytest.mark.parametrize(
    ("path", "load", "template", "message"),
    [
        ("/of/{run}/{number}", load_number, "run.html", r"load_number lacks .*: run\."),
        ("/of/{number}", untyped, "run.html", r"untyped needs a return type"),
        ("/of/{number}", load_number, "none.html", r"load_number has no template none\.html\."),
        ("/jobs/{number}", load_number, "job.html", r"load_number has the address of .*load_job,"),
    ],
)
def test_a_page_that_cannot_work_stops_the_start(
    own_settings: Settings, path: str, load: Callable[..., Any], template: str, message: str
) -> None:
    page = Page(path, load, template, "tag", "summary")
    with pytest.raises(PluginError, match=message):
        check([*PAGES, page], Pages(own_settings))


def test_the_run(filled: TestClient, run: str) -> None:
    page = filled.get(f"/api/runs/{run}").json()
    assert (page["id"], page["name"], page["origin"]) == (run, "foo1", "ingest")
    assert [graph["slug"] for graph in page["graphs"]] == [GRAPH]
    assert page["kernel_count"] == len(
        [kernel for kernel in page["kernels"] if kernel["kind"] != "extern"]
    )
    assert page["coverage"]["lines"] > 0


def test_the_explorer(filled: TestClient, run: str, explorer: Any) -> None:
    assert explorer["run"] == {"id": run, "name": "foo1"}
    assert explorer["graph"]["slug"] == GRAPH
    stages = {stage["id"]: stage for stage in explorer["stages"]}
    assert {"source", "post_grad", "ir_post", "kernel", "wrapper"} <= stages.keys()
    for stage in stages.values():
        for file in stage["files"]:
            text = filled.get(urls.artifact_text(file["artifact"])).text
            assert text
    kernel = explorer["kernels"][0]
    code = filled.get(
        urls.artifact_text(
            stages["kernel"]["files"][0]["artifact"], kernel["first"], kernel["last"]
        )
    )
    assert kernel["name"] in code.text
    page = filled.get(f"/api{urls.graph(run, GRAPH, panes='ir_pre,code', sel='ir_pre:3')}").json()
    assert page["state"] == {
        "panes": ["ir_pre", "code"],
        "sel": "ir_pre:3",
        "kernel": "",
        "file": "",
    }
    assert [graph["slug"] for graph in page["graphs"]] == [GRAPH]


def test_links_come_packed_and_plain(filled: TestClient, run: str) -> None:
    url = urls.api_graph(run, GRAPH, "links")
    plain = filled.get(url, headers={"Accept-Encoding": "identity"})
    assert plain.headers["content-type"] == "application/json"
    links = plain.json()
    assert "fx:neg" in links["entities"]
    for stage in links["stages"].values():
        assert re.fullmatch("[0-9a-f]{64}|", stage.pop("digest"))
        assert len({len(column) for column in stage.values()}) == 1
        assert max(stage["entities"], default=0) < len(links["entities"])
    with filled.stream("GET", url, headers={"Accept-Encoding": "zstd"}) as answer:
        packed = b"".join(answer.iter_raw())
    assert answer.headers["content-encoding"] == "zstd"
    assert zstandard.ZstdDecompressor().decompress(packed) == plain.content
    known = {"Accept-Encoding": "zstd", "If-None-Match": answer.headers["etag"]}
    assert filled.get(url, headers=known).status_code == 304


def test_permalinks_lead_to_the_kernel_and_keep_the_selection(
    filled: TestClient, run: str, explorer: Any
) -> None:
    kernel = explorer["kernels"][0]
    call = kernel["calls"][0]
    answer = filled.get(urls.permalink(call["permalink"], sel="kernel:4"))
    assert answer.status_code == 302
    target = answer.headers["location"]
    assert target.startswith(urls.graph(run, GRAPH))
    assert f"kernel={kernel['name']}:{call['handle']}" in target
    assert target.endswith("&sel=kernel:4")
    assert filled.get(target).status_code == 200
    twin = filled.get(f"/api/k/{call['permalink']}").json()
    assert (twin["run"]["id"], twin["name"]) == (run, kernel["name"])
    for link in ("aaaaaaaaaaaa", "nope"):
        assert filled.get(f"/k/{link}").status_code == 404
        assert filled.get(f"/api/k/{link}").status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        "/runs/0123456789abcdef",
        "/runs/0123456789abcdef/time",
        "/runs/0123456789abcdef/read",
        f"/runs/0123456789abcdef/graphs/{GRAPH}",
        "{run}/graphs/none",
        "{run}/graphs/none/kernels/none:1",
        f"{{run}}/graphs/{GRAPH}/kernels/none:1",
        f"{{run}}/graphs/{GRAPH}/kernels/none",
        "/runs/<script>",
        "/runs/..%2f..%2fetc",
    ],
)
def test_what_is_not_there_is_said(filled: TestClient, run: str, path: str) -> None:
    path = path.format(run=urls.run(run))
    page = filled.get(path)
    assert page.status_code == 404
    assert page.headers["content-type"].startswith("text/html")
    assert "<script>" not in page.text
    twin = filled.get(f"/api{path}")
    assert twin.status_code == 404
    assert twin.json()["error"]["what"].endswith(".")


def cursor(value: object, last: object = "0" * 16) -> str:
    """A cursor that no page gave."""
    encoded = base64.urlsafe_b64encode(json.dumps([value, last]).encode())
    return f"cursor={encoded.decode().rstrip('=')}"


@pytest.mark.parametrize(
    "query",
    [
        "sort=size",
        "order=up",
        "cursor=%zz",
        "cursor=bm90aGluZw",
        "q=%0a",
        cursor("0001-01-01T00:00:00+14:00"),
        cursor("9999-12-31T23:59:59-14:00"),
        cursor(1),
        cursor("2026-01-01T00:00:00+00:00", last=7),
        cursor("2026-01-01T00:00:00+00:00", last="\ud800"),
        "sort=kernel_count&" + cursor(2**70),
        "sort=kernel_count&" + cursor(float("inf")),
        "sort=name&" + cursor("a\ud800"),
        "sort=name&" + cursor("a\0b"),
    ],
)
def test_a_list_that_cannot_be(filled: TestClient, query: str) -> None:
    assert filled.get(f"/api/?{query}").status_code == 422


def test_no_cursor_is_the_first_page(filled: TestClient) -> None:
    assert filled.get("/api/?cursor=").json() == filled.get("/api/").json()
    moved = filled.get("/api/runs?sort=name&path=a&q=%26")
    assert moved.headers["location"] == "/api/?sort=name&path=a&q=%26"


def test_htmx_gets_the_table_alone(filled: TestClient) -> None:
    part = {"HX-Request": "true", "HX-Request-Type": "partial"}
    whole = {"HX-Request": "true", "HX-Request-Type": "full"}
    assert "<title>" not in filled.get("/", headers=part).text
    assert "<title>" in filled.get("/", headers=whole).text
    assert "HX-Request" in filled.get("/").headers["vary"]


def test_deleting_a_run(own_settings: Settings, opened: Opened, fixtures: Path) -> None:
    with opened(own_settings) as client:
        for way in ("api", "form"):
            read_paths(
                own_settings,
                [fixtures / "cuda-foo1"],
                name="foo1",
                tags=[],
                origin="ingest",
                progress=lambda step, done, total, unit: None,
            )
            run = client.get("/api/").json()["runs"][0]["id"]
            foreign = {"Sec-Fetch-Site": "cross-site"}
            assert client.delete(f"/api/runs/{run}", headers=foreign).status_code == 403
            if way == "api":
                answer = client.delete(f"/api/runs/{run}", headers={"HX-Request": "true"})
                assert (answer.status_code, answer.headers["hx-redirect"]) == (204, "/")
            else:
                answer = client.post(f"/runs/{run}/delete")
                assert (answer.status_code, answer.headers["location"]) == (303, "/")
            assert client.get(f"/api/runs/{run}").status_code == 404
            assert client.delete(f"/api/runs/{run}").status_code == 404
        assert client.get("/api/").json()["any_runs"] is False


def test_pages_on_either_database(settings: Settings, opened: Opened, fixtures: Path) -> None:
    read_paths(
        settings,
        [fixtures / "cuda-foo1"],
        name="foo1",
        tags=[],
        origin="ingest",
        progress=lambda step, done, total, unit: None,
    )
    with opened(settings) as client:
        run = client.get("/api/?q=foo1&sort=speed_up").json()["runs"][0]["id"]
        kernel = client.get(urls.api_graph(run, GRAPH, "explorer")).json()["kernels"][0]
        call = kernel["calls"][0]
        for address in (
            "/",
            urls.run(run),
            urls.graph(run, GRAPH),
            urls.kernel(run, GRAPH, kernel["name"], call["handle"]),
            urls.time(run),
            urls.read(run),
            "/jobs",
        ):
            assert client.get(address).status_code == 200
            assert client.get(f"/api{address}").status_code == 200
        assert client.get(urls.permalink(call["permalink"])).status_code == 302
        assert client.get(urls.api_graph(run, GRAPH, "links")).json()["entities"]
        assert client.delete(urls.api(urls.run(run))).status_code == 204


def test_what_a_trace_says_stays_text(
    own_settings: Settings, opened: Opened, fixtures: Path, tmp_path: Path
) -> None:
    hostile = "<script>alert(1)</script>"
    source = next((fixtures / "cuda-foo1").rglob(GRAPH))
    target = tmp_path / "<script>alert(2)<blink>" / GRAPH
    target.mkdir(parents=True)
    for file in source.iterdir():
        text = file.read_text().replace("in foo1, code: ", f"in foo1, code: {hostile}")
        text = text.replace("/home/user/models", f"/home/{hostile}")
        (target / file.name).write_text(text)
    read_paths(
        own_settings,
        [target.parent],
        name=hostile,
        tags=[hostile],
        origin="ingest",
        progress=lambda step, done, total, unit: None,
    )
    with opened(own_settings) as client:
        run = client.get("/api/").json()["runs"][0]["id"]
        kernel = client.get(urls.api_graph(run, GRAPH, "explorer")).json()["kernels"][0]
        for address in (
            f"/?q={hostile}",
            urls.run(run),
            urls.graph(run, GRAPH, sel=hostile),
            urls.kernel(run, GRAPH, kernel["name"], kernel["calls"][0]["handle"]),
            urls.time(run),
            urls.read(run),
            f"/runs/{hostile}",
            f"/login?next=/{hostile}",
        ):
            page = client.get(address)
            assert "<script>" not in page.text, address
            assert "<blink>" not in page.text, address
        assert "&lt;script&gt;" in client.get(urls.run(run)).text
        client.delete(urls.api(urls.run(run)))


def test_static_files_are_kept_by_their_version(own_settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "templates").symlink_to(web_folder() / "templates")
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / "app.js").write_text("1")
    (tmp_path / "dist" / "chunk-ABCD2345.js").write_text("2")
    (tmp_path / "secret").write_text("3")
    pages = Pages(own_settings, tmp_path)
    with TestClient(create_app(own_settings, pages), base_url="http://127.0.0.1") as client:
        versioned = pages.assets.url("app.js")
        assert "immutable" in client.get(versioned).headers["cache-control"]
        plain = client.get("/static/app.js")
        assert plain.headers["cache-control"] == "no-cache"
        tag = {"If-None-Match": plain.headers["etag"]}
        assert client.get("/static/app.js", headers=tag).status_code == 304
        assert client.get("/static/app.js?v=old").headers["cache-control"] == "no-cache"
        assert "immutable" in client.get("/static/chunk-ABCD2345.js").headers["cache-control"]
        for path in ("/static/../secret", "/static/%2e%2e/secret", "/static/..%2fsecret"):
            assert client.get(path).status_code == 404
        (tmp_path / "dist" / "app.js").write_text("changed")
        assert pages.assets.url("app.js") != versioned
        assert pages.assets.url("none.js") == "/static/none.js"
