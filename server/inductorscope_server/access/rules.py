"""What each route needs of a request's sender, whom `Guard` identifies. A test fails for a route
without a rule."""

from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Any

from cachetools import TTLCache
from fastapi import Depends, params
from inductorscope.answers.missing import NotHere
from inductorscope.jobs.errors import NotFoundError
from inductorscope.jobs.kinds import KINDS
from inductorscope.jobs.sender import SENDER
from inductorscope.store.audit import record
from inductorscope.store.projects import is_own
from inductorscope.store.tables.models import Artifact, Job, Run, Upload
from inductorscope.store.who import ADMINISTER, READ, RUN, UPLOAD, WHO, Who, belongs_to
from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from inductorscope_server.web.errors import Refusal
from inductorscope_server.web.parts import parts_of

NOTE = "note"
NOTED_SECONDS = 3600.0
"""Reading the files of a run is recorded at most once in this time, for each person."""
Check = Callable[[Session, Who, str, bool], None]


def who_of(request: Request) -> Who:
    """Returns who sends the request."""
    who = request.scope["state"][WHO]
    assert isinstance(who, Who)
    return who


class Needs:
    """The rule of a route, as a dependency: it requires scopes, and checks that the sender may see
    what the address names; with `own`, also that it belongs to the sender."""

    def __init__(self, *scopes: str, own: bool = False, noted: str = "") -> None:
        self.scopes = scopes
        self.own = own
        self.noted = noted
        """The action to record in the audit; empty to record nothing."""
        # What was recorded recently. Used from the event loop only: the cache is not thread-safe.
        self._seen: TTLCache[tuple[str, str], bool] = TTLCache(10_000, NOTED_SECONDS)

    async def __call__(self, request: Request) -> AsyncIterator[None]:
        who = who_of(request)
        missing = [scope for scope in self.scopes if not who.may(scope)]
        if missing:
            raise refusal(who, missing[0])
        if not who.sees_all or (self.own and not who.may(ADMINISTER)):
            await run_in_threadpool(self._check, request, who)
        yield
        target = request.scope["state"].get(NOTE, request.url.path)
        if (
            self.noted
            and parts_of(request).settings.has_accounts
            and (request.method != "GET" or self._is_first(who, target))
        ):
            await run_in_threadpool(self._note, request, who, target)

    def _check(self, request: Request, who: Who) -> None:
        with parts_of(request).read() as session:
            for name, check in CHECKS.items():
                value = request.path_params.get(name)
                if value is not None and value.isascii():  # others are refused as misspelt
                    check(session, who, value, self.own)

    def _is_first(self, who: Who, target: str) -> bool:
        if (who.name, target) in self._seen:
            return False
        self._seen[who.name, target] = True
        return True

    def _note(self, request: Request, who: Who, target: str) -> None:
        with parts_of(request).write.begin() as session:
            if "artifact" in request.path_params:
                file = session.get(Artifact, int(request.path_params["artifact"]))
                target = f"{file.path} of run {file.run_id}" if file is not None else target
            record(session, datetime.now(UTC), who.name, self.noted, target, SENDER.get())


def note(request: Request, target: str) -> None:
    """Sets what the audit names as the target, instead of the address."""
    request.scope["state"][NOTE] = target


def refusal(who: Who, scope: str) -> Refusal:
    """Returns the refusal for somebody who lacks a scope."""
    if not who.logged_in:
        return Refusal(
            401,
            "You need to log in for this.",
            do="Send `Authorization: Bearer …`, or log in at /login.",
            headers={"WWW-Authenticate": "Bearer"},
        )
    return Refusal(
        403,
        f"{who.name} may not do this: it needs the right “{scope}”.",
        do="Ask an administrator for a role or a token with this right.",
    )


def _check_run(session: Session, who: Who, run: str, own: bool) -> None:
    if session.get(Run, run) is None:
        raise NotHere(
            f"There is no run {run} here.",
            "It may be deleted, or in a place that you may not see. Ask who sent the address.",
        )
    if own and not is_own(session, run, who):
        raise Refusal(
            403, "This run was put here by somebody else.", do="Ask them, or an administrator."
        )


def _check_trashed(session: Session, who: Who, run: str, _own: bool) -> None:
    if not is_own(session, run, who):
        raise NotFoundError(f"There is no run {run} in the trash.")


def _check_job(session: Session, who: Who, job_id: str, own: bool) -> None:
    job = session.get(Job, job_id)
    owned = select(Job.id).where(Job.id == job_id, belongs_to(who, Job))
    mine = session.scalar(owned) is not None
    if job is None or not (who.may(READ) or (mine and job.kind == "ingest")):
        raise NotFoundError(f"There is no job {job_id}.")
    if own and not mine:
        raise Refusal(403, "Somebody else asked for this job.", do="Ask them, or an administrator.")
    if own and KINDS[job.kind].runs_code and not who.may(RUN):
        raise refusal(who, RUN)


def _check_upload(session: Session, _who: Who, upload: str, _own: bool) -> None:
    if session.get(Upload, upload) is None:
        raise NotFoundError(f"There is no upload {upload}.")


CHECKS: dict[str, Check] = {
    "run": _check_run,
    "other": _check_run,
    "trashed": _check_trashed,
    "job": _check_job,
    "upload": _check_upload,
}
"""Checks by parameter of an address, in read-only sessions, which see what the viewer may see.
Other parameters name parts of these, or are looked up in such sessions."""


def needs(*scopes: str, own: bool = False, noted: str = "") -> params.Depends:
    dependency: Any = Depends(Needs(*scopes, own=own, noted=noted), scope="function")
    assert isinstance(dependency, params.Depends)
    return dependency


OPEN = needs()
"""For everybody; also for routes of a job or upload, which its sender may follow."""
READS = needs(READ)
READS_FILES = needs(READ, noted="read")
UPLOADS = needs(UPLOAD)
CHANGES = needs(READ, UPLOAD, own=True)
DELETES = needs(READ, UPLOAD, own=True, noted="delete")
RUNS_CODE = needs(READ, RUN, noted="run code")
ADMINISTERS = needs(ADMINISTER, noted="administer")
MAINTAINS = needs(ADMINISTER)
"""For maintaining the server."""
