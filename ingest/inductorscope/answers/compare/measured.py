"""The result of measuring two runs, and whether they can be measured."""

from datetime import datetime

import msgspec
from msgspec.structs import replace
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.analyze.measure.judge import (
    AT_EACH_LOOK,
    COVERED,
    FLOOR,
    FLOOR_MS,
    MARGIN,
    Judged,
)
from inductorscope.analyze.measure.result import Measurement, Search, Try
from inductorscope.analyze.verdicts import Level
from inductorscope.answers.compare.caused import CauseLine, Notes, cause_lines, in_short
from inductorscope.answers.explorer.benchmark import is_captured_here
from inductorscope.fields import Prose
from inductorscope.store.runs.measurements import KIND, newest_measurement
from inductorscope.store.tables.models import Job, Run
from inductorscope.units import milliseconds, percent, plural, signed_percent

ACTIVE = ("queued", "running")
ENDED_EARLY = ("failed", "cancelled")
MOST_JOBS = 50
"""Number of newest jobs that are searched for one that measures these runs, because only a job's
spec names them."""
LEVELS: dict[str, Level] = {"slower": "warn", "faster": "good", "the same": "good"}
NOT_HERE = (
    "Measuring runs both programs again, so it needs two runs that this installation captured."
)


class MeasuredShown(msgspec.Struct, frozen=True):
    """The newest measurement of two runs, and the job that is measuring them."""

    refusal: Prose
    """Why the runs cannot be measured; empty if they can."""
    job: str | None = None
    """The newest job that measures these runs, if it is running or ended without an answer."""
    step: Prose = ""
    """The job's current step."""
    ended: Prose = ""
    """Why the job ended without an answer."""
    at: datetime | None = None
    by: str = ""
    """The job that made the measurement that is shown."""
    complete: bool = False
    text: Prose = ""
    found: Measurement | None = None
    lines: list[CauseLine] = msgspec.field(default_factory=list)
    """The causes of the difference; they sum to it."""


def measured(session: Session, before: Run, after: Run, notes: Notes, events: str) -> MeasuredShown:
    """Returns the measurement. `notes`, `events`: see `cause_lines`."""
    refusal = "" if is_captured_here(before) and is_captured_here(after) else NOT_HERE
    query = select(Job).where(Job.kind == KIND).order_by(Job.created_at.desc()).limit(MOST_JOBS)
    runs = {before.id, after.id}
    job = next((job for job in session.scalars(query)
                if {job.spec["run"], job.spec["other"]} == runs), None)  # fmt: skip
    newest = newest_measurement(session, before.id, after.id)
    shown = MeasuredShown(refusal)
    if job is not None and job.state in ACTIVE:
        shown = replace(shown, job=job.id, step=job.step or "Waiting for a worker")
    elif (
        job is not None
        and job.state in ENDED_EARLY
        and (newest is None or job.id == newest.job or job.created_at > newest.created_at)
    ):
        shown = replace(shown, job=job.id, ended=job.message or job.state)
    if newest is None:
        return shown
    return replace(
        shown, at=newest.created_at, by=newest.job, complete=newest.complete,
        text=in_words(newest.found), found=newest.found,
        lines=cause_lines(newest.found, (before.id, after.id), notes, events),
    )  # fmt: skip


def in_words(found: Measurement) -> str:
    """Returns the answer in one sentence, and its causes in another."""
    judged = found.judged
    if judged is None:
        count = plural(len(found.sides[0].ms), "process", "processes")
        return f"{count} of each run: too few to tell whether a step of B takes longer."
    text, lines = _answer(judged), cause_lines(found)
    if lines:
        more = sum(line.more_ms for line in lines)
        text += f" Of the {milliseconds(abs(more))}, {in_short(lines)}."
    if found.disturbed_processes:
        count = plural(found.disturbed_processes, "process was", "processes were")
        text += f" {count} disturbed: {found.disturbed[0]}"
    return text


def _answer(judged: Judged) -> str:
    around = f"{signed_percent(judged.low)} to {signed_percent(judged.high)}"
    each = f"{plural(judged.processes, 'fresh process', 'fresh processes')} of each, in turns"
    figures = f"{milliseconds(judged.a_ms)} → {milliseconds(judged.b_ms)}; {each}"
    if judged.answer == "the same":
        return f"A step of B takes the same within {percent(MARGIN)}: {around} ({figures})."
    if judged.answer == "cannot tell":
        more = f" About {judged.more:,} more of each would tell." if judged.more else ""
        unclear = f"Whether a step of B takes longer is unclear: {around} ({figures})."
        return unclear + _why(judged) + more
    longer = "longer" if judged.answer == "slower" else "less"
    return f"A step of B takes {percent(abs(judged.shift))} {longer}, {around} ({figures})."


def _why(judged: Judged) -> str:
    """Explains why an interval without 0 is not an answer yet."""
    if judged.low <= 0 <= judged.high:
        return ""
    reason = f"a difference must be at least {percent(FLOOR)} and {milliseconds(FLOOR_MS)}"
    if judged.p > AT_EACH_LOOK:
        reason = (
            f"equal programs seem to differ so in 1 of {1 / judged.p:,.0f} measurements, and an "
            f"answer needs 1 of {1 / AT_EACH_LOOK:,.0f}"
        )
    return f" The interval covers {percent(COVERED)} and excludes 0, but {reason}."


def search_in_words(search: Search) -> str:
    """Describes the result of a search."""
    tries = plural(len(search.tries), "try", "tries")
    if search.why_not:
        return f"{search.why_not} ({tries})"
    names = " and ".join(f"`{name}`" for name in search.found)
    if not search.found:
        return f"Searching: {tries} so far."
    if search.over == "setting":
        together = "alone makes" if len(search.found) == 1 else "together make"
        return f"{names} of B {together} A like B ({tries})."
    if search.complete:
        return f"{search.over} {names} is the first like B, after `{search.after}` ({tries})."
    return f"It changes after `{search.after}`, at the latest with {search.over} {names} ({tries})."


def try_in_words(tried: Try, by: str) -> str:
    like = f"like {tried.like}" if tried.like else "unclear"
    if tried.count is not None:
        return f"{tried.name}: {like}, {plural(tried.count, by.removesuffix('s'))}"
    share = tried.share
    around = f", {percent(share.share)} of the difference" if share else ""
    return f"{tried.name}: {like}{around}"
