"""A graph as a program to edit in the playground."""

import re

import msgspec
from sqlalchemy.orm import Session

from inductorscope.answers.explorer.graph import ExplorerHead, ExplorerState, explorer_head
from inductorscope.answers.explorer.program import texts_with_nodes
from inductorscope.answers.missing import NotHere
from inductorscope.answers.parts import graph_of, run_of
from inductorscope.fields import Hidden
from inductorscope.formats.code.fork import line_of, program
from inductorscope.formats.vocabulary import CODE, FX_RUNNABLE, KERNEL, POST_GRAD, READABLE
from inductorscope.store.tables.models import TRY, Run

LONGEST = 200_000
"""Characters of a program that the playground takes."""
_NODE = re.compile(r"\s*(\w+)(?:: | = )")


class Fork(msgspec.Struct, frozen=True):
    """A graph's own program."""

    head: ExplorerHead
    """Its run, and the graph."""
    code: str
    line: int
    """Of the node that was selected."""
    device: Hidden[str]
    uploaded: bool
    """Whether others wrote it, so that each person is asked before it runs."""


def fork_of(session: Session, run_id: str, slug: str, line: int) -> Fork:
    """Returns the program; `line`: a line of the graph after its passes. Raises NotHere if the
    graph's files have no nodes, or too many."""
    run, graph = run_of(session, run_id), graph_of(session, run_id, slug)
    texts = texts_with_nodes(session, graph.id, CODE)
    passed = texts.get(POST_GRAD, "")
    code = program(
        f"Fork of {graph.name} of {run.name}", texts.get(READABLE) or passed,
        texts.get(FX_RUNNABLE, ""), texts.get(CODE, ""),
    )  # fmt: skip
    if not code:
        raise NotHere(
            f"The files of {slug} do not contain its nodes as a program.",
            "Upload its fx_graph_readable.py or fx_graph_runnable.py with it.",
        )
    if len(code) > LONGEST:
        raise NotHere(
            f"The program of {slug} has {len(code):,} characters; the playground takes up to "
            f"{LONGEST:,}.",
            "Download its fx_graph_runnable.py.",
        )
    lines = passed.split("\n")
    node = _NODE.match(lines[line - 1]) if 0 < line <= len(lines) else None
    device = "cuda" if run.device_kind == "cuda" else "cpu"
    state = ExplorerState([POST_GRAD, KERNEL], sel="", kernel="", file="")
    return Fork(
        head=explorer_head(session, run_id, slug, state),
        code=code,
        line=line_of(code, node[1] if node else ""),
        device=device,
        uploaded=is_uploaded(run),
    )


def is_uploaded(run: Run) -> bool:
    """Whether its code was written elsewhere."""
    return run.origin not in ("capture", TRY)
