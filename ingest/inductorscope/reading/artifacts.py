"""Stores the files of a run as artifacts."""

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from inductorscope.formats.sizes import MIB
from inductorscope.formats.vocabulary import TRACE_LOG
from inductorscope.intake.files import File
from inductorscope.intake.recognise import Intake
from inductorscope.progress import Progress
from inductorscope.reading.graphs.sources import Sources
from inductorscope.reading.notes import Notes
from inductorscope.reading.texts import count_lines
from inductorscope.store.contents.content import (
    Content,
    TooLarge,
    content_of_bytes,
    content_of_file,
)
from inductorscope.store.runs.draft import ArtifactDraft, GraphDraft, artifact_of

PIECE = MIB
HEAD = 8192
GZIP = b"\x1f\x8b"

Packed = tuple[Content, int | None]
"""A file's content and its number of lines."""


class FileArtifacts(msgspec.Struct, eq=False):
    """Makes each file of an upload an artifact, once. Does not handle logs, which are read
    separately."""

    _intake: Intake
    _folder: Path | None
    _notes: Notes
    _drafts: dict[int, ArtifactDraft | None] = {}
    _graphs: Mapping[str, GraphDraft] = {}

    def draft(self, file: File) -> ArtifactDraft | None:
        return self._drafts.get(id(file))

    def of_graphs(
        self, graphs: Mapping[str, GraphDraft], progress: Progress
    ) -> list[ArtifactDraft]:
        """Stores the files that belong to graphs. In each role, the files that are parsed come
        first."""
        self._graphs = graphs
        chosen = {path for folder in self._intake.graphs for path in folder.files.values()}
        files = [file for file in self._intake.files if file.graph in graphs]
        files.sort(key=lambda file: (file.absolute not in chosen, file.path))
        return self._make(files, progress)

    def of_sources(self, sources: Sources) -> list[ArtifactDraft]:
        """Stores sources under the paths that stack frames name; sources that are missing are
        rebuilt."""
        made = []
        for path, file in sources.files.items():
            if id(file) not in self._drafts:
                made += self._one(file, path, "source")
        for path, text in sources.rebuilt.items():
            plain = text.encode("utf-8", "replace")
            if plain:
                content = content_of_bytes(plain)
                lines = count_lines(plain)
                made.append(artifact_of("source", path, content, lines, derived=True))
        return made

    def remaining(self, progress: Progress) -> list[ArtifactDraft]:
        files = [
            file
            for file in self._intake.files
            if id(file) not in self._drafts and file.role != TRACE_LOG
        ]
        return self._make(files, progress)

    def _make(self, files: list[File], progress: Progress) -> list[ArtifactDraft]:
        made: list[ArtifactDraft] = []
        total, done = sum(file.size for file in files), 0
        for file in files:
            progress("Compressing files", done, total, "bytes")
            made += self._one(file, file.path, file.role)
            done += file.size
        return made

    def _one(self, file: File, path: str, role: str) -> list[ArtifactDraft]:
        """Returns the file's artifact; none if the file is too large."""
        self._drafts[id(file)] = None
        try:
            content, lines = _pack(file, self._folder)
        except TooLarge as error:
            self._notes.add(file.path, f"too large to be kept: {error}")
            return []
        if content.digest != file.stored_digest:
            raise RuntimeError(f"{file.path} changed while it was being read. Read it again.")
        graph = self._graphs.get(file.graph) if file.graph is not None else None
        draft = artifact_of(role, path, content, lines, graph=graph)
        self._drafts[id(file)] = draft
        return [draft]


def _pack(file: File, folder: Path | None) -> Packed:
    content = content_of_file(file.absolute, folder)
    return content, _count_lines(file.absolute, content)


def _count_lines(path: Path, content: Content) -> int | None:
    """Returns None if the content is not text."""
    with path.open("rb") as file:
        head = file.read(HEAD)
        if head.startswith(GZIP) or b"\0" in head:
            return None
        if content.index is not None:  # which has counted line ends
            file.seek(-1, os.SEEK_END)
            return content.index.lines + (file.read() != b"\n")
        count, last, piece = 0, b"\n", head
        while piece:
            count += piece.count(b"\n")
            last = piece[-1:]
            piece = file.read(PIECE)
    return count + (last != b"\n")
