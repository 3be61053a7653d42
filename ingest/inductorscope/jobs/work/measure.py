"""The job that measures two captured runs."""

from inductorscope.analyze.measure.result import Measurement
from inductorscope.answers.compare.measured import in_words
from inductorscope.capturing.measure.processes import Runner
from inductorscope.jobs.queue import transitions
from inductorscope.jobs.work.ending import end
from inductorscope.jobs.work.measuring import PairAsked, measure_pair
from inductorscope.jobs.work.pair import load_pair
from inductorscope.jobs.work.task import Task
from inductorscope.store.runs.measurements import write_measurement


def measure(task: Task) -> None:
    """Measures, stores partial results, and stores the last one in the transaction that ends the
    job."""
    run, other = str(task.spec["run"]), str(task.spec["other"])
    job = task.attempt.job_id
    limit = float(task.settings.capture_seconds)
    asked = PairAsked(min(PairAsked.seconds, limit / 3))
    with task.sessions() as session:
        pair = load_pair(session, run, other)

    def keep(found: Measurement) -> None:
        with task.sessions.begin() as session:
            write_measurement(session, run, other, job, transitions.now(), found, complete=False)

    runner = Runner(task.folder, task.settings, trusted=False)
    found = measure_pair(pair, asked, runner, task.report, keep)
    lines = task.report.finishing()
    message = in_words(found)
    with task.sessions.begin() as session:
        write_measurement(session, run, other, job, transitions.now(), found, complete=True)
        end(session, task.attempt, run, message, lines)
