"""Loads what most answers need, before the first request."""

from __future__ import annotations

from inductorscope.answers.compile import ranks, story
from inductorscope.answers.explorer import kernel, reasons
from inductorscope.answers.failures import report
from inductorscope.answers.memory import memory
from inductorscope.answers.runs import run
from sqlalchemy import text
from sqlalchemy.orm import Session, configure_mappers

ANSWERS = (kernel, memory, ranks, reasons, report, run, story)


def warm(session: Session) -> None:
    """Takes the arguments of an answer. Importing this module does most of the work."""
    configure_mappers()
    session.execute(text("SELECT 1"))
