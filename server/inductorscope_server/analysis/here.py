"""Answers that analyse texts, computed in this process: for one that works for a single caller."""

from __future__ import annotations

from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from inductorscope.settings import Settings
from inductorscope.store.database.engine import Sessions
from sqlalchemy.orm import Session

from inductorscope_server.analysis.analysis import Analysis

Given = ParamSpec("Given")
Answer = TypeVar("Answer")


class Here(Analysis):
    """Starts no process; the limits are those of this one."""

    def __init__(self, settings: Settings, read: Sessions) -> None:
        super().__init__(settings)
        self._read = read

    async def __call__(
        self,
        function: Callable[Concatenate[Session, str, Given], Answer],
        run: str,
        *args: Given.args,
        **options: Given.kwargs,
    ) -> Answer:
        with self._read() as session:
            return function(session, run, *args, **options)

    def prepare(self) -> None:
        """There is nothing to start."""
