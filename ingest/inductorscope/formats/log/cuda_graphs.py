"""Why torch records no CUDA graph: its reason, and the line that causes it."""

import re
from pathlib import PurePath

MOST_REASON = 300

_SKIP = re.compile(rf"skipping cudagraphs due to (?!skipping)(.{{1,{MOST_REASON}}})")
_FRAME = re.compile(
    r'\s*(?::\s*)?File "([^"\n]{1,500})", line (\d{1,9})[^\n]*(?:\n(?!\s*File ")[^\n]*)?'
)


def skip_reason(text: str) -> str:
    """Returns the reason on one line, without what torch repeats before it."""
    return next(iter(skip_reasons(text)), text.partition("\n")[0][:MOST_REASON])


def skip_reasons(text: str) -> list[str]:
    """Returns the reasons that occur in a log, sorted, each once."""
    return sorted({_reason(text, match) for match in _SKIP.finditer(text)})


def _reason(text: str, match: re.Match[str]) -> str:
    reason = match[1].partition("Found from")[0].rstrip(" .:")
    innermost, frame = None, _FRAME.match(text, match.end())
    while frame:
        innermost, frame = frame, _FRAME.match(text, frame.end())
    return f"{reason}, at {PurePath(innermost[1]).name}:{innermost[2]}" if innermost else reason
