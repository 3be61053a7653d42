"""`inductorscope kernels`: JSON of a trace, and a sentence where there is none."""

from __future__ import annotations

import json
from pathlib import Path

import inductorscope.cli.commands.kernels  # noqa: F401  # adds the command
import pytest
from inductorscope.cli.app import app
from inductorscope.errors import REFUSED
from typer.testing import CliRunner


def test_kernels_of_a_trace(fixtures: Path) -> None:
    trace = fixtures / "cuda-foo1" / "eager.trace.json.gz"
    result = CliRunner().invoke(app, ["kernels", str(trace)])
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert found["device_time_us"] == pytest.approx(8.64)
    assert found["busy_us"] == pytest.approx(8.64)
    assert found["span_us"] > found["busy_us"]
    assert sum(found["categories"].values()) == pytest.approx(found["device_time_us"])
    assert found["categories"].keys() == {"eager", "memcpy"}
    assert sum(kernel["count"] for kernel in found["kernels"]) == 6
    assert found["repairs"] == []


def test_a_damaged_trace_tells_its_repairs(fixtures: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "cut.json.gz"
    damaged.write_bytes((fixtures / "cuda-foo1" / "eager.trace.json.gz").read_bytes()[:-300])
    result = CliRunner().invoke(app, ["kernels", str(damaged)])
    assert result.exit_code == 0
    assert any("cut short" in one["reason"] for one in json.loads(result.stdout)["repairs"])


@pytest.mark.parametrize("text", [None, "", "no trace at all"])
def test_what_is_no_trace(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "trace.json"
    if text is not None:
        path.write_text(text)
    result = CliRunner().invoke(app, ["kernels", str(path)])
    assert result.exit_code == REFUSED
    assert str(path) in result.output
