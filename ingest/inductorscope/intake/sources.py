"""The user's sources that a capture copied beside its results."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import msgspec

from inductorscope.settings import MIB

if TYPE_CHECKING:
    from inductorscope.intake.recognise import File

MAPPING = "sources.json"
MAX_MAPPING = 16 * MIB
FOLDER = "sources"


def mark_sources(files: list[File]) -> None:
    """Gives the files that a `sources.json` lists the role `source`, whatever they look like:
    a user's file may quote a kernel. Their path on the user's machine goes to `source_path`."""
    by_path = {file.path: file for file in files}
    for listing in [file for file in files if PurePosixPath(file.path).name == MAPPING]:
        here = PurePosixPath(listing.path).parent
        for theirs, ours in _read(listing).items():
            file = by_path.get(str(here / ours)) or by_path.get(str(here / FOLDER / ours))
            if file is not None:
                file.role = "source"
                file.source_path = theirs


def _read(listing: File) -> dict[str, str]:
    if listing.size > MAX_MAPPING:
        return {}
    try:
        return msgspec.json.decode(listing.absolute.read_bytes(), type=dict[str, str])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {}  # some other program's file of that name
