"""The page of a run's trials: each change that was tried, and the newest search."""

from typing import Any

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.analyze.trial.result import Improvement, Trial
from inductorscope.answers.explorer.benchmark import is_captured_here
from inductorscope.answers.failures.failures import Panel, panel
from inductorscope.answers.parts import RunName, run_of
from inductorscope.answers.trials import words
from inductorscope.fields import Hidden, Number, Prose, view
from inductorscope.formats.change import Change
from inductorscope.store.runs.diagnoses import newest_diagnosis
from inductorscope.store.tables.diagnoses import Diagnosis
from inductorscope.store.tables.models import Run

TRIAL, IMPROVE = "trial", "improve"
"""Kinds of jobs and of what they store."""
UPLOADED = (
    "Trying a change runs the program again, so it needs a run that this installation captured."
)
MOST_TRIALS = 200


class TrialRow(msgspec.Struct, frozen=True, kw_only=True):
    """One trial."""

    title: str
    answer: str
    gain: Number | None
    """How many times as fast; None if that is not certain."""
    low: Number | None
    high: Number | None
    before_ms: float | None
    after_ms: float | None
    outcome: Prose
    structure: Prose
    costs: Prose
    disturbed: list[Prose]
    change: Hidden[Change]
    run_before: Hidden[str]
    run_after: Hidden[str]
    """Runs to open and to compare; empty if they are gone, or the code is the same."""


class TrialsPage(msgspec.Struct, frozen=True, kw_only=True):
    """Trials `/runs/{run}/trials`."""

    run: RunName
    refusal: Prose
    """Why nothing can be tried; empty if it can."""
    search: Panel
    trying: Panel
    """The newest trial of one change."""
    verdict: Prose
    """The answer of the newest search; empty without one."""
    writes: list[str]
    """How to write its changes."""
    patch: str
    complete: bool
    trials: list[TrialRow]
    """Fastest first, then those that are being tried."""


def trials_page(session: Session, run_id: str) -> TrialsPage:
    run = run_of(session, run_id)
    found = newest_improvement(session, run_id)
    tried = trials_of(session, run_id, found)
    runs = {name for trial in tried for name in (trial.run_before, trial.run_after)}
    here = set(session.scalars(select(Run.id).where(Run.id.in_(runs))))
    rows = {(trial.title, trial.answer): _row(trial, here) for trial in tried}
    return TrialsPage(
        run=RunName(run.id, run.name),
        refusal="" if is_captured_here(run) else UPLOADED,
        search=panel(session, run_id, IMPROVE),
        trying=panel(session, run_id, TRIAL),
        verdict=words.verdict(found) if found else "",
        writes=found.writes if found else [],
        patch=found.patch if found else "",
        complete=found.complete if found else False,
        trials=sorted(rows.values(), key=lambda row: (row.gain is None, -(row.gain or 0.0))),
    )


def trials_of(session: Session, run_id: str, search: Improvement | None) -> list[Trial]:
    """Returns the trials of single changes, newest first, one for each change, and then those of
    the search."""
    query = (
        select(Diagnosis.summary)
        .where(Diagnosis.run_id == run_id, Diagnosis.kind == TRIAL)
        .order_by(Diagnosis.created_at.desc())
        .limit(MOST_TRIALS)
    )
    found: dict[bytes, Trial] = {}
    for summary in session.scalars(query):
        trial = msgspec.convert(summary["trial"], Trial)
        found.setdefault(msgspec.json.encode(trial.change), trial)
    return [*found.values(), *(search.trials if search else ())]


def newest_improvement(session: Session, run_id: str) -> Improvement | None:
    read = newest_diagnosis(session, run_id, IMPROVE)
    return msgspec.convert(read.result["improvement"], Improvement) if read else None


def stored_trial(trial: Trial) -> dict[str, Any]:
    """Returns what is stored of a trial, all of it in the summary."""
    plain = msgspec.to_builtins(trial)
    return {"summary": {"verdict": f"{trial.title}: {words.outcome(trial)}", "trial": plain}}


def stored_improvement(found: Improvement) -> dict[str, Any]:
    return {
        "summary": {"verdict": words.verdict(found)},
        "improvement": msgspec.to_builtins(found),
    }


def _row(trial: Trial, here: set[str]) -> TrialRow:
    judged = trial.judged
    sure = judged is not None and trial.answer in ("faster", "slower", "the same")
    return view(
        TrialRow,
        trial,
        gain=trial.gain if sure else None,
        low=1 / (1 + judged.high) if judged else None,
        high=1 / (1 + judged.low) if judged else None,
        before_ms=judged.a_ms if judged else None,
        after_ms=judged.b_ms if judged else None,
        outcome=words.outcome(trial),
        structure=words.structure(trial),
        costs=words.costs(trial.before, trial.after),
        run_before=trial.run_before if trial.run_before in here else "",
        run_after=trial.run_after if trial.run_after in here else "",
    )
