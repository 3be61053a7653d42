"""The HTML file of an exported run: its first line says where the run's packed files lie in it."""

from __future__ import annotations

import base64
import binascii
import re
import tempfile
from typing import BinaryIO

from inductorscope.formats.sizes import KIB
from inductorscope.intake.limits import Refused
from inductorscope.intake.zips import broken

PIECE = 256 * KIB
"""Decoded at a time; a multiple of four, so that each piece is whole."""
BEGIN = b"<!doctype html><!-- inductorscope export "
_FIRST_LINE = re.compile(re.escape(BEGIN) + rb"([0-9]{15}) ([0-9]{15}) -->\n")


def first_line(offset: int, length: int) -> bytes:
    """The first line of a file whose packed files are `length` characters of base64 at `offset`."""
    return BEGIN + b"%015d %015d -->\n" % (offset, length)


def packed_files(file: BinaryIO, where: str) -> BinaryIO:
    """The packed files of an export, in a temporary file: a compressed tar, as anybody may send."""
    known = _FIRST_LINE.fullmatch(file.readline(KIB))
    if known is None:
        raise broken(where, "its first line is damaged")
    offset, left = map(int, known.groups())
    if not left:
        raise Refused(f"{where} shows a part of a run and holds no files", "export the whole run")
    file.seek(offset)
    found = tempfile.TemporaryFile()  # noqa: SIM115  # whoever reads it closes it
    try:
        while left and (piece := file.read(min(left, PIECE))):
            found.write(base64.b64decode(piece, validate=True))
            left -= len(piece)
    except binascii.Error as error:
        found.close()
        raise broken(where, str(error)) from None
    found.seek(0)
    return found
