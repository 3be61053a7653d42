"""Writes the scheduler's logs on fusion and speed (TORCH_LOGS) to a file of the capture."""

import logging
import os
from pathlib import Path

import torch
from torch._logging import _internal

FILE = "torch_logs.txt"
TOPICS = ("fusion", "schedule", "perf_hints")


def keep_logs(out: Path) -> None:
    """Writes the output of `TORCH_LOGS=fusion,schedule,perf_hints` to a file, not to the screen,
    and keeps TORCH_TRACE's where the program disables logging.

    A user's own TORCH_LOGS setting keeps its effect.
    """
    trace = _internal.trace_log
    trace.isEnabledFor = lambda level: level >= trace.level
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
