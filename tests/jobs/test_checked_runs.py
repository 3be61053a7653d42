"""`inductorscope check` sends its runs to a real server."""

from pathlib import Path

import httpx
import pytest
from inductorscope.cli.app import app, load_commands
from typer.testing import CliRunner

from tests.support.serving import Served

MODEL = """\
def f(x):
    print("a break")
    return x + 1


def make():
    import torch

    return f, (torch.zeros(4),)
"""
LOCK = """\
format = 1

[[program]]
model = "MODEL:make"

[program.options]
backend = "eager"

[program.counts]
breaks = 0
"""


@pytest.mark.torch
def test_a_server_keeps_what_a_check_found(server: Served, tmp_path: Path) -> None:
    load_commands()
    model, lock, data = tmp_path / "model.py", tmp_path / "inductor.lock", tmp_path / "data"
    model.write_text(MODEL)
    lock.write_text(LOCK.replace("MODEL", str(model)))
    run = CliRunner().invoke
    sent = ["--server", server.url, "--tag", "main"]
    checked = run(app, ["check", str(lock), "--data", str(data), *sent])
    assert checked.exit_code == 1, checked.output
    assert "line 2 of model.py in `f`, `print`" in checked.output
    address = checked.output.split()[-1]
    history = httpx.get(f"{server.url}/api/history?tag=main&figure=graphs").json()
    assert [f"{server.url}/runs/{row['id']}" for row in history["runs"]] == [address]
    assert httpx.get(address).status_code == 200
    assert run(app, ["runs", "--json", "--data", str(data)]).output.strip() == "[]"
