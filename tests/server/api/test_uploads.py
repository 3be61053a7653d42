"""Resumable uploads over HTTP."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest
from inductorscope.settings import Settings
from starlette.testclient import TestClient

Opened = Callable[..., AbstractContextManager[TestClient]]


def announce(client: TestClient, *files: tuple[str, int], **more: object) -> str:
    body = {"files": [{"path": path, "size": size} for path, size in files], **more}
    answer = client.post("/api/uploads", json=body)
    assert answer.status_code == 201, answer.text
    assert answer.headers["location"] == f"/api/uploads/{answer.json()['id']}"
    return str(answer.json()["id"])


def send(client: TestClient, upload: str, content: bytes, offset: int, index: int = 0) -> int:
    answer = client.patch(
        f"/api/uploads/{upload}/files/{index}",
        content=content,
        headers={"Upload-Offset": str(offset)},
    )
    if answer.status_code in (204, 409):
        assert int(answer.headers["upload-offset"]) >= 0
    return int(answer.status_code)


def test_a_file_in_pieces_and_an_empty_one(client: TestClient) -> None:
    upload = announce(client, ("f/a.txt", 10), ("f/empty", 0), name="mine", tags=["x"])
    assert send(client, upload, b"12345", 0) == 204
    state = client.get(f"/api/uploads/{upload}").json()
    assert [file["received"] for file in state["files"]] == [5, 0]
    assert (state["name"], state["tags"], state["finished"]) == ("mine", ["x"], False)
    assert send(client, upload, b"67890", 5) == 204

    first = client.post(f"/api/uploads/{upload}/finish")
    again = client.post(f"/api/uploads/{upload}/finish")
    assert first.status_code == again.status_code == 202
    assert first.json() == again.json()
    assert send(client, upload, b"", 10) == 409
    job = client.get(f"/api/jobs/{first.json()['job']}").json()["job"]
    assert (job["state"], job["title"], job["kind"]) == ("queued", "mine", "ingest")


def test_a_wrong_offset_is_told_the_true_one(client: TestClient) -> None:
    upload = announce(client, ("a", 10))
    send(client, upload, b"123", 0)
    for offset in (0, 2, 7):
        answer = client.patch(
            f"/api/uploads/{upload}/files/0",
            content=b"xxx",
            headers={"Upload-Offset": str(offset)},
        )
        assert answer.status_code == 409
        assert answer.headers["upload-offset"] == "3"
        assert "3 bytes" in answer.json()["error"]["what"]


def test_finishing_too_early_names_what_lacks(client: TestClient) -> None:
    upload = announce(client, ("there", 1), ("missing.txt", 4))
    send(client, upload, b"1", 0)
    answer = client.post(f"/api/uploads/{upload}/finish")
    assert answer.status_code == 409
    assert "missing.txt (0 of 4 bytes)" in answer.json()["error"]["what"]


def test_more_than_announced_is_refused(client: TestClient) -> None:
    upload = announce(client, ("a", 3))
    assert send(client, upload, b"1234", 0) == 413
    assert send(client, upload, b"123", 0) == 204


def test_a_body_without_length_is_counted(client: TestClient) -> None:
    def pieces() -> Iterator[bytes]:
        yield b"12"
        yield b"345"

    upload = announce(client, ("a", 3))
    answer = client.patch(
        f"/api/uploads/{upload}/files/0", content=pieces(), headers={"Upload-Offset": "0"}
    )
    assert answer.status_code == 413


def test_two_clients_at_one_offset_write_once(client: TestClient) -> None:
    content = b"x" * 100_000
    upload = announce(client, ("a", len(content)))
    statuses: list[int] = []
    threads = [
        threading.Thread(target=lambda: statuses.append(send(client, upload, content, 0)))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [204, 409]
    state = client.get(f"/api/uploads/{upload}").json()
    assert state["files"][0]["received"] == len(content)


@pytest.mark.parametrize(
    "path",
    ["../up", "a/../../up", "/etc/passwd", "C:\\x", "a\\..\\..\\b", "a\x00b", "", "x" * 1001],
)
def test_unsafe_paths_are_refused(client: TestClient, path: str) -> None:
    answer = client.post("/api/uploads", json={"files": [{"path": path, "size": 1}]})
    assert answer.status_code == 422
    assert answer.json()["error"]["what"].endswith(".")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"files": []},
        {"files": [{"path": "a", "size": -1}]},
        {"files": [{"path": "a", "size": 2**60}]},
        {"files": [{"path": "a", "size": 1}, {"path": "a", "size": 1}]},
        {"files": [{"path": "a", "size": 1}], "name": "two\nlines"},
        {"files": [{"path": "a", "size": 1}], "colour": "red"},
        {"files": [{"path": "\ud800", "size": 1}]},
        [],
        "files",
    ],
)
def test_what_makes_no_sense_is_refused(client: TestClient, body: object) -> None:
    import json

    answer = client.post(
        "/api/uploads", content=json.dumps(body), headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == 422, answer.text
    assert answer.json()["error"]["what"]


def test_limits_are_named(own_settings: Settings, opened: Opened) -> None:
    with opened(own_settings, max_upload_bytes=1000, max_members=2) as client:
        for files in ([("big", 1001)], [("a", 600), ("b", 600)]):
            body = {"files": [{"path": path, "size": size} for path, size in files]}
            answer = client.post("/api/uploads", json=body)
            assert answer.status_code == 413
            error = answer.json()["error"]
            assert error["limit"] == "INDUCTORSCOPE_MAX_UPLOAD_BYTES"
            assert error["do"]
        many = {"files": [{"path": str(number), "size": 1} for number in range(3)]}
        answer = client.post("/api/uploads", json=many)
        assert answer.status_code == 413
        assert answer.json()["error"]["limit"] == "INDUCTORSCOPE_MAX_MEMBERS"

        upload = announce(client, ("a", 900))
        answer = client.patch(
            f"/api/uploads/{upload}/files/0",
            content=b"x",
            headers={"Upload-Offset": "0", "Content-Length": "1001"},
        )
        assert answer.status_code == 413
        assert answer.json()["error"]["limit"] == "INDUCTORSCOPE_MAX_UPLOAD_BYTES"


@pytest.mark.parametrize("offset", [None, "-1", "x", "1.5", str(2**80)])
def test_the_offset_must_be_a_number(client: TestClient, offset: str | None) -> None:
    upload = announce(client, ("a", 1))
    headers = {} if offset is None else {"Upload-Offset": offset}
    answer = client.patch(f"/api/uploads/{upload}/files/0", content=b"x", headers=headers)
    assert answer.status_code == 422
    assert "upload-offset" in answer.json()["error"]["what"].lower()


@pytest.mark.parametrize("upload", ["0123456789abcdef", "..%2f..%2fetc", "a.b"])
def test_an_unknown_upload(client: TestClient, upload: str) -> None:
    assert client.get(f"/api/uploads/{upload}").status_code == 404
    assert client.post(f"/api/uploads/{upload}/finish").status_code in (404, 405)


def test_an_unknown_file(client: TestClient) -> None:
    upload = announce(client, ("a", 1))
    assert send(client, upload, b"x", 0, index=1) == 404


@pytest.mark.parametrize(
    "body",
    [
        b'{"files":[' + b"0," * 1_500_000 + b"0]}",
        b'{"files":[' + b"{}," * 1_500_000 + b"{}]}",
        b'{"files":[{' + b",".join(b'"%d":0' % number for number in range(300_000)) + b"}]}",
        b'{"files":[],"tags":[' + b'"a",' * 1_000_000 + b'"a"]}',
        b'{"files":[' + b'{"path":"","size":1},' * 90_000 + b'{"path":"","size":1}]}',
        b"[" * 1_000_000,
    ],
    ids=["numbers", "objects", "keys", "tags", "paths", "nesting"],
)
def test_a_body_of_megabytes_is_refused_at_its_first_mistake(
    client: TestClient, body: bytes
) -> None:
    begun = time.process_time()
    answer = client.post("/api/uploads", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
    assert len(answer.content) < 1000
    assert time.process_time() - begun < 2


def test_other_bodies_are_short(client: TestClient) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    for path in ("/api/captures", "/capture", "/login"):
        for content in (b"x" * 300_000, (b"x" * 1000 for _ in range(300))):
            answer = client.post(path, content=content, headers=form)
            assert answer.status_code == 413, path


def test_sizes_are_whole_numbers_however_they_are_written(client: TestClient) -> None:
    def announced(size: object) -> int:
        body = {"files": [{"path": "a.txt", "size": size}]}
        return int(client.post("/api/uploads", json=body).status_code)

    assert announced(2.0) == 201
    assert [announced(size) for size in (2.5, "2", True, -1.0, 1e300)] == [422] * 5
