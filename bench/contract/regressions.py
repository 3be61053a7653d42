"""Twelve regressions: is each caught, and is the unchanged program left alone?

python -m bench.contract.regressions [NAME…]
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from inductorscope.contract.compare import compare
from inductorscope.contract.report import as_text

from bench.contract.compile import compile_text
from bench.contract.programs import REGRESSIONS


def main(names: list[str]) -> None:
    caught = alarms = 0
    wanted = [one for one in REGRESSIONS if not names or one.name in names]
    wanted = [one for one in wanted if not one.gpu or shutil.which("nvidia-smi")]
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder) / "cache"
        cache.mkdir()
        for number, one in enumerate(wanted):
            before, again, after = (
                compile_text(
                    one.program(worse),
                    one.options,
                    Path(folder) / f"{number}-{which}",
                    None if one.count == "cache_bypasses" else cache,
                )[0]
                for which, worse in enumerate((False, False, True))
            )
            same, other = compare(before, again), compare(before, after)
            alarms += bool(same.differences)
            hit = not other.passes and before.counts[one.count] != after.counts[one.count]
            caught += hit
            print(f"== {one.name}: {'caught' if hit else 'MISSED'} ({one.reported})")
            print(as_text([other]), end="")
            if same.differences:
                print("FALSE ALARM:", as_text([same]), end="")
    print(f"{caught} of {len(wanted)} caught, {alarms} false alarms")


if __name__ == "__main__":
    main(sys.argv[1:])
