"""A run of a server as the baseline of `inductorscope check`."""

from pathlib import Path

import httpx
import pytest
from inductorscope.cli.app import app, load_commands
from inductorscope.contract.lock import read_lock
from inductorscope.errors import SERVER, USAGE
from inductorscope.settings import Settings
from starlette.testclient import TestClient
from typer.testing import CliRunner

from tests.server.conftest import BASE


def test_a_run_is_a_baseline(
    filled: TestClient, filled_settings: Settings, graph: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    run_id = graph.split("/")[2]
    monkeypatch.setattr(httpx, "Client", lambda **_: filled)
    answer = filled.get(f"/api/runs/{run_id}/inductor.lock")
    assert answer.headers["content-type"].startswith("application/toml")
    [locked] = read_lock(answer.text).program
    lock = tmp_path / "inductor.lock"
    lock.write_text(answer.text.replace(f"kernels = {locked.counts['kernels']}", "kernels = 0"))
    checked = ["check", str(lock), "--run", run_id, "--data", str(filled_settings.data)]
    load_commands("check")
    run = CliRunner().invoke
    assert run(app, checked).exit_code == 1
    for baseline in (run_id, f"{BASE}/runs/{run_id}", f"{BASE}/history?figure=kernels"):
        compared = run(app, [*checked, "--baseline", baseline])
        assert compared.stdout == f"{locked.model}: as locked\n", compared.output
    for baseline, code, says in (
        (f"{BASE}/history?tag=none", SERVER, "No run has the name"),
        (f"{BASE}/runs/{'0' * 16}", SERVER, "no run"),
        (f"{BASE}/search", USAGE, "neither a run nor a history"),
    ):
        refused = run(app, [*checked, "--baseline", baseline])
        assert refused.exit_code == code
        assert says in refused.output
