"""The moment at which a run appears: as soon as it is known what it is called.

A run is called after its content. Of a large log that is known when all of it was hashed, which
goes on while it is read already.
"""

from __future__ import annotations

from collections.abc import Callable

from inductorscope.intake.recognise import Intake
from inductorscope.reading.owner import Owner
from inductorscope.store.runs.writer import RunWriter


class HereAlready(Exception):
    """The same content is here, whole: nothing of it is to be written."""


class Beginning:
    """Makes the run appear, once."""

    def __init__(
        self,
        intake: Intake,
        writer: RunWriter,
        owner: Owner,
        is_here: Callable[[], bool],
        waiting: Callable[[], None],
    ) -> None:
        """`is_here`: whether the content is here; `waiting` is called while somebody else reads
        the same."""
        self._intake = intake
        self._writer = writer
        self._owner = owner
        self._is_here = is_here
        self._waiting = waiting
        self.begun = False

    def when_known(self) -> None:
        """Now, unless that would mean to wait."""
        if not self.begun and self._intake.settled:
            self.now()

    def now(self) -> None:
        """Waits for the digests. Raises `HereAlready`."""
        if self.begun:
            return
        self._intake.settle()
        run = self._writer.draft
        run.content_digest = self._intake.content_digest
        run.bytes_in = sum(file.size for file in self._intake.files)
        if self._is_here() or not self._writer.begin(self._waiting, self._owner.begun):
            raise HereAlready
        self.begun = True
