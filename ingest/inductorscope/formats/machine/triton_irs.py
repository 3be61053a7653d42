"""The texts between a Triton kernel and its machine code, which say where each operation is from.

`.ttir` and `.ttgir` are MLIR, with a location after each operation:

#loc3 = loc("/tmp/cpl7….py":56:81)
#loc116 = loc("tmp3"(#loc41))
#loc146 = loc(callsite(#loc2 at #loc116))
    %xoffset = tt.get_program_id x : i32 loc(#loc85)

`.llir` is LLVM's IR, where each instruction refers to a `DILocation`:

  %59 = fsub float %47, %58, !dbg !27
!27 = !DILocation(line: 222, column: 24, scope: !18, inlinedAt: !23)
"""

import re
from collections.abc import Iterator

from inductorscope.formats.machine.places import Frames, Located, Places, Resolver
from inductorscope.formats.text import lines_of

_LOC_DEFINITION = re.compile(r"#(loc\d*) = loc\((.*)\)$")
_LOC_USE = re.compile(r" loc\(#(loc\d*)\)$")
_FILE = re.compile(r'"([^"]*)":(\d{1,9}):')
_NAME = re.compile(r"#(loc\d*)\b")


def read_mlir(text: str) -> Located:
    lines = lines_of(text)
    defined = {
        found.group(1): found.group(2)
        for line in lines
        if line.startswith("#loc") and (found := _LOC_DEFINITION.match(line))
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
        used = _LOC_USE.search(line) if line.endswith(")") else None
        counted.append(used is not None)
        at.append(-1 if used is None else places.number(resolver.frames(used.group(1))))
    return Located(lines, at, places.all, counted)


_DEFINITION = re.compile(r"!(\d{1,9}) = (?:distinct )?!DI(\w{1,30})\((.*)\)$")
_FIELD = re.compile(r'\b(line|scope|file|inlinedAt|filename|directory): (?:"([^"]*)"|!?(\d{1,9}))')
_USE = re.compile(r", !dbg !(\d{1,9})")
DEEPEST = 100
"""Most nested scopes."""


def read_llvm(text: str) -> Located:
    lines = lines_of(text)
    nodes: dict[str, dict[str, str]] = {}
    for line in lines:
        found = _DEFINITION.match(line) if line.startswith("!") else None
        if found is not None:
            values = {name: quoted or number for name, quoted, number in _FIELD.findall(line)}
            nodes[found.group(1)] = values

    def file_of(name: str) -> str:
        for _ in range(DEEPEST):
            node = nodes.get(name, {})
            if "filename" in node:
                folder, file = node.get("directory", ""), node["filename"]
                return file if file.startswith("/") else f"{folder}/{file}"
            name = node.get("file") or node.get("scope", "")
        return ""

    def parts(name: str) -> Iterator[Frames | str]:
        node = nodes.get(name, {})
        if "line" in node:
            yield ((file_of(node.get("scope", "")), int(node["line"])),)
        if "inlinedAt" in node:
            yield node["inlinedAt"]

    resolver, places = Resolver(parts), Places()
    at, counted = [], []
    for line in lines:
        used = _USE.search(line)
        at.append(-1 if used is None else places.number(resolver.frames(used.group(1))))
        counted.append(line.startswith("  ") and not line.lstrip().startswith((";", "#dbg")))
    return Located(lines, at, places.all, counted)
