"""Links of an upload against what a capture recorded while Inductor generated the code."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from bench.link_measure import ScoredLine, lines_of_program

ALIKE = 0.999
"""The share of lines of which upload and capture say the same."""


def assert_agreed(lines: list[ScoredLine], alike: float) -> None:
    """Upload and capture agree on nearly all lines, and on all that the upload is sure of."""
    wrong = [line for line in lines if not line.right]
    assert len(wrong) <= (1 - alike) * len(lines), wrong
    assert [line for line in wrong if line.confidence == "inferred"] == []


@pytest.mark.parametrize("program", ["cuda-gpt-train", "cuda-ops-zoo", "cuda-resnet"])
def test_captures_and_uploads_of_a_program_agree(
    fixtures: Path, tmp_path: Path, program: str
) -> None:
    """Recorded on a GPU, where fusion traces loop bodies again: operations keep their own nodes."""
    with tarfile.open(fixtures / "links" / f"{program}.tar.xz") as packed:
        packed.extractall(tmp_path, filter="data")
    assert_agreed(lines_of_program(tmp_path / program), ALIKE)


@pytest.mark.parametrize("graph", ["cpu-ops-zoo", "cuda-adam"])
def test_fixtures_stay_explained(fixtures: Path, graph: str) -> None:
    assert_agreed(lines_of_program(fixtures / graph), ALIKE)


# Some of each: `score.py` beside the truth reads them all.
SAMPLES = [
    "cpu-bert", "cpu-focalnet", "cpu-unet",
    "cuda-googlenet", "cuda-maxvit", "cuda-resnet", "cuda-rnn", "cuda-squeezenet",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("program", SAMPLES)
def test_recorded_programs_stay_explained(shared: Path, program: str) -> None:
    assert_agreed(lines_of_program(shared / "truth" / program), ALIKE)
