"""Shared parts of the pages about compiling: the story, and links to records and sources."""

from collections.abc import Iterable

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.analyze.compile.model import Compile, Frame, Story
from inductorscope.analyze.compile.resumptions import resumed
from inductorscope.answers.parts import RunName, run_of
from inductorscope.answers.runs.watch import watch_key
from inductorscope.fields import Hidden
from inductorscope.formats.vocabulary import SOURCE
from inductorscope.store.contents.texts import stored_text, text_of
from inductorscope.store.runs.compile_story import load_story
from inductorscope.store.tables.models import Artifact, LogEntry, Run

CONTEXT_LINES = 4
LONGEST_LINE = 400
TORCH = ("/torch/", "/_dynamo/", "/site-packages/")


class CompileRef(msgspec.Struct, frozen=True):
    """Enough of a compile to name it and link to it."""

    number: int
    id: str
    rank: int | None
    occurrence: int


class CodeLine(msgspec.Struct, frozen=True):
    """A line of source code; `marked` is the one in question."""

    number: int
    text: str
    marked: bool


class FrameRow(msgspec.Struct, frozen=True):
    """A frame of a stack, with its stored file if there is one."""

    file: str
    line: int
    function: str
    code: str | None
    artifact: Hidden[int | None]
    ours: bool
    """Whether the frame is in the user's code, not in torch's or Python's."""


class CompilesPage(msgspec.Struct, frozen=True):
    """A page about the compiles of a run."""

    run: RunName
    watch: Hidden[str | None]
    """Key of the watched folder, if the run was read from one."""
    known: bool
    """Whether the run has a story; runs read by older versions have none."""


class RunStory(msgspec.Struct):
    """A run, with its story if it has one."""

    session: Session
    run: Run
    story: Story | None
    sources: dict[str, tuple[int, str]] = msgspec.field(default_factory=dict)
    """Path of a source file → its artifact and the content's digest."""

    texts_spoken: dict[str, int] = msgspec.field(default_factory=dict)
    """Path of a TORCH_LOGS text → its artifact."""

    @property
    def story_or_empty(self) -> Story:
        """The story; an empty one if the run has none."""
        return self.story or Story()

    @property
    def name(self) -> RunName:
        return RunName(self.run.id, self.run.name)

    @property
    def page(self) -> CompilesPage:
        return CompilesPage(self.name, watch_key(self.run.tags), self.story is not None)

    def ref(self, number: int) -> CompileRef | None:
        compiles = self.story_or_empty.compiles
        return ref_of(compiles[number]) if 0 <= number < len(compiles) else None

    def refs(self, numbers: Iterable[int]) -> list[CompileRef]:
        return [ref for ref in map(self.ref, numbers) if ref is not None]

    def artifact(self, file: str | None) -> int | None:
        """Returns the artifact of a source file, if it is stored."""
        source = self.sources.get(file or "")
        return None if source is None else source[0]

    def frame(self, frame: Frame) -> FrameRow:
        file = frame.file
        ours = not any(part in file for part in TORCH) and not file.startswith("<")
        name = resumed(frame.function)[0]
        return FrameRow(file, frame.line, name, frame.code, self.artifact(file), ours=ours)

    def frames(self, numbers: Iterable[int]) -> list[FrameRow]:
        return [self.frame(self.story_or_empty.frames[number]) for number in numbers]

    def code_around(
        self, file: str | None, line: int | None, code: str | None = None
    ) -> list[CodeLine]:
        """Lines of a stored source around `line`; only `code` if the source is not stored."""
        source = self.sources.get(file or "")
        if line is None:
            return []
        if source is not None:
            text = stored_text(self.session, source[1])
            first = max(1, line - CONTEXT_LINES)
            lines = [] if text is None else list(text.lines(first, line + CONTEXT_LINES))
            shown = [
                CodeLine(first + at, raw.decode("utf-8", "replace").rstrip("\r\n")[:LONGEST_LINE],
                         first + at == line)
                for at, raw in enumerate(lines)
            ]  # fmt: skip
            shown = _filled(shown, code)
            while shown and not shown[0].text.strip():
                shown.pop(0)
            while shown and not shown[-1].text.strip():
                shown.pop()
            if any(shown_line.marked for shown_line in shown):
                return shown
        return [CodeLine(line, code[:LONGEST_LINE], marked=True)] if code else []

    def source_text(self, path: str | None) -> str:
        """The text of a stored source; empty if it is not stored."""
        _, digest = self.sources.get(path or "", (0, None))
        return text_of(self.session, digest)

    def records(self, places: Iterable[tuple[int, int]]) -> dict[tuple[int, int], int]:
        """Maps log and line of records to the artifact that holds their payload, if any."""
        wanted = list(places)[:2000]
        lines = {line for _, line in wanted}
        logs = {log.path: number for number, log in enumerate(self.story_or_empty.logs)}
        rows = select(LogEntry.log, LogEntry.line, LogEntry.artifact_id).where(
            LogEntry.run_id == self.run.id,
            LogEntry.line.in_(lines),
            LogEntry.artifact_id.is_not(None),
        )
        artifacts = {
            (logs.get(log, -1), line): artifact
            for log, line, artifact in self.session.execute(rows)
            if artifact is not None
        }
        return {place: artifacts[place] for place in wanted if place in artifacts}


def _filled(lines: list[CodeLine], code: str | None) -> list[CodeLine]:
    """Fills a marked line that a rebuilt source lacks, indented like the next one."""
    marked = next((at for at, line in enumerate(lines) if line.marked), None)
    if marked is None or lines[marked].text.strip() or not code:
        return lines
    near = [line.text for line in lines[marked + 1 :] + lines[:marked][::-1] if line.text.strip()]
    depth = len(near[0]) - len(near[0].lstrip()) if near else 0
    filled = CodeLine(lines[marked].number, (" " * depth + code)[:LONGEST_LINE], marked=True)
    return [*lines[:marked], filled, *lines[marked + 1 :]]


def ref_of(compile_: Compile) -> CompileRef:
    return CompileRef(compile_.number, compile_.id or "no id", compile_.rank, compile_.occurrence)


def read_run_story(session: Session, run_id: str) -> RunStory:
    """Loads a run with its story and the artifacts of its sources."""
    run = run_of(session, run_id)
    result = RunStory(session, run, load_story(session, run_id))
    rows = select(Artifact.path, Artifact.id, Artifact.digest, Artifact.derived).where(
        Artifact.run_id == run_id, Artifact.role == SOURCE
    )
    for path, artifact, digest, derived in session.execute(rows):
        if path not in result.sources or not derived:
            result.sources[path] = (artifact, digest)
    spoken = [log.path for log in result.story_or_empty.spoken]
    if spoken:
        texts = select(Artifact.path, Artifact.id).where(
            Artifact.run_id == run_id, Artifact.path.in_(spoken)
        )
        result.texts_spoken = {path: artifact for path, artifact in session.execute(texts)}  # noqa: C416  # rows
    return result


def has_log(session: Session, run_id: str) -> bool:
    """Whether the run has records of a TORCH_TRACE log."""
    query = select(LogEntry.id).where(LogEntry.run_id == run_id).limit(1)
    return session.scalar(query) is not None
