"""Starts a script in fresh processes: with empty caches, filled ones, and a package of them."""

import statistics
from collections import defaultdict
from collections.abc import Callable

from msgspec.structs import replace

from inductorscope.analyze.compile.start import PACKAGED, WARM, TriedStart, predictions, start_of
from inductorscope.capturing.measure.processes import Arm, Runner
from inductorscope.capturing.script.order import PACKAGE
from inductorscope.capturing.watch import CaptureFailed

COLD = "empty caches"


def try_starts(
    arm: Arm, runner: Runner, rounds: int, report: Callable[[str], None]
) -> list[TriedStart]:
    """Starts a script several times in each way, in turns, and predicts the others from each cold
    start. Raises CaptureFailed, SpecError."""
    measured, predicted = defaultdict[str, list[float]](list), defaultdict[str, list[float]](list)
    if rounds > 1:
        report("starting once, which brings files into memory")
        runner.start(replace(arm, label="before"))
    for number in range(rounds):
        package = {PACKAGE: str(runner.folder / f"{number}.package")}
        for title, label, variables in (
            (COLD, "starts", package), (WARM, "starts", {}), (PACKAGED, "with a package", package),
        ):  # fmt: skip
            report(f"start with {title}, {number + 1} of {rounds}")
            environment = {**arm.environment, **variables}
            own = replace(arm, label=f"{label} {number}", environment=environment)
            facts, story = runner.start(own)
            start = facts.script[0].start if facts.script else None
            if start is None or start.step_s is None:
                raise CaptureFailed("No step of it compiled, so there is no start to measure.")
            measured[title].append(start.step_s)
            if title == COLD:
                for found in predictions(story, start_of(story, start)):
                    predicted[found.title].append(found.predicted_s)
    return [
        TriedStart(
            title, rounds, statistics.median(took),
            statistics.median(predicted[title]) if predicted[title] else None,
        )
        for title, took in measured.items()
    ]  # fmt: skip
