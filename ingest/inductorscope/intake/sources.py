"""Recognises the user's source files that a capture copied next to its results."""

from __future__ import annotations

from pathlib import PurePosixPath

import msgspec

from inductorscope.formats.capture_facts import SOURCES, SourceFiles
from inductorscope.formats.sizes import MIB
from inductorscope.intake.files import File

MAX_MAPPING = 16 * MIB


def mark_sources(files: list[File]) -> None:
    """Gives the files listed in a `sources.json` the role `source`, because a user's file may look
    like a kernel. Their path on the user's machine goes to `source_path`."""
    by_path = {file.path: file for file in files}
    for listing in [file for file in files if PurePosixPath(file.path).name == SOURCES]:
        folder = PurePosixPath(listing.path).parent
        for theirs, ours in _read(listing).items():
            file = by_path.get(str(folder / ours))
            if file is not None:
                file.role = "source"
                file.source_path = theirs


def _read(listing: File) -> dict[str, str]:
    if listing.size > MAX_MAPPING:
        return {}
    try:
        return msgspec.json.decode(listing.absolute.read_bytes(), type=SourceFiles).files
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}  # another program's file of the same name
