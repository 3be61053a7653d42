"""A kernel's source in other configurations: blocks, warps and stages of Triton, threads of C++."""

import os
import re
from collections.abc import Iterator

import msgspec

from inductorscope.units import plural

_META = re.compile(r"^ *(?:triton_meta|inductor_meta)=.*$", re.M)
_BLOCK = re.compile(r"\b(\w{1,30}BLOCK) ?: ?tl\.constexpr(?! ?=)")
_THREADS = re.compile(r"\bnum_threads\(\d{1,4}\)")
Blocks = dict[str, int]

Sizes = tuple[tuple[int, ...], ...]

ONE = (128, 256, 512, 1024)
TWO: Sizes = ((16, 16), (32, 32), (256, 4), (4, 256))
"""Blocks of kernels without reductions, over one and two dimensions."""
REDUCED = ((1, 1024), (1, 2048), (4, 512), (16, 64))
KEPT = (1, 2, 8, 32)
"""Blocks beside a reduction that is held in registers."""


class Configuration(msgspec.Struct, frozen=True):
    """A kernel with one choice."""

    label: str
    text: str


class Configurations(msgspec.Struct, frozen=True):
    """Choices of a kernel."""

    offered: list[Configuration]


def configurations(text: str) -> list[Configuration]:
    """Returns a dozen; none if there is nothing to choose."""
    if _THREADS.search(text):
        most = os.cpu_count() or 1
        counts = sorted({most, *(2**power for power in range(most.bit_length()))})
        return [
            Configuration(plural(count, "thread"), _THREADS.sub(f"num_threads({count})", text))
            for count in counts
        ]
    found = []
    for blocks, warps, stages in _choices(text):
        sizes = ", ".join(f"{name} {size}" for name, size in blocks.items())
        label = f"{sizes}, {plural(warps, 'warp')}, {plural(stages, 'stage')}"
        found.append(Configuration(label, configured(text, blocks, warps, stages)))
    return found


def _choices(text: str) -> Iterator[tuple[Blocks, int, int]]:
    names, sizes = _BLOCK.findall(text), TWO
    if _decorator(text) is None:
        return
    if names == ["XBLOCK", "R0_BLOCK"]:
        sizes, more = REDUCED, ((4, 1), (8, 1), (8, 3))
    else:
        more = ((2, 1), (4, 1), (8, 1))
        kept = "persistent_reduction" in text
        sizes = TWO if len(names) == 2 else tuple((block,) for block in (KEPT if kept else ONE))
    if len(names) != len(sizes[0]):
        return
    for size in sizes:
        for warps, stages in more:
            yield dict(zip(names, size, strict=True)), warps, stages


def configured(text: str, blocks: Blocks, warps: int, stages: int = 1) -> str:
    """Returns a Triton kernel with one configuration in place of Inductor's choice; as it is if it
    has none of its own."""
    found = _decorator(text)
    if found is None:
        return text
    config = {**blocks, "num_warps": warps, "num_stages": stages}
    metas = "\n".join(line.rstrip(",") + "," for line in _META.findall(text[found]))
    made = f"@triton_heuristics.fixed_config(\n    {config},\n    filename=__file__,\n{metas}\n)\n"
    return text[: found.start] + made + text[found.stop :]


def _decorator(text: str) -> slice | None:
    """Returns where the decorator is that has Inductor's choice."""
    end = text.find("@triton.jit")
    begin = text.rfind("@triton_heuristics.", 0, max(end, 0))
    return slice(begin, end) if begin >= 0 and text.endswith("\n)\n", begin, end) else None
