"""Facts about a run as a whole, from any file that states them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from inductorscope.formats.border import read_as
from inductorscope.formats.capture_facts import COMPILED, CaptureFacts, read_facts_file
from inductorscope.formats.code.runnable import compiled_with
from inductorscope.formats.vocabulary import CAPTURE, FX_RUNNABLE, RESULT
from inductorscope.intake.files import File
from inductorscope.reading.graphs.graph import GraphRead
from inductorscope.reading.logs.logs import LogFacts
from inductorscope.reading.notes import Notes
from inductorscope.reading.texts import read_text
from inductorscope.store.runs.draft import RunDraft

if TYPE_CHECKING:
    from inductorscope.reading.profiles.profiles import ProfileRead

LONGEST_FAILURE = 1000
_ACCELERATORS = ("cuda", "xpu", "mtia", "mps", "hpu", "npu", "privateuseone")


class _Result(msgspec.Struct):
    """`result.json`, written by a measuring script: means, in milliseconds."""

    model: str | None = None
    device: str | None = None
    torch: str | None = None
    eager_ms: float | None = None
    compiled_ms: float | None = None
    first_call_s: float | None = None


def capture_facts(files: list[File], notes: Notes) -> CaptureFacts | None:
    """Returns the facts of the first `capture.json`."""
    for file in files:
        if file.role == CAPTURE:
            left_out: Counter[str] = Counter()
            facts = read_facts_file(file.absolute, left_out)
            notes.left_out(file.path, left_out)
            if facts is not None:
                return facts
            notes.add(file.path, "not the facts that a capture writes")
    return None


def fill_run(
    run: RunDraft,
    files: list[File],
    graphs: list[GraphRead],
    logs: LogFacts,
    profiles: list[ProfileRead],
    facts: CaptureFacts | None,
    notes: Notes,
) -> None:
    """Fills in the run's facts. The capture's facts override the measuring script's, which override
    what texts mention."""
    result = _result(files, notes)
    captured = facts or CaptureFacts(device="")
    made = compiled_with(_runnable(files))
    run.graph_breaks, run.recompiles = logs.counts.graph_breaks, logs.counts.recompiles
    run.compile_seconds = logs.compile_seconds
    run.torch_version = _first(
        captured.torch_version,
        result.torch,
        made.get("torch_version"),
        logs.first("torch_version"),
    )
    run.torch_git = _first(captured.torch_git, made.get("torch_git"), logs.first("torch_git"))
    run.device_kind = _first(
        captured.device.partition(":")[0], result.device, _device_kind(graphs, profiles)
    )
    run.device_name = _first(captured.device_name)
    if run.device_name is None and run.device_kind in _ACCELERATORS:
        names = (profile.trace.device_name for profile in profiles if profile.trace is not None)
        run.device_name = _first(*names, made.get("device_name"), logs.first("device_name"))
    run.name = run.name or _first(captured.name, result.model) or ""
    run.failure = _failure(logs, facts)
    _fill_timings(run, result, facts)
    compiled = [read for read in profiles if read.label == COMPILED and read.trace is not None]
    if compiled and not any(read.shows_compiled_code for read in compiled):
        run.timings["uncompiled"] = True
    _fill_environment(run, facts)
    versions = {
        "Triton": captured.triton_version or logs.first("triton_version"),
        "driver": captured.driver_version,
        "driver's CUDA": _first(*(read.trace.driver for read in profiles if read.trace)),
    }
    if known := {name: value for name, value in versions.items() if value}:
        run.environment["versions"] = known


def _fill_timings(run: RunDraft, result: _Result, facts: CaptureFacts | None) -> None:
    if facts is not None and facts.timings:
        run.timings = {
            label: msgspec.to_builtins(timing) | {"count": len(timing.samples)}
            for label, timing in facts.timings.items()
        }
        eager, compiled = facts.timings.get("eager"), facts.timings.get("compiled")
        run.eager_ms = eager.median_ms if eager is not None else None
        run.compiled_ms = compiled.median_ms if compiled is not None else None
    else:
        run.eager_ms, run.compiled_ms = result.eager_ms, result.compiled_ms
        known = {"eager": result.eager_ms, "compiled": result.compiled_ms}
        run.timings = {
            label: {"mean_ms": value} for label, value in known.items() if value is not None
        }
    first_call = facts.first_call_s if facts is not None else result.first_call_s
    if first_call is not None:
        run.timings["first_call_s"] = first_call
    if facts is not None and facts.disturbed:
        run.timings["disturbed"] = True


def _fill_environment(run: RunDraft, facts: CaptureFacts | None) -> None:
    if facts is not None:
        whole = msgspec.to_builtins(facts)
        shown = (
            "state", "error", "eager_outcome", "model", "python_version", "cpu_name", "gpu_name",
            "cores", "threads", "options", "config", "env", "record", "peaks", "missing",
            "disturbed",
        )  # fmt: skip
        run.environment = {name: whole[name] for name in shown if whole.get(name) not in (None, [])}
        if facts.script:
            run.environment["script"] = {
                "processes": whole["script"],
                "eager": whole["eager_script"],
                "differs": facts.differs,
            }


def _failure(logs: LogFacts, facts: CaptureFacts | None) -> str | None:
    """Returns the failure that the capture reports; otherwise the first failed compile in the
    logs."""
    if facts is not None:
        if facts.state == "complete":
            return None
        error = facts.error
        reason = [] if error is None else filter(None, (error.kind, error.message))
        return ": ".join((f"The capture {facts.state}", *reason))[:LONGEST_FAILURE]
    failure = logs.first("failure")
    return failure[:LONGEST_FAILURE] if failure else logs.hang or None


def _result(files: list[File], notes: Notes) -> _Result:
    for file in files:
        if file.role == RESULT:
            left_out: Counter[str] = Counter()
            try:
                return read_as(file.absolute.read_bytes(), _Result, left_out)
            except (ValueError, RecursionError) as error:
                notes.add(file.path, f"no result of a measurement: {error}")
            finally:
                notes.left_out(file.path, left_out)
    return _Result()


def _runnable(files: list[File]) -> str:
    """Returns a program that reproduces a graph: its comments say what compiled it."""
    runnable = (file for file in files if file.role == FX_RUNNABLE and file.size < 2**26)
    return next((read_text(file.absolute) for file in runnable), "")


def _device_kind(graphs: list[GraphRead], profiles: list[ProfileRead]) -> str | None:
    seen = {kind for graph in graphs for kind in graph.devices}
    for kind in _ACCELERATORS:
        if kind in seen:
            return kind
    kinds = [profile.trace.device_kind for profile in profiles if profile.trace is not None]
    if seen:
        kinds.append("cpu")
    return next((kind for kind in kinds if kind not in (None, "cpu")), _first(*kinds))


def _first(*values: str | None) -> str | None:
    return next((value for value in values if value), None)
