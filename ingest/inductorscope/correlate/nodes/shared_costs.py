"""What a reading costs when parts of it are used again and again.

A reduction over a few elements is written as dozens of operations that each use those before them
several times. Summed along operands, what they cost would double at every step.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field


@dataclass(slots=True)
class Ledger:
    """The parts that one node may have, each with a bit of its own and its cost."""

    bits: dict[Hashable, int] = field(default_factory=dict)
    prices: list[float] = field(default_factory=list)

    def bit(self, part: Hashable, price: float) -> int:
        place = self.bits.get(part)
        if place is None:
            place = self.bits[part] = len(self.prices)
            self.prices.append(price)
        return place

    def price(self, mask: int) -> float:
        total = 0.0
        while mask:
            lowest = mask & -mask
            total += self.prices[lowest.bit_length() - 1]
            mask ^= lowest
        return total


@dataclass(slots=True)
class Parts:
    """What an operation read as a node's own consists of. Each part counts once."""

    ledger: Ledger
    mask: int = 0
    cost: float = 0.0

    def add(self, part: Hashable, price: float) -> None:
        place = self.ledger.bit(part, price)
        if not self.mask >> place & 1:
            self.mask |= 1 << place
            self.cost += price

    def join(self, other: Parts) -> None:
        self.cost += other.cost - self.ledger.price(self.mask & other.mask)
        self.mask |= other.mask
