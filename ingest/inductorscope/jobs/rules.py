"""Rules for runs and jobs: says them in words, and checks them before a new one is added."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, func, or_, select
from sqlalchemy.orm import Session

from inductorscope.jobs.errors import TooManyError, TooManyRunsError
from inductorscope.jobs.kinds import KINDS
from inductorscope.jobs.records import ACTIVE
from inductorscope.store.runs.rules import Sender, exceeded, is_about_sender, jobs_of
from inductorscope.store.tables.models import Job
from inductorscope.store.tables.people import EACH, Rule
from inductorscope.units import count, plural, size_in_bytes

DAY = timedelta(days=1)
RUN_CODE = [name for name, kind in KINDS.items() if kind.runs_code]
CHANGE = "or change the rule with `inductorscope rules`."


def whose(rule: Rule, what: str) -> str:
    """Says in words which runs or jobs a rule is about."""
    parts = [f"with the tag {rule.tag}"] if rule.tag else []
    if rule.name:
        start = rule.name.removesuffix("*")
        parts.append(f"named {start}" + ("" if start == rule.name else "…"))
    if rule.project:
        parts.append(f"in the project {rule.project}")
    if rule.person:
        parts.append(f"of {'each person' if rule.person == EACH else rule.person}")
    return f"{what.capitalize()} {' '.join(parts)}" if parts else f"All {what}"


def in_words(rule: Rule) -> str:
    """A rule as sentences."""
    runs, jobs = [], []
    if rule.days is not None:
        runs.append(f"kept for {plural(rule.days, 'day')}")
    if rule.most_runs is not None:
        runs.append(f"at most {count(rule.most_runs)}")
    if rule.most_bytes is not None:
        runs.append(f"at most {size_in_bytes(rule.most_bytes)}, shared contents counted once")
    if rule.most_jobs is not None:
        jobs.append(f"at most {count(rule.most_jobs)} that run code at once")
    if rule.most_minutes is not None:
        jobs.append(f"at most {plural(rule.most_minutes, 'minute')} of workers in 24 hours")
    limits = {"runs": runs, "jobs": jobs}
    return " ".join(
        f"{whose(rule, what)}: {'; '.join(parts)}." for what, parts in limits.items() if parts
    )


def check_rules(session: Session, name: str, tags: Sequence[str], sender: Sender) -> None:
    """Raises TooManyRunsError if a rule does not allow one more run like this."""
    broken = exceeded(session, name, tags, sender)
    if broken is None:
        return
    rule, runs, size = broken
    there = plural(runs, "run")
    if rule.most_bytes:
        there += f" of {size_in_bytes(size)}"
    raise TooManyRunsError(
        f"{in_words(rule)} There {'is' if runs == 1 else 'are'} {there} already.",
        f"Delete some, {CHANGE}",
    )


def check_jobs(session: Session, kind: str, sender: Sender, now: datetime) -> None:
    """Raises TooManyError if a rule does not allow one more job of this kind."""
    for rule in session.scalars(select(Rule).order_by(Rule.id)):
        if not is_about_sender(rule, sender):
            continue
        jobs = jobs_of(rule, sender)
        if rule.most_jobs is not None and kind in RUN_CODE:
            query = select(func.count()).where(jobs, Job.state.in_(ACTIVE), Job.kind.in_(RUN_CODE))
            active = session.scalar(query) or 0
            if active >= rule.most_jobs:
                verb = "waits or runs" if active == 1 else "wait or run"
                raise TooManyError(
                    f"{in_words(rule)} {count(active)} {verb} already.",
                    f"Wait until one has ended, {CHANGE}",
                )
        if rule.most_minutes is not None:
            minutes = _minutes(session, jobs, now)
            if minutes >= rule.most_minutes:
                raise TooManyError(
                    f"{in_words(rule)} They took {plural(minutes, 'minute')}.",
                    f"Try again later, {CHANGE}",
                )


def _minutes(session: Session, jobs: ColumnElement[bool], now: datetime) -> int:
    """Returns how many whole minutes jobs kept workers busy in the last 24 hours."""
    recent = or_(Job.ended_at.is_(None), Job.ended_at > now - DAY)
    took = timedelta()
    for job in session.scalars(select(Job).where(jobs, recent)):
        if job.started_at is not None:
            took += (job.ended_at or now) - max(job.started_at, now - DAY)
    return took // timedelta(minutes=1)
