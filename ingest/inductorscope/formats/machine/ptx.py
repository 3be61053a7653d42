"""Assembly that LLVM prints: PTX, `.ptx`, and code of AMD's GPUs, `.amdgcn`. A `.loc` precedes the
instructions of a line, and says into which lines it was inlined.

.loc 2 119 29      // triton_helpers.py:119:29 @[ cpl7….py:46:45 ]
mad.wide.s32  %rd6, %r9, 4, %rd8;
.file 1 "/tmp/cache/pl" "cpl7….py"
"""

import re

from inductorscope.formats.machine.cubin import CubinFacts
from inductorscope.formats.machine.places import MOST_FRAMES, Located, Places
from inductorscope.formats.text import lines_of

_FILE = re.compile(r'\s*\.file\s+(\d{1,9})\s+"([^"]*)"(?:\s+"([^"]*)")?')
_LOC = re.compile(r"\s*\.loc\s+(\d{1,9})\s+(\d{1,9})\s([^@]*)")
_AROUND = re.compile(r"@\[ ([^\s\[\]:]{1,400}):(\d{1,9}):")
_ARRAY = re.compile(r"\.local \.align \d{1,4} \.b8\s{1,9}\w{1,100}\[(\d{1,9})\]")
_PTX = re.compile(r"^\s+(?:@!?%p\d+ +)?[a-z]")
_GCN = re.compile(r"^\s+[a-z]\w*(?:\s|$)")
_SPILL = re.compile(r"-byte Folded (?:Spill|Reload)")
_TAKEN = re.compile(
    r"^[ \t]+\.(vgpr_count|private_segment_fixed_size|group_segment_fixed_size):[ \t]+(\d{1,9})$",
    re.M,
)


def arrays_of(text: str) -> int:
    """Returns bytes of local memory that the program itself declares: arrays that no register can
    hold."""
    return sum(int(size) for size in _ARRAY.findall(text))


def read_ptx(text: str) -> Located:
    return _read(text, _PTX, ";")


def read_gcn(text: str) -> Located:
    return _read(text, _GCN)


def gcn_spills(located: Located) -> list[bool]:
    """Returns for each line whether it moves a register to or from memory."""
    return [_SPILL.search(line) is not None for line in located.lines]


def gcn_facts(content: bytes) -> CubinFacts:
    """Returns the function's resources, from the metadata at the end of its code."""
    found = _TAKEN.findall(content.decode("utf-8", "replace"))
    taken = {name: int(value) for name, value in found}
    return CubinFacts(
        taken.get("vgpr_count", 0),
        taken.get("private_segment_fixed_size", 0),
        taken.get("group_segment_fixed_size", 0),
    )


def _read(text: str, instruction: re.Pattern[str], end: str = "") -> Located:
    lines = lines_of(text)
    files = {
        found.group(1): "/".join(part for part in found.groups()[1:] if part)
        for line in lines
        if ".file" in line and (found := _FILE.match(line))
    }
    paths = {path.rpartition("/")[2]: path for path in files.values()}
    places = Places()
    at, counted, place = [], [], -1
    for line in lines:
        found = _LOC.match(line) if ".loc" in line else None
        if found is not None:
            file, number = files.get(found.group(1), ""), int(found.group(2))
            around = [
                (paths.get(name, name), int(outer))
                for name, outer in _AROUND.findall(line, found.end())[:MOST_FRAMES]
            ]
            place = places.number(((file, number), *around) if file and number else ())
        elif line.startswith(("}", ".Lfunc_end")):
            place = -1
        counted.append(line.endswith(end) and instruction.match(line) is not None)
        at.append(place if counted[-1] else -1)
    return Located(lines, at, places.all, counted)
