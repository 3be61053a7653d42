"""The kinds of jobs, one entry each."""

from dataclasses import dataclass

from inductorscope.capturing.diagnosis.run import KINDS as DIAGNOSES
from inductorscope.settings import Settings

LEAST_SECONDS = 60
SMALL_SHARE = 12
"""Reading a small upload may take INGEST_SECONDS divided by this: 5 minutes of an hour."""
BYTES_PER_SECOND = 100_000
"""A larger upload may take one more second for each of these bytes, up to INGEST_SECONDS."""
ROOM_SECONDS = 60
"""A benchmark or a diagnosis keeps the limit itself; its job gets this much longer."""


@dataclass(frozen=True)
class Kind:
    """One kind of job. The ids of its jobs start with its name."""

    module: str
    """The module with the work; the job's process imports no other kind's."""
    function: str
    runs_code: bool
    """Whether it runs a captured program, in the folder of captures."""
    limit: str
    """The setting to raise when a job takes too long."""

    def seconds(self, settings: Settings, size: int | None = None) -> int:
        """Returns how long a job may take; `size`: the bytes of its upload, if known."""
        if not self.runs_code:
            most = settings.ingest_seconds
            if size is None:
                return most
            small = max(LEAST_SECONDS, most // SMALL_SHARE)
            return min(most, small + size // BYTES_PER_SECOND)
        # What a capture records is read afterwards, like an upload.
        after = settings.ingest_seconds if self is KINDS["capture"] else ROOM_SECONDS
        return settings.capture_seconds + after


def _running(module: str, function: str) -> Kind:
    """A kind that runs a program."""
    return Kind(
        f"inductorscope.jobs.work.{module}", function, runs_code=True, limit="CAPTURE_SECONDS"
    )


KINDS: dict[str, Kind] = {
    "ingest": Kind(
        "inductorscope.jobs.work.reading", "ingest", runs_code=False, limit="INGEST_SECONDS"
    ),
    "capture": _running("reading", "capture"),
    "benchmark": _running("benchmark", "benchmark"),
    "measure": _running("measure", "measure"),
    "trial": _running("trial", "trial"),
    "improve": _running("trial", "improve"),
    **dict.fromkeys(DIAGNOSES, _running("diagnosis", "diagnose")),
}
