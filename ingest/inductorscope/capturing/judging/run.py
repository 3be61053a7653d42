"""Asks the warm process for verdicts. Torch-free and blocking."""

from collections.abc import Iterator
from contextlib import contextmanager

from msgspec.structs import replace

from inductorscope.analyze.judging.verdict import Verdict
from inductorscope.capturing.judging.order import Order
from inductorscope.capturing.playground.started import Warm, warm_process
from inductorscope.settings import Settings


class Judge:
    """The warm process; one judgement at a time."""

    def __init__(self, warm: Warm) -> None:
        self._warm = warm
        self.protections = warm.ready.protections

    @property
    def separated(self) -> bool:
        """Whether candidates are confined."""
        return not any(self.protections.values())

    def judge(self, order: Order) -> Verdict:
        """Raises CaptureFailed if the process ended."""
        missing = {name: why for name, why in self.protections.items() if why}
        return replace(self._warm.ask(order, Verdict), unconfined=missing)


@contextmanager
def judging(settings: Settings) -> Iterator[Judge]:
    """Starts the process, and ends it."""
    with warm_process(settings, "--judge") as warm:
        yield Judge(warm)
