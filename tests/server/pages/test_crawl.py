"""Every page of every kind of run: none fails, none is empty, no link is dead.

Pages come from the table that registers them, so a new page is crawled by itself. A parameter of an
address that is new here needs an entry in `VALUES`.
"""

import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import cache
from itertools import pairwise
from typing import Any

import pytest
from inductorscope import urls
from inductorscope.cli.local import read_paths
from inductorscope.settings import Settings
from inductorscope.store.database.engine import make_engine, sessions
from inductorscope.urls import RUN
from inductorscope_server.pages.table import PAGES
from inductorscope_server.web.pages import Page
from starlette.testclient import TestClient

from tests.support.half_read import HalfRead
from tests.support.html import Seen, read_html
from tests.support.run_kinds import KINDS, OF_OTHERS

OF_RUN = tuple(page for page in PAGES if page.path.startswith(RUN))
OTHERS = tuple(page for page in PAGES if not page.path.startswith(RUN))
TABS = {page.tab: page.path.removeprefix(RUN) for page in reversed(OF_RUN) if page.tab}
"""Tab → its first page."""
FEW = 2
"""Graphs, kernels, files and compiles of the whole run that are opened, and links to each page that
are followed; of other kinds one is."""

Filled = tuple[TestClient, Callable[[str], str]]


@pytest.fixture(scope="module")
def filled(
    tmp_path_factory: pytest.TempPathFactory,
    opened: Callable[..., AbstractContextManager[TestClient]],
) -> Iterator[Filled]:
    """The application, and what reads a kind of run into it, once, and returns its id."""
    settings = Settings(data=tmp_path_factory.mktemp("crawled") / "data", database_url="")
    with opened(settings) as client:

        @cache
        def run_of(kind: str) -> str:
            folder = tmp_path_factory.mktemp("kind")
            KINDS[kind](folder)
            result = read_paths(
                settings, [folder], name=kind, tags=[], origin="ingest",
                progress=lambda step, done, total, unit: None,
            )  # fmt: skip
            return result.run_id

        yield client, run_of


@pytest.mark.parametrize("kind", KINDS)
def test_pages_of_a_run(filled: Filled, kind: str) -> None:
    client, run_of = filled
    few = FEW if kind == "whole" else 1
    followed = () if kind in OF_OTHERS else PAGES if kind == "whole" else OF_RUN
    crawl(client, run_of(kind), few, followed)


def test_pages_of_a_run_that_is_being_read(filled: Filled) -> None:
    client, _ = filled
    engine = make_engine(client.app.state.parts.settings)  # type: ignore[attr-defined]
    half = HalfRead(sessions(engine), "half read")
    try:
        crawl(client, half.id)
        half.read_log()
        half.lay_out()
        half.link_one()
        crawl(client, half.id)
    finally:
        half.writer.discard()
        engine.dispose()


def test_runs_of_different_kinds_compared(filled: Filled) -> None:
    client, run_of = filled
    runs = [run_of(kind) for kind in KINDS]
    for one, other in pairwise([*runs, runs[0]]):
        found = _json(client, urls.compare(one, other))
        more = sum(bar["more_us"] for bar in found["bars"])
        assert more == pytest.approx(found["step"]["more_us"], abs=1e-6)
        assert client.get(urls.compare(one, other)).status_code == 200


@pytest.mark.parametrize("page", [page for page in OTHERS if "{" not in page.path])
def test_pages_without_a_run(filled: Filled, page: Page) -> None:
    client, _ = filled
    asked = {"q": "add"} if page.path == "/search" else {}
    if page.path != "/beside":  # which crawling opens from an explorer's links
        look(client, page, urls.with_query(page.path, **asked))


def test_what_a_run_lacks_is_missing_within_its_tabs(filled: Filled) -> None:
    client, run_of = filled
    run = run_of("trace of a GPU")
    for path in (
        "/graphs/nothing", "/compile/99", "/files/999999", "/time?profile=nothing", "/nothing",
        "/graphs/nothing/kernels/no_call_of_a_kernel",
    ):  # fmt: skip
        answer = client.get(f"/runs/{run}{path}")
        assert answer.status_code == 404, path
        seen = read_html(answer.text)
        assert len(seen.tabs) == len(TABS) - 1, path
        assert "/runs/" not in "".join(seen.headings), path  # words, no address


