"""Where the texts of a graph are: in a folder of the debug directory, in a log, or both."""

import hashlib
import re
from collections.abc import Callable
from functools import lru_cache

import msgspec

from inductorscope.formats.vocabulary import CODE
from inductorscope.intake.files import File
from inductorscope.reading.texts import count_lines

# # AOT ID: ['0_forward']
_AOT_ID = re.compile(rb"(?:#|//) AOT ID: \['([\w.]{1,80})'")
HEAD = 64 * 1024
NOT_READ = "?"
_ANNOTATION = re.compile(rb': "[^"\n]*"')


class GraphText(msgspec.Struct, frozen=True, eq=False):
    """One text of a graph, wherever it is stored."""

    label: str
    """The name to show: its path, or its place in a log."""
    digest: str
    size: int
    read: Callable[[], bytes]
    file: File | None = None
    """Its file; None for a payload of a log, which is already stored."""
    path: str = ""
    """The path under which a log's payload is stored."""
    lines: int | None = None
    put_together: bool = False
    """Whether it combines several files."""
    aot_id: str | None = NOT_READ
    """The id in a code, if it was read when the code was in memory."""


class GraphSource(msgspec.Struct):
    """A graph before it is read."""

    name: str
    slug: str = ""
    process: str | None = None
    """Folder of the process that compiled it, if the upload has it."""
    position: tuple[str, int] = ("", 0)
    """Log and line where the graph ends in the log."""
    compile_id: str | None = None
    rank: int | None = None
    pid: int | None = None
    direction: str | None = None
    """The direction, by the order of the log's records. The code itself is more reliable."""
    folder: str | None = None
    """Name of the debug folder."""
    texts: dict[str, GraphText] = msgspec.field(default_factory=dict)
    """Texts by role."""

    @property
    def aot_id(self) -> str | None:
        """The id that AOTAutograd gave it, from its code: `3_backward`."""
        code = self.texts.get(CODE)
        if code is None:
            return None
        return _keys(code)[1] if code.aot_id == NOT_READ else code.aot_id

    def key(self) -> tuple[tuple[str, str], ...]:
        """Returns the same key for graphs with the same texts."""
        return tuple(sorted((role, text.digest) for role, text in self.texts.items()))


def text_of(parts: list[bytes], label: str, path: str) -> GraphText:
    """Joins texts that are parts of one code."""
    text = b"".join(parts)
    return GraphText(
        label=label,
        digest=hashlib.sha256(text).hexdigest(),
        size=len(text),
        read=lambda: text,
        path=path,
        lines=count_lines(text),
        put_together=True,
    )


def aot_id_in(code: bytes) -> str | None:
    found = _AOT_ID.search(code, 0, HEAD)
    return None if found is None else found.group(1).decode()


def code_key(code: GraphText) -> str:
    """Returns the same key for a code in a log and in a folder, where empty lines at the ends
    differ."""
    return _keys(code)[0]


@lru_cache(maxsize=4096)
def _keys(code: GraphText) -> tuple[str, str | None]:
    plain = code.read()
    return hashlib.sha256(plain.strip()).hexdigest(), aot_id_in(plain)


def nodes_key(graph: GraphText) -> str:
    """Returns the same key for a graph of FX nodes in a log and in a folder, where annotations
    differ."""
    lines = (line.strip() for line in _ANNOTATION.sub(b"", graph.read()).split(b"\n"))
    return hashlib.sha256(b"\n".join(line for line in lines if line[:1] not in b"#")).hexdigest()
