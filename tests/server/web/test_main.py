"""Starting the web process."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from inductorscope.settings import Settings
from inductorscope_server.__main__ import address_of


def command(data: Path, port: int | str, **settings: str) -> subprocess.Popen[str]:
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    environment |= {"INDUCTORSCOPE_DATA": str(data), "INDUCTORSCOPE_PORT": str(port)}
    environment |= {f"INDUCTORSCOPE_{name.upper()}": value for name, value in settings.items()}
    return subprocess.Popen(
        [sys.executable, "-m", "inductorscope_server"],
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, message = process.communicate(timeout=30)
    return process.returncode, message


def test_a_taken_port_is_said_in_one_sentence(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        code, message = ended(command(tmp_path, port))
    assert code == 3
    assert message.count("\n") == 1
    assert f"Port {port} of 127.0.0.1 is in use" in message


def test_an_open_address_needs_a_token(tmp_path: Path) -> None:
    code, message = ended(command(tmp_path, 0, host="0.0.0.0"))
    assert code == 2
    assert message.count("\n") == 1
    assert "INDUCTORSCOPE_TOKEN" in message


@pytest.mark.parametrize(
    ("port", "settings", "said"),
    [
        ("many", {}, "INDUCTORSCOPE_PORT"),
        (0, {"host": "no.such.host.invalid", "token": "0123456789abcdef"}, "not an address"),
    ],
)
def test_settings_that_cannot_be_used(
    tmp_path: Path, port: int | str, settings: dict[str, str], said: str
) -> None:
    code, text = ended(command(tmp_path, port, **settings))
    assert code == 2
    assert said in text
    assert "Traceback" not in text


def test_it_stops_in_order_with_a_stream_open(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = command(tmp_path, port)
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until_up(url)
        started = httpx.post(f"{url}/api/captures", json={"model": "neg-maximum-cat"})
        job = started.json()["job"]
        with httpx.stream("GET", f"{url}/api/jobs/{job}/events", timeout=20) as answer:
            lines = answer.iter_lines()
            assert next(lines).startswith("data: ")
            before = time.monotonic()
            process.send_signal(signal.SIGTERM)
            assert not [line for line in lines if line]
        code, message = ended(process)
    finally:
        process.kill()
        process.wait()
    assert time.monotonic() - before < 4
    assert code in (0, -signal.SIGTERM)
    assert "Traceback" not in message


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "http://127.0.0.1:8765/"),
        ("::1", "http://[::1]:8765/"),
        ("0.0.0.0", "http://localhost:8765/"),
    ],
)
def test_the_address_to_open(tmp_path: Path, host: str, address: str) -> None:
    assert address_of(Settings(data=tmp_path, database_url="", host=host)) == address


def wait_until_up(url: str) -> None:
    for _ in range(200):
        try:
            if httpx.get(f"{url}/healthz").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    raise AssertionError("the server did not come up")
