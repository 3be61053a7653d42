"""Programs that workers run: captures, and captured ones that run again."""

import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import msgspec
from sqlalchemy.orm import Session

from inductorscope.answers.explorer.benchmark import is_captured_here
from inductorscope.answers.parts import run_of
from inductorscope.capturing.diagnosis.run import KINDS
from inductorscope.capturing.spec import CaptureSpec, SpecError, from_builtins
from inductorscope.formats.change import Change
from inductorscope.jobs.errors import CaptureRefusedError, NotOursError
from inductorscope.jobs.queue.entrance import Entrance
from inductorscope.jobs.queue.machines import GPU, TORCH, living_machines
from inductorscope.jobs.rules import check_rules
from inductorscope.jobs.work import diagnosis
from inductorscope.jobs.work.benchmark import UPLOADED
from inductorscope.store.database.engine import Sessions
from inductorscope.store.runs.rules import sender_of
from inductorscope.store.tables.models import Run
from inductorscope.store.who import OWNER, VIEWER

LONGEST_TITLE = 200


@dataclass(frozen=True)
class BenchmarkAsked:
    """A request for a benchmark: which kernel and how, or what to do instead."""

    run: str
    graph: str
    kernel: str
    handle: int
    seconds: float = 2.0
    max_autotune: bool = False
    without: int | None = None
    """Leaves out the operation on this line of the output code; nothing is timed then."""
    profile: bool = False
    """Whether to profile one launch with Nsight Compute, and time nothing."""


class ProgramsClient:
    """Asks workers to run programs. Safe to share among threads."""

    def __init__(self, read: Sessions, write: Sessions, entrance: Entrance) -> None:
        self._read = read
        self._write = write
        self._entrance = entrance

    def capture(
        self, spec: dict[str, Any], tags: Sequence[str] = (), needs: str | None = None
    ) -> str:
        """Asks a worker to capture; returns the job's id. `needs`: a GPU's name, or a kind of
        worker.

        Raises CaptureRefusedError, TooManyRunsError or TooManyError.
        """
        capture = checked_capture(spec)
        here = capture.device == "cpu" or capture.pretend
        needs = needs or (TORCH if here else GPU)
        job_id = f"capture-{secrets.token_hex(8)}"
        with self._write.begin() as session:
            who = VIEWER.get() or OWNER
            check_rules(session, capture.title, tags, sender_of(session, who.project, who.person))
            kept = {"capture": capture.to_builtins(), "name": capture.title, "tags": list(tags)}
            self._entrance.enter(session, job_id, "capture", capture.title, kept | {"needs": needs})
        self._entrance.ring()
        return job_id

    def benchmark(self, asked: BenchmarkAsked) -> str:
        """Asks a worker to benchmark a kernel; returns the job's id.

        Raises NotHere, or NotOursError for a run that this installation did not capture.
        """
        runs = self.captured_here([asked.run], UPLOADED)
        what = "Profile of" if asked.profile else "Benchmark of"
        what = what if asked.without is None else f"Without line {asked.without} of"
        return self._enter("benchmark", f"{what} {asked.kernel}", runs, asdict(asked))

    def measure(self, run_id: str, other: str) -> str:
        """Asks a worker to measure two captured runs; returns the job's id.

        Raises NotHere, or NotOursError for a run that this installation did not capture.
        """
        return self._run_again("measure", "Measuring ", {"run": run_id, "other": other})

    def diagnose(self, kind: str, run_id: str, options: dict[str, Any]) -> str:
        """Asks a worker to diagnose a captured run; returns the job's id.

        `kind` is one of `capturing.diagnosis.run.KINDS`; `options` may name a job to `resume`.
        Raises NotOursError for a run that this installation did not capture, NotHere.
        """
        return self._run_again(kind, f"{KINDS[kind]}: ", {"run": run_id, "options": options})

    def try_change(self, run_id: str, title: str, change: Change) -> str:
        """Asks a worker to try a change of a captured run; returns the job's id.

        Raises NotOursError for a run that this installation did not capture, NotHere.
        """
        spec = {"run": run_id, "title": title, "change": msgspec.to_builtins(change)}
        return self._run_again("trial", f"Trying {title} on ", spec)

    def search(self, run_id: str, minutes: float) -> str:
        """Asks a worker to search for changes that make a captured run faster; returns the job's
        id. Raises as `try_change`."""
        return self._run_again("improve", "Improving ", {"run": run_id, "minutes": minutes})

    def _run_again(self, kind: str, what: str, spec: dict[str, Any]) -> str:
        """Asks a worker to do something with the captured runs that the spec names."""
        ids = [spec[key] for key in ("run", "other") if key in spec]
        runs = self.captured_here(ids, diagnosis.UPLOADED)
        return self._enter(kind, what + " and ".join(run.name for run in runs), runs, spec)

    def _enter(self, kind: str, title: str, runs: Sequence[Run], spec: dict[str, Any]) -> str:
        """Asks a worker to run captured programs again; returns the job's id."""
        job_id = f"{kind}-{secrets.token_hex(8)}"
        with self._write.begin() as session:
            spec = spec | {"needs": _needs(session, *runs)}
            self._entrance.enter(session, job_id, kind, title[:LONGEST_TITLE], spec)
        self._entrance.ring()
        return job_id

    def captured_here(self, ids: Sequence[str], refusal: tuple[str, str]) -> list[Run]:
        """Returns the runs. Raises NotOursError for uploads, whose code is never run."""
        with self._read() as session:
            runs = [run_of(session, run) for run in ids]
        if not all(map(is_captured_here, runs)):
            raise NotOursError(*(f"{part[0].upper()}{part[1:]}." for part in refusal))
        return runs


def _needs(session: Session, *runs: Run) -> str:
    """Returns what captured programs need to run again: a GPU of the same name, if one is there."""
    devices = {(run.environment.get("options") or {}).get("device", "cpu") for run in runs}
    if devices == {"cpu"}:
        return TORCH
    names = {str(run.environment.get("gpu_name")) for run in runs}
    there = names & {machine.device for machine in living_machines(session)}
    return there.pop() if len(names) == len(there) == 1 else GPU


def checked_capture(spec: dict[str, Any]) -> CaptureSpec:
    try:
        return from_builtins(spec)
    except SpecError as error:
        raise CaptureRefusedError(str(error)) from None
