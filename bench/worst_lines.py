"""Which kinds of line inference gets wrong most, and in which step.

    python -m bench.worst_lines                # of the corpus in the checkout
    python -m bench.worst_lines TRUTH_DIR… [--show 10] [--only PATTERN] [--confidence inferred]
        [--operations] [--half all]

Of folders it reads the half of the programs that the engine may be changed for.
"""

import argparse
import re
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

from bench.corpus import programs as corpus_programs
from bench.corpus import unpack
from bench.link_measure import ScoredLine, measure, program_folders


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("roots", nargs="*", type=Path)
    parser.add_argument("--show", type=int, default=12, help="examples of each cause")
    parser.add_argument("--only", default="", help="regular expression over programs")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--half", choices=["tune", "all"], default="tune")
    parser.add_argument("--confidence", help="only lines that are called so: inferred, kernel")
    parser.add_argument(
        "--operations", action="store_true", help="lines whose operation is not found instead"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as corpus:
        if not options.roots:
            for program in corpus_programs():
                unpack(program, Path(corpus))
            options.roots, options.half = [Path(corpus)], "all"
        show_worst(options)


def show_worst(options: argparse.Namespace) -> None:
    wanted = re.compile(options.only)
    folders = program_folders(options.roots, None if options.half == "all" else "tune")
    folders = [f for f in folders if wanted.search(f.name)]
    if not folders:
        sys.exit("No recorded program there: unpack archives first, or name another --half.")
    causes: Counter[str] = Counter()
    kinds: Counter[tuple[str, str]] = Counter()
    programs: Counter[str] = Counter()
    examples: dict[str, list[ScoredLine]] = defaultdict(list)
    total = 0
    for lines in measure(folders, options.jobs):
        lines = [line for line in lines if options.confidence in (None, line.confidence)]
        total += len(lines)
        for line in lines:
            if not (line.op_found if options.operations else line.right):
                causes[line.cause] += 1
                kinds[line.cause, line.kind] += 1
                programs[line.program] += 1
                examples[line.cause].append(line)
    wrong = sum(causes.values())
    print(f"{wrong} of {total} lines wrong")
    for cause, count in causes.most_common():
        print(f"\n{count:6}  {cause}")
        for (which, kind), number in kinds.most_common():
            if which == cause and number * 25 > count:
                print(f"        {number:6}  {kind}")
        step = max(1, len(examples[cause]) // max(options.show, 1))
        for line in examples[cause][::step][: options.show]:
            where = f"{line.program} {line.graph}:{line.number} [{line.confidence}]"
            print(f"          {where} {line.text[:90]}")
            print(f"              want {sorted(line.want)} {sorted(line.want_body)}")
            print(f"              got  {sorted(line.got)[:5]} {sorted(line.got_body)[:5]}")
    print("\nworst programs")
    for program, count in programs.most_common(40):
        print(f"{count:6}  {program}")


if __name__ == "__main__":
    main()
