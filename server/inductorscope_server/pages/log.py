"""Log: what the TORCH_TRACE logs of a run hold, by kind, by compile and record by record."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from inductorscope.answers.logs.log import Chosen, LogPage, log_page

from inductorscope_server.web.ids import LARGEST, PLAIN, RunId
from inductorscope_server.web.parts import Reading

Log = Annotated[str, Query(description="Path of a log.", max_length=4096, pattern=PLAIN)]
CompileId = Annotated[
    str, Query(description="Such as `0/1`; `-` for none.", max_length=200, pattern=PLAIN)
]
Kind = Annotated[
    str, Query(description="Kind, or `artifact:NAME`.", max_length=1000, pattern=PLAIN)
]
Rank = Annotated[str, Query(description="Rank of the process.", pattern="^[0-9]{0,9}$")]
After = Annotated[
    int, Query(description="`next_cursor` of the page before; 0 for the first.", ge=0, le=LARGEST)
]


def load(
    session: Reading,
    run: RunId,
    log: Log = "",
    compile: CompileId = "",
    kind: Kind = "",
    rank: Rank = "",
    cursor: After = 0,
) -> LogPage:
    """Kinds and compiles, and the records that match, a page at a time in the log's order."""
    chosen = Chosen(log, compile.strip(), kind, int(rank) if rank else None)
    return log_page(session, run, chosen, cursor)
