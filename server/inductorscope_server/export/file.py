"""The HTML file of an export: a loader, the answers of the application, and the run's files.

The answers are in blocks, packed by deflate, which browsers unpack. The uploaded files are in a
packed tar at the end; `intake.exported` finds it by the file's first line and encodes the bytes.
"""

import base64
import hashlib
import json
import lzma
import tarfile
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import BinaryIO

from inductorscope.formats.sizes import MIB
from inductorscope.formats.vocabulary import CHROME_TRACE, ROLE_TITLES
from inductorscope.intake.exported import CHARSET, as_characters, first_line
from inductorscope.intake.recognise import digest_of_files
from inductorscope.store.contents.texts import StoredText, stored_text
from inductorscope.store.tables.models import Artifact, Run
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope_server.export.gather import BUNDLE, LOCATION, Answer

BLOCK = 8 * MIB
"""Unpacked bytes of a block: a page unpacks only the blocks that it needs."""
LARGE = MIB // 2
"""A script of the bundle that is at least this large gets a block of its own, because few pages
load it."""
FILES = 3
"""The preset of xz for the run's files: 6 takes nearly twice as long for 2 % less."""
STYLE_NONCE = "inductorscope"
"""CodeMirror marks its style sheets with this nonce. The file holds no foreign styles."""

Inside = Counter[tuple[str, str]]
"""Kind of file and "files" or "bytes" → how many."""


def write_file(
    out: BinaryIO,
    start: str,
    note: str,
    answers: Mapping[str, Answer],
    loader: bytes,
    files: BinaryIO,
) -> None:
    """Writes the file. `start`: the address that it opens on; `note`: a note for the reader;
    `files`: the run's files as a packed tar, or empty."""
    index: dict[str, list[object] | str] = {}
    blocks = list(_blocks(answers, index))
    contents = json.dumps({"start": start, "note": note, "answers": index}).encode()
    script = base64.b64encode(hashlib.sha256(loader).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'sha256-{script}' blob:; "
        f"style-src 'nonce-{STYLE_NONCE}'; img-src data: blob:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'"
    )
    out.write(first_line(0, 0))
    out.write(
        f'<html lang="en"><head><meta charset="{CHARSET}">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<title>Inductorscope</title></head><body><p>Opening the run &hellip;</p>\n".encode()
    )
    with ThreadPoolExecutor() as pool:
        for packed in pool.map(_packed, (contents, *blocks)):
            out.write(b'<script type="text/plain" class="block">')
            out.write(as_characters(packed))
            out.write(b"</script>\n")
    out.write(b'<script type="text/plain">')
    offset = out.tell()
    while piece := files.read(MIB):
        out.write(as_characters(piece))
    length = out.tell() - offset
    out.write(b'</script>\n<script type="module">' + loader + b"</script></body></html>\n")
    out.seek(0)
    out.write(first_line(offset, length))


def _packed(block: bytes) -> bytes:
    return zlib.compress(block, zlib.Z_BEST_COMPRESSION, -zlib.MAX_WBITS)


def _blocks(answers: Mapping[str, Answer], index: dict[str, list[object] | str]) -> Iterator[bytes]:
    """Yields the blocks. Records for each address its block, first byte, length and type, or the
    address that it redirects to. Block 0 is the index."""
    groups: dict[str, list[str]] = {BUNDLE: []}
    held = 0
    for address, answer in answers.items():
        if answer.type == LOCATION:
            index[address] = answer.body.decode()
            continue
        group = BUNDLE
        if not address.startswith(BUNDLE):
            group, held = str(held // BLOCK), held + len(answer.body)
        elif len(answer.body) >= LARGE:
            group = address
        groups.setdefault(group, []).append(address)
    for number, addresses in enumerate(groups.values(), start=1):
        first = 0
        for address in addresses:
            size = len(answers[address].body)
            index[address] = [number, first, size, answers[address].type]
            first += size
        yield b"".join(answers[address].body for address in addresses)


def pack_files(
    session: Session, run: Run, out: BinaryIO, inside: Inside, *, traces: bool = True
) -> bool:
    """Packs the files of a run under their original paths, and counts them. Returns whether a
    server makes the same run from them: it does not if traces are left out, if secrets were removed
    from a file, or if a file was too large to keep."""
    rows = select(Artifact.path, Artifact.digest).where(Artifact.run_id == run.id)
    digests = dict(session.execute(rows).all())
    sent: list[tuple[str, str]] = []
    with (
        lzma.open(out, "wb", preset=FILES) as packed,
        tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT, bufsize=MIB) as archive,
    ):
        for file in run.report.files:
            digest = digests.get(file.stored or "")
            text = stored_text(session, digest) if digest is not None else None
            if text is None or (file.role == CHROME_TRACE and not traces):
                continue
            kind = ROLE_TITLES.get(file.role, file.role)
            inside[kind, "files"] += 1
            inside[kind, "bytes"] += text.size
            sent.append((file.path, _add(archive, file.path, text)))
    return digest_of_files(sent) == run.content_digest


def _add(archive: tarfile.TarFile, path: str, text: StoredText) -> str:
    """Adds a file; returns the digest of its bytes, which is not the stored digest if secrets were
    removed."""
    member = tarfile.TarInfo(path)
    with tempfile.TemporaryFile() as file:
        digest = hashlib.sha256()
        for chunk in text.chunks():
            digest.update(chunk)
            file.write(chunk)
        member.size = file.tell()
        file.seek(0)
        archive.addfile(member, file)
    return digest.hexdigest()
