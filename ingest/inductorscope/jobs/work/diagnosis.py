"""The jobs that run a captured program again to find out what is wrong with it."""

from functools import partial

from sqlalchemy.orm import Session

from inductorscope.answers.explorer.benchmark import is_captured_here
from inductorscope.capturing.diagnosis.run import DiagnosisRequest, run_diagnosis
from inductorscope.capturing.spec import CaptureSpec, from_builtins
from inductorscope.intake.limits import Refused
from inductorscope.jobs.queue import transitions
from inductorscope.jobs.work.ending import end
from inductorscope.jobs.work.task import Task
from inductorscope.store.runs.diagnoses import read_diagnosis, write_diagnosis
from inductorscope.store.tables.models import Run

UPLOADED = (
    "This run was uploaded or ingested, and code of uploads is never run here",
    "capture the program on this installation",
)
RESUME, RESUMED = "resume", "resumed"
"""Options: the job to go on from; and, for the child process, what that job had found."""


def diagnose(task: Task) -> None:
    """Runs a diagnosis, stores partial results, and stores the last one in the transaction that
    ends the job."""
    run_id, kind = str(task.spec["run"]), task.attempt.kind
    options = dict(task.spec.get("options") or {})
    with task.sessions() as session:
        spec = captured_spec(session, run_id)
        if RESUME in options:
            before = read_diagnosis(session, str(options.pop(RESUME)))
            if before is None:
                raise Refused("There is nothing to go on from", "start the search anew")
            options[RESUMED] = before.result

    result = run_diagnosis(
        DiagnosisRequest(kind, spec, options), task.folder, task.settings, task.report,
        task.report.line, partial(store, task, run_id),
    )  # fmt: skip
    store(task, run_id, result, str((result.get("summary") or {}).get("verdict") or "Done."))


def captured_spec(session: Session, run_id: str) -> CaptureSpec:
    """Returns what to run again. Raises Refused if this installation may not, SpecError."""
    run = session.get(Run, run_id)
    if run is None:
        raise Refused("The run is not here any more", "capture the program again")
    if not is_captured_here(run):
        raise Refused(*UPLOADED)
    options = run.environment.get("options")
    if not isinstance(options, dict):
        raise Refused("The run does not say what was captured", "capture the program again")
    known = CaptureSpec.__struct_fields__  # an earlier version had more
    return from_builtins({name: value for name, value in options.items() if name in known})


def store(task: Task, run: str, result: dict[str, object], said: str = "") -> None:
    """Stores a result, or the last one, which ends the job with what it says."""
    lines, attempt = task.report.finishing() if said else [], task.attempt
    with task.sessions.begin() as session:
        write_diagnosis(
            session, run, attempt.kind, attempt.job_id, transitions.now(), complete=bool(said),
            result=result,
        )  # fmt: skip
        if said:
            end(session, attempt, run, said, lines)
