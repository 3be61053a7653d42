"""Reads what TORCH_LOGS texts say about fusing and speed, for the story; `logs` reads their
records."""

from functools import partial
from typing import BinaryIO

from inductorscope.analyze.compile.model import Spoken, Story
from inductorscope.formats.log.text_log import Process, lines_of
from inductorscope.formats.log.torch_logs import TorchLogs
from inductorscope.formats.unpacking import open_plain
from inductorscope.reading.notes import Notes


def read_torch_log(
    path: str, raw: BinaryIO, story: Story, notes: Notes, max_bytes: int | None = None
) -> list[Process]:
    """Adds one text to the story; returns the processes with messages that become records."""
    log = TorchLogs()
    for line, _ in lines_of(open_plain(raw), partial(notes.add, path), max_bytes):
        log.add(line)
    if log.beyond:
        notes.add(path, "fusions, nodes and hints beyond the first 50,000", log.beyond)
    if log.tables.beyond:
        notes.add(path, "autotunings or candidates beyond the most", log.tables.beyond)
    if log.beyond_processes:
        notes.add(path, "messages of processes beyond the first 256", log.beyond_processes)
    if log.nodes or log.fusions or log.hints or log.tables.tables or not log.processes:
        story.spoken.append(
            Spoken(
                path,
                log.lines,
                nodes=list(log.nodes.values()),
                fusions=list(log.fusions.values()),
                hints=list(log.hints.values()),
                tables=log.tables.tables,
            )
        )
    return list(log.processes)
