"""Captures that were asked for over the web, and what they may not do to the machine."""

from pathlib import Path

import pytest
from inductorscope.capturing.run import run_capture
from inductorscope.capturing.spec import CaptureSpec
from inductorscope.capturing.watch import CaptureFailed
from inductorscope.formats.capture_facts import read_facts
from inductorscope.settings import Settings

pytestmark = pytest.mark.torch

FLAG = "cpp.enable_floating_point_contract_flag"


def settings(folder: Path) -> Settings:
    return Settings(data=folder, database_url="")


def test_an_option_cannot_run_a_command(tmp_path: Path) -> None:
    target = tmp_path / "owned"
    # g++ starts each of its own programs through what stands after -wrapper.
    command = {FLAG: f'off -wrapper "/bin/sh,-c,touch {target}"'}
    spec = CaptureSpec(model="neg-maximum-cat", repeats=1, profile=False, config=command)
    with pytest.raises(CaptureFailed) as refusal:
        run_capture(spec, tmp_path / "out", settings(tmp_path))
    assert not target.exists()
    assert str(refusal.value) == (
        f"The key {FLAG} may not be set so from the web: torch may put its text into a command "
        "line, a path or code, and run that. Run it from the command line on the machine "
        f"(inductorscope capture … --config {FLAG}=…)."
    )


def test_numbers_from_the_web_are_set(captured_tutorial: Path) -> None:
    facts = read_facts(captured_tutorial)
    assert facts is not None
    asked = facts.options["config"]
    assert asked == {"max_fusion_size": "16", "cpp.min_chunk_size": "4096"}
    assert {key: facts.config[key] for key in asked} == asked
