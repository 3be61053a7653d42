"""Uploaded texts that take long to analyse, and requests for every page that analyses them."""

import contextlib
import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from inductorscope.cli.client import Client
from inductorscope.cli.local import read_paths
from inductorscope.settings import Settings

from tests.support.attacking import ANSWER_SECONDS, Health, bearer, web_process
from tests.support.places import FIXTURES
from tests.support.serving import Served

GRAPH = "model__0_inference_0.0"
LINE = "    tmp3 = triton_helpers.maximum(tmp0, tmp2)\n"
LINES = 400_000
CHILD = b"inductorscope_server.analysis.child"
LIMIT = "takes longer than 3 seconds (INDUCTORSCOPE_ANALYSIS_SECONDS)"

pytestmark = pytest.mark.slow


def heavy_run(folder: Path, lines: int = LINES) -> Path:
    """A debug folder with a kernel of many lines: some 20 MB, which zip to a hundredth."""
    shutil.copytree(FIXTURES / "cuda-foo1" / "torch_compile_debug", folder)
    code = next(folder.rglob("output_code.py"))
    many = "".join(LINE.replace("tmp3", f"tmp{number}") for number in range(3, 3 + lines))
    code.write_text(code.read_text().replace(LINE, many))
    return folder


def pages_of(run: str) -> list[str]:
    """Addresses whose answers analyse the texts of the run's graph."""
    graph = f"/runs/{run}/graphs/{GRAPH}"
    return [
        f"/api{graph}/reason?stage=code&line=80",
        f"/runs/{run}/roofline",
        f"{graph}/memory",
        f"/api{graph}/annotated.py",
        f"/runs/{run}/failures",
    ]


def attack(url: str, token: str, stop: threading.Event) -> None:
    with tempfile.TemporaryDirectory() as folder:
        pushed = Client(url, token).push(
            [heavy_run(Path(folder) / "heavy")], "heavy", [], lambda *_: None
        )
    pages = pages_of(str(pushed.run))
    with httpx.Client(base_url=url, headers=bearer(token), timeout=120) as client:
        while not stop.is_set():
            for path in pages:
                with contextlib.suppress(httpx.TransportError):
                    client.get(path)


def child_of(web: int) -> int:
    """The process that analyses texts, once it has started."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        for task in Path(f"/proc/{web}/task").iterdir():
            for child in (task / "children").read_text().split():
                if CHILD in Path(f"/proc/{child}/cmdline").read_bytes():
                    return int(child)
        time.sleep(0.05)
    raise AssertionError("no process analyses texts")


def test_an_analysis_that_hangs_holds_up_nobody(serving: Callable[[str], Served]) -> None:
    served = serving("sqlite")
    runs = [
        read_paths(
            Settings(data=served.data, database_url=""), [FIXTURES / name], name=name, tags=[],
            origin="ingest", progress=lambda *_: None,
        ).run_id
        for name in ("cuda-foo1", "cuda-adam")
    ]  # fmt: skip
    with Health(served.url) as health:
        client = httpx.Client(base_url=served.url, timeout=60)
        assert client.get(f"/runs/{runs[0]}/roofline").status_code == 200
        web = web_process(served.process.pid)
        assert web is not None
        hanging = child_of(web)
        os.kill(hanging, signal.SIGSTOP)
        answers: list[httpx.Response] = []
        asked = threading.Thread(
            target=lambda: answers.append(client.get(f"/runs/{runs[0]}/roofline"))
        )
        asked.start()
        time.sleep(0.5)  # it has the process that hangs
        other = httpx.get(f"{served.url}/runs/{runs[1]}/roofline", timeout=60)
        assert other.status_code == 200  # from the second process
        asked.join()
        exceeded = served.said().count(LIMIT)
        answers.append(client.get(f"/api/runs/{runs[0]}/roofline"))
        assert served.said().count(LIMIT) == exceeded > 0  # it is not tried again
        assert not Path(f"/proc/{hanging}").exists()
        for answer in answers:
            assert answer.status_code == 503
            assert LIMIT in answer.text
        # Other pages of the run still come.
        assert client.get(f"/runs/{runs[0]}/graphs/{GRAPH}/memory").status_code == 200
    assert health.slowest < ANSWER_SECONDS
    assert not health.failures
