"""Installs the hooks of a record before anything is compiled, and writes it afterwards."""

from pathlib import Path

import torch

from inductorscope.capturing.record.kernels import Definitions, follow_kernels
from inductorscope.capturing.record.lines import Texts, follow_lines
from inductorscope.capturing.record.origins import Recorder
from inductorscope.capturing.record.owners import follow_owners
from inductorscope.capturing.record.placing import LineRecord, place_lines
from inductorscope.capturing.record.rewritten import follow_rewritten
from inductorscope.formats.capture_facts import LINE_RECORD, RecordFacts

KNOWN = ("2.11", "2.12", "2.13", "2.14", "2.15")
"""Versions of torch whose generated code was compared with and without the record."""


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

    def forget(self) -> None:
        """Discards the record and restarts with the next graph."""
        self.definitions.by_folder.clear()

    def write(self, out: Path) -> RecordFacts:
        """Writes the record of every compiled graph, and returns its facts."""
        if self.recorder.failure is not None:
            return RecordFacts(made=False, reason=self.recorder.failure)
        record, lost = place_lines(self.definitions)
        (out / LINE_RECORD).write_text(record.to_json(), encoding="utf-8")
        return RecordFacts(
            made=bool(record.graphs),
            reason=_reason(record, lost),
            lines=sum(len(graph.lines) for graph in record.graphs.values()),
            graphs=len(record.graphs),
        )


def install() -> Recording | RecordFacts:
    """Starts recording, or returns why that is impossible with this torch."""
    version = str(torch.__version__)
    if ".".join(version.split(".")[:2]) not in KNOWN:
        return RecordFacts(
            made=False,
            reason=f"Exact lines are recorded with torch {KNOWN[0]} to {KNOWN[-1]}, not {version}.",
        )
    return Recording()


def _reason(record: LineRecord, lost: int) -> str:
    if not record.graphs:
        return "No kernel with recordable lines was generated."
    if lost:
        return f"{lost} recorded lines could not be located in the generated code."
    return ""
