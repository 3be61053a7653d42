"""Finds what the ranks of one job did differently."""

import re
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher

import msgspec

MOST = 200

# Differs between ranks of a healthy job: addresses, ids, devices, groups, hashes, times.
_NOISE = (
    (re.compile(r"0x[0-9a-fA-F]{4,16}"), "0x…"),
    (re.compile(r"# graph id: \d{1,20}"), "# graph id: …"),
    (re.compile(r"(___check_(?:obj|type)_id\(.{1,500}?, )\d{5,20}"), r"\1…"),
    (re.compile(r"Guard latency = [\d.]{1,20} us"), "Guard latency = … us"),
    (re.compile(r"/torchinductor_[^/\s'\"]{1,100}/[^\s'\"]{1,300}"), "/torchinductor/…"),
    (re.compile(r"/[^\s'\"]{1,300}/[a-z2-7]{2}/[a-z2-7]{50,60}\b"), "/…"),
    (re.compile(r"\b[a-z2-7]{50,60}\b"), "…"),
    (re.compile(r"'backend_hash': '[0-9A-Fa-f]{1,64}'"), "'backend_hash': …"),
    (re.compile(r"/tmp[a-z0-9_]{6,10}/"), "/…/"),  # noqa: S108
    (re.compile(r"\b(cuda|xpu|mtia|hpu|npu):\d{1,3}\b"), r"\1:…"),
    (re.compile(r"\bdevice(?:_index)?\s?=\s?\d{1,3}\b"), "device=…"),
    (re.compile(r"(type='\w{1,12}', index=)\d{1,3}"), r"\1…"),
    (re.compile(r"(set_device|_DeviceGuard|raw_cuda_stream|get_raw_stream)\(\d{1,3}\)"), r"\1(…)"),
    (re.compile(r"\bstream\d{1,3}\b"), "stream…"),
    (re.compile(r"(rank\w{0,20}['\"\])]{0,4} == )\d{1,6}\b"), r"\1…"),
    (re.compile(r"(\b_?c10d_functional\.\w{1,60}\.default\([^)\n]{0,300}, )'\d{1,6}'"), r"\1'…'"),
    (re.compile(r"(\"estimated_runtime_ns\": )[\d.e+-]{1,30}"), r"\1…"),
    (re.compile(r"\b\d{13,20}\b"), "…"),
)  # fmt: skip


def plain(line: str) -> str:
    """The line without process-specific content."""
    for pattern, instead in _NOISE:
        line = pattern.sub(instead, line)
    return line


def difference_of_collectives(left: bytes, right: bytes, one: str, other: str) -> str | None:
    """The first difference of two schedules of collectives, as a sentence that names their ranks
    `one` and `other`; None if they cannot be read or agree."""
    first, second = schedule(left), schedule(right)
    if first is None or second is None:
        return None
    return difference_of_schedules(first, second, one, other)


def difference_of_schedules(
    first: list[str], second: list[str], one: str, other: str
) -> str | None:
    blocks = SequenceMatcher(None, first, second, autojunk=False).get_opcodes()
    for tag, low, high, low_other, high_other in blocks:
        if tag == "insert":
            lacks, has, names, at = one, other, second[low_other:high_other], low_other
        elif tag != "equal":
            lacks, has, names, at = other, one, first[low:high], low
        else:
            continue
        if tag == "replace":
            return f"as collective {at + 1}, {one} runs {names[0]}, {other} {second[low_other]}"
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        return f"{lacks} lacks {names[0]}{more}, which {has} runs as collective {at + 1}"
    return None


def schedule(text: bytes) -> list[str] | None:
    """Names of collectives in the order they start, without the waits for them."""
    try:
        names = msgspec.json.decode(text, type=list[str])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    short = [name.rpartition("functional.")[2].removesuffix(".default") for name in names]
    return [name.rstrip("_") for name in short if not name.startswith("wait_tensor")][:MOST]


class Item(msgspec.Struct, frozen=True):
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


class RankDifference(msgspec.Struct, frozen=True):
    """A difference of two ranks: items that differ, or one that a rank lacks."""

    what: str
    compile_id: str | None
    one: Item | None
    other: Item | None


class Compared(msgspec.Struct):
    """A rank compared with the first one."""

    differences: list[RankDifference] = msgspec.field(default_factory=list)
    shared: int = 0
    """Number of items that are equal, or differ only in addresses."""


def compare_items(
    left: Sequence[Item], right: Sequence[Item], short: Callable[[str], str], *, most: int
) -> Compared:
    """Compares items in the order of the first rank. `short`: what to compare of the text with a
    digest."""
    by_key = {item.key: item for item in right}
    result = Compared()
    for item in left:
        match = by_key.pop(item.key, None)
        if match is not None and (
            match.digest == item.digest
            or (item.artifact and match.artifact and short(item.digest) == short(match.digest))
        ):
            result.shared += 1
        elif len(result.differences) < most:
            result.differences.append(RankDifference(item.what, item.compile_id, item, match))
    for item in by_key.values():
        if len(result.differences) < most:
            result.differences.append(RankDifference(item.what, item.compile_id, None, item))
    return result
