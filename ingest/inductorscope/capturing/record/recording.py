"""A recording: all hooks, and the data they have recorded so far. Needs only torch."""

from __future__ import annotations

from inductorscope.capturing.record.kernels import Definitions, follow_kernels
from inductorscope.capturing.record.lines import Texts, follow_lines
from inductorscope.capturing.record.origins import Recorder
from inductorscope.capturing.record.owners import follow_owners
from inductorscope.capturing.record.placing import LineRecord, place_lines
from inductorscope.capturing.record.rewritten import follow_rewritten


class Recording:
    """Starts when it is created; a process creates one."""

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
        """Why recording has stopped, if it has."""
        return self.recorder.failure

    def place(self) -> tuple[LineRecord, int]:
        """Returns the record so far, and the number of recorded lines not located in the code."""
        return place_lines(self.definitions)

    def forget(self) -> None:
        """Discards the record and restarts with the next graph."""
        self.definitions.by_folder.clear()
