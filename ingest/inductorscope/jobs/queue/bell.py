"""Wakes the workers of this machine when a job is enqueued, before they next poll the queue.

Each worker listens at named pipes in the data folder, one for each queue. A ring is only a hint: a
worker that misses it, or runs on another machine, finds the job when it next polls.
"""

import contextlib
import os
import select
import threading

from inductorscope.settings import Settings

SUFFIX = ".bell"


class Bell(threading.Event):
    """An event whose `wait` also returns when `ring` is called."""

    def __init__(self, settings: Settings, name: str) -> None:
        super().__init__()
        path = settings.workers_folder / f"{name}{SUFFIX}"
        path.unlink(missing_ok=True)
        os.mkfifo(path, 0o600)
        # Opened for writing too, so that reading never meets the end of the file.
        self._pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK)

    def wait(self, timeout: float | None = None) -> bool:
        ready, _, _ = select.select([self._pipe], [], [], timeout)
        if ready:
            os.read(self._pipe, select.PIPE_BUF)
        return self.is_set()


def ring(settings: Settings) -> None:
    """Wakes the workers that share this data folder."""
    for path in settings.workers_folder.glob(f"*{SUFFIX}"):
        with contextlib.suppress(OSError):  # nobody listens any more
            pipe = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
            try:
                os.write(pipe, b".")
            finally:
                os.close(pipe)
