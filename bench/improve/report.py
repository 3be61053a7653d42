"""Prints the table of what searches found and what was measured again.

    python -m bench.improve.report SEARCHES MEASUREMENTS

SEARCHES: a folder with `NAME.json` of each search (`inductorscope improve --json`).
MEASUREMENTS: a folder with `NAME.json` of bench.improve.measure.
"""

import argparse
import statistics
from pathlib import Path
from typing import Any

import msgspec
from inductorscope.analyze.measure.judge import shift_of
from inductorscope.analyze.trial.result import Improvement

from bench.diagnosis.corpus import read_json
from bench.improve.measure import AS_IT_IS, MODES, programs

ENOUGH = 0.9
"""What was found is as good as what was planted if it wins at least this share of its gain."""


def gain(ours: dict[str, list[float]], title: str) -> tuple[float, float, float] | None:
    """How many times as fast a form is as the program as it is, and the interval."""
    base, times = ours.get(AS_IT_IS, []), ours.get(title, [])
    if min(len(base), len(times)) < 2:
        return None
    middle, low, high = (1 / (1 + shift) for shift in shift_of(base, times))
    return middle, high, low


def shown(gained: tuple[float, float, float] | None) -> str:
    return "—" if gained is None else "{:.2f} ({:.2f} to {:.2f})".format(*gained)


def row(entry: dict[str, Any], search: Improvement | None, ours: dict[str, list[float]]) -> str:
    name = entry["name"]
    promised = None
    if search and search.judged and search.gain > 1.0:
        promised = search.gain, 1 / (1 + search.judged.high), 1 / (1 + search.judged.low)
    planted = gain(ours, "planted")
    again = (gain(ours, "found") or planted) if promised else None
    found = bool(promised and again and (not planted or again[0] >= ENOUGH * planted[0]))
    inside = ""
    if promised and again:
        inside = "yes" if promised[1] <= again[0] <= promised[2] else "no"
        overlap = again[1] <= promised[2] and promised[1] <= again[2]
        inside += "" if inside == "yes" or not overlap else ", intervals overlap"
    numbers = search.numerics if search and promised else None
    bound = f"{numbers.error:.0e} of {numbers.bound:.0e}" if numbers and numbers.bound else ""
    bound += ", unknown" if numbers and numbers.answer == "unknown" else ""
    cells = [
        f"`{name}`",
        entry["kind"],
        "GPU" if name.startswith("gpu_") else "CPU",
        f"{statistics.median(ours[AS_IT_IS]):.3g}" if ours.get(AS_IT_IS) else "—",
        *(shown(gain(ours, mode)) for mode in MODES),
        shown(planted),
        f"{shown(promised)}: {' and '.join(search.kept)}" if search and promised else "nothing",
        "yes" if found else "**no**",
        f"{shown(again)}, n={len(ours.get('found') or ours.get('planted', []))}" if again else "",
        inside,
        bound or ("equal" if numbers else ""),
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("searches", type=Path)
    parser.add_argument("measurements", type=Path)
    args = parser.parse_args()
    titles = ["program", "kind", "on", "ms a step", *MODES, "planted", "search", "found"]
    titles += ["again", "inside", "error"]
    print(f"| {' | '.join(titles)} |\n|{'---|' * len(titles)}")
    for name, entry in programs().items():
        file = args.searches / f"{name}.json"
        search = msgspec.json.decode(file.read_bytes(), type=Improvement) if file.exists() else None
        ours = read_json(args.measurements / f"{name}.json").get("ms", {})
        print(row(entry, search, ours))


if __name__ == "__main__":
    main()
