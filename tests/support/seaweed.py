"""SeaweedFS for tests: an object store that speaks S3."""

import contextlib
import os
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


class Seaweed:
    """A server with a bucket."""

    url = f"s3://{BUCKET}"

    def __init__(self, folder: Path) -> None:
        ports = {name: str(free_port()) for name in ("master", "volume", "filer", "s3")}
        options = [f"-{name}.port={port}" for name, port in ports.items()]
        options += ["-s3.port.iceberg=0", "-s3.port.lance=0"]  # one port for all servers otherwise
        grpc = [f"-{name}.port.grpc={free_port()}" for name in ports]
        command = [str(weed()), "server", f"-dir={folder}", "-ip=127.0.0.1", "-filer", "-s3"]
        self._command = [*command, *options, *grpc]
        self._log = folder / "log"
        endpoint = f"http://127.0.0.1:{ports['s3']}"
        self._bucket = f"{endpoint}/{BUCKET}"
        self.env = {
            "AWS_ENDPOINT": endpoint, "AWS_ALLOW_HTTP": "true", "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any",
        }  # fmt: skip
        """By which clients find the server."""

    def start(self) -> None:
        # Not our own keys: it would ask everybody for them.
        env = {name: value for name, value in os.environ.items() if name not in self.env}
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log, env=env)
        until = time.monotonic() + 60
        while True:
            with contextlib.suppress(httpx.HTTPError):
                # 409: the bucket is there, from before
                if httpx.put(self._bucket).status_code in (200, 409):
                    return
            assert time.monotonic() < until, self._log.read_text()[-2000:]
            time.sleep(0.2)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


@contextlib.contextmanager
def seaweed(folder: Path, patch: pytest.MonkeyPatch) -> Iterator[str]:
    """Runs a server until the block ends; yields the URL of a bucket and sets the environment by
    which clients find it."""
    server = Seaweed(folder)
    server.start()
    try:
        for name, value in server.env.items():
            patch.setenv(name, value)
        yield server.url
    finally:
        server.kill()
