"""Sets up what workers and supervisor print: their own lines, and warnings of libraries."""

from __future__ import annotations

import logging

from inductorscope.processes.logs import log_to_stderr
from inductorscope.settings import Settings


def speak(settings: Settings) -> None:
    """Logs to stderr; of libraries, only warnings and errors."""
    log_to_stderr(as_json=settings.log_json)
    logging.getLogger("inductorscope").setLevel(logging.INFO)
