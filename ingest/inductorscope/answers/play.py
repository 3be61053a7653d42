"""A try of the playground: its code, its options and the graph that is shown."""

from typing import Any

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.answers.explorer.graph import ExplorerHead, ExplorerState, explorer_head
from inductorscope.answers.missing import NotHere
from inductorscope.answers.parts import run_graphs, run_of
from inductorscope.fields import Hidden
from inductorscope.formats.vocabulary import KERNEL, POST_GRAD, SOURCE
from inductorscope.store.contents.texts import text_of
from inductorscope.store.tables.models import KEPT, TRY, Artifact


class Try(msgspec.Struct, frozen=True):
    """One try."""

    head: ExplorerHead
    """Its run, and the graph that is shown."""
    code: str
    file: str
    """Path of the code, as the links name it."""
    tags: list[str]
    kept: Hidden[bool]
    options: dict[str, Any]
    """The options that were chosen: device, mode, dtype, dynamic, config."""


def try_of(session: Session, run_id: str, slug: str) -> Try:
    """Returns the try. Raises NotHere if the run is not a try."""
    run = run_of(session, run_id)
    if run.origin != TRY:
        raise NotHere(f"The run {run_id} was not made in the playground.", "Open it as a run.")
    slug = slug or run_graphs(session, run_id).slowest or ""
    head = explorer_head(
        session, run_id, slug, ExplorerState([POST_GRAD, KERNEL], sel="", kernel="", file="")
    )
    source = session.scalars(
        select(Artifact).where(
            Artifact.run_id == run_id, Artifact.role == SOURCE, Artifact.derived.is_(False)
        )
    ).first()
    options = run.environment.get("options", {})
    return Try(
        head=head,
        code="" if source is None else text_of(session, source.digest),
        file="" if source is None else source.path,
        tags=[str(tag) for tag in run.tags],
        kept=KEPT in run.tags,
        options={name: options.get(name) for name in ("device", "mode", "dtype", "dynamic")}
        | {"config": options.get("config") or {}},
    )
