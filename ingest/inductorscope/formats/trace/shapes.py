"""The sizes of kernels' launches, and the device that they ran on, as the profiler records them."""

from typing import Annotated

import msgspec

Sizes = tuple[Annotated[int, msgspec.Meta(ge=1, lt=2**31)], ...]
"""Sizes in three directions; no launch is larger."""


Small = Annotated[int, msgspec.Meta(ge=0, lt=2**31)]


class LaunchShape(msgspec.Struct, frozen=True, array_like=True):
    """The size of a kernel's launch, as the profiler records it."""

    grid: Annotated[Sizes, msgspec.Meta(min_length=3, max_length=3)]
    """Blocks in each direction."""
    block: Annotated[Sizes, msgspec.Meta(min_length=3, max_length=3)]
    """Threads in each direction."""
    registers: Small | None = None
    """Registers of a thread."""
    shared: Small | None = None
    """Bytes of shared memory of a block."""
    percent: Annotated[float, msgspec.Meta(ge=0, le=100)] | None = None
    """The profiler's estimate of the occupancy that the launch reaches."""


class UsualShape(msgspec.Struct, frozen=True, array_like=True):
    """The shape of most launches of a kernel."""

    shape: LaunchShape
    launches: int
    others: int
    """Launches of other shapes."""


class Device(msgspec.Struct, frozen=True):
    """A device of the machine, as the profiler describes it; 0 if a figure is not recorded."""

    name: str = ""
    multiprocessors: Small = msgspec.field(default=0, name="numSms")
    major: Small = msgspec.field(default=0, name="computeMajor")
    minor: Small = msgspec.field(default=0, name="computeMinor")
    warp: Small = msgspec.field(default=0, name="warpSize")
    """Threads of a warp."""

    @property
    def capability(self) -> int:
        """The compute capability: 90 is 9.0; 0 for AMD, whose figures look alike."""
        is_amd = self.name.startswith("AMD") or self.warp == 64
        return 0 if is_amd else self.major * 10 + self.minor


def launch_shape(values: tuple[object, ...]) -> LaunchShape | None:
    """Returns the shape with these values; None if they make no sense."""
    try:
        return msgspec.convert(values, LaunchShape)
    except msgspec.ValidationError:
        return None
