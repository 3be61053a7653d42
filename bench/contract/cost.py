"""What does `inductorscope check` cost, beside compiling the program?

    python -m bench.contract.cost [TIMES]

Both run in fresh processes with empty caches, by turns.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.contract.programs import BLOCK, HEAD

PLAIN = """
# Which vector instructions work is known on a machine that has compiled before.
from inductorscope.capturing.inside.instructions import try_instructions

try_instructions("cpu")
function, args = make()
with torch.no_grad():
    torch.compile(function)(*args)
"""


def main(times: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "model.py").write_text(HEAD + BLOCK)
        (folder / "plain.py").write_text(HEAD + BLOCK + PLAIN)
        ours = [sys.executable, "-m", "inductorscope"]
        data = ["--data", str(folder / "data")]
        subprocess.run([*ours, "lock", "model.py:make", *data], check=True, cwd=folder)
        commands = {
            "compile": [sys.executable, "plain.py"],
            "check": [*ours, "check", "inductor.lock", *data],
        }
        taken: dict[str, list[float]] = {what: [] for what in commands}
        for at in range(times):
            for what, command in commands.items():
                env = os.environ | {"TORCHINDUCTOR_CACHE_DIR": str(folder / f"{what}-{at}")}
                begin = time.perf_counter()
                subprocess.run(command, check=True, cwd=folder, env=env, stdout=subprocess.DEVNULL)
                taken[what].append(time.perf_counter() - begin)
        for what, seconds in taken.items():
            every = " ".join(f"{took:.2f}" for took in seconds)
            print(f"{what}: median {statistics.median(seconds):.2f} s ({every})")
        medians = [statistics.median(seconds) for seconds in taken.values()]
        print(f"check / compile: {medians[1] / medians[0]:.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4)
