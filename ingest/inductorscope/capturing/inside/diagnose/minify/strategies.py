"""Hears from torch's minifier, which prints to stderr, what it tries. Torch-free."""

import io
import re
from typing import TextIO

_STRATEGY = re.compile(r"Strategy: ([^(]+) \(G: ")


class Strategies(io.TextIOBase):
    """Stands in for stderr, and passes everything on."""

    def __init__(self, behind: TextIO) -> None:
        self._behind = behind
        self.now = ""
        """What is being tried: `truncate suffix`."""

    def write(self, text: str) -> int:
        if strategy := _STRATEGY.match(text):
            self.now = strategy[1].lower()
        return self._behind.write(text)
