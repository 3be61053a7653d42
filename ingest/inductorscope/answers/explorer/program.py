"""The texts of a graph that have its nodes as a program."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.formats.code.fork import program
from inductorscope.formats.vocabulary import FX_RUNNABLE, POST_GRAD, READABLE
from inductorscope.store.contents.texts import read_blob
from inductorscope.store.tables.models import Artifact

LONGEST_TEXT = 4_000_000


def texts_with_nodes(session: Session, graph: int, *more: str) -> dict[str, str]:
    """Returns the texts by role; `more`: further roles to read."""
    query = select(Artifact.role, Artifact.digest).where(
        Artifact.graph_id == graph,
        Artifact.role.in_((READABLE, POST_GRAD, FX_RUNNABLE, *more)),
        Artifact.size < LONGEST_TEXT,
    )
    return {
        role: (read_blob(session, digest) or b"").decode("utf-8", "replace")
        for role, digest in session.execute(query)
    }


def is_forkable(session: Session, graph: int) -> bool:
    """Whether a text of the graph has its nodes as a program."""
    texts = texts_with_nodes(session, graph)
    nodes = texts.get(READABLE) or texts.get(POST_GRAD, "")
    return bool(program("", nodes, texts.get(FX_RUNNABLE, ""), ""))
