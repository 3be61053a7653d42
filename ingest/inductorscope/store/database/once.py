"""Keeps answers while nothing changes in between, as for the pages of an export."""

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from sqlalchemy.orm import Session

from inductorscope.store.database.engine import Sessions

KEPT = "inductorscope_kept"

Given = ParamSpec("Given")
Answer = TypeVar("Answer")


def keep(sessions: Sessions) -> None:
    """Makes all sessions of this factory share what functions marked `once` return."""
    sessions.kw["info"][KEPT] = {}


def once(
    function: Callable[Concatenate[Session, Given], Answer],
) -> Callable[Concatenate[Session, Given], Answer]:
    """Marks a function whose result is kept, in sessions that keep any. It must not be changed."""

    @wraps(function)
    def kept(session: Session, /, *args: Given.args, **options: Given.kwargs) -> Answer:
        answers: dict[Hashable, Answer] = session.info.get(KEPT, {})
        key = (function, *args, *options.items())
        if key not in answers:
            answers[key] = function(session, *args, **options)
        return answers[key]

    return kept
