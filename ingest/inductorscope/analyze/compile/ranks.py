"""What the ranks of one job did differently."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

# Process-specific content: addresses, ids, times, temporary folders.
_NOISE = (
    (re.compile(r"0x[0-9a-fA-F]{4,16}"), "0x…"),
    (re.compile(r"# graph id: \d{1,20}"), "# graph id: …"),
    (re.compile(r"(___check_(?:obj|type)_id\(.{1,500}?, )\d{5,20}"), r"\1…"),
    (re.compile(r"Guard latency = [\d.]{1,20} us"), "Guard latency = … us"),
    (re.compile(r"/torchinductor_[^/\s'\"]{1,100}/[^\s'\"]{1,300}"), "/torchinductor/…"),
    (re.compile(r"\bcuda:\d{1,3}\b"), "cuda:…"),
    (re.compile(r"\bdevice(?:_index)?\s?=\s?\d{1,3}\b"), "device=…"),
    (re.compile(r"DeviceProperties\(type='cuda', index=\d{1,3}"), "DeviceProperties(…"),
    (re.compile(r"(set_device|_DeviceGuard|raw_cuda_stream)\(\d{1,3}\)"), r"\1(…)"),
    (re.compile(r"\bstream\d{1,3}\b"), "stream…"),
    (re.compile(r"\b\d{13,20}\b"), "…"),
)  # fmt: skip


def plain(line: str) -> str:
    """The line without process-specific content."""
    for pattern, instead in _NOISE:
        line = pattern.sub(instead, line)
    return line


@dataclass(frozen=True, slots=True)
class Item:
    """A record to compare between ranks: its kind, compile and content."""

    compile_id: str | None
    occurrence: int
    what: str
    nth: int
    """Index among records of its kind in its compile."""
    digest: str
    artifact: int | None
    line: int

    @property
    def key(self) -> tuple[str | None, int, str, int]:
        return self.compile_id, self.occurrence, self.what, self.nth


@dataclass(frozen=True, slots=True)
class Apart:
    """A difference of two ranks: items that differ, or one that a rank lacks."""

    what: str
    compile_id: str | None
    one: Item | None
    other: Item | None


@dataclass(slots=True)
class Compared:
    """A rank compared with the first one."""

    differences: list[Apart] = field(default_factory=list)
    shared: int = 0
    """Number of items that are equal, or differ only in addresses."""


MOST = 200


def compare_items(
    left: Sequence[Item], right: Sequence[Item], same: object, *, most: int = MOST
) -> Compared:
    """Compares items in the order of the first rank; `same(a, b)` compares two contents."""
    assert callable(same)
    by_key = {item.key: item for item in right}
    result = Compared()
    for item in left:
        match = by_key.pop(item.key, None)
        if match is not None and (match.digest == item.digest or same(item, match)):
            result.shared += 1
        elif len(result.differences) < most:
            result.differences.append(Apart(item.what, item.compile_id, item, match))
    for item in by_key.values():
        if len(result.differences) < most:
            result.differences.append(Apart(item.what, item.compile_id, None, item))
    return result
