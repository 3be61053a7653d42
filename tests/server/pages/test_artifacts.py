"""Stored files as text and to download."""

import hashlib
from datetime import UTC, datetime
from typing import Any

import pytest
import zstandard
from inductorscope.store.tables.models import Artifact, Blob, Run
from inductorscope_server.web.answers import takes_zstd
from starlette.testclient import TestClient

TEXT = "".join(f"line {number} — <script>\n" for number in range(1, 50_001))
HOSTILE = '../../über"name\r\n;\u202e.py'


@pytest.fixture(scope="module")
def stored(client: TestClient) -> dict[str, int]:
    """Artifacts of a run: a large text, packed; a small one, as it is; an empty one."""
    app: Any = client.app
    texts = {"large": (TEXT, "zstd"), "small": ("a\nb\nc", "identity"), "empty": ("", "identity")}
    numbers = {}
    with app.state.parts.write.begin() as session:
        session.add(a_run())
        session.flush()
        for name, (text, encoding) in texts.items():
            content = text.encode()
            digest = hashlib.sha256(content).hexdigest()
            packed = zstandard.ZstdCompressor().compress(content) if encoding == "zstd" else content
            session.add(
                Blob(
                    digest=digest,
                    size=len(content),
                    stored_size=len(packed),
                    encoding=encoding,
                    data=packed,
                )
            )
            session.flush()
            artifact = Artifact(
                run_id="0" * 16, role="other", path=HOSTILE, digest=digest, size=len(content)
            )
            session.add(artifact)
            session.flush()
            numbers[name] = artifact.id
    return numbers


def a_run() -> Run:
    empty: dict[str, object] = {"timings": {}, "environment": {}, "report": {}, "tags": []}
    return Run(
        id="0" * 16,
        content_digest="0" * 64,
        name="files",
        origin="ingest",
        created_at=datetime.now(UTC),
        graph_count=0,
        kernel_count=0,
        bytes_in=0,
        bytes_stored=0,
        **empty,
    )


PLAIN = {"Accept-Encoding": "identity"}


@pytest.mark.parametrize("accepted", ["identity", "zstd", "gzip, zstd;q=0.5", "zstd;q=0"])
def test_text_comes_packed_where_it_may(
    client: TestClient, stored: dict[str, int], accepted: str
) -> None:
    url = f"/api/artifacts/{stored['large']}/text"
    with client.stream("GET", url, headers={"Accept-Encoding": accepted}) as answer:
        raw = b"".join(answer.iter_raw())
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert "Accept-Encoding" in answer.headers["vary"]
    assert answer.headers["content-security-policy"].startswith("sandbox")
    if takes_zstd(accepted):
        assert answer.headers["content-encoding"] == "zstd"
        raw = zstandard.ZstdDecompressor().decompress(raw)
    else:
        assert "content-encoding" not in answer.headers
        assert answer.headers["content-length"] == str(len(raw))
    assert raw.decode() == TEXT


@pytest.mark.parametrize(
    ("first", "last", "wanted"),
    [
        (1, 1, [1]),
        (49_999, None, [49_999, 50_000]),
        (None, 2, [1, 2]),
        (60_000, None, []),
        (3, 2, []),
    ],
)
def test_lines(
    client: TestClient,
    stored: dict[str, int],
    first: int | None,
    last: int | None,
    wanted: list[int],
) -> None:
    given = {"first": first, "last": last}
    query = {name: str(value) for name, value in given.items() if value is not None}
    answer = client.get(f"/api/artifacts/{stored['large']}/text", params=query)
    assert answer.text == "".join(f"line {number} — <script>\n" for number in wanted)


@pytest.mark.parametrize("query", ["first=0", "last=x", f"first={2**70}"])
def test_lines_that_make_no_sense(client: TestClient, stored: dict[str, int], query: str) -> None:
    assert client.get(f"/api/artifacts/{stored['small']}/text?{query}").status_code == 422


@pytest.mark.parametrize("kind", ["text", "raw", "text?first=2&last=3"])
@pytest.mark.parametrize("name", ["large", "small", "empty"])
def test_what_a_browser_knows_is_not_sent_again(
    client: TestClient, stored: dict[str, int], kind: str, name: str
) -> None:
    url = f"/api/artifacts/{stored[name]}/{kind}"
    tag = client.get(url, headers=PLAIN).headers["etag"]
    again = client.get(url, headers={**PLAIN, "If-None-Match": f'"other", W/{tag}'})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == tag
    other = client.get(url, headers={**PLAIN, "If-None-Match": '"other"'})
    assert other.status_code == 200


def test_packed_and_plain_have_tags_of_their_own(
    client: TestClient, stored: dict[str, int]
) -> None:
    url = f"/api/artifacts/{stored['large']}/text"
    plain = client.get(url, headers=PLAIN).headers["etag"]
    packed = client.get(url, headers={"Accept-Encoding": "zstd"}).headers["etag"]
    assert plain != packed


def test_a_download_is_never_shown(client: TestClient, stored: dict[str, int]) -> None:
    answer = client.get(f"/api/artifacts/{stored['small']}/raw")
    assert answer.content == b"a\nb\nc"
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["x-content-type-options"] == "nosniff"
    disposition = answer.headers["content-disposition"]
    assert disposition.startswith('attachment; filename="_ber_name')
    assert ".." not in disposition
    assert disposition.isascii()


@pytest.mark.parametrize("number", ["999999", "0", "-1", "x", str(2**70)])
def test_an_unknown_file(client: TestClient, number: str) -> None:
    for kind in ("text", "raw"):
        assert client.get(f"/api/artifacts/{number}/{kind}").status_code == 404
