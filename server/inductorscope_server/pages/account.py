"""The account page: the viewer's logins and tokens."""

from datetime import UTC, datetime
from typing import Annotated

import msgspec
from fastapi import APIRouter, Form, Path
from inductorscope import urls
from inductorscope.fields import view
from inductorscope.store.logins import login_id
from inductorscope.store.people import add_token
from inductorscope.store.projects import project_for, projects_of
from inductorscope.store.tables.people import Login, Person, Project, Token
from inductorscope.store.trash import Trash, in_trash
from inductorscope.store.who import SCOPES, Who
from sqlalchemy import ColumnElement, Delete, delete, false, select
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from inductorscope_server.access.login import NO_STORE
from inductorscope_server.access.rules import READS, needs, note, who_of
from inductorscope_server.access.token import COOKIE
from inductorscope_server.web.errors import Refusal
from inductorscope_server.web.ids import LARGEST, Line
from inductorscope_server.web.parts import Parts, Reading, Shared

html = APIRouter(dependencies=[READS])
api = APIRouter()

LONGEST_DAYS = 3650
LoginId = Annotated[str, Path(pattern="^[0-9a-f]{16}$")]
TokenId = Annotated[int, Path(ge=1, le=LARGEST)]


class LoginRow(msgspec.Struct, frozen=True):
    """A browser that is logged in."""

    id: str
    created_at: datetime
    expires_at: datetime
    agent: str | None
    """What the browser calls itself."""
    this: bool
    """Whether it is the browser that sent this request."""


class TokenRow(msgspec.Struct, frozen=True):
    """A named token. The token itself is not stored."""

    id: int
    name: str
    scopes: list[str]
    project: str | None
    created_at: datetime
    expires_at: datetime | None
    expired: bool
    used_at: datetime | None


class AccountPage(msgspec.Struct, frozen=True):
    """The viewer's account, `/account`."""

    name: str
    role: str | None
    """None for a viewer with the server's token."""
    accounts: bool
    """Whether the server has accounts. Otherwise its token, if any, gives access to everything."""
    logins: list[LoginRow]
    tokens: list[TokenRow]
    scopes: list[str]
    """Scopes that a new token can have."""
    projects: list[str]
    """Projects that a new token can be for."""
    trash: Trash
    """The runs that the viewer deleted."""


def load(request: Request, parts: Shared, session: Reading) -> AccountPage:
    """Browsers that are logged in, and tokens of programs."""
    who, now = who_of(request), datetime.now(UTC)
    person = None if who.person is None else session.get(Person, who.person)
    this = login_id(request.cookies.get(COOKIE, ""), parts.settings.token)
    logins = session.scalars(
        select(Login)
        .where(_of(who, Login), Login.expires_at > now)
        .order_by(Login.created_at.desc())
    )
    tokens = session.execute(
        select(Token, Project.name)
        .outerjoin(Project, Project.id == Token.project_id)
        .where(_of(who, Token))
        .order_by(Token.created_at.desc())
    )
    return AccountPage(
        name=who.name,
        role=None if person is None else person.role,
        accounts=parts.settings.has_accounts,
        logins=[
            LoginRow(login.digest[:16], login.created_at, login.expires_at, login.agent,
                     login.digest[:16] == this)
            for login in logins
        ],
        tokens=[
            view(TokenRow, token, scopes=list(token.scopes), project=project,
                 expired=token.expires_at is not None and token.expires_at <= now)
            for token, project in tokens
        ],
        scopes=[scope for scope in SCOPES if who.may(scope)],
        projects=[project.name for project in projects_of(session, who)],
        trash=in_trash(session, who),
    )  # fmt: skip


def _of(who: Who, table: type[Login] | type[Token]) -> ColumnElement[bool]:
    """Selects somebody's logins or tokens; those without a person belong to the owner."""
    if who.person is None and not (who.logged_in and who.sees_all):
        return false()
    return table.person_id.is_not_distinct_from(who.person)


@html.post("/account/logins/{login}/end")
def end(request: Request, parts: Shared, login: LoginId) -> Response:
    """Signs a browser out: this one or another."""
    ended = delete(Login).where(_of(_in_person(request), Login), Login.digest.startswith(login))
    return _deleted(parts, ended)


@html.post("/account/tokens", dependencies=[needs(noted="make a token")])
def make(
    request: Request,
    parts: Shared,
    name: Annotated[Line, Form()],
    scopes: Annotated[list[str], Form(max_length=len(SCOPES))],
    days: Annotated[int, Form(ge=1, le=LONGEST_DAYS)] = 365,
    project: Annotated[Line, Form()] = "",
) -> Response:
    """Makes a token and shows it once."""
    who = _in_person(request)
    with parts.write.begin() as session:
        person = None if who.person is None else session.get(Person, who.person)
        place = project_for(session, who, project)
        now = datetime.now(UTC)
        token = add_token(session, name, scopes, now, person=person, project=place, days=days)
    note(request, f"{name} ({', '.join(scopes)})")
    with parts.read() as session:
        page = load(request, parts, session)
    return parts.pages.render(request, "account.html", page, headers=NO_STORE, token=token)


@html.post("/account/tokens/{token}/remove")
def remove(request: Request, parts: Shared, token: TokenId) -> Response:
    """Removes a token, which is refused from then on."""
    return _deleted(parts, delete(Token).where(_of(_in_person(request), Token), Token.id == token))


def _deleted(parts: Parts, statement: Delete) -> Response:
    with parts.write.begin() as session:
        session.execute(statement)
    return RedirectResponse(urls.account(), 303)


def _in_person(request: Request) -> Who:
    """Returns who sends the request. Refuses tokens: one could make others that outlast it."""
    who = who_of(request)
    if who.by_token or not who.logged_in:
        raise Refusal(403, "A token cannot change logins and tokens.", do="Log in.")
    return who
