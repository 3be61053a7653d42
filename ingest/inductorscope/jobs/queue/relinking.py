"""Starts the process that renews links, beside a worker's jobs: when the worker begins, and after
every job that reads files."""

from __future__ import annotations

import os
import subprocess

from inductorscope.jobs.queue.processes import environment
from inductorscope.processes.programs import program
from inductorscope.settings import Settings
from inductorscope.store import facts
from inductorscope.store.database.engine import Sessions
from inductorscope.store.runs.compile_story import outdated_stories
from inductorscope.store.runs.relinked import outdated


def begin(settings: Settings, factory: Sessions) -> subprocess.Popen[bytes] | None:
    """Starts a process of its own where there is something to do; it ends with this one."""
    with factory() as session:
        stories = outdated_stories(session)
        graphs = outdated(session)
        due = facts.available() and facts.due(session, settings.facts)
    if not stories and not graphs and not due:
        return None
    command = program("inductorscope.jobs.work.relinking", "--parent", str(os.getpid()))
    return subprocess.Popen(command, env=environment(settings), start_new_session=True)


class Relinking:
    """The process of one worker."""

    def __init__(self, settings: Settings, factory: Sessions) -> None:
        self._settings = settings
        self._sessions = factory
        self.process: subprocess.Popen[bytes] | None = None
        """The one begun last."""
        self._wanted = True

    def want(self) -> None:
        """There may be something to do. Called from any thread."""
        self._wanted = True

    def keep(self) -> None:
        """Starts the process where one is wanted and none is at work; call it now and then, from a
        thread that lives as long as the worker."""
        if self.process is not None and self.process.poll() is None:
            return
        if self._wanted:
            self._wanted = False  # ahead of the look: who wants it meanwhile is seen by the next
            try:
                self.process = begin(self._settings, self._sessions)
            except BaseException:
                self._wanted = True
                raise
