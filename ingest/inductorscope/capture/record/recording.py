"""A recording under way: all hooks in place, and what they have noted so far. Needs torch alone."""

from __future__ import annotations

from inductorscope.capture.record.kernels import Definitions, follow_kernels
from inductorscope.capture.record.lines import Texts, follow_lines
from inductorscope.capture.record.origins import Recorder
from inductorscope.capture.record.owners import follow_owners
from inductorscope.capture.record.placing import LineRecord, place_lines
from inductorscope.capture.record.rewritten import follow_rewritten


class Recording:
    """Begins when it is made; a process makes one."""

    def __init__(self) -> None:
        self.recorder = Recorder()
        self.definitions = Definitions()
        texts = Texts()
        follow_owners(self.recorder)
        follow_lines(self.recorder, texts)
        follow_rewritten(self.recorder)
        follow_kernels(self.recorder, texts, self.definitions)

    @property
    def failure(self) -> str | None:
        """Why nothing more is recorded, if so."""
        return self.recorder.failure

    def place(self) -> tuple[LineRecord, int]:
        """What was recorded so far, and how many recorded lines were not found in the code."""
        return place_lines(self.definitions)

    def forget(self) -> None:
        """Start anew with the next graph."""
        self.definitions.by_folder.clear()
