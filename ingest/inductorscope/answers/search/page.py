"""The search page: matching lines of code, kernels and runs."""

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.answers.parts import RunName
from inductorscope.answers.runs.runs import OF_ROWS, RunRow, run_rows
from inductorscope.answers.search.names import KernelHit, Named, named
from inductorscope.answers.search.runs import ALL_RUNS, Narrowed
from inductorscope.answers.search.search import MatchingText, Scope, search_code, too_short
from inductorscope.fields import Hidden, view
from inductorscope.formats.vocabulary import ROLE_TITLES, SEARCHED
from inductorscope.store.tables.models import Artifact, Run

SHOWN_RUNS = 5
SHOWN_KERNELS = 10


class RoleChoice(msgspec.Struct, frozen=True):
    """A kind of text to search in."""

    role: str
    title: str


class FileName(msgspec.Struct, frozen=True):
    """The one stored file that is searched."""

    artifact: Hidden[int]
    path: str
    run: RunName


class SearchPage(msgspec.Struct, frozen=True):
    """Search `/search`. `q`, `run`, `role`, `file` and `narrowed` repeat the request."""

    q: str
    too_short: bool
    """Whether `q` has too few letters and digits to search for."""
    run: RunName | None
    narrowed: Narrowed
    role: str
    file: FileName | None
    roles: Hidden[list[RoleChoice]]
    runs: list[RunRow]
    """Runs with all words in their name, tags, version, device, graphs or kernels."""
    more_runs: bool
    kernels: list[KernelHit]
    more_kernels: bool
    texts: list[MatchingText]
    exact: bool
    """False if no line contains `q` literally: then the lines contain all its words."""
    line_count: int
    looked_at: int
    """Number of texts read for this page."""
    next_cursor: Hidden[str | None]
    """Pass it as `cursor` for more; None when everything was searched."""
    any_runs: Hidden[bool]


def search_page(
    session: Session, q: str, narrowed: Narrowed = ALL_RUNS, role: str = "", file: int = 0,
    cursor: str = "",
) -> SearchPage:  # fmt: skip
    """The search page; `role` and `file` narrow the search too, empty and 0 do not."""
    q = q.strip()
    matches = search_code(session, q, Scope(narrowed, role, file or None), cursor or None)
    found = Named([], [], False)
    if q and not cursor and not file:
        found = named(session, q, narrowed, SHOWN_KERNELS)
    runs = [] if narrowed.run else found.runs[: SHOWN_RUNS + 1]
    return view(
        SearchPage,
        matches,
        found,
        q=q,
        too_short=too_short(q),
        run=_run(session, narrowed.run),
        narrowed=narrowed,
        role=role,
        file=_file(session, file),
        roles=[RoleChoice(role, ROLE_TITLES[role]) for role in SEARCHED],
        runs=_rows(session, runs[:SHOWN_RUNS]),
        more_runs=len(runs) > SHOWN_RUNS,
        line_count=sum(len(text.hits) for text in matches.texts),
        any_runs=session.scalar(select(Run.id).limit(1)) is not None,
    )


def _rows(session: Session, runs: list[str]) -> list[RunRow]:
    found = session.scalars(select(Run).options(*OF_ROWS).where(Run.id.in_(runs)))
    return run_rows(session, sorted(found, key=lambda run: runs.index(run.id)))


def _run(session: Session, run: str) -> RunName | None:
    row = session.get(Run, run) if run else None
    return None if row is None else RunName(row.id, row.name)


def _file(session: Session, artifact: int) -> FileName | None:
    query = select(Artifact.path, Run.id, Run.name).join(Run, Run.id == Artifact.run_id)
    row = session.execute(query.where(Artifact.id == artifact)).one_or_none()
    return None if row is None else FileName(artifact, row.path, RunName(row.id, row.name))
