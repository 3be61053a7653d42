"""Tables that max-autotune prints: the tuned operation, and every candidate with its time.

AUTOTUNE mm(64x128, 128x256)
strides: [128, 1], [256, 1]
dtypes: torch.float32, torch.float32
  triton_mm_12 0.0092 ms 100.0% ACC_TYPE='tl.float32', BLOCK_K=16, num_warps=4
  mm 0.0102 ms 90.2%
SingleProcess AUTOTUNE benchmarking takes 0.5000 seconds and 0.2000 seconds precompiling for 2 choices
"""  # noqa: E501 (sample lines are shown whole)

import re

import msgspec

MOST = 5000
"""Most tables."""
MOST_CANDIDATES = 1000
LONGEST = 2000

_BEGIN = re.compile(r"^AUTOTUNE ([\w.:+-]{1,200})\((.{0,4000})\)\s*$")
_FACT = re.compile(r"^(strides|dtypes): (.{0,4000})$")
_CANDIDATE = re.compile(
    r"^ {1,8}(\S{1,300}) (\d{1,12}(?:\.\d{1,12})?|inf|nan) ms"
    r"(?: (?:\d{1,9}(?:\.\d{1,6})?%|<DIVIDED BY ZERO ERROR>) ?(.*))?$"
)
_END = re.compile(
    r"^(?:\w{1,20}Process )?AUTOTUNE (?:benchmarking )?takes (\d{1,9}(?:\.\d{1,9})?) seconds"
    r"(?: and (\d{1,9}(?:\.\d{1,9})?) seconds precompiling)?(?: for (\d{1,9}) choices)?"
)
SIGN = "AUTOTUNE "


class Choice(msgspec.Struct):
    """One candidate of an autotuning."""

    name: str
    us: float | None
    """None if it did not run or its time could not be measured."""
    what: str = ""
    """Its configuration."""


class TunedTable(msgspec.Struct):
    """An autotuning as max-autotune prints it: every candidate with its time."""

    compile_id: str | None
    line: int
    op: str
    shapes: str
    strides: str
    dtypes: str
    seconds: float | None
    """Time of running the candidates."""
    precompile_seconds: float | None
    count: int
    """Number of candidates; the text may list only the fastest."""
    choices: list[Choice]


class AutotuneTables:
    """Reads the lines of a log in order, without their logging prefixes."""

    def __init__(self) -> None:
        self.tables: list[TunedTable] = []
        self.beyond = 0
        self._open: TunedTable | None = None

    def add(self, text: str, line: int, compile_id: str | None) -> bool:
        """Reads a line; returns whether it belongs to a table."""
        if SIGN in text[:60] and (self._begun(text, line, compile_id) or self._ended(text)):
            return True
        if self._open is None:
            return False
        if fact := _FACT.match(text):
            setattr(self._open, fact.group(1), fact.group(2)[:LONGEST])
            return True
        match = _CANDIDATE.match(text)
        if match is None:
            return False  # compiler warnings may come between the lines
        name, ms, detail = match.groups()
        self._open.count += 1
        if len(self._open.choices) < MOST_CANDIDATES:
            us = None if ms in {"inf", "nan"} else float(ms) * 1000 or None
            self._open.choices.append(Choice(name, us, (detail or "").strip()[:LONGEST]))
        else:
            self.beyond += 1
        return True

    def _begun(self, text: str, line: int, compile_id: str | None) -> bool:
        match = _BEGIN.match(text)
        if match is None:
            return False
        self._open = TunedTable(
            compile_id=compile_id, line=line, op=match.group(1), shapes=match.group(2)[:LONGEST],
            strides="", dtypes="", seconds=None, precompile_seconds=None, count=0, choices=[],
        )  # fmt: skip
        if len(self.tables) < MOST:
            self.tables.append(self._open)
        else:
            self.beyond += 1
        return True

    def _ended(self, text: str) -> bool:
        match = _END.match(text)
        if match is None or self._open is None:
            return False
        seconds, precompile, choices = match.groups()
        self._open.seconds = float(seconds)
        self._open.precompile_seconds = None if precompile is None else float(precompile)
        self._open.count = int(choices or self._open.count)
        self._open = None
        return True
