"""Inferred links against what was recorded while Inductor generated the code."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from inductorscope.correlate.directory import links_of_path

COMPUTES = re.compile(r"\btmp|_ptr\d")


def share_of_exact_lines(folder: Path) -> dict[str, float]:
    """Graph → share of its lines whose FX nodes are exactly the recorded ones."""
    truth = json.loads((folder / "truth.json").read_text())
    answer = links_of_path(folder / "torch_compile_debug")
    shares: dict[str, float] = {}
    for graph in answer["graphs"]:
        name = graph["name"]
        (code,) = folder.glob(f"torch_compile_debug/*/torchinductor/{name}/output_code.py")
        text = code.read_text().split("\n")
        answers = {line["line"]: line for kernel in graph["kernels"] for line in kernel["lines"]}
        lines = [
            (int(number), {entry[2] for entry in entries})
            for number, entries in truth[name].items()
            if COMPUTES.search(text[int(number) - 1])
        ]
        right = sum(set(answers.get(line, {}).get("fx", ())) == want for line, want in lines)
        shares[name] = right / len(lines)
    return shares


@pytest.mark.parametrize("graph", ["cpu-ops-zoo", "cuda-adam"])
def test_fixtures_stay_explained(fixtures: Path, graph: str) -> None:
    for name, share in share_of_exact_lines(fixtures / graph).items():
        assert share > 0.98, f"{graph} {name}: {share:.2%}"


# Some of each: `score.py` beside the truth reads them all.
SAMPLES = [
    "cpu-bert", "cpu-focalnet", "cpu-unet",
    "cuda-googlenet", "cuda-maxvit", "cuda-resnet", "cuda-rnn", "cuda-squeezenet",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("program", SAMPLES)
def test_recorded_programs_stay_explained(shared: Path, program: str) -> None:
    for name, share in share_of_exact_lines(shared / "truth" / program).items():
        assert share > 0.98, f"{program} {name}: {share:.2%}"
