"""Figures in the text format of Prometheus.

The format is written here, because it takes a few lines, and a client library would keep a second
registry of what the database knows.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from inductorscope import __version__
from inductorscope.answers.installation import Installation
from inductorscope.processes.logs import FAILURES

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")

Labels = tuple[tuple[str, str], ...]
Values = Iterable[tuple[Labels, float]]


class Requests:
    """Counts the requests that this process has answered. Used from the event loop only."""

    def __init__(self) -> None:
        self._counts: Counter[Labels] = Counter()
        self._seconds: dict[Labels, float] = {}

    def add(self, method: str, route: str, status: int, seconds: float) -> None:
        method = method if method in METHODS else "other"  # clients may send any method
        labels = (("method", method), ("route", route), ("status", str(status)))
        self._counts[labels] += 1
        self._seconds[labels] = self._seconds.get(labels, 0.0) + seconds

    def text(self) -> str:
        lines = ["# TYPE inductorscope_request_seconds summary"]
        for labels, count in self._counts.items():
            lines.append(_line("inductorscope_request_seconds_count", labels, count))
            lines.append(_line("inductorscope_request_seconds_sum", labels, self._seconds[labels]))
        return "\n".join(lines) + "\n"


def metrics(of: Installation, workers: int, trash: int) -> str:
    """Returns the figures of the installation, and the failures in this process's log."""
    used = of.contents
    sizes = {
        "database": of.database_bytes, "disk free": of.disk_free, "disk": of.disk_total,
        "contents of one run": used.own, "contents of several runs": used.shared,
        "contents of no run": used.unused,
    }  # fmt: skip
    jobs = [((("kind", job.kind), ("state", job.state)), job) for job in of.jobs]
    return "".join(
        (
            _metric("runs", "gauge", _by("place", {"list": of.runs, "trash": trash})),
            _metric("bytes", "gauge", _by("what", sizes)),
            _metric("uploads", "gauge", [((), of.uploads)]),
            _metric("workers", "gauge", [((), workers)]),
            _metric("jobs", "gauge", [(labels, job.count) for labels, job in jobs]),
            _metric(
                "job_oldest_seconds",
                "gauge",
                [
                    (labels, job.oldest_seconds)
                    for labels, job in jobs
                    if job.state in ("queued", "running")
                ],
            ),
            _metric("failures_total", "counter", _by("logger", FAILURES)),
            _metric("info", "gauge", _by("version", {__version__: 1})),
        )
    )


def _by(label: str, values: Mapping[str, float]) -> Values:
    return [(((label, name),), value) for name, value in values.items()]


def _metric(name: str, kind: str, values: Values) -> str:
    name = f"inductorscope_{name}"
    lines = [_line(name, labels, value) for labels, value in values]
    return "\n".join([f"# TYPE {name} {kind}", *lines]) + "\n"


def _line(name: str, labels: Labels, value: float) -> str:
    named = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels)
    return f"{name}{{{named}}} {value:.15g}" if named else f"{name} {value:.15g}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
