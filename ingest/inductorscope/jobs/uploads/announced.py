"""Checks what is announced as an upload."""

from collections.abc import Iterable

from inductorscope.intake.limits import Limits, Meter, Refused
from inductorscope.intake.names import member_path, quoted_name
from inductorscope.jobs.errors import UploadRefusedError

Announced = tuple[str, int]
"""A file's path and size, as the client announced them."""


def checked(files: Iterable[Announced], limits: Limits) -> list[Announced]:
    """Returns the files with normalised paths. Refuses files that could not be laid out, and
    too many files or bytes."""
    plain: dict[tuple[str, ...], int] = {}
    meter = Meter(limits, "The upload", 0)
    for path, size in files:
        if size < 0:
            raise UploadRefusedError(f"{quoted_name(path)} is announced with {size} bytes.")
        try:
            parts = member_path(path, meter.where)
            meter.member()
            meter.packed += size
            meter.upload()
        except Refused as refusal:
            do = f"{refusal.do[:1].upper()}{refusal.do[1:]}." if refusal.do else None
            raise UploadRefusedError(f"{refusal.what}.", do, refusal.limit) from None
        if not parts:
            raise UploadRefusedError("The upload has a file without a name.")
        if parts in plain:
            raise UploadRefusedError(
                f"The upload has two files of the name {quoted_name(path)}.", "Send each file once."
            )
        plain[parts] = size
    if not plain:
        raise UploadRefusedError("The upload names no file.", "Choose a file or a folder.")
    folders = {parts[:depth] for parts in plain for depth in range(1, len(parts))}
    if both := plain.keys() & folders:
        name = "/".join(min(both))
        raise UploadRefusedError(f"{quoted_name(name)} is both a file and a folder of the upload.")
    return [("/".join(parts), size) for parts, size in plain.items()]
