"""The HTML file of an export: a loader, the answers of the application, and the run's files.

Answers lie in blocks of about a megabyte, compressed with gzip, which browsers unpack. The files
that were uploaded lie in a compressed tar at the end; `intake.exported` finds it by the first line.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import tarfile
import tempfile
from collections.abc import Mapping
from io import BytesIO
from typing import BinaryIO

import zstandard
from inductorscope.formats.sizes import MIB
from inductorscope.intake.exported import first_line
from inductorscope.intake.recognise import digest_of_files
from inductorscope.store.contents.texts import StoredText, stored_text
from inductorscope.store.tables.models import Artifact, Run
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope_server.export.gather import LOCATION, Answer

BLOCK = MIB
LEVEL = 12
"""Of zstd, for the files."""
WINDOW = 27
"""The logarithm of the window: a log repeats texts that lie beside it."""
PIECE = 3 * 256 * 1024
"""Encoded at a time; a multiple of three, so that the pieces join."""
STYLE_NONCE = "inductorscope"
"""CodeMirror marks its style sheets with it. The file holds no style of anybody else's."""


def write_file(
    out: BinaryIO,
    run: str,
    start: str,
    answers: Mapping[str, Answer],
    loader: bytes,
    files: BinaryIO,
) -> None:
    """Writes the file. `start`: the address that it opens on; `files`: the run's, as a packed tar,
    or empty."""
    blocks, index = _blocks(answers)
    contents = json.dumps({"run": run, "start": start, "answers": index}).replace("<", "\\u003c")
    script = hashlib.sha256(loader).digest()
    policy = (
        f"default-src 'none'; script-src 'sha256-{base64.b64encode(script).decode()}' blob:; "
        f"style-src 'nonce-{STYLE_NONCE}'; img-src data: blob:; worker-src blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    out.write(first_line(0, 0))
    out.write(
        f'<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<title>Inductorscope</title></head><body><p>Opening the run …</p>\n"
        f'<script type="application/json" id="contents">{contents}</script>\n'.encode()
    )
    for block in blocks:
        out.write(b'<script type="text/plain" class="block">')
        out.write(base64.b64encode(block))
        out.write(b"</script>\n")
    out.write(b'<script type="text/plain">')
    offset = out.tell()
    while piece := files.read(PIECE):
        out.write(base64.b64encode(piece))
    length = out.tell() - offset
    out.write(b'</script>\n<script type="module">' + loader + b"</script></body></html>\n")
    out.seek(0)
    out.write(first_line(offset, length))


def _blocks(answers: Mapping[str, Answer]) -> tuple[list[bytes], dict[str, list[object] | str]]:
    """The packed blocks, and of each address its block, first byte, length and type, or the address
    that it leads to."""
    blocks: list[bytes] = []
    index: dict[str, list[object] | str] = {}
    held = BytesIO()
    for address, answer in answers.items():
        if answer.type == LOCATION:
            index[address] = answer.body.decode()
            continue
        if held.tell() >= BLOCK:
            blocks.append(gzip.compress(held.getvalue(), mtime=0))
            held = BytesIO()
        index[address] = [len(blocks), held.tell(), len(answer.body), answer.type]
        held.write(answer.body)
    blocks.append(gzip.compress(held.getvalue(), mtime=0))
    return blocks, index


def pack_files(session: Session, run: Run, out: BinaryIO) -> bool:
    """Packs the files of a run under the paths that they came with. Returns whether a server makes
    the same run of them: not if secrets were removed from one, or one was too large to keep."""
    rows = select(Artifact.path, Artifact.digest).where(Artifact.run_id == run.id)
    digests = dict(session.execute(rows).tuples().all())
    sent: list[tuple[str, str]] = []
    parameters = zstandard.ZstdCompressionParameters.from_level(
        LEVEL, window_log=WINDOW, enable_ldm=True
    )
    packer = zstandard.ZstdCompressor(compression_params=parameters)
    with (
        packer.stream_writer(out, closefd=False) as packed,
        tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as archive,
    ):
        for file in run.report.get("files", ()):
            digest = digests.get(file["stored"] or "")
            text = stored_text(session, digest) if digest is not None else None
            if text is None or digest is None:
                continue
            sent.append((file["path"], _add(archive, file["path"], text)))
    return digest_of_files(sent) == run.content_digest


def _add(archive: tarfile.TarFile, path: str, text: StoredText) -> str:
    """Returns the digest of the bytes, which differs from the stored one without the secrets."""
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
