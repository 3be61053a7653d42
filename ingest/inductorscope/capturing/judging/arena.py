"""Memory that a judged process shares with the judge: the operands of several calls, with gaps.

A region holds the operands of one call; its gaps must stay as they are. On a GPU a region is copied
to the device as a whole, and back.
"""

import mmap

import torch

from inductorscope.analyze.benchmark.case import Operand
from inductorscope.capturing.judging.order import Order, Shape
from inductorscope.formats.sizes import MIB

GAP = 256
"""Bytes between operands, and what they are aligned to."""
BYTE, NAN = 0xA5, 0xFF
"""What gaps and results hold before a call: bytes that are odd as numbers, or are none."""
MOST = {"cpu": 8 * MIB, "cuda": 64 * MIB}
CALLS = 512
"""Most calls of a batch."""

Tensors = dict[str, torch.Tensor]


def region_bytes(shape: Shape) -> int:
    return GAP + sum(map(_room, shape.operands))


def _room(operand: Operand) -> int:
    return -(-_bytes(operand) // GAP) * GAP + 2 * GAP


def _bytes(operand: Operand) -> int:
    return operand.layout.nbytes()[0] or 0


def calls_of(shape: Shape, device: str) -> int:
    """Returns how many calls a batch has: each on its own operands."""
    most = MOST["cpu" if device == "cpu" else "cuda"]
    return max(1, min(CALLS, most // region_bytes(shape)))


def most_bytes(order: Order) -> int:
    """Returns how much memory a side needs."""
    calls = calls_of(order.shapes[0], order.device) * region_bytes(order.shapes[0])
    return max(calls, *map(region_bytes, order.shapes))


class Arena:
    """The shared memory, seen from either side."""

    def __init__(self, descriptor: int, nbytes: int) -> None:
        self.memory = mmap.mmap(descriptor, nbytes)
        self.bytes = torch.frombuffer(self.memory, dtype=torch.uint8)

    def pin(self) -> None:
        """Lets a GPU copy from and to it directly, which takes a fraction of the time."""
        torch.cuda.init()
        torch.cuda.cudart().cudaHostRegister(self.bytes.data_ptr(), len(self.memory), 0)

    def regions(self, shape: Shape, calls: int) -> torch.Tensor:
        """Returns one row for each call."""
        size = region_bytes(shape)
        return self.bytes[: size * calls].view(calls, size)


def flat(regions: torch.Tensor, shape: Shape, shift: int = 0) -> Tensors:
    """Returns the items of each operand, one row for each call. `shift`: items by which operands
    that are only read are moved, so that they are not aligned."""
    found, start = {}, GAP
    for operand in shape.operands:
        dtype = getattr(torch, operand.layout.dtype)
        first = start + (0 if operand.written else shift * dtype.itemsize)
        found[operand.name] = regions[:, first : first + _bytes(operand)].view(dtype)
        start += _room(operand)
    return found


def operands(regions: torch.Tensor, shape: Shape, shift: int = 0) -> list[Tensors]:
    """Returns the tensors of each call."""
    rows = flat(regions, shape, shift)
    return [views(rows, shape, call) for call in range(len(regions))]


def views(rows: Tensors, shape: Shape, call: int) -> Tensors:
    """Returns the tensors of one call."""
    return {
        operand.name: rows[operand.name][call].as_strided(
            [*map(int, operand.layout.shape)], [*map(int, operand.layout.stride)]
        )
        for operand in shape.operands
    }
