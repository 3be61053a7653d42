"""Answers kept in memory: the same as made anew, of what is there now, and never too many."""

from __future__ import annotations

from pathlib import Path

import zstandard
from inductorscope import urls
from inductorscope.correlate.links.model import CALLS
from inductorscope.settings import Settings
from inductorscope.store.tables.models import Graph, Links
from inductorscope_server.web.app import create_app
from inductorscope_server.web.kept import KeptAnswers
from inductorscope_server.web.parts import Parts
from inductorscope_server.web.templating import Pages
from sqlalchemy import select, update
from starlette.testclient import TestClient

GRAPH = "model__0_inference_0.0"


def unpacked(content: bytes) -> bytes:
    """Some versions of the client unpack it themselves."""
    packed = content.startswith(zstandard.FRAME_HEADER)
    return zstandard.ZstdDecompressor().decompress(content) if packed else content


def test_an_answer_is_made_once_and_the_oldest_gives_way() -> None:
    kept = KeptAnswers(most=10)
    made: list[str] = []

    def answer(name: str, size: int) -> bytes:
        def make() -> bytes:
            made.append(name)
            return name.encode() * size

        return kept.of((name, size), make)

    assert answer("a", 4) == answer("a", 4) == b"aaaa"
    assert made == ["a"]
    answer("b", 4)
    answer("a", 4)  # asked for last: b goes first
    answer("c", 4)
    answer("a", 4)
    assert made == ["a", "b", "c"]
    answer("b", 4)
    assert made == ["a", "b", "c", "b"]
    assert len(answer("d", 11)) == len(answer("d", 11)) == 11  # more than may be kept
    assert made[-2:] == ["d", "d"]


def test_the_explorer_is_kept_until_its_lines_are_linked_anew(filled: TestClient) -> None:
    run = str(filled.get("/api/").json()["runs"][0]["id"])
    asked = urls.api_explorer(run, GRAPH)
    parts = filled.app.state.parts  # type: ignore[attr-defined]  # the application, to TestClient
    assert isinstance(parts, Parts)

    def link_by(engine: str) -> None:
        graph = select(Graph.id).where(Graph.run_id == run, Graph.slug == GRAPH).scalar_subquery()
        with parts.write.begin() as session:
            session.execute(update(Links).where(Links.graph_id == graph).values(engine=engine))

    with parts.read() as session:
        engine = session.scalars(select(Links.engine).where(Links.engine != CALLS)).first()
    assert engine is not None
    first = filled.get(asked)
    assert first.json() == filled.get(asked).json()
    assert first.json()["aligning"] is False
    packed = filled.get(asked, headers={"Accept-Encoding": "zstd"})
    assert packed.headers["content-encoding"] == "zstd"
    assert filled.get(asked, headers={"Accept-Encoding": "identity"}).json() == first.json()
    try:
        link_by(CALLS)
        assert filled.get(asked).json()["aligning"] is True
    finally:
        link_by(engine)
    assert filled.get(asked).json() == first.json()


def test_files_of_the_front_end_are_kept_packed_until_they_change(
    own_settings: Settings, tmp_path: Path
) -> None:
    (tmp_path / "templates").mkdir()
    (tmp_path / "dist").mkdir()
    script = tmp_path / "dist" / "app.js"
    script.write_text("first")
    takes = {"Accept-Encoding": "zstd"}
    pages = Pages(own_settings, tmp_path)
    with TestClient(create_app(own_settings, pages), base_url="http://127.0.0.1") as client:
        plain = client.get("/static/app.js", headers={"Accept-Encoding": "identity"})
        assert "content-encoding" not in plain.headers
        kept = client.get(pages.assets.url("app.js"), headers=takes)
        assert kept.headers["content-encoding"] == "zstd"
        assert "immutable" in kept.headers["cache-control"]
        assert kept.headers["vary"] == plain.headers["vary"] == "Accept-Encoding"
        assert kept.headers["content-type"] == plain.headers["content-type"]
        assert unpacked(kept.content) == plain.content == b"first"
        known = {**takes, "If-None-Match": kept.headers["etag"]}
        assert client.get("/static/app.js", headers=known).status_code == 304
        part = client.get("/static/app.js", headers={**takes, "Range": "bytes=0-1"})
        assert (part.status_code, part.text) == (206, "fi")
        script.write_text("second, longer")
        assert client.get("/static/app.js", headers=takes).text == "second, longer"
        changed = client.get("/static/app.js", headers=takes)
        assert unpacked(changed.content) == b"second, longer"
        script.unlink()
        assert client.get("/static/app.js", headers=takes).status_code == 404
