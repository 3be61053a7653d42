"""The folder that tlparse writes for a log: a file for each record, in a folder for each compile.

    -_0_1_0/dynamo_output_graph_12.txt      compiled autograd's id, frame, compile, attempt
    -_0_1_0/inductor_output_code_cu2x…z_23.html

Reading turns the files back into records. Records without a payload, such as the start of a
compile, have no file.
"""

import html
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import msgspec

from inductorscope.formats.log.kinds import (
    ARTIFACT,
    ARTIFACTS,
    BACKWARD_METRICS,
    ENDINGS,
    KINDS,
    METRICS,
    OUTPUT_CODE,
    RUNTIME_METRICS,
)
from inductorscope.formats.log.record import LogRecord
from inductorscope.formats.log.segments import LIMITS
from inductorscope.formats.log.trace_log import Log, Piece

# -_0_1_0, 0_1_0 in old versions, -_-_-_- for records without a compile
_COMPILE = re.compile(r"^(?:(-|\d{1,9})_)?(-|\d{1,9})_(-|\d{1,9})_(-|\d{1,9})$")
_NUMBERED = re.compile(r"^(.{1,300}?)(?:_(\d{1,9}))?\.(txt|json|html|py|cpp)$")
_TAG = re.compile(r"<[^<>]{0,400}>")

PAGES = frozenset({
    "index.html", "failures_and_restarts.html", "compile_directory.json", "chromium_events.json",
    "raw.jsonl", "provenance_tracking.html", "export.html", "runtime_estimations.json",
    "collective_schedules.json", "tensor_meta_fingerprint.json", "execution_order_report.json",
})  # fmt: skip
"""Files that tlparse makes from the whole log."""

_TITLES = sorted((kind.name for kind in KINDS), key=len, reverse=True)
_ARTIFACTS = {kind.name for kind in ARTIFACTS}
_ENDS = tuple(kind.name for kind in ENDINGS)
_NO_PAYLOADS = {METRICS, BACKWARD_METRICS, RUNTIME_METRICS}


class FolderFile(msgspec.Struct, frozen=True):
    """A file that holds a record."""

    compile_id: str | None
    attempt: int | None
    kind: str
    name: str | None
    """Name of an artifact."""
    number: int
    """Place in the order of the log; 0 if unknown."""
    highlighted: bool
    """Whether it is a page that highlights the code."""


def file_of(folder: str, file: str) -> FolderFile | None:
    """Returns the record that a file holds, by the name of its folder and its own; None if it holds
    none."""
    placed, named = _COMPILE.match(folder), _NUMBERED.match(file)
    if placed is None or named is None or file.endswith("_readable.html"):
        return None
    autograd, frame, count, attempt = placed.groups()
    stem, number, ending = named.groups()
    kind, name = _kind_of(stem)
    highlighted = ending == "html"
    if kind in _NO_PAYLOADS or (highlighted and kind != OUTPUT_CODE):
        return None
    compile_id = None
    if frame != "-" and count != "-":
        compile_id = f"{frame}/{count}"
        if autograd not in (None, "-"):
            compile_id = f"!{autograd}/{compile_id}"
    return FolderFile(
        compile_id=compile_id, attempt=None if attempt == "-" else int(attempt), kind=kind,
        name=name, number=int(number or 0), highlighted=highlighted,
    )  # fmt: skip


def is_known(file: FolderFile) -> bool:
    """Whether torch writes records of this name."""
    return file.kind != ARTIFACT or file.name in _ARTIFACTS or str(file.name).endswith(_ENDS)


def _kind_of(stem: str) -> tuple[str, str | None]:
    if stem in _ARTIFACTS or stem.endswith(_ENDS):
        return ARTIFACT, stem
    for kind in _TITLES:
        if stem == kind or stem.startswith(f"{kind}_c"):  # `inductor_output_code_cu2x…`: its hash
            return kind, None
    return ARTIFACT, stem


def plain_code(page: bytes) -> bytes:
    """Returns the code of a page that highlights it."""
    text = page.decode("utf-8", "replace")
    start, end = text.find(">\n"), text.rfind("</pre>")
    if start < 0 or not text.lstrip().startswith("<pre"):
        return page
    return html.unescape(_TAG.sub("", text[start + 2 : end if end > 0 else None])).encode()


class FolderLog(Log):
    """The records of a folder."""

    def __init__(self, files: Sequence[tuple[FolderFile, Callable[[int], bytes]]]) -> None:
        """`files`: each with a function that reads up to a number of bytes of it."""
        super().__init__()
        numbers = Counter(file.number for file, _ in files)
        alone = all(count == 1 for count in numbers.values())
        self._files = sorted(files, key=lambda entry: _order(entry[0], by_number=alone))

    def pieces(self) -> Iterator[Piece]:
        """Yields the records; `line` is a file's place in the order of the log."""
        for file, read in self._files:
            self.number += 1
            payload = read(LIMITS.payload + 1)
            if len(payload) > LIMITS.payload:
                self.drop("a payload of more than 64 MiB")
                continue
            body = {"name": file.name} if file.name is not None else {}
            record = LogRecord(
                kind=file.kind, line=self.number, pid=0, rank=None, compile_id=file.compile_id,
                attempt=file.attempt, digest=None, _metadata={file.kind: body},
            )  # fmt: skip
            record.payload = plain_code(payload) if file.highlighted else payload
            yield Piece(b"", self.number, 0, 0, record, size=len(payload))


def _order(file: FolderFile, *, by_number: bool) -> tuple[int, str, int, int, int]:
    """Sorts the files. Numbers count through the log, in some versions through a compile, in others
    not at all."""
    place = _PLACES.get(file.name or file.kind, len(_PARTS))
    if by_number:
        return file.number, "", 0, 0, place
    return 0, file.compile_id or "", file.attempt or 0, file.number, place


_PARTS = ("compile", "autograd", "before code", "code", "kernels", "after code")
_PLACES = {
    kind.name: _PARTS.index(kind.text.part) if kind.text is not None else len(_PARTS)
    for kind in (*ARTIFACTS, *KINDS)
}
