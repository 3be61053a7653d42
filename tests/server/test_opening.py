"""What the explorer opens with, in one answer: the same as each part at its own address."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import zstandard
from inductorscope.correlate.links.model import CALLS
from inductorscope.settings import Settings
from inductorscope.store.database.engine import make_engine, sessions
from inductorscope.store.tables.models import Graph, Links
from inductorscope_server.api import opening
from inductorscope_server.web import urls
from inductorscope_server.web.parts import Parts
from sqlalchemy import select, update
from starlette.testclient import TestClient

from tests.support.half_read import HalfRead

GRAPH = "model__0_inference_0.0"
PLAIN = {"Accept-Encoding": "identity"}
PACKED = {"Accept-Encoding": "zstd"}


@pytest.fixture
def half(own_settings: Settings, request: pytest.FixtureRequest) -> Iterator[HalfRead]:
    """A run that a test reads on; what is left of it goes."""
    engine = make_engine(own_settings)
    reading = HalfRead(sessions(engine), request.node.name)
    yield reading
    reading.writer.discard()
    engine.dispose()


def run_of(client: TestClient) -> str:
    return str(client.get("/api/").json()["runs"][0]["id"])


def parts_of(content: bytes) -> tuple[bool, Any, dict[int, str]]:
    """Whether there are links, explorer and texts, taken apart as the page does."""
    line, _, rest = content.partition(b"\n")
    head = json.loads(line)
    explorer, rest = rest[: head["explorer"]], rest[head["explorer"] :]
    texts = {}
    for artifact, size in head["texts"]:
        texts[artifact], rest = rest[:size].decode(), rest[size:]
    assert not rest
    return head["linked"], json.loads(explorer), texts


def unpacked(content: bytes) -> bytes:
    """Some versions of the client unpack it themselves."""
    if not content.startswith(zstandard.FRAME_HEADER):
        return content
    return zstandard.ZstdDecompressor().decompressobj(read_across_frames=True).decompress(content)


def test_it_holds_what_its_parts_answer_with(filled: TestClient) -> None:
    run = run_of(filled)
    answer = filled.get(urls.api_opening(run, GRAPH), headers=PLAIN)
    assert "content-encoding" not in answer.headers
    linked, explorer, texts = parts_of(answer.content)
    assert linked is True
    assert explorer == filled.get(urls.api_explorer(run, GRAPH)).json()
    shown = {stage["id"]: stage["files"] for stage in explorer["stages"]}
    first = {shown[stage][0]["artifact"] for stage in ("source", "post_grad", "ir_post", "kernel")}
    assert set(texts) == first
    for artifact, text in texts.items():
        assert text == filled.get(urls.artifact_text(artifact)).text
    assert list(texts) == sorted(texts, key=lambda artifact: len(texts[artifact]))
    packed = filled.get(urls.api_opening(run, GRAPH), headers=PACKED)
    assert packed.headers["content-encoding"] == "zstd"
    assert unpacked(packed.content) == answer.content


def test_it_holds_texts_of_the_panes_that_are_asked_for(filled: TestClient) -> None:
    run = run_of(filled)
    for panes, stage in (("ir_post", "ir_post"), ("picture,wrapper", "code")):
        asked = urls.api_opening(run, GRAPH, panes)
        _, explorer, texts = parts_of(filled.get(asked, headers=PLAIN).content)
        files = next(each["files"] for each in explorer["stages"] if each["id"] == stage)
        assert list(texts) == [files[0]["artifact"]]
    asked = urls.api_opening(run, GRAPH, "nothing,such")
    assert parts_of(filled.get(asked, headers=PLAIN).content)[2] == {}


def test_texts_that_are_very_long_are_left_to_be_asked_for(
    filled: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_of(filled)
    asked = urls.api_opening(run, GRAPH, "source,ir_pre,code,dynamo")
    monkeypatch.setattr(opening, "MOST_TEXT", 2000)
    _, _, texts = parts_of(filled.get(asked, headers=PLAIN).content)
    held = [len(text.encode()) for text in texts.values()]
    assert held
    assert sum(held) <= 2000


def test_a_browser_that_has_it_is_told_so_until_lines_are_linked_anew(filled: TestClient) -> None:
    run = run_of(filled)
    asked = urls.api_opening(run, GRAPH)
    parts = filled.app.state.parts  # type: ignore[attr-defined]  # the application, to TestClient
    assert isinstance(parts, Parts)

    def link_by(engine: str) -> None:
        graph = select(Graph.id).where(Graph.run_id == run, Graph.slug == GRAPH).scalar_subquery()
        with parts.write.begin() as session:
            session.execute(update(Links).where(Links.graph_id == graph).values(engine=engine))

    with parts.read() as session:
        engine = session.scalars(select(Links.engine).where(Links.engine != CALLS)).first()
    assert engine is not None
    tags = {filled.get(asked, headers=each).headers["etag"] for each in (PLAIN, PACKED)}
    assert len(tags) == 2
    known = {**PACKED, "If-None-Match": ", ".join(tags)}
    unchanged = filled.get(asked, headers=known)
    assert (unchanged.status_code, unchanged.content) == (304, b"")
    assert unchanged.headers["etag"] in tags
    try:
        link_by(CALLS)
        anew = filled.get(asked, headers=known)
        assert anew.status_code == 200
        assert parts_of(unpacked(anew.content))[1]["aligning"] is True
    finally:
        link_by(engine)
    assert filled.get(asked, headers=known).status_code == 304


def test_it_grows_while_its_run_is_being_read(client: TestClient, half: HalfRead) -> None:
    half.lay_out()
    asked = urls.api_opening(half.id, "backward")
    linked, explorer, texts = parts_of(client.get(asked, headers=PLAIN).content)
    assert "still being linked" in explorer["notes"][0]
    assert linked is False
    assert texts
    assert explorer["kernels"] == []
    half.link_one()
    both = [urls.api_opening(half.id, slug) for slug in ("forward", "backward")]
    later = [parts_of(client.get(each, headers=PLAIN).content) for each in both]
    assert any(explorer["kernels"] for _, explorer, _ in later)


def test_what_is_not_there_is_said(filled: TestClient) -> None:
    run = run_of(filled)
    missing = filled.get(urls.api_opening(run, "sideways"))
    assert missing.status_code == 404
    assert "has no graph sideways" in missing.json()["error"]["what"]
    assert filled.get(urls.api_opening("f" * 16, GRAPH)).status_code == 404
