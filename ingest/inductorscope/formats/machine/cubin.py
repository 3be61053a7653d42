"""Registers, local memory and shared memory of a kernel, from the attributes of its cubin.

A cubin is an ELF file. Its section `.nv.info` holds attributes: a byte for the form, a byte for the
attribute, and two bytes that are its value or the length of a longer value.
"""

import struct

import msgspec

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL_VALUE = struct.Struct("<II")
_ATTRIBUTE = struct.Struct("<BBH")
_CODE = b".text."
MOST_SECTIONS = 10_000
LONGEST_NAME = 4096
LONG_FORM = 4
FRAME_SIZE, REGISTERS = 0x11, 0x2F
"""Attributes, each with the number of a symbol and its value."""


class CubinFacts(msgspec.Struct, frozen=True):
    """Resources of the function that uses most."""

    registers: int = 0
    """Registers of one thread; 0 if unknown."""
    local: int = 0
    """Bytes of local memory of one thread: its stack and spilled registers."""
    shared: int = 0
    """Bytes of shared memory whose size is fixed."""


def read_cubin(data: bytes) -> CubinFacts:
    """Reads the facts; they are 0 if the file is damaged."""
    sections = _sections(data)
    start, end = sections.get(b".nv.info", (0, 0))
    attributes = _attributes(data[start:end])
    shared = [
        end - start
        for name, (start, end) in sections.items()
        if name.startswith(b".nv.shared.") and name != b".nv.shared.reserved.0"
    ]
    return CubinFacts(
        attributes.get(REGISTERS, 0), attributes.get(FRAME_SIZE, 0), max(shared, default=0)
    )


def read_functions(data: bytes) -> dict[str, bytes]:
    """Returns name of each function → its code; in a damaged file, only functions before the
    damage."""
    found: dict[str, bytes] = {}
    left = len(data)
    for name, (start, end) in _sections(data).items():
        if name.startswith(_CODE) and left > 0:
            code = data[start:end]
            found[name.removeprefix(_CODE).decode("utf-8", "replace")] = code
            left -= len(code) + 1
    return found


def library_code(library: bytes) -> bytes:
    """Returns the code of a C++ kernel's library; empty for a cubin, and for a damaged file."""
    start, end = _sections(library).get(b".text", (0, 0))
    return library[start:end]


def _sections(data: bytes) -> dict[bytes, tuple[int, int]]:
    """Returns name of each section → where it begins and ends; none for a damaged file."""
    try:
        header = _HEADER.unpack_from(data)
        if header[0][:6] != b"\x7fELF\x02\x01":  # 64 bits, little-endian
            return {}
        offset, size, count, names_at = header[6], header[11], header[12], header[13]
        sections = [
            _SECTION.unpack_from(data, offset + number * size)
            for number in range(min(count, MOST_SECTIONS))
        ]
        names = sections[names_at]
        found: dict[bytes, tuple[int, int]] = {}
        for name_at, _, _, _, start, length, *_ in sections:
            first = names[4] + name_at
            name = data[first : data.index(b"\0", first, first + LONGEST_NAME)]
            found.setdefault(name, (start, start + length))
    except (struct.error, IndexError, ValueError, OverflowError):
        return {}
    return found


def _attributes(info: bytes) -> dict[int, int]:
    """Returns attribute → the largest value of any symbol."""
    found: dict[int, int] = {}
    at = 0
    while at + _ATTRIBUTE.size <= len(info):
        form, attribute, length = _ATTRIBUTE.unpack_from(info, at)
        at += _ATTRIBUTE.size
        if form != LONG_FORM:
            continue
        if length == _SYMBOL_VALUE.size and at + length <= len(info):
            found[attribute] = max(found.get(attribute, 0), _SYMBOL_VALUE.unpack_from(info, at)[1])
        at += length
    return found
