"""Reads text files as every reader expects them: UTF-8 with replacements, `\n` unchanged."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from inductorscope.formats.sizes import MIB

Found = TypeVar("Found")

LARGEST_TEXT = 256 * MIB


class TooLong(ValueError):
    """A text is too long to be parsed; it is still stored."""


def read_text(path: Path) -> str:
    return check_length(path.read_bytes, path.stat().st_size).decode("utf-8", "replace")


def check_length(read: Callable[[], Found], size: int) -> Found:
    """Raises TooLong if the text is too long to parse."""
    if size > LARGEST_TEXT:
        raise TooLong(f"{size:,} bytes; texts up to {LARGEST_TEXT:,} are read")
    return read()


def count_lines(data: bytes) -> int:
    """Counts lines as panes do: a last line without an end counts."""
    return data.count(b"\n") + (0 if not data or data.endswith(b"\n") else 1)
