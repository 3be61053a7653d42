"""The steps of a captured script: the purpose of each, and what compiled meanwhile."""

import statistics

import msgspec

from inductorscope.analyze.compile.start import TriedStart
from inductorscope.fields import Prose, view
from inductorscope.formats.capture_facts import CompileEvent, CudaGraphs, LineShare, ScriptSteps
from inductorscope.store.tables.models import Run

SHOWN_COMPILES = 200


class Script(msgspec.Struct):
    """The script's entries in the run's `environment`."""

    processes: list[ScriptSteps] = msgspec.field(default_factory=list)
    eager: ScriptSteps | None = None
    differs: list[str] = msgspec.field(default_factory=list)
    tried: list[TriedStart] = []
    """Starts that `inductorscope startup --try` measured."""


class Phase(msgspec.Struct, frozen=True):
    """Consecutive steps with the same purpose."""

    kind: str
    first: int
    last: int
    median_ms: float | None
    """Median time; None if no time is known."""


class CompileAtStep(msgspec.Struct, frozen=True):
    """A compile while the script ran."""

    rank: int | None
    step: int
    compile_id: str
    what: Prose
    ms: float
    in_steps: float | None
    """Its cost, expressed in steady steps."""


class ProcessShown(msgspec.Struct, frozen=True):
    """One process of the script."""

    rank: int | None
    steps: int
    compiles: int
    allocated_bytes: int | None
    reserved_bytes: int | None
    resident_bytes: int | None
    cuda_graphs: CudaGraphs | None
    """None if torch used none."""


class ScriptShown(msgspec.Struct, frozen=True):
    """The steps of a captured script."""

    from_what: str
    """What marks the begin of a step."""
    phases: list[Phase]
    """The phases of the first process."""
    compiles: list[CompileAtStep]
    processes: list[ProcessShown]
    eager_steps: int | None
    """Steps of the script without torch.compile; None if it did not run."""
    differs: list[Prose]
    """How the eager script's work differs."""
    lines: list[LineShare]
    """Lines of the first process outside of compiled code, the longest first."""


def script_of(run: Run) -> Script | None:
    """Returns the script's entries; None for a run that is not of a script."""
    try:
        script = msgspec.convert(run.environment.get("script") or {}, type=Script)
    except msgspec.ValidationError:
        return None
    return script if script.processes else None


def script_shown(run: Run) -> ScriptShown | None:
    """Returns the script; None for a run that is not of a script."""
    script = script_of(run)
    if script is None:
        return None
    first = script.processes[0]
    return ScriptShown(
        from_what=first.from_what,
        phases=[_phase(kind, begin, end, first.first_ms) for kind, begin, end in first.kinds],
        compiles=[
            _compile(process.rank, event, run.compiled_ms)
            for process in script.processes
            for event in process.compiles
        ][:SHOWN_COMPILES],
        processes=[_process(process) for process in script.processes],
        eager_steps=None if script.eager is None else script.eager.count,
        differs=script.differs,
        lines=first.lines,
    )


def _phase(kind: str, first: int, last: int, times: list[float]) -> Phase:
    known = [ms for ms in times[first - 1 : last] if ms]
    return Phase(kind, first, last, statistics.median(known) if known else None)


def _compile(rank: int | None, event: CompileEvent, step_ms: float | None) -> CompileAtStep:
    ms = 1000 * event.seconds
    return view(CompileAtStep, event, rank=rank, ms=ms, in_steps=ms / step_ms if step_ms else None)


def _process(steps: ScriptSteps) -> ProcessShown:
    return view(ProcessShown, steps, steps=steps.count, compiles=len(steps.compiles))
