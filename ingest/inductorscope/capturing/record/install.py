"""Installs the record before anything is compiled, and writes it afterwards."""

from __future__ import annotations

from pathlib import Path

import torch

from inductorscope.capturing.record.placing import LineRecord
from inductorscope.capturing.record.recording import Recording
from inductorscope.formats.capture_facts import LINE_RECORD, RecordFacts

KNOWN = ("2.11", "2.13")
"""Versions of torch whose generated code was compared with and without the record."""


class Installed:
    """A running record."""

    def __init__(self) -> None:
        self.recording = Recording()

    def write(self, out: Path) -> RecordFacts:
        """Writes the record of every compiled graph, and returns its facts."""
        if self.recording.failure is not None:
            return RecordFacts(made=False, reason=self.recording.failure)
        record, lost = self.recording.place()
        (out / LINE_RECORD).write_text(record.to_json(), encoding="utf-8")
        return RecordFacts(
            made=bool(record.graphs),
            reason=_reason(record, lost),
            lines=sum(len(graph.lines) for graph in record.graphs.values()),
            graphs=len(record.graphs),
        )


def install() -> Installed | RecordFacts:
    """Starts recording, or returns why that is impossible with this torch."""
    version = str(torch.__version__)
    if ".".join(version.split(".")[:2]) not in KNOWN:
        return RecordFacts(
            made=False,
            reason=f"The exact line record supports torch {' and '.join(KNOWN)}, not {version}.",
        )
    return Installed()


def _reason(record: LineRecord, lost: int) -> str:
    if not record.graphs:
        return "No kernel with recordable lines was generated."
    if lost:
        return f"{lost} recorded lines could not be located in the generated code."
    return ""
