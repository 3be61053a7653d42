"""The cost of a reading with parts that are used repeatedly.

A reduction over a few elements is written as dozens of operations that each use earlier ones
several times. A sum along operands would double the cost at every step.
"""

from __future__ import annotations

from collections.abc import Hashable

import msgspec


class Ledger(msgspec.Struct):
    """The possible parts of one node, each with its bit and cost."""

    bits: dict[Hashable, int] = msgspec.field(default_factory=dict)
    prices: list[float] = msgspec.field(default_factory=list)

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


class Parts(msgspec.Struct):
    """The parts of an operation read as a node's. Each part counts once."""

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
