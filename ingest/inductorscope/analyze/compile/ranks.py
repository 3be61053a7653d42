"""What the ranks of one job did differently."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

# What differs from process to process and says nothing: addresses, ids, times, temporary folders.
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
    """The line without what differs between any two processes."""
    for pattern, instead in _NOISE:
        line = pattern.sub(instead, line)
    return line


@dataclass(frozen=True, slots=True)
class Item:
    """A record that ranks may share: what it is, of which compile, and its content."""

    compile_id: str | None
    occurrence: int
    what: str
    nth: int
    """Which of its kind in its compile."""
    digest: str
    artifact: int | None
    line: int

    @property
    def key(self) -> tuple[str | None, int, str, int]:
        return self.compile_id, self.occurrence, self.what, self.nth


@dataclass(frozen=True, slots=True)
class Apart:
    """Where two ranks part: an item that differs, or that one of them lacks."""

    what: str
    compile_id: str | None
    one: Item | None
    other: Item | None


@dataclass(slots=True)
class Compared:
    """A rank beside the first one."""

    differences: list[Apart] = field(default_factory=list)
    shared: int = 0
    """Items that are the same, or differ in addresses only."""


MOST = 200


def compare_items(
    one: Sequence[Item], other: Sequence[Item], same: object, *, most: int = MOST
) -> Compared:
    """In the order of the first; `same(a, b)` says whether two contents tell the same."""
    assert callable(same)
    beside = {item.key: item for item in other}
    found = Compared()
    for item in one:
        match = beside.pop(item.key, None)
        if match is not None and (match.digest == item.digest or same(item, match)):
            found.shared += 1
        elif len(found.differences) < most:
            found.differences.append(Apart(item.what, item.compile_id, item, match))
    for item in beside.values():
        if len(found.differences) < most:
            found.differences.append(Apart(item.what, item.compile_id, None, item))
    return found
