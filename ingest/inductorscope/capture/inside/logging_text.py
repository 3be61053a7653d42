"""What the scheduler says about fusing and speed (TORCH_LOGS), into a file of the capture."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import torch
from torch._logging import _internal

FILE = "torch_logs.txt"
TOPICS = ("fusion", "schedule", "perf_hints")


def keep_logs(out: Path) -> None:
    """As `TORCH_LOGS=fusion,schedule,perf_hints` prints it, but not onto the screen.

    Whoever set TORCH_LOGS gets what they asked for, where they asked for it.
    """
    if os.environ.get("TORCH_LOGS"):
        return
    torch._logging.set_logs(**dict.fromkeys(TOPICS, True))
    file = logging.FileHandler(out / FILE, delay=True, encoding="utf-8")
    file.setFormatter(_internal._default_formatter())
    file.addFilter(_of_topics)
    for name in _internal.log_registry.get_log_qnames():
        logger = logging.getLogger(name)
        for handler in logger.handlers:
            handler.addFilter(lambda record: not _of_topics(record))
        logger.addHandler(file)


def _of_topics(record: logging.LogRecord) -> bool:
    return record.name.endswith(tuple(f".__{topic}" for topic in TOPICS))
