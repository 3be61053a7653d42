"""What is hostile or broken ends, on the real server, in a sentence, and leaves nothing behind."""

import io
import os
import random
import re
import tarfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from inductorscope.cli.client import Client, Pushed, ServerError

from tests.support.serving import Served

MEMBERS = 150_000
"""Half as many again as are taken."""


def tar_of(*members: tarfile.TarInfo) -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as archive:
        for member in members:
            archive.addfile(member, io.BytesIO(b"\0" * member.size))
    return held.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    info.size = 3 if kind == tarfile.REGTYPE else 0
    return info


def zip_of(name: str, content: bytes) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return held.getvalue()


def many_members() -> bytes:
    """By repeating one header: quicker to make than to add them one by one."""
    block = tar_of(member("a"))[:1024]
    return block * MEMBERS + b"\0" * 1024


def half(whole: bytes) -> bytes:
    return whole[: len(whole) // 2]


HOSTILE: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "a member that climbs out": ("a.tar", lambda: tar_of(member("../../x")), r"\.\./\.\./x"),
    "a symbolic link": ("a.tar", lambda: tar_of(member("l", tarfile.SYMTYPE, "/etc")), "link"),
    "a bomb": ("a.zip", lambda: zip_of("x", b"\0" * (200 << 20)), "RATIO"),
    "too many members": ("a.tar", many_members, "MEMBERS|more than 100,000|the limit"),
    "markup in a name": ("a.zip", lambda: zip_of("<script>alert(1)</script>", b"hi"), "read"),
    "half a zip": ("a.zip", lambda: half(zip_of("x", random.Random(1).randbytes(9999))), "a.zip"),
    "a wrong ending": ("a.tar.xz", lambda: b"dear diary, this is no archive", "a.tar.xz"),
    "an empty file": ("a.zip", lambda: b"", "empty"),
}


def push(server: Served, path: Path) -> Pushed | str:
    try:
        return Client(server.url).push([path], None, [], lambda step, done, total: None)
    except ServerError as error:
        return str(error)


@pytest.mark.parametrize("what", HOSTILE)
@pytest.mark.slow
def test_it_is_refused_in_a_sentence(server: Served, tmp_path: Path, what: str) -> None:
    name, make, said = HOSTILE[what]
    path = tmp_path / name
    path.write_bytes(make())
    pushed = push(server, path)
    message = pushed if isinstance(pushed, str) else str(pushed.message)
    if isinstance(pushed, Pushed):
        assert pushed.state == "failed", pushed
        assert pushed.run is None
        page = httpx.get(f"{server.url}/jobs/{pushed.job}", timeout=30)
        assert page.status_code == 200
        assert "<script>alert" not in page.text
    assert re.search(said, message, re.IGNORECASE), message
    assert message.endswith((".", "?")), message
    assert "Traceback" not in message
    assert httpx.get(f"{server.url}/api/", timeout=30).json()["total"] == 0
    end = time.monotonic() + 60
    while (left := leftovers(server.data)) and time.monotonic() < end:
        time.sleep(0.2)  # the job says why it failed before its folders are gone
    assert not left


def leftovers(data: Path) -> list[Path]:
    """Files in the data folder besides the database and the server's own."""
    kept = re.compile(r"inductorscope\.db.*|reserve|server|serve\.log|.*\.(lock|worker|supervisor)")
    files = (  # `rglob` would fail on a folder that goes away meanwhile
        Path(folder) / name for folder, _, names in os.walk(data) for name in names
    )
    return [file for file in files if file.is_file() and not kept.fullmatch(file.name)]
