"""Learns about graph breaks from the names of resumed functions.

Dynamo compiles the code after a break in line 113 of `f` as `torch_dynamo_resume_in_f_at_113`.
"""

import re
from functools import lru_cache

_RESUMED = re.compile(r"^torch_dynamo_resume_in_(.{1,300})_at_(\d{1,9})$")


@lru_cache(4096)
def resumed(function: str) -> tuple[str, int | None]:
    """The user's function of a frame, and the line after which it resumes."""
    match = _RESUMED.match(function)
    if match is None:
        return function, None
    name, line = match.groups()
    return resumed(name)[0], int(line)
