"""What is sent packed: pages and their twins, but no events; the explorer's answer and the files of
the front end, which are as fresh as what they are of."""

import gzip
import re
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


def sent(client: TestClient, path: str) -> tuple[str, bytes, str]:
    """How a browser without zstd gets an answer, its bytes on the way, and its type."""
    with client.stream("GET", path, headers={"Accept-Encoding": "gzip, br"}) as answer:
        raw = b"".join(answer.iter_raw())
    assert answer.status_code == 200
    # So that no cache passes one form on to a client that takes the other.
    assert "Accept-Encoding" in answer.headers.get("vary", "") or len(raw) < 1400
    assert answer.headers["content-length"] == str(len(raw))
    return answer.headers.get("content-encoding", ""), raw, answer.headers["content-type"]


def test_pages_and_twins_come_compressed_if_that_saves_a_packet(filled: TestClient) -> None:
    run = urls.run(str(filled.get("/api/").json()["runs"][0]["id"]))
    graph = f"{run}/graphs/{GRAPH}"
    for path in (run, f"{run}/time", f"/api{run}", f"{run}.md", f"/api{graph}/links"):
        encoding, raw, _ = sent(filled, path)
        plain = filled.get(path, headers={"Accept-Encoding": "identity"})
        assert encoding == "gzip", path
        assert len(raw) < len(plain.content) / 2, path
        assert len(gzip.decompress(raw)) == len(plain.content), path
    assert sent(filled, "/healthz")[0] == ""
    (artifact,) = re.findall(r"/api/artifacts/(\d+)/raw", filled.get(f"{run}/read").text)[:1]
    encoding, _, kind = sent(filled, f"/api/artifacts/{artifact}/raw")
    assert (encoding, kind) == ("", "application/octet-stream")


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