def crawl(client: TestClient, run: str, few: int = 1, follow: Sequence[Page] = OF_RUN) -> None:
    """Opens all pages of a run, and what they link to of some pages."""
    _json.cache_clear()
    links: dict[str, None] = {}
    opened: set[str] = set()
    for page in OF_RUN:
        if page.path.endswith("/fork"):  # the explorer links to it where a graph has its nodes
            continue
        for address in addresses(client, page, run, few):
            opened.add(address)
            for link in look(client, page, address).links:
                links.setdefault(link.partition("#")[0])
    followed: Counter[str] = Counter()
    for link in (link for link in links if link not in opened):
        target = target_of(link.partition("?")[0])
        if target is not None and target in follow and followed[target.path] < few:
            followed[target.path] += 1
            look(client, target, link)


def look(client: TestClient, page: Page, address: str) -> Seen:
    answer = client.get(address, follow_redirects=True)
    assert answer.status_code == 200, f"{address}: {answer.status_code}"
    seen = read_html(answer.text)
    if page.template.startswith("fragments/"):
        assert seen.text.strip(), f"{address} is empty"
    else:
        assert len([heading for heading in seen.headings if heading]) == 1, f"{address}: no heading"
        content = seen.cells or seen.figures or seen.sentences
        assert content, f"{address} shows no figure, no table and no sentence"
    if page.path.startswith(RUN) and not page.template.startswith(("fragments/", "explorer.html")):
        run = address.split("/")[2].partition("?")[0]
        if "/graphs/" not in str(answer.url) or "/memory" in str(answer.url):
            tabs = {f"/runs/{run}{path}" for path in TABS.values()}
            assert tabs - set(seen.tabs) <= {f"/runs/{run}{TABS['Ranks']}"}, f"{address}: no tabs"
    return seen


@cache
def target_of(path: str) -> Page | None:
    """The page at a path."""
    patterns = ((page, re.sub(r"\{\w+\}", "[^/]+", page.path)) for page in PAGES)
    return next((page for page, pattern in patterns if re.fullmatch(pattern, path)), None)


def addresses(client: TestClient, page: Page, run: str, few: int) -> list[str]:
    """The addresses of a page in a run: one for each value of its parameters; none if the run has
    no such thing."""
    found: list[dict[str, str]] = [{"run": run}]
    in_path = re.findall(r"\{(\w+)\}", page.path)
    required = [
        name
        for name, parameter in inspect.signature(page.load).parameters.items()
        if parameter.default is inspect.Parameter.empty and name in VALUES and name not in in_path
    ]
    for name in [*in_path, *required]:
        if name != "run":
            found = [
                known | {name: value}
                for known in found
                for value in VALUES[name](client, known)[:few]
            ]
    result = []
    for known in found:
        path = page.path
        for name in in_path:
            path = path.replace(f"{{{name}}}", known[name])
        result.append(urls.with_query(path, **{name: known[name] for name in required}))
    return result


@cache
def _json(client: TestClient, address: str) -> Any:
    """Kept while a run is crawled: most pages ask for the same lists."""
    answer = client.get(urls.api(address))
    assert answer.status_code == 200, address
    return answer.json()


def _graphs(client: TestClient, known: dict[str, str]) -> list[str]:
    return [graph["slug"] for graph in _json(client, urls.run(known["run"]))["graphs"]]


def _kernels(client: TestClient, known: dict[str, str]) -> list[str]:
    explorer = _json(client, f"{urls.graph(known['run'], known['slug'])}/explorer")
    return [
        urls.kernel_key(kernel["name"], kernel["calls"][0]["handle"])
        for kernel in explorer["kernels"]
        if kernel["calls"]
    ]


def _files(client: TestClient, known: dict[str, str]) -> list[str]:
    files = _json(client, urls.read(known["run"]))["files"]
    return [str(file["artifact"]) for file in files if file["artifact"] is not None]


def _compiles(client: TestClient, known: dict[str, str]) -> list[str]:
    rows = _json(client, urls.compile_list(known["run"]))["compiles"]
    return [str(row["ref"]["number"]) for row in rows]


VALUES: dict[str, Callable[[TestClient, dict[str, str]], list[str]]] = {
    "slug": _graphs,
    "kernel": _kernels,
    "artifact": _files,
    "number": _compiles,
    "a": _files,
    "b": _files,
}
"""Parameter of a page → its values in a run, as far as other parameters are known."""
