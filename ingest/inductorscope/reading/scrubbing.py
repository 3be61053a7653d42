"""Removes secrets from the files of an upload. A file that has any is read from a clean copy."""

import codecs
import gzip
import hashlib
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import chain
from pathlib import Path

import zstandard

from inductorscope.formats.secrets import (
    LONGEST_PROGRAM,
    PIECE,
    Removed,
    scrub_pieces,
    scrub_python,
)
from inductorscope.formats.unpacking import LONGEST_MAGIC, DamagedError, open_plain, packing_of
from inductorscope.formats.vocabulary import TRACE_LOG
from inductorscope.intake.files import File
from inductorscope.intake.recognise import Intake
from inductorscope.reading.notes import Notes

HEAD = 8192
LEVEL = 6
"""Level of gzip for copies of compressed files."""


def clean_files(intake: Intake, notes: Notes, folder: Path | None, kept: ExitStack) -> None:
    """Replaces every file that holds secrets with a clean copy, and notes which kinds it held. The
    digests that identify the run stay those of the original files.

    It does not handle logs: their reader removes secrets record by record. Files that are not text
    (such as saved tensors) stay as they are. `folder`: for the copies, which `kept` removes.
    """
    moved: dict[Path, Path] = {}
    for file in intake.files:
        if file.role == TRACE_LOG:
            continue
        found: Removed = Counter()
        for _ in clean_pieces(file.absolute, found):
            pass
        if found:
            sent = file.absolute
            copies = tempfile.TemporaryDirectory(prefix="inductorscope-clean-", dir=folder)
            moved[sent] = _copy(file, Path(kept.enter_context(copies)))
            notes.secrets(file.path, found)
    if not moved:
        return
    for graph in intake.graphs:
        graph.files = {role: moved.get(path, path) for role, path in graph.files.items()}
        graph.kernels = [moved.get(path, path) for path in graph.kernels]


def _copy(file: File, folder: Path) -> Path:
    """Copies the file under its own name, because readers depend on the name."""
    copy = folder.joinpath(*file.absolute.parts[-len(Path(file.path).parts) :])
    copy.parent.mkdir(parents=True, exist_ok=True)
    packing = packing_of(file.head(LONGEST_MAGIC))
    pieces = clean_pieces(file.absolute, Counter())
    with copy.open("wb") as target:
        if packing is None:
            target.writelines(pieces)
        elif packing == "gzip":
            with gzip.GzipFile("", "wb", LEVEL, target, mtime=0) as packer:
                packer.writelines(pieces)
        else:
            with zstandard.ZstdCompressor().stream_writer(target) as out:
                for piece in pieces:
                    out.write(piece)
    with copy.open("rb") as stream:
        file.kept = hashlib.file_digest(stream, "sha256").hexdigest()
    file.absolute = copy
    return copy


def clean_pieces(path: Path, removed: Removed) -> Iterator[bytes]:
    """Yields the unpacked bytes of a text without its secrets; nothing if it is not text. For a
    damaged file, yields what can be unpacked."""
    with path.open("rb") as raw:
        plain = open_plain(raw)
        packed = plain is not raw
        try:
            head = plain.read(HEAD)
            wide = _wide_encoding(head)
            if b"\0" in head and not packed and not wide:
                return
            blocks: Iterator[bytes] = chain([head], iter(lambda: plain.read(PIECE), b""))
            if wide:
                decoder = codecs.getincrementaldecoder(wide)("surrogatepass")
                texts = filter(None, map(decoder.decode, blocks))
                blocks = (text.encode("utf-8", "surrogatepass") for text in texts)
            whole = path.suffix == ".py" and path.stat().st_size <= LONGEST_PROGRAM
            if whole and not packed and not wide:
                clean, counts = scrub_python(b"".join(blocks))
                removed.update(counts)
                yield clean
                return
            for piece in scrub_pieces(lambda _: next(blocks, b""), removed):
                if wide:
                    piece = piece.decode("utf-8", "surrogatepass").encode(wide, "surrogatepass")
                yield piece
        except (DamagedError, OSError, EOFError):
            return


def _wide_encoding(head: bytes) -> str | None:
    """The encoding of a text with two bytes a character, such as PowerShell writes."""
    even, odd = head[::2].count(0), head[1::2].count(0)
    if 20 * min(even, odd) > max(even, odd) or 4 * max(even, odd) <= len(head):
        return None
    return "utf-16-le" if odd > even else "utf-16-be"
