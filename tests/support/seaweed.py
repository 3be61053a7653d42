"""SeaweedFS for tests: an object store that speaks S3."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.serving import free_port

BUCKET = "contents"


def weed() -> str | None:
    """The program, beside Python or on PATH."""
    here = Path(sys.executable).with_name("weed")
    return str(here) if here.exists() else shutil.which("weed")


@contextlib.contextmanager
def seaweed(folder: Path, patch: pytest.MonkeyPatch) -> Iterator[str]:
    """Runs a server until the block ends; yields the URL of a bucket and sets the environment by
    which clients find it."""
    ports = {name: str(free_port()) for name in ("master", "volume", "filer", "s3")}
    options = [f"-{name}.port={port}" for name, port in ports.items()]
    grpc = [f"-{name}.port.grpc={free_port()}" for name in ports]
    command = [str(weed()), "server", f"-dir={folder}", "-ip=127.0.0.1", "-filer", "-s3"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([*command, *options, *grpc], stdout=log, stderr=log)
    endpoint = f"http://127.0.0.1:{ports['s3']}"
    try:
        until = time.monotonic() + 60
        while True:
            with contextlib.suppress(httpx.HTTPError):
                if httpx.put(f"{endpoint}/{BUCKET}").is_success:
                    break
            assert time.monotonic() < until, (folder / "log").read_text()[-2000:]
            time.sleep(0.2)
        for name, value in (
            ("ENDPOINT", endpoint), ("ALLOW_HTTP", "true"), ("REGION", "us-east-1"),
            ("ACCESS_KEY_ID", "any"), ("SECRET_ACCESS_KEY", "any"),
        ):  # fmt: skip
            patch.setenv(f"AWS_{name}", value)
        yield f"s3://{BUCKET}"
    finally:
        process.kill()
        process.wait()
