"""Prints what the tool says first of each program beside the cause that was planted in it.

    python -m bench.diagnosis.score [NAME ...] [--corpus FOLDER] [--device cpu] [--data FOLDER]

Each program is captured, unchanged, into the data folder; one that is there already is only read.
A person judges: `judged.json` holds, by program, `{"said": …, "cause": …, "win": …}`. `cause` is
`right`, `misleading` or `wrong`; of a healthy program `right` means that no cause is urgent. `win`
is `within` (a factor of 1.5 of the real one), `bound` (not passed), `off`, `none` (no win said) or
`unknown` (not measured). `said` is the sentence judged. Once the tool says another, apart from
numbers, the program counts as not judged. If the machine was busy, that is said first, and the
cause after it is judged.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from bench.diagnosis.corpus import HERE, Program, read_json, read_programs, write_json

RUN = re.compile(r"runs/([0-9a-f]{16})")
DISTURBED = re.compile(r"Other processes used|slowed the profiled run down|slowed the timed ones")
SECTION = re.compile(
    r"^## (?:What to change first|Nothing stands out)$.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL
)


def _tool(*arguments: object) -> str:
    done = subprocess.run(
        [Path(sys.executable).with_name("inductorscope"), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    return done.stdout + done.stderr


def captured_run(folder: Path, program: Program, data: Path) -> str | None:
    """The run of the program in the data folder, captured now unless it is there."""
    runs = read_json(data / "corpus-runs.json")
    if program.name not in runs:
        path = folder / "programs" / f"{program.name}.py"
        found = RUN.findall(_tool("capture", path, "--data", data))
        if not found:
            return None
        runs[program.name] = found[-1]
        write_json(data / "corpus-runs.json", runs)
    run: str = runs[program.name]
    return run


def first_said(run: str, data: Path) -> str:
    """The first cause on the overview, with its reason, fix and win, or why there is none."""
    section = SECTION.search(_tool("show", run, "--data", data))
    if section is None:
        return "(no section)"
    items = re.split(r"^(?=\d+\. )", section[0], flags=re.MULTILINE)
    causes = [item for item in items[1:] if not DISTURBED.search(item)] or items
    first = causes[0]
    return re.split(r"^- (?=Checked|Not checked)", first, flags=re.MULTILINE)[0].strip()


def real_win(figures: dict[str, Any] | None) -> str:
    """What the fix really won, in words."""
    if not figures or "fixed" not in figures:
        return "not measured"
    before, after = figures["planted"], figures["fixed"]
    if before["failure"]:
        return f"it fails ({before['failure']}); fixed, it runs"
    parts = [
        f"step {before['step_ms']:.4g} → {after['step_ms']:.4g} ms"
        f" ({before['step_ms'] / after['step_ms']:.2f}x, n={before['n']})"
    ]
    parts += [
        f"{what} {before[key]} → {after[key]}"
        for what, key in (
            ("graphs", "graphs"),
            ("breaks", "breaks"),
            ("seconds of compiling", "compile_s"),
            ("skipped CUDA graphs", "skipped_cuda_graphs"),
        )
        if before.get(key) != after.get(key)
    ]
    return ", ".join(parts)


def _same(said: str, judged: str) -> bool:
    """Whether two sentences differ in numbers alone."""
    return re.sub(r"[\d.,]+", "#", said) == re.sub(r"[\d.,]+", "#", judged)


def verdict_of(program: Program, said: str, judged: dict[str, Any]) -> dict[str, str] | None:
    """The verdict on what is said, or None if it has not been judged."""
    verdict: dict[str, str] | None = judged.get(program.name)
    sentence = said.splitlines()[0]
    return verdict if verdict and _same(sentence, verdict["said"]) else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--corpus", type=Path, default=HERE)
    parser.add_argument("--device", choices=["cpu", "cuda"], help="default: both")
    parser.add_argument("--data", type=Path, help="default: a new folder, which is kept")
    args = parser.parse_args()
    data = args.data or Path(tempfile.mkdtemp(prefix="corpus-"))
    data.mkdir(parents=True, exist_ok=True)
    measured, judged = (read_json(args.corpus / f"{name}.json") for name in ("measured", "judged"))
    totals: dict[str, Counter[str]] = {"planted": Counter(), "healthy": Counter()}
    wins: Counter[str] = Counter()
    for program in read_programs(args.corpus):
        if args.names and program.name not in args.names:
            continue
        if args.device not in (None, program.device):
            continue
        run = captured_run(args.corpus, program, data)
        said = first_said(run, data) if run else "(no run)"
        verdict = verdict_of(program, said, judged)
        healthy = program.cause == "none"
        totals["healthy" if healthy else "planted"][
            verdict["cause"] if verdict else "to judge"
        ] += 1
        wins[verdict["win"] if verdict else "to judge"] += not healthy
        print(f"## {program.name} ({program.device}, {program.cause}): {verdict or 'to judge'}")
        print(f"truth: {program.truth}")
        if not healthy:
            where = ", ".join(map(str, program.lines))
            print(f"lines: {where}\nfix:   {program.fix}")
            print(f"won:   {real_win(measured.get(program.name))}")
        print("said:\n" + re.sub("^", "  | ", said, flags=re.MULTILINE) + "\n", flush=True)
    for kind, counts in totals.items():
        print(f"{kind}: {counts.total()}", *(f"{n} {v}" for v, n in counts.items()), sep=", ")
    print("wins: " + ", ".join(f"{n} {verdict}" for verdict, n in wins.items()))
    print(f"runs are in {data}")


if __name__ == "__main__":
    main()
