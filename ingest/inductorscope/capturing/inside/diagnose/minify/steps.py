"""Parses the output of torch's minifier on stderr into steps. Torch-free."""

import io
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TextIO

_STRATEGY = re.compile(r"Strategy: (.+?) \(G: (\d+)\) \((\d+) nodes, (\d+) inputs\)")
_WENT = re.compile(r"SUCCESS: Went from (\d+) to (\d+) (nodes|inputs|outputs)")
_FAILED = re.compile(r"FAIL: (.+)")


@dataclass
class Steps:
    """Steps of a search, in seconds from its start; a resumed search continues the count."""

    done: list[dict[str, Any]] = field(default_factory=list)
    queries: int = 0
    before_s: float = 0.0
    """Seconds spent by the earlier jobs that this one resumes."""
    started: float = field(default_factory=time.monotonic)
    strategy: str = ""
    granularity: int = 0
    nodes: int = 0
    tried: dict[str, int] = field(default_factory=dict)
    """Strategy → number of unsuccessful attempts."""

    @property
    def seconds(self) -> float:
        return round(self.before_s + time.monotonic() - self.started, 2)

    def line(self, text: str) -> None:
        """Parses a line of the minifier."""
        if strategy := _STRATEGY.match(text):
            self.strategy, self.granularity = strategy.group(1), int(strategy.group(2))
            self.nodes = int(strategy.group(3))
        elif went := _WENT.match(text):
            before, after, what = int(went.group(1)), int(went.group(2)), went.group(3)
            if what == "nodes":
                self.nodes = after
            self.add(what, before, after)
        elif failed := _FAILED.match(text):
            self.tried[failed.group(1)] = self.tried.get(failed.group(1), 0) + 1

    def add(self, what: str, before: int, after: int) -> None:
        self.done.append(
            {
                "seconds": self.seconds,
                "what": what,
                "before": before,
                "after": after,
                "nodes": self.nodes,
                "strategy": self.strategy,
                "granularity": self.granularity,
                "queries": self.queries,
            }
        )

    def begin(self, nodes: int, strategy: str) -> None:
        """Adds the first point of the chart's line."""
        self.nodes, self.strategy = nodes, strategy
        self.add("start", nodes, nodes)

    @property
    def sentence(self) -> str:
        return f"{self.strategy}, granularity {self.granularity}: {self.nodes} nodes left"


class Listening(io.TextIOBase):
    """Replaces stderr: passes everything on, and reports complete lines."""

    def __init__(self, behind: TextIO, hear: Callable[[str], None]) -> None:
        self._behind = behind
        self._hear = hear
        self._unfinished = ""

    def write(self, text: str) -> int:
        *lines, self._unfinished = (self._unfinished + text).split("\n")
        for line in lines:
            self._hear(line)
        return self._behind.write(text)

    def flush(self) -> None:
        self._behind.flush()
