"""PTX, `.ptx`: a `.loc` stands before the instructions of a line.

.loc 1 40 34
mad.wide.s32  %rd6, %r9, 4, %rd8;
.file 1 "/tmp/cache/pl" "cpl7….py"
"""

from __future__ import annotations

import re

from inductorscope.formats.machine.places import Located, Places
from inductorscope.formats.text import lines_of

_FILE = re.compile(r'\s*\.file\s+(\d{1,9})\s+"([^"]*)"(?:\s+"([^"]*)")?')
_LOC = re.compile(r"\s*\.loc\s+(\d{1,9})\s+(\d{1,9})\s")
_ARRAY = re.compile(r"\.local \.align \d{1,4} \.b8\s{1,9}\w{1,100}\[(\d{1,9})\]")
_INSTRUCTION = re.compile(r"\s+(?:@!?%p\d+ +)?[a-z]")


def arrays_of(text: str) -> int:
    """Bytes of local memory that the program itself declares: arrays that no register can hold."""
    return sum(int(size) for size in _ARRAY.findall(text))


def read_ptx(text: str) -> Located:
    lines = lines_of(text)
    files = {
        found.group(1): "/".join(part for part in found.groups()[1:] if part)
        for line in lines
        if ".file" in line and (found := _FILE.match(line))
    }
    places = Places()
    at, counted, place = [], [], -1
    for line in lines:
        found = _LOC.match(line) if ".loc" in line else None
        if found is not None:
            file, number = files.get(found.group(1), ""), int(found.group(2))
            place = places.number(((file, number),) if file and number else ())
        elif line.startswith("}"):
            place = -1
        counted.append(line.endswith(";") and _INSTRUCTION.match(line) is not None)
        at.append(place if counted[-1] else -1)
    return Located(lines, at, places.all, counted)
