"""The texts of a graph that have its nodes as a program."""

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from inductorscope.formats.vocabulary import FX_RUNNABLE, POST_GRAD, READABLE
from inductorscope.store.contents.texts import text_of
from inductorscope.store.tables.models import Artifact

LONGEST_TEXT = 4_000_000


def texts_with_nodes(session: Session, graph: int, *more: str) -> dict[str, str]:
    """Returns the texts by role; `more`: further roles to read."""
    return {
        role: text_of(session, digest) for role, digest in session.execute(_files(graph, *more))
    }


def is_forkable(session: Session, graph: int) -> bool:
    """Whether a file of the graph has its nodes; unread, as this is asked for each explorer."""
    return session.execute(_files(graph).limit(1)).first() is not None


def _files(graph: int, *more: str) -> Select[str, str]:
    return select(Artifact.role, Artifact.digest).where(
        Artifact.graph_id == graph,
        Artifact.role.in_((READABLE, POST_GRAD, FX_RUNNABLE, *more)),
        Artifact.size < LONGEST_TEXT,
    )
