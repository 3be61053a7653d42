"""The explorer's answer and the files of the front end, packed: as fresh as what they are of."""

from __future__ import annotations

from pathlib import Path

import zstandard
from inductorscope import urls
from inductorscope.correlate.links.model import CALLS
from inductorscope.settings import Settings
from inductorscope.store.tables.models import Graph, Links
from inductorscope_server.rendering.templating import Pages, web_folder
from inductorscope_server.web.app import create_app
from inductorscope_server.web.parts import Parts
from sqlalchemy import select, update
from starlette.testclient import TestClient

GRAPH = "model__0_inference_0.0"


def unpacked(content: bytes) -> bytes:
    """Some versions of the client unpack it themselves."""
    packed = content.startswith(zstandard.FRAME_HEADER)
    return zstandard.ZstdDecompressor().decompress(content) if packed else content


def test_the_explorer_says_at_once_that_its_lines_are_linked(filled: TestClient) -> None:
    run = str(filled.get("/api/").json()["runs"][0]["id"])
    asked = urls.api_graph(run, GRAPH, "explorer")
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
    (tmp_path / "templates").symlink_to(web_folder() / "templates")
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
        changed = client.get("/static/app.js", headers=takes)
        assert unpacked(changed.content) == b"second, longer"
        script.unlink()
        assert client.get("/static/app.js", headers=takes).status_code == 404
