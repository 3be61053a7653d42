"""Projects and their members; who sees a run, and the link that shares it."""

from datetime import UTC, datetime
from typing import Annotated

import msgspec
from fastapi import APIRouter, Form, Path
from inductorscope import urls
from inductorscope.answers.missing import NotHere
from inductorscope.answers.parts import RunName, run_of
from inductorscope.store import projects
from inductorscope.store.people import person_named
from inductorscope.store.projects import projects_of
from inductorscope.store.tables.people import Member, Person, Place, Project, Share
from inductorscope.store.who import ADMINISTER, READ, UPLOAD
from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from inductorscope_server.access.identity import LINKS_COOKIE, MOST_LINKS
from inductorscope_server.access.rules import ADMINISTERS, CHANGES, OPEN, needs, who_of
from inductorscope_server.web.ids import LARGEST, Line, RunId
from inductorscope_server.web.parts import Reading, Shared

html = APIRouter()
api = APIRouter()

ProjectId = Annotated[int, Path(ge=1, le=LARGEST)]
PersonId = Annotated[int, Path(ge=1, le=LARGEST)]
Key = Annotated[str, Path(pattern="^[A-Za-z0-9_-]{43}$")]
SHARES = needs(READ, UPLOAD, own=True, noted="share")
LINKS_LAST = 30 * 24 * 3600


class MemberRow(msgspec.Struct, frozen=True):
    """A member of a project."""

    id: int
    name: str
    role: str


class ProjectRow(msgspec.Struct, frozen=True):
    """A project."""

    id: int
    name: str
    runs: int
    members: list[MemberRow]


class ProjectsPage(msgspec.Struct, frozen=True):
    """Projects `/projects`: the viewer's, or all for an administrator."""

    projects: list[ProjectRow]
    people: list[str]
    """Names of people to add, for an administrator."""


class PlaceRow(msgspec.Struct, frozen=True):
    """A place of a run: with a person alone, or in a project."""

    person: str | None
    """The person who put it there."""
    project: str | None
    """None for a private place."""


class AccessPage(msgspec.Struct, frozen=True):
    """Who sees a run `/runs/{run}/access`."""

    run: RunName
    places: list[PlaceRow]
    projects: list[str]
    """Projects to move it to."""
    link: str | None
    """Path of the link that shows the run to anyone."""


def load(request: Request, session: Reading) -> ProjectsPage:
    """Projects with their members and the number of their runs."""
    who = who_of(request)
    counted = select(Place.project_id, func.count()).group_by(Place.project_id)
    runs = dict(session.execute(counted).all())
    return ProjectsPage(
        [
            ProjectRow(listed.id, listed.name, runs.get(listed.id, 0), _members(session, listed.id))
            for listed in projects_of(session, who)
        ],
        list(session.scalars(select(Person.name).order_by(Person.name)))
        if who.may(ADMINISTER)
        else [],
    )


def _members(session: Session, project: int) -> list[MemberRow]:
    query = select(Person).join(Member, Member.person_id == Person.id).order_by(Person.name)
    people = session.scalars(query.where(Member.project_id == project))
    return [MemberRow(person.id, person.name, person.role) for person in people]


def load_access(request: Request, session: Reading, run: RunId) -> AccessPage:
    """Who sees the run. Only for people who put it here, and administrators."""
    found = run_of(session, run)
    query = (
        select(Person.name, Project.name)
        .select_from(Place)
        .outerjoin(Person, Person.id == Place.person_id)
        .outerjoin(Project, Project.id == Place.project_id)
        .where(Place.run_id == run)
    )
    key = session.scalar(select(Share.key).where(Share.run_id == run))
    return AccessPage(
        RunName(found.id, found.name),
        [PlaceRow(person, project) for person, project in session.execute(query)],
        [project.name for project in projects_of(session, who_of(request))],
        None if key is None else urls.shared(key),
    )


@html.post("/projects", dependencies=[ADMINISTERS])
def add(parts: Shared, name: Annotated[Line, Form()]) -> Response:
    with parts.write.begin() as session:
        projects.add_project(session, name.strip(), datetime.now(UTC))
    return RedirectResponse(urls.projects(), 303)


@html.post("/projects/{project}/members", dependencies=[ADMINISTERS])
def add_member(parts: Shared, project: ProjectId, name: Annotated[Line, Form()]) -> Response:
    with parts.write.begin() as session:
        if session.get(Project, project) is None:
            raise NotHere("There is no such project.")
        projects.add_member(session, project, person_named(session, name).id)
    return RedirectResponse(urls.projects(), 303)


@html.post("/projects/{project}/members/{person}/remove", dependencies=[ADMINISTERS])
def remove_member(parts: Shared, project: ProjectId, person: PersonId) -> Response:
    with parts.write.begin() as session:
        projects.remove_member(session, project, person)
    return RedirectResponse(urls.projects(), 303)


@html.post("/runs/{run}/access", dependencies=[CHANGES])
def move(
    request: Request, parts: Shared, run: RunId, project: Annotated[Line, Form()] = ""
) -> Response:
    """Moves the run to a project, or to the viewer alone."""
    who = who_of(request)
    with parts.write.begin() as session:
        projects.move_run(session, run, who, projects.project_for(session, who, project))
    return RedirectResponse(urls.run_page(run, "access"), 303)


@html.post("/runs/{run}/link", dependencies=[SHARES])
def share(parts: Shared, run: RunId) -> Response:
    """Makes the link that shows the run to anyone."""
    with parts.write.begin() as session:
        projects.share_run(session, run, datetime.now(UTC))
    return RedirectResponse(urls.run_page(run, "access"), 303)


@html.post("/runs/{run}/link/withdraw", dependencies=[SHARES])
def unshare(parts: Shared, run: RunId) -> Response:
    """Withdraws the link."""
    with parts.write.begin() as session:
        session.execute(delete(Share).where(Share.run_id == run))
    return RedirectResponse(urls.run_page(run, "access"), 303)


@html.get("/shared/{key}", dependencies=[OPEN])
def shared(request: Request, parts: Shared, session: Reading, key: Key) -> Response:
    """Redirects to the run that the link shows; a cookie keeps the link's key for the run's other
    pages."""
    run = session.scalar(select(Share.run_id).where(Share.key == key))
    if run is None:
        raise NotHere("This link shows nothing here.", "It may have been withdrawn.")
    sent = request.cookies.get(LINKS_COOKIE, "").split(".")
    kept = [word for word in sent if word not in ("", key)]
    answer = RedirectResponse(urls.run(run), 303, headers={"Cache-Control": "no-store"})
    answer.set_cookie(
        LINKS_COOKIE,
        ".".join([key, *kept][:MOST_LINKS]),
        max_age=LINKS_LAST,
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https",
    )
    return answer
