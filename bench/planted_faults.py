"""Plants one fault after the other into Inductor and looks whether the numbers job finds it.

Usage: planted_faults.py [--device cuda] [NAME …]. Each case runs in a process of its own. The last
cases have no fault: there, nothing may be found.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from inductorscope.capture.inside import environment
from inductorscope.capture.inside.report import Reporter
from inductorscope.capture.permission import permit
from inductorscope.capture.spec import CaptureSpec


@dataclass(frozen=True)
class Case:
    """A model, the operation that is made wrong in it, and the FX operation to be named."""

    model: str
    operation: str = ""
    finds: str | tuple[str, ...] = ""
    dtype: str = "float32"
    train: bool = False
    backward: bool = False

    @property
    def name(self) -> str:
        way = "train" if self.train else "infer"
        where = " backward" if self.backward else ""
        return f"{self.model} {way} {self.dtype} {self.operation or 'none'}{where}"


CASES = (
    Case("gpt-small", "erf", "aten.erf"),
    Case("gpt-small", "rsqrt", "aten.rsqrt", "bfloat16"),
    # On a GPU the operations of a softmax are one node, which holds the exp and the amax.
    Case("gpt-small", "exp", ("aten.exp", "prims.prepare_softmax_online"), train=True),
    Case("gpt-small", "log", "aten.log", train=True),
    Case("gpt-small", "sum", "aten.var_mean", "bfloat16", train=True),
    Case("gpt-small", "exp", "aten.exp", train=True, backward=True),
    Case("conv-small", "exp", "aten.exp"),
    Case("conv-small", "sum", "aten.mean", "float16"),
    Case("conv-small", "max", ("aten.amax", "prims.prepare_softmax_online"), train=True),
    Case("conv-small", "sub", "aten.sub", "bfloat16", train=True),
    Case("conv-small", "mul", "aten.mul", train=True, backward=True),
    Case("conv-small", "sigmoid", "aten.sigmoid", "bfloat16", train=True, backward=True),
    *(
        Case(model, dtype=dtype, train=train)
        for model in ("gpt-small", "conv-small")
        for dtype in ("float32", "bfloat16", "float16")
        for train in (False, True)
    ),
)


def run_case(case: Case, device: str) -> dict[str, object]:
    spec = CaptureSpec(model=case.model, dtype=case.dtype, train=case.train, device=device)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        environment.prepare(spec, out / "torch", out / "cache", reuse_cache=False)
        from inductorscope.capture.faults.planted import WRITTEN, install
        from inductorscope.capture.inside.diagnose.numbers.numbers import diagnose

        if case.operation:
            install(case.operation, case.backward)
        found = diagnose(spec, permit(spec, [], trusted=True), {}, out, Reporter(None))
    rows = {row["node"]: row for graph in found["graphs"] for row in graph["rows"]}
    node = found["summary"]["node"]
    operation = rows[node]["op"] if node else ""
    right = operation.startswith(case.finds) if case.finds else node is None
    summary = found["summary"]
    return {
        "written": WRITTEN.total() if case.operation else None,
        "right": right,
        "node": node,
        "op": operation,
        **{name: summary[name] for name in ("graph", "compared", "verdict")},
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--case", type=int, help="run this one here, and print JSON")
    parser.add_argument("words", nargs="*", help="only cases with all these words in their names")
    given = parser.parse_args()
    if given.case is not None:
        print(json.dumps(run_case(CASES[given.case], given.device)))
        return 0
    wrong = 0
    for number, case in enumerate(CASES):
        if not all(word in case.name.split() for word in given.words):
            continue
        before = os.times()
        command = [sys.executable, __file__, "--case", str(number), "--device", given.device]
        start = time.monotonic()
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        after = os.times()
        cpu = after.children_user + after.children_system
        cpu -= before.children_user + before.children_system
        said = ended.stdout.strip().rpartition("\n")[2] if ended.returncode == 0 else ""
        found = json.loads(said) if said else {"right": False, "verdict": ended.stderr[-600:]}
        wrong += not found["right"] and found.get("written") != 0
        took = f"{cpu:.0f} s of CPU, {time.monotonic() - start:.0f} s"
        outcome = "ok   " if found["right"] else "WRONG"
        if found.get("written") == 0:
            outcome = "none "  # this torch lowers the model without that operation
        print(f"{outcome} {case.name}: {found['verdict']} [{took}]")
        sys.stdout.flush()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
