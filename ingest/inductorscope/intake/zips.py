"""Unpacks a zip without trusting any of its fields."""

import lzma
import os
import stat
import struct
import zipfile
import zlib
from typing import BinaryIO

from inductorscope.formats.sizes import KIB, MIB
from inductorscope.intake.limits import Meter, Refused
from inductorscope.intake.names import PACK_AGAIN, member_path, quoted_name
from inductorscope.intake.writing import Target

END = b"PK\x05\x06"
END_SIZE = 22
END64_LOCATOR = b"PK\x06\x07"
END64 = b"PK\x06\x06"
ENTRY = b"PK\x01\x02"
ENTRY_SIZE = 46
LOCAL_SIZE = 30
ENCRYPTED = 0x1
READ_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
DAMAGED = (EOFError, zlib.error, lzma.LZMAError)
"""Exceptions raised for damaged members."""
MAX_DIRECTORY = 128 * MIB
"""Largest list of members, which is read into memory; 100,000 members take about 20 MiB."""


def unpack_zip(file: BinaryIO, target: Target, meter: Meter) -> None:
    start, size = _directory(file, meter.where)
    _count(file, start, size, meter)
    try:
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            for member in members:
                _check_kind(member, meter.where)
            _check_overlap(members, start, meter.where)
            for member in members:
                _extract(archive, member, target, meter)
    except (zipfile.BadZipFile, NotImplementedError, struct.error, ValueError) as error:
        raise broken(meter.where, str(error)) from None


def broken(where: str, why: str) -> Refused:
    return Refused(f"{where} is damaged or cut short ({why})", "send it again")


def _directory(file: BinaryIO, where: str) -> tuple[int, int]:
    """Returns offset and size of the list of members, from the end record."""
    total = file.seek(0, os.SEEK_END)
    tail_at = file.seek(max(0, total - END_SIZE - 64 * KIB))
    tail = file.read()
    at = tail.rfind(END)
    if at < 0 or len(tail) - at < END_SIZE:
        raise broken(where, "the list of members at its end is missing")
    size: int = struct.unpack_from("<L", tail, at + 12)[0]
    end = tail_at + at
    if at >= 20 and tail[at - 20 : at - 16] == END64_LOCATOR and at >= 76:
        record = tail[at - 76 : at - 20]
        if record[:4] == END64:
            size = struct.unpack_from("<Q", record, 40)[0]
            end -= 76
    if size > end:
        raise broken(where, "its end record points outside the file")
    if size > MAX_DIRECTORY:
        raise Refused(
            f"{where} has a list of members of more than {MAX_DIRECTORY // MIB} MiB",
            "upload fewer files",
            "max_members",
        )
    return end - size, size


def _count(file: BinaryIO, start: int, size: int, meter: Meter) -> None:
    """Counts the entries themselves, because the count in the end record may be wrong."""
    file.seek(start)
    left = size
    while left >= ENTRY_SIZE:
        entry = file.read(ENTRY_SIZE)
        if len(entry) < ENTRY_SIZE or entry[:4] != ENTRY:
            raise broken(meter.where, "its list of members is garbled")
        more = sum(struct.unpack_from("<HHH", entry, 28))
        file.seek(more, os.SEEK_CUR)
        left -= ENTRY_SIZE + more
        meter.member()
    file.seek(0)


def _check_kind(member: zipfile.ZipInfo, where: str) -> None:
    kind = stat.S_IFMT(member.external_attr >> 16)
    name = quoted_name(member.orig_filename)
    if kind == stat.S_IFLNK:
        raise Refused(f"{where} has a symbolic link, {name}", PACK_AGAIN)
    if kind not in {0, stat.S_IFREG, stat.S_IFDIR}:
        raise Refused(f"{where} has a device or pipe, {name}", PACK_AGAIN)
    if member.flag_bits & ENCRYPTED:
        raise Refused(f"{where} is encrypted ({name} is)", "pack it again without a password")
    if member.compress_type not in READ_METHODS:
        raise Refused(
            f"{where} packs {name} with method {member.compress_type}, which is not supported",
            "pack it again with deflate",
        )


def _check_overlap(members: list[zipfile.ZipInfo], directory: int, where: str) -> None:
    """Refuses members that share bytes: they let a small zip unpack to petabytes."""
    ordered = sorted(members, key=lambda member: member.header_offset)
    limits = [member.header_offset for member in ordered[1:]] + [directory]
    for member, limit in zip(ordered, limits, strict=False):
        if member.header_offset + LOCAL_SIZE + member.compress_size > limit:
            raise Refused(
                f"{where} has members that overlap, {quoted_name(member.orig_filename)} "
                "and the next",
                "pack the folder again with another tool",
            )


def _extract(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, target: Target, meter: Meter
) -> None:
    parts = member_path(member.orig_filename, meter.where)
    if member.is_dir() or member.orig_filename.endswith("\\"):
        target.folder(parts, member.orig_filename)
        return
    with archive.open(member) as source:
        size = target.file(parts, member.orig_filename, source, counted=False)
    if size != member.file_size:
        raise broken(
            meter.where, f"{quoted_name(member.orig_filename)} does not have the length it declares"
        )
