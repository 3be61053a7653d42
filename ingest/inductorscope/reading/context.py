"""The state that all steps of reading an upload share."""

from pathlib import Path

import msgspec

from inductorscope.intake.files import File
from inductorscope.intake.recognise import Intake
from inductorscope.progress import Progress
from inductorscope.reading.artifacts import FileArtifacts
from inductorscope.reading.beginning import Beginning
from inductorscope.reading.graphs.compiled import CompiledKernels
from inductorscope.reading.notes import Notes
from inductorscope.reading.profiles.benchmarks import Benchmarks
from inductorscope.settings import Settings
from inductorscope.store.database.engine import Sessions
from inductorscope.store.runs.draft import RunDraft
from inductorscope.store.runs.writer import RunWriter


class Reading(msgspec.Struct):
    """One reading of one upload."""

    intake: Intake
    run: RunDraft
    writer: RunWriter
    sessions: Sessions
    """Reads what is stored; never waits for a writer."""
    beginning: Beginning
    """Makes the run appear; nothing is written before."""
    files: FileArtifacts
    notes: Notes
    progress: Progress
    settings: Settings | None
    workers: int
    """Other processes that may help, at most."""
    aligned_at_once: int
    """Bytes of code up to which lines of kernels are aligned during reading. If there is more code,
    all of it is aligned after the run is complete (`reading.graphs.relink`)."""
    benchmarks: Benchmarks = msgspec.field(default_factory=Benchmarks)
    compiled: CompiledKernels = msgspec.field(default_factory=CompiledKernels)

    @property
    def folder(self) -> Path | None:
        """For large temporary files; None for the system's own folder."""
        return self.settings.data if self.settings is not None else None

    @property
    def max_unpacked(self) -> int | None:
        """Most bytes that a compressed log may unpack to."""
        return self.settings.max_unpacked_bytes if self.settings is not None else None

    def having(self, *roles: str) -> list[File]:
        """Returns the upload's files in these roles."""
        return [file for file in self.intake.files if file.role in roles]
