"""The task that every kind of work is given."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from inductorscope.errors import InWords
from inductorscope.jobs.queue.transitions import Attempt
from inductorscope.jobs.work.folders import work_folder
from inductorscope.jobs.work.progress import Report
from inductorscope.settings import Settings
from inductorscope.store.database.engine import Sessions


@dataclass(frozen=True)
class Task:
    """One attempt, and what it works with."""

    settings: Settings
    engine: Engine
    sessions: Sessions
    attempt: Attempt
    spec: dict[str, Any]
    """The request."""
    report: Report

    @property
    def folder(self) -> Path:
        return work_folder(self.settings, self.attempt.job_id)


class WorkRefused(InWords):
    """The work cannot be done; the message is a sentence for the person who asked."""
