"""How long a new user waits: `python -m bench.from_wheel`.

Builds the wheel, installs it alone into a new environment, and starts `inductorscope serve` there
with an empty folder. Prints the seconds until the first page and the sample run answer. Packages
come from pip's cache if it has them. The first start finds the modules compiled by pip.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STARTS = 3


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place)]
        subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
        (wheel,) = place.glob("*.whl")
        began = time.monotonic()
        venv.create(place / "venv", with_pip=True)
        pip = [f"{place}/venv/bin/pip", "install", "--quiet", str(wheel)]
        subprocess.run(pip, check=True, capture_output=True)
        print(f"installed: {time.monotonic() - began:.1f} s")
        for number in range(1, STARTS + 1):
            print(f"start {number}: {start(place, place / f'data{number}'):.1f} s")


def start(place: Path, data: Path) -> float:
    """Returns the seconds from the command to the first page and its sample."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    began = time.monotonic()
    command = [f"{place}/venv/bin/inductorscope", "serve", "--port", str(port)]
    server = subprocess.Popen([*command, "--data", str(data)], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)  # fmt: skip
    try:
        for path, shown in (("/", b"A sample"), ("/sample", b"<html")):
            while shown not in answer(f"http://127.0.0.1:{port}{path}"):
                assert server.poll() is None, "the server ended"
                time.sleep(0.05)
        return time.monotonic() - began
    finally:
        server.terminate()
        server.wait()


def answer(address: str) -> bytes:
    try:
        with urllib.request.urlopen(address, timeout=60) as response:
            return bytes(response.read())
    except (urllib.error.URLError, ConnectionError):
        return b""


if __name__ == "__main__":
    main()
