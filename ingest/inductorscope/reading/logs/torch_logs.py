"""TORCH_LOGS texts of an upload: what the compiler said about fusing and speed, into the story."""

from __future__ import annotations

from typing import BinaryIO

from inductorscope.analyze.compile.model import Choice, Spoken, Story, TunedTable
from inductorscope.formats.log.torch_logs import TorchLogs
from inductorscope.formats.unpacking import DamagedError, open_plain
from inductorscope.formats.vocabulary import TORCH_LOGS
from inductorscope.intake.files import File
from inductorscope.reading.notes import Notes

LONGEST = 1024 * 1024
"""Bytes of a line; what is longer goes on as another line."""


def read_torch_logs(files: list[File], story: Story, notes: Notes) -> bool:
    """Whether there was one."""
    logs = [file for file in files if file.role == TORCH_LOGS]
    for file in logs:
        with file.absolute.open("rb") as raw:
            read_torch_log(file.path, raw, story, notes)
    return bool(logs)


def read_torch_log(path: str, raw: BinaryIO, story: Story, notes: Notes) -> None:
    """Adds one text to the story."""
    log = TorchLogs()
    rest = b""
    try:
        plain = open_plain(raw)
        while block := plain.read(LONGEST):
            *lines, rest = (rest + block).split(b"\n")
            for line in lines:
                log.add(line.decode("utf-8", "replace").rstrip("\r"))
            if len(rest) > LONGEST:
                log.add(rest.decode("utf-8", "replace"))
                rest = b""
    except (DamagedError, OSError, EOFError) as error:
        notes.add(path, f"the log ends early: {error}")
    if rest:
        log.add(rest.decode("utf-8", "replace"))
    if log.beyond:
        notes.add(path, "fusions, nodes and hints beyond the first 50,000", log.beyond)
    if log.tables.beyond:
        notes.add(path, "autotunings or candidates beyond the most", log.tables.beyond)
    story.spoken.append(_spoken(path, log))


def _spoken(path: str, log: TorchLogs) -> Spoken:
    return Spoken(
        path,
        log.lines,
        list(log.nodes.values()),
        list(log.fusions.values()),
        list(log.hints.values()),
        [
            TunedTable(
                one.compile_id,
                one.line,
                one.op,
                one.shapes,
                one.strides,
                one.dtypes,
                one.seconds,
                one.precompile_seconds,
                one.choices or len(one.candidates),
                [
                    Choice(each.name, None if each.ms is None else each.ms * 1000, each.what)
                    for each in one.candidates
                ],
            )
            for one in log.tables.tables
        ],
    )
