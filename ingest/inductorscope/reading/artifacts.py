"""The files of a run as they are kept, and the report of what was read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..intake.recognise import File, Intake
from ..store.blobs import TooLarge, content_of_bytes, content_of_file
from ..store.draft import ArtifactDraft, GraphDraft, RunDraft
from .notes import Notes
from .profiles import ProfileRead
from .sources import Sources
from .texts import count_lines

PIECE = 1024 * 1024
GZIP = b"\x1f\x8b"


def add_artifacts(
    run: RunDraft,
    intake: Intake,
    sources: Sources,
    profiles: list[ProfileRead],
    folder: Path | None,
    notes: Notes,
    progress: Callable[[str, int, int | None, str | None], None],
) -> None:
    """Every file becomes an artifact, sources under the path that stack frames name."""
    graphs = {graph.slug: graph for graph in run.graphs}
    stored_as = {id(file): path for path, file in sources.files.items()}
    chosen = {path for folder in intake.graphs for path in folder.files.values()}
    # Of several files in one role the one that was parsed comes first.
    files = sorted(intake.files, key=lambda file: (file.absolute not in chosen, file.path))
    drafts: dict[int, ArtifactDraft] = {}
    total, done = sum(file.size for file in files), 0
    for file in files:
        progress("Compressing files", done, total, "bytes")
        path = stored_as.get(id(file), file.path)
        draft = _draft(file, path, graphs, folder, notes)
        done += file.size
        if draft is not None:
            drafts[id(file)] = draft
    run.artifacts = [*drafts.values(), *_rebuilt(sources)]
    for profile, row in zip(profiles, run.profiles, strict=True):
        if profile.trace_file is not None:
            row.trace = drafts.get(id(profile.trace_file))
    run.report = {
        "files": [
            {
                "path": file.path,
                "role": file.role,
                "size": file.size,
                "graph": file.graph,
                "stored": drafts[id(file)].path if id(file) in drafts else None,
            }
            for file in intake.files
        ],
        "dropped": notes.json(),
    }


def _draft(
    file: File, path: str, graphs: dict[str, GraphDraft], folder: Path | None, notes: Notes
) -> ArtifactDraft | None:
    try:
        content = content_of_file(file.absolute, folder)
    except TooLarge as error:
        notes.add(file.path, f"too large to be kept: {error}")
        return None
    if content.digest != file.digest:
        raise RuntimeError(f"{file.path} changed while it was being read. Read it again.")
    role = "source" if path != file.path else file.role
    return ArtifactDraft(
        role=role,
        path=path,
        content=content,
        line_count=_count_lines(file.absolute),
        graph=graphs.get(file.graph) if file.graph is not None else None,
    )


def _rebuilt(sources: Sources) -> list[ArtifactDraft]:
    drafts = []
    for path, text in sources.rebuilt.items():
        plain = text.encode("utf-8", "replace")
        if plain:
            content = content_of_bytes(plain)
            drafts.append(ArtifactDraft("source", path, content, count_lines(plain), derived=True))
    return drafts


def _count_lines(path: Path) -> int | None:
    """None for what is no text."""
    count, last = 0, b"\n"
    with path.open("rb") as file:
        head = file.read(PIECE)
        if head.startswith(GZIP) or b"\0" in head[:8192]:
            return None
        piece = head
        while piece:
            count += piece.count(b"\n")
            last = piece[-1:]
            piece = file.read(PIECE)
    return count + (last != b"\n")
