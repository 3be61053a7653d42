"""The job that measures two captured runs beside each other."""

from __future__ import annotations

from inductorscope.analyze.measure.result import Measurement
from inductorscope.answers.compare.measured import in_words
from inductorscope.capturing.spec import SpecError
from inductorscope.capturing.watch import CaptureFailed
from inductorscope.jobs.queue import transitions
from inductorscope.jobs.work.ending import OvertakenError
from inductorscope.jobs.work.measuring import Asked, load_pair, measure_pair
from inductorscope.jobs.work.task import Task, WorkRefused
from inductorscope.store.runs.measurements import write_measurement


def measure(task: Task) -> None:
    """Measures, keeps the result so far, and keeps what came out together with the job's end."""
    run, other = str(task.spec["run"]), str(task.spec["other"])
    job = task.attempt.job_id
    limit = float(task.settings.capture_seconds)
    asked = Asked(min(Asked.seconds, limit / 3), settings=bool(task.spec.get("settings")))
    with task.sessions() as session:
        pair = load_pair(session, run, other)

    def keep(found: Measurement) -> None:
        with task.sessions.begin() as session:
            write_measurement(session, run, other, job, transitions.now(), found, complete=False)

    try:
        found = measure_pair(pair, asked, task.folder, task.settings, task.report, keep)
    except (CaptureFailed, SpecError) as failed:
        raise WorkRefused(str(failed)) from None
    lines = task.report.finishing()
    message = in_words(found)
    with task.sessions.begin() as session:
        write_measurement(session, run, other, job, transitions.now(), found, complete=True)
        if not transitions.complete(
            session, task.attempt, run_id=run, duplicate=False, message=message
        ):
            raise OvertakenError
        lines.append((transitions.now(), "info", message))
        transitions.add_events(session, job, lines)
