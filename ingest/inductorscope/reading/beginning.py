"""Makes a run appear as soon as its id is known.

The id depends on the content. For a large log it is known only when the whole log is hashed, which
goes on while the log is already being read.
"""

import msgspec

from inductorscope.intake.recognise import Intake
from inductorscope.progress import Progress
from inductorscope.reading.owner import Owner
from inductorscope.store.runs.writer import RunWriter


class HereAlready(Exception):
    """A complete run of the same content is already here, so nothing needs to be written."""


class Beginning(msgspec.Struct, eq=False):
    """Makes the run appear, once."""

    _intake: Intake
    _writer: RunWriter
    _owner: Owner
    _progress: Progress
    begun: bool = False

    def when_known(self) -> None:
        """Makes the run appear, unless digests are still being computed."""
        if not self.begun and self._intake.settled:
            self.now()

    def now(self) -> None:
        """Waits for the digests and makes the run appear. Raises `HereAlready`."""
        if self.begun:
            return
        self._intake.settle()
        run = self._writer.draft
        run.content_digest = self._intake.content_digest
        run.bytes_in = sum(file.size for file in self._intake.files)
        if not self._writer.begin(self._waiting, self._owner.begun):
            raise HereAlready
        self.begun = True

    def discard(self) -> None:
        """Removes the run, if it appeared."""
        if self.begun:
            self._writer.discard()

    def _waiting(self) -> None:
        self._progress("Waiting for another job that reads the same files", 0, None, None)
