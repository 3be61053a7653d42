"""The recorded programs inside the checkout, and how many of their lines are linked wrongly.

    python -m bench.corpus           # what differs from the baseline
    python -m bench.corpus --write   # make today's engine the baseline

The baseline rises only in a commit that names the rule deleted for it.
"""

import argparse
import tarfile
import tempfile
from pathlib import Path

import msgspec

from bench.link_measure import ScoredLine, lines_of_program

CORPUS = Path(__file__).resolve().parents[1] / "tests" / "fixtures" / "links"
BASELINE = CORPUS / "baseline.json"


class GraphScore(msgspec.Struct, frozen=True):
    """The lines of a graph, and how many of them have other nodes than were recorded."""

    lines: int
    wrong: int


def programs() -> list[str]:
    return sorted(file.name.removesuffix(".tar.xz") for file in CORPUS.glob("*.tar.xz"))


def unpack(program: str, folder: Path) -> Path:
    """Unpacks a program of the corpus; returns its folder."""
    with tarfile.open(CORPUS / f"{program}.tar.xz") as packed:
        packed.extractall(folder, filter="data")
    return folder / program


def scores(lines: list[ScoredLine]) -> dict[str, GraphScore]:
    """The score of each graph of one program."""
    found: dict[str, list[ScoredLine]] = {}
    for line in lines:
        found.setdefault(f"{line.program} {line.graph}", []).append(line)
    return {
        graph: GraphScore(len(own), sum(not line.right for line in own))
        for graph, own in found.items()
    }


def baseline() -> dict[str, GraphScore]:
    return msgspec.json.decode(BASELINE.read_bytes(), type=dict[str, GraphScore])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    now: dict[str, GraphScore] = {}
    with tempfile.TemporaryDirectory() as folder:
        for program in programs():
            now |= scores(lines_of_program(unpack(program, Path(folder))))
    before = baseline() if BASELINE.exists() else {}
    for graph, score in now.items():
        if score != before.get(graph):
            print(f"{graph}: {score.wrong} of {score.lines} lines wrong, was {before.get(graph)}")
    lines, wrong = (sum(getattr(s, name) for s in now.values()) for name in ("lines", "wrong"))
    print(f"{len(now)} graphs, {wrong} of {lines} lines wrong")
    if options.write:
        BASELINE.write_bytes(msgspec.json.format(msgspec.json.encode(now), indent=1) + b"\n")


if __name__ == "__main__":
    main()
