"""Does the lock differ between healthy compiles? Threads, hash seeds, caches and paths vary.

python -m bench.contract.repeat [TIMES]
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from inductorscope.contract.compare import compare
from inductorscope.contract.lock import Program
from inductorscope.contract.report import as_text

from bench.contract.compile import compile_text
from bench.contract.programs import REGRESSIONS

TEXTS = [REGRESSIONS[0].program(True), REGRESSIONS[2].program(True)]
"""Programs with a break, and with recompiles."""
OPTIONS = [{}, REGRESSIONS[2].options]


def main(times: int) -> None:
    first: dict[int, Program] = {}
    differing = 0
    with tempfile.TemporaryDirectory() as folder:
        shared = Path(folder) / "cache"
        shared.mkdir()
        for number in range(times):
            which = number % len(TEXTS)
            os.environ["PYTHONHASHSEED"] = str(number)
            os.environ["OMP_NUM_THREADS"] = str(1 + number // 2 % 2)
            os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = str(1 + number // 4 % 2)
            place = Path(folder, *["a long path"] * (number // 8 % 2), f"p{number % 5}")
            cache = None if number < 2 or number % 10 == 9 else shared
            program, took = compile_text(TEXTS[which], OPTIONS[which], place, cache)
            known = first.setdefault(which, program)
            same = known == program
            differing += not same
            print(f"{number + 1}: {took:.1f} s, {'equal' if same else 'DIFFERENT'}", flush=True)
            if not same:
                print(as_text([compare(known, program)]))
    print(f"{times} compiles, {differing} differ")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
