"""Links of an upload against what a capture recorded while Inductor generated the code.

The corpus is the specification of the link engine: what no line of it needs is not needed.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.corpus import baseline, programs, scores, unpack
from bench.link_measure import ScoredLine, lines_of_program

ALIKE = 0.999
"""The share of lines of which upload and capture say the same."""


@pytest.mark.parametrize("program", programs())
def test_no_more_lines_are_wrong_than_before(program: str, tmp_path: Path) -> None:
    """`python -m bench.corpus --write` makes a new baseline. It rises only in a commit that names
    the rule deleted for it."""
    for graph, score in scores(lines_of_program(unpack(program, tmp_path))).items():
        before = baseline()[graph]
        assert score.lines == before.lines, graph
        assert score.wrong <= before.wrong, graph


def assert_agreed(lines: list[ScoredLine]) -> None:
    """Upload and capture agree on nearly all lines, and on all that the upload is sure of."""
    wrong = [line for line in lines if not line.right]
    assert len(wrong) <= (1 - ALIKE) * len(lines), wrong
    assert [line for line in wrong if line.confidence == "inferred"] == []


@pytest.mark.parametrize("program", ["cuda-gpt-train", "cuda-ops-zoo", "cuda-resnet"])
def test_captures_and_uploads_of_a_program_agree(tmp_path: Path, program: str) -> None:
    """Recorded on a GPU, where fusion traces loop bodies again: operations keep their own nodes."""
    assert_agreed(lines_of_program(unpack(program, tmp_path)))


# Some of each: `score.py` beside the truth reads them all.
SAMPLES = [
    "cpu-bert", "cpu-focalnet", "cpu-unet",
    "cuda-googlenet", "cuda-maxvit", "cuda-resnet", "cuda-rnn", "cuda-squeezenet",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("program", SAMPLES)
def test_recorded_programs_stay_explained(shared: Path, program: str) -> None:
    assert_agreed(lines_of_program(shared / "truth" / program))
