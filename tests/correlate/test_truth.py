"""Links of an upload against what a capture recorded while Inductor generated the code.

The corpus is the specification of the link engine: what no line of it needs is not needed.
"""

from pathlib import Path

import pytest

from bench.corpus import baseline, programs, scores, unpack
from bench.link_measure import ScoredLine, lines_of_program

ALIKE = 0.999
"""The share of lines of which upload and capture say the same."""
GRAPH, SURE = 0.97, 0.995
"""What share of a graph's lines is right, and of the lines that the upload is sure of."""


@pytest.mark.parametrize("program", programs())
def test_no_more_lines_are_wrong_than_before(program: str, tmp_path: Path) -> None:
    """`python -m bench.corpus --write` makes a new baseline. It rises only in a commit that names
    the rule deleted for it."""
    for graph, score in scores(lines_of_program(unpack(program, tmp_path))).items():
        before = baseline()[graph]
        assert score.lines == before.lines, graph
        assert score.wrong <= before.wrong, graph


def test_captures_and_uploads_of_a_program_agree(tmp_path: Path) -> None:
    """Recorded on a GPU, where fusion traces loop bodies again: operations keep their own nodes."""
    recorded = ["cuda-gpt-train", "cuda-ops-zoo", "cuda-resnet"]
    lines = [line for name in recorded for line in lines_of_program(unpack(name, tmp_path))]
    assert share_right(lines) >= ALIKE
    assert [line for line in lines if line.confidence == "inferred" and not line.right] == []


def share_right(lines: list[ScoredLine]) -> float:
    return sum(line.right for line in lines) / len(lines)


# Some of each: `score.py` beside the truth reads them all.
SAMPLES = [
    "cpu-focalnet", "cpu-unet", "cuda-resnet", "cuda-rnn", "cuda-squeezenet",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("program", SAMPLES)
def test_recorded_programs_stay_explained(shared: Path, program: str) -> None:
    lines = lines_of_program(shared / "truth" / program)
    for graph in {line.graph for line in lines}:
        assert share_right([line for line in lines if line.graph == graph]) >= GRAPH, graph
    assert share_right([line for line in lines if line.confidence == "inferred"]) >= SURE
