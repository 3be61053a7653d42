"""The process that renews links for a worker: started when the worker begins, and after every job
that reads files."""

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
    """Starts a child process if there is something to do; it ends with this one."""
    with factory() as session:
        stories = outdated_stories(session)
        graphs = outdated(session)
        due = facts.available() and facts.due(session, settings.facts)
    if not stories and not graphs and not due:
        return None
    command = program("inductorscope.jobs.work.relinking", "--parent", str(os.getpid()))
    return subprocess.Popen(command, env=environment(settings), start_new_session=True)


class Relinking:
    """The relinking process of one worker."""

    def __init__(self, settings: Settings, factory: Sessions) -> None:
        self._settings = settings
        self._sessions = factory
        self.process: subprocess.Popen[bytes] | None = None
        """The last process started."""
        self._wanted = True

    def want(self) -> None:
        """Notes that there may be something to do. Can be called from any thread."""
        self._wanted = True

    def keep(self) -> None:
        """Starts the process if it is wanted and none is running. Call this regularly, from a
        thread that lives as long as the worker."""
        if self.process is not None and self.process.poll() is None:
            return
        if self._wanted:
            # Before checking: a request that comes meanwhile is seen next time.
            self._wanted = False
            try:
                self.process = begin(self._settings, self._sessions)
            except BaseException:
                self._wanted = True
                raise
