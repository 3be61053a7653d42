"""Computes answers that analyse texts in this process, for a program with a single caller."""

from collections.abc import Callable

from inductorscope.settings import Settings
from inductorscope.store.database.engine import Sessions

from inductorscope_server.analysis.analysis import Analysis, Answer


class Here(Analysis):
    """Computes answers in this process, without limits of its own."""

    def __init__(self, settings: Settings, read: Sessions) -> None:
        super().__init__(settings)
        self._read = read

    async def __call__(
        self, function: Callable[..., Answer], run: str, *args: object, **options: object
    ) -> Answer:
        with self._read() as session:
            return function(session, run, *args, **options)

    def prepare(self) -> None:
        """Does nothing: no process needs to start."""
