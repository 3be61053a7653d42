"""The job that benchmarks one kernel of a run that this installation captured."""

from __future__ import annotations

from typing import Any

from inductorscope.analyze.benchmark.case import NoCase
from inductorscope.answers.explorer.benchmark import CallCase, add_benchmark, case_of
from inductorscope.answers.missing import NotHere
from inductorscope.answers.parts import graph_of
from inductorscope.capturing.benchmark.run import BenchmarkFailed, BenchmarkRequest, run_case
from inductorscope.capturing.benchmark.text import case_text
from inductorscope.capturing.watch import CaptureFailed
from inductorscope.intake.limits import Refused
from inductorscope.jobs.queue import transitions
from inductorscope.jobs.work.ending import OvertakenError
from inductorscope.jobs.work.task import Task, WorkRefused

UPLOADED = (
    "This run was uploaded or ingested, and code of uploads is never run here",
    "download the test case, look through it, and run it yourself",
)

GONE = ("The kernel is not here any more", "perhaps its run was deleted")


def benchmark(task: Task) -> None:
    """Runs the test case and keeps what came out, together with the job's end."""
    spec = task.spec
    run, slug, kernel, handle = _named(spec)
    try:
        with task.sessions() as session:
            found = case_of(session, run, slug, kernel, handle)
    except NotHere:
        raise Refused(*GONE) from None
    except NoCase as error:
        raise WorkRefused(str(error)) from None
    if not found.may_run:
        raise Refused(*UPLOADED)
    request = BenchmarkRequest(
        case=case_text(found.case, found.origin),
        device=found.case.device,
        seconds=float(spec.get("seconds", 2.0)),
        max_autotune=bool(spec.get("max_autotune")),
    )
    try:
        result = run_case(request, task.folder, task.settings, task.report)
    except (BenchmarkFailed, CaptureFailed) as error:
        raise WorkRefused(str(error)) from None
    for line in str(result.pop("printed", "")).splitlines():
        task.report.line(line)
    _end(task, found, result)


def _named(spec: dict[str, Any]) -> tuple[str, str, str, int]:
    return str(spec["run"]), str(spec["graph"]), str(spec["kernel"]), int(spec["handle"])


def _end(task: Task, found: CallCase, result: dict[str, Any]) -> None:
    run, slug, kernel, handle = _named(task.spec)
    lines = task.report.finishing()
    message = sentence(result)
    with task.sessions.begin() as session:
        try:
            graph = graph_of(session, run, slug)
        except NotHere:
            raise Refused(*GONE) from None
        add_benchmark(
            session, graph.id, kernel, handle, task.attempt.job_id, transitions.now(), result
        )
        if not transitions.complete(
            session, task.attempt, run_id=run, duplicate=False, message=message
        ):
            raise OvertakenError
        lines.append((transitions.now(), "info", message))
        transitions.add_events(session, task.attempt.job_id, lines)


def sentence(result: dict[str, Any]) -> str:
    """What came out, for a person."""
    ms = result.get("ms", {})
    parts = [f"{ms.get('kernel', 0):.4g} ms a call"]
    if result.get("gb_per_s"):
        parts.append(f"{result['gb_per_s']:.3g} GB/s")
    if result.get("speed_up"):
        parts.append(f"{result['speed_up']:.3g} times as fast as its FX nodes in eager")
    said = {True: " Its results agree.", False: " Its results DIFFER from its FX nodes'."}
    agrees = result.get("agrees")
    return f"{', '.join(parts)}.{said[agrees] if isinstance(agrees, bool) else ''}"
