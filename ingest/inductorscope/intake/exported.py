"""The HTML file of an exported run: its first line says where in it the run's packed files are.

Each byte is written as one character, which takes a quarter less than base64. The four bytes that
an HTML parser would change, or that could end the script, are escaped.
"""

import re
import tempfile
from typing import BinaryIO

from inductorscope.formats.sizes import KIB
from inductorscope.formats.unpacking import LONGEST_MAGIC, packing_of
from inductorscope.intake.limits import Refused
from inductorscope.intake.zips import broken

CHARSET = "windows-1252"
"""An encoding with a character for each byte."""
PIECE = 256 * KIB
BEGIN = b"<!doctype html><!-- inductorscope export "
_FIRST_LINE = re.compile(re.escape(BEGIN) + rb"([0-9]{15}) ([0-9]{15}) -->\n")
_ESCAPES = ((b"=", b"=}"), (b"\0", b"=@"), (b"\r", b"=M"), (b"<", b"=|"))


def first_line(offset: int, length: int) -> bytes:
    """Returns the first line of a file whose packed files are `length` characters at `offset`."""
    return BEGIN + b"%015d %015d -->\n" % (offset, length)


def as_characters(data: bytes) -> bytes:
    for byte, escape in _ESCAPES:
        data = data.replace(byte, escape)
    return data


def packed_files(file: BinaryIO, where: str) -> BinaryIO:
    """Returns the packed files of an export in a temporary file: a compressed tar, which is as
    untrusted as any upload."""
    known = _FIRST_LINE.fullmatch(file.readline(KIB))
    if known is None:
        raise broken(where, "its first line is damaged")
    offset, left = map(int, known.groups())
    if not left:
        raise Refused(f"{where} shows a part of a run and holds no files", "export the whole run")
    file.seek(offset)
    found = tempfile.TemporaryFile()  # noqa: SIM115  # the reader closes it
    while left and (piece := file.read(min(left, PIECE))):
        left -= len(piece)
        if piece.endswith(b"=") and left:  # the piece ends inside an escape
            piece += file.read(1)
            left -= 1
        for byte, escape in reversed(_ESCAPES):
            piece = piece.replace(escape, byte)
        found.write(piece)
    found.seek(0)
    if left or packing_of(found.read(LONGEST_MAGIC)) is None:
        found.close()
        raise broken(where, "its files are not where its first line says")
    found.seek(0)
    return found
