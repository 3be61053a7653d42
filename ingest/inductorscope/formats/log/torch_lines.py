"""Lines of TORCH_LOGS texts: who logged, for which compile and topic, and the message.

V1121 11:13:16.660000 13776 torch/_inductor/graph.py:2722] [0/0_1] [__output_code] import torch

Anything may precede it, as in the outputs of torchrun, of CI systems and of servers:

2026-11-21T11:13:16.7000000Z [rank1]:V1121 11:13:16.660000 13776 torch/_inductor/graph.py:2722] …
"""

import re

import msgspec

LONGEST_BEFORE = 300
"""Most characters before the prefix."""
LONGEST_PREFIX = 1200

_PREFIX = re.compile(
    r"(?<!\w)([VDIWEC])(\d{4}) (\d\d:[\d:.]{6,18}) (\d{1,18}) ([^\]\n]{1,400}?:\d{1,9})\]"
    r"(?: \[((?:!\d{1,9}/)?\d{1,9}/\d{1,9})(?:_(\d{1,9}))?\])?(?: \[__([a-z_0-9]{1,60})\])?(?: |$)"
)
_RANK = re.compile(r"(?:rank|default)[ =:]?(\d{1,6})")
_COLOURS = re.compile(r"\x1b\[[0-9;]{0,10}m")
_TIMESTAMP = re.compile(r"^\ufeff?\d{4}-\d\d-\d\dT[\d:.]{8,20}Z ")
"""The timestamp that GitHub puts before each line."""


class LogLine(msgspec.Struct):
    """One line of a message."""

    rank: int | None
    pid: int
    place: str
    """Source file and line of torch that logged it."""
    time: str
    compile_id: str | None
    attempt: int | None
    topic: str
    """As in `TORCH_LOGS=topic`; empty for messages of torch's modules."""
    text: str


def read_line(line: str) -> LogLine | None:
    """The parts of a line; None if torch did not log it."""
    if "] " not in line[:LONGEST_PREFIX] and not line[:LONGEST_PREFIX].endswith("]"):
        return None
    if "\x1b" in line:
        line = _COLOURS.sub("", line)
    found = _PREFIX.search(line, 0, LONGEST_PREFIX)
    if found is None or found.start() > LONGEST_BEFORE:
        return None
    rank = _RANK.search(line, 0, found.start())
    _level, _date, time, pid, place, compile_id, attempt, topic = found.groups()
    return LogLine(
        rank=int(rank.group(1)) if rank else None, pid=int(pid), place=place, time=time,
        compile_id=compile_id, attempt=int(attempt) if attempt else None, topic=topic or "",
        text=line[found.end() :],
    )  # fmt: skip


def without_timestamp(line: str) -> str:
    """Returns a line that torch did not log, without the prefix of a CI system."""
    return _TIMESTAMP.sub("", line, count=1)
