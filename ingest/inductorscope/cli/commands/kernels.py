"""`inductorscope kernels`: the kernels of a profiler trace, as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from inductorscope.cli.app import app, fail, print_json
from inductorscope.errors import REFUSED


@app.command()
def kernels(
    trace: Annotated[
        Path, typer.Argument(help="A Chrome trace of torch.profiler, plain, .gz or .zst.")
    ],
) -> None:
    """Print the kernels of a profiler trace with their times and kinds, as JSON.

    Times are µs over the whole trace. Launches do not count as kernels; `repairs` lists what was
    wrong with the file. If the trace has no device work, the entries are operators and compiled
    kernels on the CPU, each without the time of what it calls. Needs no database and no torch.
    """
    from inductorscope.analyze.time.breakdown import break_down
    from inductorscope.analyze.time.summary import summary_of
    from inductorscope.formats.trace.kineto import read_chrome_trace
    from inductorscope.processes.allocation import return_large_blocks

    return_large_blocks()
    try:
        read = read_chrome_trace(trace)
    except OSError as error:
        fail(f"{trace} cannot be read: {error.strerror or error}.", REFUSED)
    if not read.events:
        why = "; ".join(repair.reason for repair in read.repairs) or "its list of events is empty"
        fail(f"{trace} holds no profiler events: {why}.", REFUSED)
    print_json(summary_of(read, break_down(read)), indent=1)
