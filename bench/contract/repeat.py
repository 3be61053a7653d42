"""Does the lock differ between healthy compiles? Threads, hash seeds, caches and paths vary.

    python -m bench.contract.repeat [PROCESSES] [COMPILES]

Each process has its hash seed, and each second one a new cache of kernels. It compiles a program
with a break and recompiles COMPILES times, by turns with one thread and two, from files in other
folders.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec
from inductorscope.contract.compare import compare
from inductorscope.contract.lock import Program
from inductorscope.contract.report import as_text

from bench.contract.programs import REGRESSIONS, VECTORS

TEXT = REGRESSIONS[2].program(True)
TEXT = TEXT.replace("    return x", "    print(end='')\n    return x")


def main(processes: int, compiles: int) -> None:
    first: Program | None = None
    done = differing = 0
    with tempfile.TemporaryDirectory() as shared:
        for seed in range(processes):
            with tempfile.TemporaryDirectory() as own:
                command = [sys.executable, "-m", "bench.contract.repeat", "--one", str(compiles)]
                cache = own if seed % 2 else shared
                own_names = {"PYTHONHASHSEED": str(seed), "TORCHINDUCTOR_CACHE_DIR": cache}
                env = os.environ | own_names
                printed = subprocess.run(
                    command, check=True, stdout=subprocess.PIPE, env=env
                ).stdout
            for line in printed.splitlines():
                program = msgspec.json.decode(line, type=Program)
                first = first or program
                done += 1
                if program != first:
                    differing += 1
                    print(as_text([compare(first, program)]))
            print(f"{done} compiles in {seed + 1} processes, {differing} differ", flush=True)


def one(compiles: int) -> None:
    """Compiles in this process, and prints each program as a line of JSON."""
    import torch

    from bench.contract.compile import compile_text

    with tempfile.TemporaryDirectory() as folder:
        for number in range(compiles):
            torch.set_num_threads(1 + number % 2)
            place = Path(folder) / f"{number}" / ("a long path/" * (number % 3))
            program = compile_text(TEXT, REGRESSIONS[2].options | VECTORS, place)
            print(msgspec.json.encode(program).decode(), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(int(sys.argv[2]))
    else:
        numbers = [int(word) for word in sys.argv[1:]]
        main(*(numbers or [20, 10]))
