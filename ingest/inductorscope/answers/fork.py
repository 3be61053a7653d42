"""A try of the playground: its code, its options and the graph that is shown; and a graph as a
program to edit there."""

import re
from typing import Any

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.answers.explorer.graph import ExplorerHead, ExplorerState, explorer_head
from inductorscope.answers.explorer.program import texts_with_nodes
from inductorscope.answers.missing import NotHere
from inductorscope.answers.parts import graph_of, run_graphs, run_of
from inductorscope.fields import Hidden
from inductorscope.formats.code.fork import line_of, program
from inductorscope.formats.vocabulary import CODE, FX_RUNNABLE, KERNEL, POST_GRAD, READABLE, SOURCE
from inductorscope.store.contents.texts import text_of
from inductorscope.store.tables.models import KEPT, TRY, Artifact, Run

LONGEST = 200_000
"""Characters of a program that the playground takes."""
_NODE = re.compile(r"\s*(\w+)(?:: | = )")


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
    return Fork(
        head=explorer_head(session, run_id, slug, ExplorerState([POST_GRAD, KERNEL])),
        code=code,
        line=line_of(code, node[1] if node else ""),
        device=device,
        uploaded=is_uploaded(run),
    )


def is_uploaded(run: Run) -> bool:
    """Whether its code was written elsewhere."""
    return run.origin not in ("capture", TRY)


def try_of(session: Session, run_id: str, slug: str) -> Try:
    """Returns the try. Raises NotHere if the run is not a try."""
    run = run_of(session, run_id)
    if run.origin != TRY:
        raise NotHere(f"The run {run_id} was not made in the playground.", "Open it as a run.")
    slug = slug or run_graphs(session, run_id).slowest or ""
    head = explorer_head(session, run_id, slug, ExplorerState([POST_GRAD, KERNEL]))
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
