"""Checks what is announced as an upload."""

from collections.abc import Iterable

from inductorscope.intake.limits import Limits, Refused, size_text
from inductorscope.intake.names import member_path, quoted_name
from inductorscope.jobs.errors import UploadRefusedError
from inductorscope.settings import PREFIX

Announced = tuple[str, int]
"""A file's path and size, as the client announced them."""


def checked(files: Iterable[Announced], limits: Limits) -> list[Announced]:
    """Returns the files with normalised paths. Refuses files that could not be laid out, and
    too many files or bytes."""
    plain: dict[tuple[str, ...], int] = {}
    total = 0
    for path, size in files:
        parts = _parts(path)
        if size < 0:
            raise UploadRefusedError(f"{quoted_name(path)} is announced with {size} bytes.")
        if parts in plain:
            raise UploadRefusedError(
                f"The upload has two files of the name {quoted_name(path)}.", "Send each file once."
            )
        plain[parts] = size
        total += size
        _within(len(plain), total, limits)
    if not plain:
        raise UploadRefusedError("The upload names no file.", "Choose a file or a folder.")
    folders = {parts[:depth] for parts in plain for depth in range(1, len(parts))}
    if both := plain.keys() & folders:
        name = "/".join(min(both))
        raise UploadRefusedError(f"{quoted_name(name)} is both a file and a folder of the upload.")
    return [("/".join(parts), size) for parts, size in plain.items()]


def _parts(path: str) -> tuple[str, ...]:
    try:
        parts = member_path(path, "The upload")
    except Refused as refusal:
        raise UploadRefusedError(f"{refusal.what}.", None, refusal.limit) from None
    if not parts:
        raise UploadRefusedError("The upload has a file without a name.")
    return parts


def _within(count: int, total: int, limits: Limits) -> None:
    if count > limits.max_members:
        raise UploadRefusedError(
            f"The upload has more than {limits.max_members:,} files.",
            f"Send fewer files, or raise {PREFIX}MAX_MEMBERS.",
            "max_members",
        )
    if total > limits.max_upload_bytes:
        raise UploadRefusedError(
            f"The upload is larger than {size_text(limits.max_upload_bytes)}.",
            f"Send less at a time, or raise {PREFIX}MAX_UPLOAD_BYTES.",
            "max_upload_bytes",
        )
