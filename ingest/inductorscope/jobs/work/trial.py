"""The jobs that try changes of a captured program."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.analyze.trial.catalogue import catalogue, that_apply
from inductorscope.analyze.trial.patch import patch, written
from inductorscope.analyze.trial.result import Improvement
from inductorscope.answers.trials import words
from inductorscope.answers.trials.known import known_of
from inductorscope.answers.trials.trials import (
    newest_improvement,
    stored_improvement,
    stored_trial,
)
from inductorscope.capturing.measure.processes import Arm, Runner, main_file
from inductorscope.capturing.trial.improving import Keep, Search
from inductorscope.capturing.trial.trying import Trier, try_change
from inductorscope.formats.change import Change
from inductorscope.jobs.work.diagnosis import captured_spec, store
from inductorscope.jobs.work.pair import changed_sources
from inductorscope.jobs.work.task import Task
from inductorscope.reading.run import NothingToRead, read_run
from inductorscope.settings import Settings
from inductorscope.store.database.engine import Sessions
from inductorscope.store.projects import place_run
from inductorscope.store.tables.models import TRIAL, Run
from inductorscope.store.tables.people import Place

SECONDS = 600.0
"""Longest time to measure one change."""
MINUTES = 20.0
"""Longest time to search, unless asked otherwise."""


def trial(task: Task) -> None:
    """Tries one change, and stores it."""
    run = str(task.spec["run"])
    change = msgspec.convert(task.spec["change"], Change)
    with task.sessions() as session:
        arm = arm_of(session, run)
    runner = Runner(task.folder, task.settings, trusted=False, alike=True)
    trier = Trier(arm, runner, task.report, reader(task.settings, task.sessions, run))
    seconds = min(SECONDS, task.settings.capture_seconds / 3)
    found = try_change(
        trier, str(task.spec["title"]), change, seconds,
        lambda so_far: store(task, run, stored_trial(so_far)),
    )  # fmt: skip
    store(task, run, stored_trial(found), words.outcome(found))


def improve(task: Task) -> None:
    """Searches for changes that make the program faster, and stores what it finds."""
    run = str(task.spec["run"])
    minutes = min(float(task.spec.get("minutes") or MINUTES), task.settings.capture_seconds / 90)
    runner = Runner(task.folder, task.settings, trusted=False, alike=True)
    with task.sessions() as session:
        searching = Searching(session, run)
    trier = Trier(searching.arm, runner, task.report, reader(task.settings, task.sessions, run))
    found = searching.run(
        trier, minutes, lambda so_far: store(task, run, stored_improvement(so_far))
    )
    store(task, run, stored_improvement(found), words.verdict(found))


class Searching:
    """A search to run for a captured run. Raises Refused or SpecError if it may not be run."""

    def __init__(self, session: Session, run: str) -> None:
        self.arm = arm_of(session, run)
        self.candidates = that_apply(known_of(session, run), catalogue())
        self.before = newest_improvement(session, run)

    def run(self, trier: Trier, minutes: float, keep: Keep) -> Improvement:
        """Searches, going on from a search that was stopped."""
        before = self.before if self.before and not self.before.complete else None
        search = Search(trier, 60 * minutes, keep, before)
        found = search.run(self.candidates)
        main = main_file(self.arm.spec)
        if found.change is not None:
            found.writes = written(found.change)
            found.patch = _patch(main, found.change) if main else ""
        return found


def reader(settings: Settings, factory: Sessions, run_id: str) -> Callable[[str, Path], str]:
    """Returns what reads a trial's files as a run, which whoever sees the tried run sees."""

    def read(title: str, folder: Path) -> str:
        with factory() as session:
            name = session.get_one(Run, run_id).name
        try:
            found = read_run(
                folder,
                settings=replace(settings, data=folder.parent),
                session_factory=factory,
                origin=TRIAL,
                name=f"{name}: {title}",
                tags=[f"trial of {run_id}"],
            ).run_id
        except NothingToRead:
            return ""
        with factory.begin() as session:
            for place in session.scalars(select(Place).where(Place.run_id == run_id)):
                place_run(session, found, place.person_id, place.project_id)
        return found

    return read


def arm_of(session: Session, run_id: str) -> Arm:
    """Returns the captured program. Raises Refused or SpecError if it may not be run again."""
    spec, run = captured_spec(session, run_id), session.get_one(Run, run_id)
    return Arm("A", spec, changed_sources(session, run, spec, []))


def _patch(main: Path, change: Change) -> str:
    try:
        return patch(main.name, main.read_text(encoding="utf-8"), change)
    except (OSError, UnicodeDecodeError):
        return ""
