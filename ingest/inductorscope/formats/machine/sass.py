"""Machine code of NVIDIA's GPUs, as `nvdisasm` prints it.

    //## File "/tmp/cpl7….py", line 40
            /*0110*/              @!P0 LDG.E.EF.64 R4, desc[UR4][R2.64] ;

A second text has the number of live registers next to each instruction, and no lines of source:

            /*0110*/         @!P0 LDG.E.EF.64 R4, desc[UR4][R2.64] ;  // |   6   |   1    |
"""

import re

import msgspec

from inductorscope.formats.machine.places import Located, Places
from inductorscope.formats.text import lines_of

_PLACE = re.compile(r'\s*//## File "([^"]*)", line (\d{1,9})( inlined at)?')
_INSTRUCTION = re.compile(r"\s+/\*([0-9a-f]{4,16})\*/\s+([^;/]*)")
_LABEL = re.compile(r"\s*(\.L_\w+|\.text\.\w+):")
_STACK = re.compile(r"\[R1(?:\+0x([0-9a-f]{1,8}))?\]")
_LIVE = re.compile(r"// \| +(\d{1,3}) ")


class Sass(Located):
    """The instructions of a kernel and labels, one per line."""

    addresses: list[int] = msgspec.field(default_factory=list)
    """Address of each line; -1 for a label."""
    operations: list[str] = msgspec.field(default_factory=list)
    """`LDG.E.EF.64`; empty for a label."""


def read_sass(text: str) -> Sass:
    sass, places = Sass(), Places()
    frames: list[tuple[str, int]] = []
    place, open_place = -1, False
    for line in lines_of(text):
        found = _PLACE.match(line) if "//##" in line else None
        if found is not None:
            frames = [*frames, (found.group(1), int(found.group(2)))] if open_place else [
                (found.group(1), int(found.group(2)))
            ]  # fmt: skip
            open_place, place = True, places.number(tuple(frames))
            continue
        instruction = _INSTRUCTION.match(line)
        label = None if instruction else _LABEL.match(line)
        if instruction is not None:
            words = instruction.group(2).rstrip()
            predicate, _, rest = words.partition(" ") if words.startswith("@") else ("", "", words)
            sass.lines.append(f"{instruction.group(1)} {predicate:>6} {rest.strip()}")
            sass.addresses.append(int(instruction.group(1), 16))
            sass.operations.append(rest.strip().partition(" ")[0])
            sass.at.append(place)
            open_place = False
        elif label is not None:
            sass.lines.append(f"{label.group(1)}:")
            sass.addresses.append(-1)
            sass.operations.append("")
            sass.at.append(-1)
            if label.group(1).startswith(".text."):
                place, open_place = -1, False
    sass.places = places.all
    sass.counted = [address >= 0 for address in sass.addresses]
    return sass


def spills_of(sass: Sass, arrays: int) -> list[bool]:
    """Returns for each line whether it moves a register to or from local memory. `arrays`: bytes at
    the beginning of the stack that hold the program's own arrays, which are not spills."""
    found = []
    for line, operation in zip(sass.lines, sass.operations, strict=True):
        place = _STACK.search(line) if operation.startswith(("LDL", "STL")) else None
        found.append(place is not None and int(place.group(1) or "0", 16) >= arrays)
    return found


def read_live(text: str) -> list[tuple[int, int]]:
    """Returns the address of each instruction, and how many general registers are live there. The
    padding at the end of a function has none."""
    found = []
    for line in lines_of(text):
        instruction = _INSTRUCTION.match(line)
        live = _LIVE.search(line) if instruction is not None else None
        if instruction is not None and live is not None:
            found.append((int(instruction.group(1), 16), int(live.group(1))))
    return found


def joined_live(sass: Sass, live: list[tuple[int, int]]) -> list[int]:
    """Returns live registers at each line, joined by address. Addresses start again in each
    function, so both texts are walked in order."""
    result, position = [], 0
    for address in sass.addresses:
        known = position < len(live) and live[position][0] == address
        result.append(live[position][1] if known else 0)
        position += known
    return result
