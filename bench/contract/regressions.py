"""Twelve regressions: is each caught, and is the unchanged program left alone?

python -m bench.contract.regressions [--pretend "NVIDIA H100"] [--quick] [NAME…]
"""

import argparse
import os
import shutil
import tempfile
from contextlib import AbstractContextManager
from pathlib import Path

from inductorscope.contract.compare import compare
from inductorscope.contract.lock import read_lock, write_lock
from inductorscope.contract.report import as_text

from bench.contract.programs import REGRESSIONS


def main() -> bool:
    """Whether all are caught, without a false alarm."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pretend", metavar="GPU", help="compile for a GPU that is not here")
    parser.add_argument(
        "--quick", action="store_true", help="build no C++, and trust in unchanged programs"
    )
    parser.add_argument("names", nargs="*", metavar="NAME")
    asked = parser.parse_args()
    made_in: AbstractContextManager[object] | None = None
    if asked.pretend:  # before torch looks for GPUs
        from inductorscope.capturing.inside.pretending import pretend

        made_in = pretend(asked.pretend)
    from inductorscope.capturing.inside.instructions import try_instructions

    from bench.contract.compile import compile_text

    wanted = [bug for bug in REGRESSIONS if not asked.names or bug.name in asked.names]
    wanted = [bug for bug in wanted if asked.pretend or not bug.gpu or shutil.which("nvidia-smi")]
    device = {"device": "cuda:0"} if asked.pretend else {}
    versions = (False, True) if asked.quick else (False, False, True)
    caught = alarms = 0
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(Path(folder) / "cache")
        try_instructions("cpu")
        for number, bug in enumerate(wanted):
            before, *again, after = (
                compile_text(
                    bug.program(worse),
                    bug.options | device,
                    Path(folder) / f"{number}-{which}",
                    made_in,
                    graph_cache=bug.count == "cache_bypasses",
                    built=not asked.quick,
                )
                for which, worse in enumerate(versions)
            )
            [locked] = read_lock(write_lock([before])).program
            other = compare(locked, after)
            same = [compare(locked, compiled) for compiled in again]
            differing = [found for found in same if found.differences]
            alarms += len(differing)
            hit = not other.passes and locked.counts[bug.count] != after.counts[bug.count]
            caught += hit
            print(f"== {bug.name}: {'caught' if hit else 'MISSED'} ({bug.reported})")
            print(as_text([other]), end="")
            if differing:
                print("FALSE ALARM:", as_text(differing), end="")
    print(f"{caught} of {len(wanted)} caught, {alarms} false alarms")
    return caught == len(wanted) and not alarms


if __name__ == "__main__":
    raise SystemExit(not main())
