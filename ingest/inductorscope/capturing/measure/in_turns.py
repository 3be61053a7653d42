"""Times groups of test cases, A's and B's in turns. Runs like a test case, next to the others.

`in_turns.json`: group → side → test cases with the number of calls. If each side has one, it also
says whether both give the same results.
"""

import argparse
import json
import runpy
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

Tensors = dict[str, torch.Tensor]
Compare = Callable[[torch.Tensor, torch.Tensor], dict[str, Any]]

SEED = 20230920


def timed(sides: dict[str, list[tuple[str, int]]], seconds: float) -> dict[str, Any]:
    """Returns each side's milliseconds for all its calls."""
    calls: dict[str, Any] = {}
    results: list[list[torch.Tensor]] = []
    given: Tensors = {}
    for side, files in sides.items():
        cases = [(runpy.run_path(file, run_name="case"), count) for file, count in files]
        runs = []
        for case, count in cases:
            torch.manual_seed(SEED)  # inputs of the same layout have the same values
            inputs = case["inputs"]()
            if alike(given, inputs):  # ranges of integers come from the code, which differs
                inputs = dict(zip(inputs, case["copied"](given).values(), strict=True))
            given = given or inputs
            with torch.no_grad():
                results.append([*case["kernel"](case["copied"](inputs)).values()])
            runs.append((case["kernel"], inputs, count))

        def call(runs: list[tuple[Any, Any, int]] = runs) -> None:
            for kernel, inputs, count in runs:
                for _ in range(count):
                    kernel(inputs)

        calls[side] = call
    with torch.no_grad():
        samples = case["milliseconds"](calls, case["DEVICE"], seconds)
    found = {side: statistics.median(values) for side, values in samples.items()}
    return found | {"agrees": agree(results, case["compare"])}


def alike(one: Tensors, other: Tensors) -> bool:
    """Whether tensors have the same layouts, in order."""
    layouts = [[(tensor.shape, tensor.stride(), tensor.dtype) for tensor in tensors.values()]
               for tensors in (one, other)]  # fmt: skip
    return layouts[0] == layouts[1]


def agree(results: list[list[torch.Tensor]], compare: Compare) -> bool:
    """Whether two kernels write the same values."""
    if len(results) != 2 or len(results[0]) != len(results[1]):
        return False
    pairs = [*zip(*results, strict=True)]
    return all(
        a.shape == b.shape and a.dtype == b.dtype and compare(a, b)["agrees"] for a, b in pairs
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--json", type=Path, required=True)
    options = parser.parse_args()
    times: dict[str, dict[str, Any] | str] = {}
    for name, sides in json.loads(Path("in_turns.json").read_text()).items():
        try:
            times[name] = timed(sides, options.seconds)
        except BaseException as error:  # noqa: BLE001  # a test case may end its process
            times[name] = f"{type(error).__name__}: {error}"[:500]
    options.json.write_text(json.dumps({"times": times}))


if __name__ == "__main__":
    main()
