"""Counts what compiling produced, in figures that are the same in every process. Torch-free."""

from __future__ import annotations

from pathlib import Path

from inductorscope.analyze.compile.breaks import break_places
from inductorscope.analyze.compile.gather import StoryGatherer
from inductorscope.analyze.compile.recompiles import histories
from inductorscope.capturing.inside.environment import DEBUG_FOLDER, TRACE_FOLDER
from inductorscope.formats.code.output_code import parse_output_code
from inductorscope.formats.log.trace_log import read_trace_log


def counts(out: Path) -> dict[str, int]:
    """Returns a capture's numbers of generated kernels, graphs, graph breaks and recompiles."""
    codes = [
        parse_output_code(file.read_text(encoding="utf-8", errors="replace"))
        for file in (out / DEBUG_FOLDER).glob("**/output_code.py")
    ]
    gatherer = StoryGatherer()
    for file in sorted((out / TRACE_FOLDER).glob("*.log")):
        log = gatherer.log(file.name, None)
        with file.open("rb") as stream:
            read = read_trace_log(stream)
            for record in read:
                log.add(record)
            log.finish(read.strings)
    story, _ = gatherer.finish()
    return {
        "kernels": sum(len(code.kernels) for code in codes),
        "graphs": len(codes),
        "breaks": len(break_places(story)),
        "recompiles": sum(history.recompiles for history in histories(story)),
    }
