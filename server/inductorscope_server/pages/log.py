"""The log page: records of a run's TORCH_TRACE logs by kind, by compile and one by one."""

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
    int, Query(description="`next_cursor` of the previous page; 0 for the first.", ge=0, le=LARGEST)
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
    """Kinds, compiles and matching records, paged, in the order of the log."""
    chosen = Chosen(log, compile.strip(), kind, int(rank) if rank else None)
    return log_page(session, run, chosen, cursor)
