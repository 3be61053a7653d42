"""Nsight Compute's samples of a launch, line by line of its machine code."""

from collections import Counter

import msgspec

from inductorscope.formats.machine.ncu import SECTORS, STALLED, ProfiledLaunch
from inductorscope.formats.machine.sass import Sass

SECTOR = 32
"""Bytes that memory and caches transfer at once."""
REASONS = {
    "barrier": "other warps to reach a barrier",
    "branch_resolving": "the target of a branch",
    "dispatch_stall": "the dispatcher",
    "drain": "stores to finish before it ends",
    "gmma": "a matrix product of the warp group",
    "imc_miss": "a constant that is not in the cache",
    "lg_throttle": "the queue of global and local memory, which is full",
    "long_scoreboard": "global or local memory",
    "math_pipe_throttle": "a unit that computes, which is busy",
    "membar": "a memory barrier",
    "mio_throttle": "the queue of shared memory and special functions, which is full",
    "no_instructions": "instructions that are not in the cache",
    "not_selected": "another warp, which was chosen to go on",
    "selected": "nothing: it goes on",
    "short_scoreboard": "shared memory or a special function",
    "sleeping": "the end of a sleep",
    "tex_throttle": "the queue of textures, which is full",
    "wait": "the fixed time of the instruction before",
    "warpgroup_arrive": "the other warps of its group",
}
"""Nsight Compute's name of a stall → what the sampled warp waits for."""


class Sampled(msgspec.Struct):
    """A launch joined by address to the lines of its code. All lists have one entry per line."""

    stalls: dict[str, int]
    """Reason → samples of the launch, the most frequent first."""
    reasons: list[dict[str, int]]
    """The same for each line; they sum to `stalls`."""
    bytes: list[int]
    """Least number of bytes of global memory that each line requests from the caches, in whole
    sectors."""
    others: Counter[str] = msgspec.field(default_factory=Counter)
    """Samples at addresses that belong to no line."""


def sampled(sass: Sass, launch: ProfiledLaunch) -> Sampled:
    lines = _lines(sass, launch.kernel)
    known = [address for values in launch.by_address.values() for address in values]
    base = min(known, default=0)
    count = len(sass.lines)
    result = Sampled({}, [{} for _ in range(count)], [0] * count)
    totals: Counter[str] = Counter()
    for metric, values in launch.by_address.items():
        reason = metric.removeprefix(STALLED)
        for address, value in values.items():
            line = lines.get(address - base)
            if metric.startswith(STALLED):
                totals[reason] += value
                if line is None:
                    result.others[reason] += value
                elif value:
                    result.reasons[line][reason] = value
            elif line is not None and metric == SECTORS:
                result.bytes[line] = value * SECTOR
    result.stalls = {reason: samples for reason, samples in totals.most_common() if samples}
    return result


def _lines(sass: Sass, kernel: str) -> dict[int, int]:
    """Returns address in the kernel → line. Each function of a file begins at 0."""
    found: dict[int, int] = {}
    inside = True
    for line, (text, address) in enumerate(zip(sass.lines, sass.addresses, strict=True)):
        if address < 0 and text.startswith(".text."):
            inside = text == f".text.{kernel}:"
        elif address >= 0 and inside:
            found.setdefault(address, line)
    return found
