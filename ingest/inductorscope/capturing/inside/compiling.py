"""Records what a program compiles: the exact lines of its code, and the vectorised loops."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from inductorscope.capturing.inside.explaining import times_so_far
from inductorscope.capturing.inside.vectorising import follow_vectorising
from inductorscope.capturing.spec import CaptureSpec
from inductorscope.formats.capture_facts import CaptureFacts, RecordFacts

if TYPE_CHECKING:
    from inductorscope.capturing.record.install import Installed


class Compiling:
    """A running record; it must begin before anything is compiled."""

    def __init__(self, spec: CaptureSpec) -> None:
        self._record = _start_record(spec)
        self._vectors = follow_vectorising()

    def forget(self) -> None:
        """Discards the record so far."""
        self._vectors.forget()
        if not isinstance(self._record, RecordFacts):
            self._record.recording.forget()

    def write(self, facts: CaptureFacts, out: Path) -> None:
        """Writes the record so far to `out`, and fills in the facts."""
        facts.vectors = self._vectors.facts()
        facts.compile_times = facts.compile_times or times_so_far()
        record = self._record
        facts.record = record if isinstance(record, RecordFacts) else record.write(out)


_running: list[Compiling] = []


def recording(spec: CaptureSpec) -> Compiling:
    """Starts a record. A process has at most one, which starts again with each capture."""
    if _running:
        _running[0].forget()
    else:
        _running.append(Compiling(spec))
    return _running[0]


def _start_record(spec: CaptureSpec) -> Installed | RecordFacts:
    """Records which operation writes which line, if this torch allows it."""
    if not spec.record:
        return RecordFacts(made=False, reason="It was left out on request.")
    try:
        from inductorscope.capturing.record.install import install

        return install()
    except (ImportError, AttributeError) as error:  # torch's internals differ from its version
        return RecordFacts(made=False, reason=f"This torch does not support it: {error}.")
