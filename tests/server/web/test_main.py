"""Starting the web process."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from inductorscope.errors import InWords
from inductorscope.settings import Settings
from inductorscope_server.web import server as program


@pytest.fixture
def refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str]]:
    """Starts the web process with settings that it refuses: its exit status and what it says."""
    monkeypatch.setattr(program, "log_to_stderr", lambda **_: None)
    monkeypatch.setenv("INDUCTORSCOPE_DATA", str(tmp_path))

    def start(**settings: object) -> tuple[int, str]:
        for name, value in settings.items():
            monkeypatch.setenv(f"INDUCTORSCOPE_{name.upper()}", str(value))
        with pytest.raises(InWords) as refusal:
            program.main()
        return refusal.value.exit_code, refusal.value.sentences()

    return start


def test_a_taken_port_is_said_in_one_sentence(refused: Callable[..., tuple[int, str]]) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        code, message = refused(port=port)
    assert code == 3
    assert f"Port {port} of 127.0.0.1 is in use" in message


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"port": "many"}, "INDUCTORSCOPE_PORT"),
        ({"port": 0, "host": "0.0.0.0"}, "INDUCTORSCOPE_TOKEN"),
        ({"port": 0, "host": "no.such.host.invalid", "token": "0123456789abcdef"},
         "not an address"),
    ],
)  # fmt: skip
def test_settings_that_cannot_be_used(
    refused: Callable[..., tuple[int, str]], settings: dict[str, object], said: str
) -> None:
    code, message = refused(**settings)
    assert code == 2
    assert said in message


def test_it_stops_in_order_with_a_stream_open(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "inductorscope_server"], stderr=subprocess.PIPE, text=True,
        env=os.environ | {"INDUCTORSCOPE_DATA": str(tmp_path), "INDUCTORSCOPE_PORT": str(port)},
    )  # fmt: skip
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until_up(url)
        started = httpx.post(f"{url}/api/captures", json={"model": "neg-maximum-cat"}, timeout=30)
        job = started.json()["job"]
        with httpx.stream("GET", f"{url}/api/jobs/{job}/events", timeout=20) as answer:
            assert "content-encoding" not in answer.headers  # compressed, events would wait
            lines = answer.iter_lines()
            assert next(lines).startswith("data: ")
            process.send_signal(signal.SIGTERM)
            assert not [line for line in lines if line]
        _, message = process.communicate(timeout=30)
    finally:
        process.kill()
        process.wait()
    assert "graceful shutdown exceeded" not in message
    assert process.returncode in (0, -signal.SIGTERM)
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
    assert program.address_of(Settings(data=tmp_path, database_url="", host=host)) == address


def wait_until_up(url: str) -> None:
    for _ in range(200):
        try:
            if httpx.get(f"{url}/healthz", timeout=30).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    raise AssertionError("the server did not come up")
