"""How often inferred links are right, by set and by confidence.

    python -m bench.calibration TRUTH_DIR… [--half tune|hold]

TRUTH_DIR: what bench.truth_programs.record wrote. Prints figures of each set, the graphs with the
most wrong lines, and a table of how often the lines of each confidence are right.
"""

import argparse
from collections import Counter
from pathlib import Path

from bench.link_measure import Figures, measure, program_folders

_LOW = 0.97
"""Graphs with a smaller share of right lines are listed."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("roots", nargs="+", type=Path)
    parser.add_argument("--half", choices=["tune", "hold"])
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    total = Figures()
    sets: dict[str, Figures] = {}
    table: Counter[tuple[str, bool]] = Counter()
    for lines in measure(program_folders(options.roots, options.half), options.jobs):
        for line in lines:
            total.add(line)
            sets.setdefault(_family(line.program), Figures()).add(line)
            table[line.confidence, line.right] += 1
    for name, figures in sorted(sets.items()):
        print(f"{name:22}", figures)
    print(f"{'all':22}", total)
    low = [(r / n, n - r, n, g) for g, (n, r) in total.graphs.items() if r < _LOW * n]
    print(f"\n{len(low)} graphs below {_LOW:.0%}")
    for share, wrong, count, graph in sorted(low):
        print(f"{100 * share:6.2f} %  {wrong} of {count} lines wrong  {graph}")
    print("\nconfidence    lines    right")
    for confidence in ("exact", "inferred", "kernel", "none"):
        right, wrong = table[confidence, True], table[confidence, False]
        if right + wrong:
            print(f"{confidence:10} {right + wrong:8}  {100 * right / (right + wrong):6.2f} %")


def _family(program: str) -> str:
    device, _, rest = program.partition("-")
    return f"{device} {rest.partition('-')[0]}"


if __name__ == "__main__":
    main()
