"""Removes from messages what differs each time: temporary paths and addresses."""

import re

_PATH = re.compile(r"[\w.@+~/\\-]{2,}+")
_TEMPORARY = re.compile(r"/tmp\b|torchinductor_|\.triton/|[/\\]Temp[/\\]|/tmp\w{8}\b")  # noqa: S108 (a pattern)
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{4,16}\b")


def without_temporary(message: str) -> str:
    """Returns a text that is equal for two messages about the same fault."""
    kept = _PATH.sub(lambda path: "…" if _TEMPORARY.search(path[0]) else path[0], message)
    return _ADDRESS.sub("0x…", kept)
