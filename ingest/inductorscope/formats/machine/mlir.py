"""Triton's IRs, `.ttir` and `.ttgir`: MLIR with a location after each operation.

#loc3 = loc("/tmp/cpl7….py":56:81)
#loc116 = loc("tmp3"(#loc41))
#loc146 = loc(callsite(#loc2 at #loc116))
    %xoffset = tt.get_program_id x : i32 loc(#loc85)
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from inductorscope.formats.machine.places import Frames, Located, Places, Resolver
from inductorscope.formats.text import lines_of

_DEFINITION = re.compile(r"#(loc\d*) = loc\((.*)\)$")
_USE = re.compile(r" loc\(#(loc\d*)\)$")
_FILE = re.compile(r'"([^"]*)":(\d{1,9}):')
_NAME = re.compile(r"#(loc\d*)\b")


def read_mlir(text: str) -> Located:
    lines = lines_of(text)
    defined = {
        found.group(1): found.group(2)
        for line in lines
        if line.startswith("#loc") and (found := _DEFINITION.match(line))
    }

    def parts(name: str) -> Iterator[Frames | str]:
        body = defined.get(name, "")
        file = _FILE.match(body)
        if file is not None:
            yield ((file.group(1), int(file.group(2))),)
            return
        named = _NAME.findall(body)
        # If operations are fused into one, the first known location stands for all.
        yield from named if body.startswith("callsite(") else named[:1]

    resolver, places = Resolver(parts), Places()
    at, counted = [], []
    for line in lines:
        used = _USE.search(line) if line.endswith(")") else None
        counted.append(used is not None)
        at.append(-1 if used is None else places.number(resolver.frames(used.group(1))))
    return Located(lines, at, places.all, counted)
