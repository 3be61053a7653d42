"""Limits on an upload, the meter that enforces them, and the refusal that names them."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from inductorscope.errors import REFUSED, InWords
from inductorscope.fields import view
from inductorscope.formats.sizes import MIB
from inductorscope.settings import PREFIX, Settings

RATIO_FLOOR = 64 * MIB
"""Unpacked size below which the ratio is not checked: small texts can shrink a thousandfold."""


class Refused(InWords):
    """An upload is refused. `str()` is one sentence: what, where, which limit, what to do."""

    exit_code = REFUSED

    def __init__(self, what: str, do: str = "", limit: str | None = None) -> None:
        """`what`: what is wrong and where, with the limit's value."""
        super().__init__(what, do, limit)
        self.args = (f"{what}; {do}." if do else f"{what}.",)

    def sentences(self) -> str:
        return str(self)


class Limits(msgspec.Struct, frozen=True):
    """How large an upload may be, packed and unpacked. `settings` documents the fields."""

    max_upload_bytes: int
    max_unpacked_bytes: int
    max_members: int
    max_ratio: int

    @classmethod
    def of(cls, settings: Settings) -> Limits:
        return view(cls, settings)


class Spent(msgspec.Struct):
    """The amounts counted against the limits so far; parts sent together share one."""

    members: int = 0
    unpacked: int = 0


class Meter:
    """Counts members and bytes of an upload, or of one part, and raises `Refused` at a limit."""

    def __init__(
        self,
        limits: Limits,
        where: str,
        packed: int,
        progress: Callable[[int], None] | None = None,
        spent: Spent | None = None,
    ) -> None:
        self.limits = limits
        self.where = where
        self.packed = packed
        self.unpacked = 0
        self.spent = Spent() if spent is None else spent
        self.whole = where if spent is None else "The upload"
        """What messages name if all parts together exceed a limit."""
        self.progress = progress

    def upload(self) -> None:
        """Checks the packed size."""
        if self.packed > self.limits.max_upload_bytes:
            limit = size_text(self.limits.max_upload_bytes)
            what = f"{self.where} is {size_text(self.packed)}; the limit is {limit}"
            raise _over("max_upload_bytes", what, "upload less at a time")

    def member(self, count: int = 1) -> None:
        """Counts members: files and folders alike."""
        self.spent.members += count
        if self.spent.members > self.limits.max_members:
            what = f"{self.whole} holds more than {self.limits.max_members:,} files and folders"
            raise _over("max_members", what, "upload fewer files")

    def add(self, count: int) -> None:
        """Counts unpacked bytes."""
        self.unpacked += count
        self.spent.unpacked += count
        if self.spent.unpacked > self.limits.max_unpacked_bytes:
            limit = size_text(self.limits.max_unpacked_bytes)
            what = f"{self.whole} is more than {limit} when unpacked"
            raise _over("max_unpacked_bytes", what, "upload less at a time")
        allowed = max(RATIO_FLOOR, self.limits.max_ratio * self.packed)
        if self.unpacked > allowed:
            what = f"{self.where} unpacks to more than {self.limits.max_ratio:,} times its size"
            raise _over("max_ratio", what, "upload the files themselves")
        if self.progress is not None:
            self.progress(self.unpacked)


def _over(setting: str, what: str, otherwise: str) -> Refused:
    return Refused(what, f"{otherwise}, or raise {PREFIX}{setting.upper()}", setting)


def size_text(count: int) -> str:
    """Formats a size for messages: `1.5 GiB`."""
    size = float(count)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{count:,} bytes" if unit == "bytes" else f"{float(f'{size:.3g}'):,g} {unit}"
        size /= 1024
    return f"{float(f'{size:.3g}'):,g} TiB"
