"""The job that benchmarks a kernel of a run captured here, profiles it, or compiles it without an
operation."""

from pathlib import Path
from typing import Any

import msgspec

from inductorscope.analyze.benchmark.case import NoCase
from inductorscope.analyze.machine.without import case_without
from inductorscope.answers.explorer.benchmark import CallCase, add_benchmark, case_of
from inductorscope.answers.machine.compiled import configurations
from inductorscope.answers.machine.left_out import LeftOut, Taken, in_words, resources_of
from inductorscope.answers.missing import NotAnalysed, NotHere
from inductorscope.answers.parts import graph_of
from inductorscope.capturing.benchmark.run import (
    CACHE,
    REPORT,
    BenchmarkFailed,
    BenchmarkRequest,
    run_case,
)
from inductorscope.capturing.benchmark.text import case_text
from inductorscope.capturing.watch import CaptureFailed
from inductorscope.formats.vocabulary import NCU_REPORT
from inductorscope.intake.limits import Refused
from inductorscope.jobs.queue import transitions
from inductorscope.jobs.work.ending import end
from inductorscope.jobs.work.task import Task, WorkRefused
from inductorscope.store.contents.content import content_of_file
from inductorscope.store.database.storable import JsonObject
from inductorscope.store.runs.draft import artifact_of
from inductorscope.store.runs.runs import insert_artifacts

UPLOADED = (
    "This run was uploaded or ingested, and code of uploads is never run here",
    "download the test case, look through it, and run it yourself",
)

LONGEST = 2000
"""Characters of an error that are kept."""
GONE = ("The kernel is not here any more", "perhaps its run was deleted")


def benchmark(task: Task) -> None:
    """Runs the test case and stores the result, in the transaction that ends the job."""
    spec = task.spec
    run, slug, kernel, handle = _named(spec)
    try:
        with task.sessions() as session:
            found = case_of(session, run, slug, kernel, handle)
            compiled = configurations(session, graph_of(session, run, slug)).get(kernel)
    except NotHere:
        raise Refused(*GONE) from None
    except NoCase as error:
        raise WorkRefused(str(error)) from None
    if not found.may_run:
        raise Refused(*UPLOADED)
    ran = compiled[0].options if compiled else {}
    if spec.get("profile") and found.case.device == "cpu":
        raise WorkRefused("Nsight Compute profiles kernels of NVIDIA's GPUs alone.")
    if spec.get("without") is not None:
        left = _leave_out(task, found, int(spec["without"]), ran)
        for line in left.missing.splitlines():
            task.report.line(line, "warning")
        _end(task, in_words(left), msgspec.to_builtins(left))
        return
    request = BenchmarkRequest(
        case=case_text(found.case, found.origin),
        device=found.case.device,
        seconds=float(spec.get("seconds", 2.0)),
        max_autotune=bool(spec.get("max_autotune")),
        profile=bool(spec.get("profile")),
        configuration=ran,
    )
    result = run_case(request, task.folder, task.settings, task.report)
    for line in str(result.pop("printed", "")).splitlines():
        task.report.line(line)
    if request.profile:
        report = task.folder / REPORT
        if not report.is_file():
            raise WorkRefused("Nsight Compute wrote no report; the log has what it printed.")
        _end(task, "Profiled one launch with Nsight Compute.", report=report)
        return
    _end(task, sentence(result), result)


def _named(spec: dict[str, Any]) -> tuple[str, str, str, int]:
    return str(spec["run"]), str(spec["graph"]), str(spec["kernel"]), int(spec["handle"])


def _leave_out(task: Task, found: CallCase, line: int, ran: JsonObject) -> LeftOut:
    """Compiles the kernel as it is, and without the operation of a line. `ran`: the options of the
    configuration that ran."""
    try:
        without, text, instead = case_without(found.case, line)
    except NoCase as error:
        raise WorkRefused(str(error)) from None
    sides: list[Taken] = []
    configuration, missing = "", ""
    try:
        for name, case in (("before", found.case), ("after", without)):
            request = BenchmarkRequest(
                case_text(case, found.origin), case.device, compile_only=True, configuration=ran
            )
            made = run_case(request, task.folder / name, task.settings, task.report)
            if sides and made["configuration"] != configuration:
                raise NotAnalysed("Without the operation this configuration does not compile.")
            configuration = made["configuration"]
            sides.append(resources_of(task.folder / name / CACHE, made["key"]))
    except BenchmarkFailed as error:
        what = "Without the operation" if sides else "On this machine"
        missing = f"{what} the kernel does not compile. {error}"[:LONGEST]
    except (CaptureFailed, NotAnalysed) as error:
        missing = str(error)
    before, after = [*sides, None, None][:2]
    return LeftOut(line, text, instead, configuration, before=before, after=after, missing=missing)


def _end(
    task: Task, message: str, result: dict[str, Any] | None = None, report: Path | None = None
) -> None:
    """Stores a result or a report of Nsight Compute, in the transaction that ends the job."""
    run, slug, kernel, handle = _named(task.spec)
    lines = task.report.finishing()
    with task.sessions.begin() as session:
        try:
            graph = graph_of(session, run, slug)
        except NotHere:
            raise Refused(*GONE) from None
        if result is not None:
            add_benchmark(
                session, graph.id, kernel, handle, task.attempt.job_id, transitions.now(), result
            )
        if report is not None:
            path = f"ncu/{kernel}.ncu-rep"
            found = artifact_of(NCU_REPORT, path, content_of_file(report, task.folder))
            insert_artifacts(session, run, [found], {})
        end(session, task.attempt, run, message, lines)


def sentence(result: dict[str, Any]) -> str:
    ms = result.get("ms", {})
    parts = [f"{ms.get('kernel', 0):.4g} ms a call"]
    if result.get("gb_per_s"):
        parts.append(f"{result['gb_per_s']:.3g} GB/s")
    if result.get("speed_up"):
        parts.append(f"{result['speed_up']:.3g} times as fast as its FX nodes in eager")
    said = {True: " Its results agree.", False: " Its results DIFFER from its FX nodes'."}
    agrees = result.get("agrees")
    return f"{', '.join(parts)}.{said[agrees] if isinstance(agrees, bool) else ''}"
