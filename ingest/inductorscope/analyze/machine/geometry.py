"""The size of a kernel's launch, and how it fills the device."""

from collections.abc import Mapping, Sequence
from math import ceil, prod

import msgspec

from inductorscope.analyze.machine.figures import Occupancy, occupancy_of
from inductorscope.fields import Bytes, Count, Percent, Prose
from inductorscope.formats.machine.metadata import COMPILED_FOR
from inductorscope.formats.trace.shapes import Device, LaunchShape, launch_shape
from inductorscope.units import count, figure, percent, plural


class Geometry(msgspec.Struct, frozen=True, kw_only=True):
    """The size of a kernel's launch, and how it fills the device."""

    text: Prose
    short: Prose = ""
    """`6 blocks on 132 multiprocessors`, `256 blocks, 12 % of a wave`; empty if not known."""
    source: Prose
    """How it is known."""
    grid: Sequence[int] = ()
    """Blocks in each direction."""
    block: Sequence[int] = ()
    """Threads of a block in each direction."""
    warps: int | None = None
    """Warps of a block."""
    registers: int | None = None
    """Registers of a thread."""
    shared: Bytes | None = None
    """Bytes of shared memory of a block."""
    multiprocessors: int | None = None
    fit: int | None = None
    """Blocks that fit on a multiprocessor at one time."""
    occupancy: Occupancy | None = None
    """Warps that fit, and what limits them."""
    reached: Percent | None = None
    """Occupancy that the launch reaches, as the profiler estimates it."""
    waves: Count[float | None] = None
    """How often all multiprocessors are filled."""
    tail: Percent | None = None
    """How full the last wave is."""
    configuration: dict[str, int] = {}
    """The sizes that Triton compiled it with."""
    tried: int | None = None
    """Configurations to choose from."""
    kernel: str = ""
    """The device's kernel, if the call belongs to a library."""
    launches: int = 0
    """Launches of this shape in the trace."""
    others: int = 0
    """Launches of other shapes."""
    threads: int | None = None
    """Threads of a C++ kernel."""
    iterations: int | None = None
    """Iterations of the loop that gives threads least to share."""
    balance: Percent | None = None
    """The share of the threads' time that is used, if all its iterations take equally long."""
    vector: int | None = None
    """Numbers of a vector in C++; 1 if it has none."""


def geometry_of(shape: LaunchShape, device: Device, source: str) -> Geometry:
    blocks, threads, several = prod(shape.grid), prod(shape.block), device.multiprocessors
    warps = ceil(threads / device.warp) if device.warp else 0
    held = occupancy_of(device.capability, warps, shape.registers or 0, shape.shared or 0)
    fit = held.warps // warps if held is not None else 0
    waves = blocks / (fit * several) if fit and several else None
    tail = None if waves is None else waves % 1 or 1.0
    text = f"{plural(blocks, 'block')} of {plural(threads, 'thread')}"
    short = plural(blocks, "block")
    if several:
        text += f" on {plural(several, 'multiprocessor')}"
    if blocks < several:
        text += f": {count(several - blocks)} of them get none"
        short += f" on {plural(several, 'multiprocessor')}"
    elif waves is not None and waves <= 1:
        text += f", {percent(waves)} of a wave"
        short += f", {percent(waves)} of a wave"
    elif waves is not None:
        text += f": {figure(waves)} waves, the last {percent(tail)} full"
        short += f", {figure(waves)} waves"
    return Geometry(
        text=text, short=short, source=source, grid=shape.grid, block=shape.block,
        warps=warps or None, registers=shape.registers, shared=shape.shared,
        multiprocessors=several or None, fit=fit or None, occupancy=held, waves=waves, tail=tail,
        reached=shape.percent / 100 if shape.percent else None,
    )  # fmt: skip


def computed_shape(
    facts: Mapping[str, object], options: Mapping[str, int], arguments: Sequence[str]
) -> LaunchShape | None:
    """Computes the launch of a kernel with blocks in one direction: its elements, an argument of
    the call, divided by those of a block. None if a figure is missing."""
    signature, warp = facts.get("signature"), compiled_for(facts).warp
    each, warps = options.get("XBLOCK", 0), options.get("num_warps", 0)
    if not isinstance(signature, dict) or facts.get("grid_type") != "Grid1D":
        return None
    names = [name for name, kind in signature.items() if kind != "constexpr"]
    given = [argument for argument in arguments if "=" not in argument]
    elements = dict(zip(names, given, strict=False)).get("xnumel", "")
    if len(names) != len(given) or not elements.isdecimal() or min(each, warps, warp) < 1:
        return None
    values = (
        (ceil(int(elements[:9]) / each), 1, 1), (warps * warp, 1, 1), facts.get("registers"),
        facts.get("shared_memory_bytes"),
    )  # fmt: skip
    return launch_shape(values)


def compiled_for(facts: Mapping[str, object]) -> Device:
    """Returns the device that a kernel's code names."""
    found = facts.get(COMPILED_FOR)
    if not isinstance(found, list):
        return Device()
    multiprocessors, capability, warp = found
    return Device("", multiprocessors, capability // 10, capability % 10, warp)


def other_geometry(a: Geometry, b: Geometry) -> str:
    """Says how the launches of two kernels differ in size; empty if they do not, or if a size is
    not known. A library's kernel differs from call to call, so its size is not that of a call."""
    if a.vector and b.vector and a.text != b.text:
        return f"other threads or vectors: {a.text} → {b.text}."
    is_known = a.grid and b.grid and not a.kernel and not b.kernel
    if not is_known or (a.grid, a.block) == (b.grid, b.block):
        return ""
    of = " of most launches" if a.others or b.others else ""
    text = f"other geometry{of}: grid {_size(a)} → {_size(b)}"
    if a.multiprocessors and a.multiprocessors == b.multiprocessors:
        text += f" on {plural(a.multiprocessors, 'multiprocessor')}"
        idle = [max(0, a.multiprocessors - prod(launch.grid)) for launch in (a, b)]
        text += f", of which {idle[0]} → {idle[1]} get no block" if any(idle) else ""
    if a.tried and b.tried and a.tried != b.tried:
        text += f"; {a.tried} → {plural(b.tried, 'configuration')} to choose from"
    return f"{text}."


def _size(of: Geometry) -> str:
    """`24 × 64 threads`, `8 × 12 blocks × 384 threads`."""
    several = [count(blocks) for blocks in of.grid if blocks > 1] or ["1"]
    blocks = " × ".join(several) + (" blocks" if len(several) > 1 else "")
    return f"{blocks} × {plural(prod(of.block), 'thread')}"
