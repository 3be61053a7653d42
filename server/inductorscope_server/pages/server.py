"""The server's own page: what is stored, the trash, rules for runs, and jobs by state."""

from contextvars import Context
from functools import partial
from typing import Annotated

import msgspec
from fastapi import APIRouter, Form, Path
from inductorscope import urls
from inductorscope.answers.installation import Installation, installation
from inductorscope.jobs.rules import in_words
from inductorscope.store.runs import rules as stored_rules
from inductorscope.store.tables.models import Run
from inductorscope.store.tables.people import Project, Rule
from inductorscope.store.trash import WITH_TRASH, Trash
from inductorscope.store.who import OWNER, READ, UPLOAD, VIEWER
from sqlalchemy import delete, func, select
from starlette.concurrency import run_in_threadpool
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from inductorscope_server.access.rules import ADMINISTERS, READS, needs
from inductorscope_server.web import metrics, openapi
from inductorscope_server.web.ids import LARGEST, Line, RunId
from inductorscope_server.web.parts import Parts, Shared

html = APIRouter()
api = APIRouter(tags=[openapi.SERVER])

COUNT_SECONDS = 60.0
"""Time limit of counting."""
RESTORES = needs(READ, UPLOAD, own=True, noted="restore")
Whole = Annotated[int | None, Form(ge=1, le=LARGEST)]


class RuleLine(msgspec.Struct, frozen=True):
    """A rule as a sentence."""

    id: int
    text: str


class ServerPage(msgspec.Struct, frozen=True):
    """The server's page, `/server`."""

    stored: Installation
    """Counted within the last minute."""
    trash: Trash
    rules: list[RuleLine]
    projects: list[str]
    """Projects that a rule can be for."""
    living_workers: int


async def load(parts: Shared) -> ServerPage:
    """What is stored and who uses it, the trash, the rules for runs, and the jobs by state."""
    stored = await _stored(parts)
    return await run_in_threadpool(_page, parts, stored)


def _page(parts: Parts, stored: Installation) -> ServerPage:
    with parts.read() as session:
        rules = session.scalars(select(Rule).order_by(Rule.id)).all()
        projects = session.scalars(select(Project.name).order_by(Project.name)).all()
    return ServerPage(
        stored=stored,
        trash=parts.jobs.trash(),
        rules=[RuleLine(rule.id, in_words(rule)) for rule in rules],
        projects=list(projects),
        living_workers=_living(parts),
    )


async def _stored(parts: Parts) -> Installation:
    # Without the viewer, because these figures cover all runs.
    work = partial(Context().run, _count, parts)
    found: Installation = await parts.stored.result(work, COUNT_SECONDS)
    return found


def _count(parts: Parts) -> Installation:
    VIEWER.set(OWNER)
    with parts.read() as session:
        return installation(session, parts.settings)


def _living(parts: Parts) -> int:
    return sum(worker.alive for worker in parts.jobs.workers())


@html.get("/metrics", dependencies=[READS])
async def show_metrics(parts: Shared) -> Response:
    """Metrics for Prometheus: this process's requests, and what is stored."""
    stored = await _stored(parts)
    text = await run_in_threadpool(_metrics, parts, stored)
    return PlainTextResponse(parts.requests.text() + text, media_type=metrics.CONTENT_TYPE)


def _metrics(parts: Parts, stored: Installation) -> str:
    trashed = select(func.count()).select_from(Run).where(Run.trashed_at.is_not(None))
    with parts.read() as session:
        trash = session.scalar(trashed, execution_options=WITH_TRASH) or 0
    return metrics.metrics(stored, _living(parts), trash)


@html.post("/server/trash/{trashed}/restore", dependencies=[RESTORES])
def restore(parts: Shared, trashed: RunId) -> Response:
    """Takes a run out of the trash and shows it."""
    parts.jobs.restore_run(trashed)
    return RedirectResponse(urls.run(trashed), 303)


@html.post("/server/trash/{trashed}/delete", dependencies=[ADMINISTERS])
def delete_for_good(parts: Shared, trashed: RunId) -> Response:
    """Deletes a run for good."""
    parts.jobs.delete_run(trashed)
    return _back(parts)


@html.post("/server/trash/empty", dependencies=[ADMINISTERS])
def empty(parts: Shared) -> Response:
    """Deletes all runs in the trash for good."""
    parts.jobs.empty_trash()
    return _back(parts)


@html.post("/server/rules", dependencies=[ADMINISTERS])
def add_rule(
    parts: Shared,
    tag: Annotated[Line, Form()] = "",
    name: Annotated[Line, Form()] = "",
    project: Annotated[Line, Form()] = "",
    days: Whole = None,
    runs: Whole = None,
    gib: Annotated[float | None, Form(gt=0, le=2**20)] = None,
    person: Annotated[Line, Form()] = "",
    jobs: Whole = None,
    minutes: Whole = None,
) -> Response:
    """Adds a rule for runs or jobs."""
    rule = Rule(
        tag=tag or None, name=name or None, project=project or None, person=person or None,
        days=days, most_runs=runs, most_bytes=stored_rules.in_bytes(gib), most_jobs=jobs,
        most_minutes=minutes,
    )  # fmt: skip
    with parts.write.begin() as session:
        stored_rules.add_rule(session, rule)
    return _back(parts)


@html.post("/server/rules/{rule}/remove", dependencies=[ADMINISTERS])
def remove_rule(parts: Shared, rule: Annotated[int, Path(ge=1, le=LARGEST)]) -> Response:
    """Removes a rule."""
    with parts.write.begin() as session:
        session.execute(delete(Rule).where(Rule.id == rule))
    return _back(parts)


def _back(parts: Parts) -> Response:
    parts.stored.forget()
    return RedirectResponse(urls.server(), 303)
