"""Unpacks a tar from a stream that cannot seek backwards."""

import io
import tarfile

from inductorscope.formats.sizes import KIB
from inductorscope.formats.unpacking import Readable
from inductorscope.intake.limits import Meter, Refused
from inductorscope.intake.names import PACK_AGAIN, member_path, quoted_name
from inductorscope.intake.writing import Target
from inductorscope.intake.zips import broken

HEADER_LIMIT = 256 * KIB
"""Most bytes of one member's headers (long names, extended attributes). `tarfile` reads a header
into memory at any size that it claims."""
SKIP = 256 * KIB


class _Forward(io.RawIOBase):
    """The stream as `tarfile` expects it; counts bytes and bounds headers."""

    def __init__(self, source: Readable, meter: Meter) -> None:
        super().__init__()
        self.source = source
        self.meter = meter
        self.at = 0
        self.headers_left: int | None = None
        self.last = b""
        """The last block read, to distinguish a proper end from a truncated file."""

    def read(self, count: int = -1, /) -> bytes:
        if self.headers_left is not None:
            self.headers_left -= count
            if count < 0 or self.headers_left < 0:
                raise Refused(
                    f"{self.meter.where} has a member with more than {HEADER_LIMIT // KIB} KiB "
                    "of headers",
                    "pack the folder again without extended attributes",
                )
        pieces = []
        left = count
        while left > 0 and (piece := self.source.read(left)):
            pieces.append(piece)
            left -= len(piece)
        data = b"".join(pieces)
        self.at += len(data)
        self.meter.add(len(data))
        self.last = data
        return data

    def seek(self, to: int, whence: int = 0, /) -> int:
        if whence != 0 or to < self.at:
            raise tarfile.ReadError("the members are out of order")
        kept, self.headers_left = self.headers_left, None
        while self.at < to and self.read(min(SKIP, to - self.at)):
            pass
        self.headers_left = kept
        return self.at

    def tell(self) -> int:
        return self.at


def unpack_tar(source: Readable, target: Target, meter: Meter) -> None:
    stream = _Forward(source, meter)
    try:
        # Opening reads the first header.
        stream.headers_left = HEADER_LIMIT
        with tarfile.open(fileobj=stream, mode="r:", errorlevel=2) as archive:
            while True:
                stream.headers_left = HEADER_LIMIT
                member = archive.next()
                stream.headers_left = None
                if member is None:
                    break
                archive.members = []  # type: ignore[attr-defined]  # else it remembers every member
                meter.member()
                _extract(archive, member, target, meter)
    except (tarfile.TarError, RecursionError, ValueError, IndexError) as error:
        raise broken(meter.where, str(error) or type(error).__name__) from None
    if len(stream.last) < tarfile.BLOCKSIZE or stream.last.strip(b"\0"):
        raise broken(meter.where, "its end mark is missing")
    # Bytes after the end mark count too: gigabytes of padding are an attack as well.
    while stream.read(SKIP):
        pass


def _extract(
    archive: tarfile.TarFile, member: tarfile.TarInfo, target: Target, meter: Meter
) -> None:
    _check_kind(member, meter.where)
    parts = member_path(member.name, meter.where)
    if member.isdir():
        target.folder(parts, member.name)
        return
    source = archive.extractfile(member)
    if source is None:
        raise broken(meter.where, f"{quoted_name(member.name)} has no content")
    size = target.file(parts, member.name, source, counted=True)
    if size != member.size:
        raise broken(meter.where, f"it ends inside {quoted_name(member.name)}")


def _check_kind(member: tarfile.TarInfo, where: str) -> None:
    name = quoted_name(member.name)
    if member.issym():
        raise Refused(f"{where} has a symbolic link, {name}", PACK_AGAIN)
    if member.islnk():
        raise Refused(
            f"{where} has a hard link, {name}", "pack the folder again with --hard-dereference"
        )
    if member.ischr() or member.isblk() or member.isfifo():
        raise Refused(f"{where} has a device or pipe, {name}", PACK_AGAIN)
    if member.issparse():
        raise Refused(f"{where} has a sparse file, {name}", "pack the folder again without -S")
    if not (member.isreg() or member.isdir()):
        raise Refused(f"{where} has a member of unknown kind, {name}", PACK_AGAIN)
