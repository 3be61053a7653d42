"""The search page: matching lines of code, kernels and runs."""

from collections.abc import Sequence

import msgspec
from sqlalchemy import func, select, true
from sqlalchemy.orm import Session

from inductorscope import urls
from inductorscope.answers.parts import DEAREST_CALL, KernelName, RunName
from inductorscope.answers.runs.runs import OF_ROWS, RunRow, run_rows
from inductorscope.answers.search.runs import ALL_RUNS, Narrowed, with_words
from inductorscope.answers.search.search import MatchingText, Scope, search_code, too_short
from inductorscope.fields import Hidden, view
from inductorscope.formats.vocabulary import ROLE_TITLES, SEARCHED
from inductorscope.store.tables.models import UNLISTED, Artifact, Graph, Kernel, Run

SHOWN = 12
MOST_RUNS = 100
"""The newest runs with all words, whose kernels are searched."""
AT_ONCE = 20
"""Runs whose kernels one query searches."""
SHOWN_RUNS = 5
SHOWN_KERNELS = 10


class KernelHit(KernelName, frozen=True):
    """A kernel whose name contains all words, in the newest run that has it."""

    run: RunName
    time_us: float | None
    url: Hidden[str | None]
    """URL of its page; None for a kernel without calls."""


class Named(msgspec.Struct, frozen=True):
    """Runs and kernels with all words."""

    runs: list[str]
    """Their ids, without tries of the playground."""
    kernels: list[KernelHit]
    more_kernels: bool
    """Whether there are more, or older runs may have some."""


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


def named(session: Session, q: str, narrowed: Narrowed, limit: int = SHOWN) -> Named:
    """Returns the newest runs with all words, and up to `limit` different kernels of these with all
    words in their name, the slowest of a run first."""
    runs = session.execute(
        select(Run.id, Run.origin)
        .where(*narrowed.conditions(), true() if narrowed.run else with_words(session, q))
        .order_by(Run.created_at.desc(), Run.id)
        .limit(MOST_RUNS + 1)
    ).all()
    ids = [run.id for run in runs]
    found: dict[object, KernelHit] = {}
    for start in range(0, MOST_RUNS, AT_ONCE):
        if len(found) <= limit and (some := ids[start : start + AT_ONCE]):
            _add_kernels(session, q, some, found, limit)
    return Named(
        [run.id for run in runs if run.origin not in UNLISTED],
        list(found.values())[:limit],
        len(found) > limit or len(ids) > MOST_RUNS,
    )


def _add_kernels(
    session: Session, q: str, runs: Sequence[str], found: dict[object, KernelHit], limit: int
) -> None:
    """Adds kernels of runs until there is one too many. The same kernel counts once."""
    query = (
        select(Kernel, Graph.slug, Run.id, Run.name, DEAREST_CALL)
        .join(Graph, Graph.id == Kernel.graph_id)
        .join(Run, Run.id == Graph.run_id)
        .where(Run.id.in_(runs))
        .order_by(
            Run.created_at.desc(),
            Run.id,
            Kernel.time_us.is_(None),
            Kernel.time_us.desc(),
            Kernel.id,
        )
    )
    for word in q.lower().split():
        query = query.where(func.lower(Kernel.name).contains(word, autoescape=True))
    for kernel, slug, run, name, first in session.execute(query.execution_options(yield_per=50)):
        same = kernel.id if kernel.digest is None else (kernel.name, kernel.digest)
        if same in found:
            continue
        if len(found) > limit:
            break
        found[same] = view(
            KernelHit,
            kernel,
            run=RunName(run, name),
            graph=slug,
            handle=first,
            url=None if first is None else urls.kernel(run, slug, kernel.name, first),
        )
