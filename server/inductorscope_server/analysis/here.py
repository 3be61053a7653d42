"""Computes answers that analyse texts in this process, for a program with a single caller."""

from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from inductorscope.settings import Settings
from inductorscope.store.database.engine import Sessions
from sqlalchemy.orm import Session

from inductorscope_server.analysis.analysis import Analysis

Given = ParamSpec("Given")
Answer = TypeVar("Answer")


class Here(Analysis):
    """Computes answers in this process, without limits of its own."""

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
        """Does nothing: no process needs to start."""
