"""Runs a program in one fresh process and returns its times. Torch-free."""

import dataclasses
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from inductorscope.analyze.compile.model import Story
from inductorscope.analyze.trial.result import Structure
from inductorscope.capturing.inside.environment import TRACE_FOLDER
from inductorscope.capturing.launch import SWAP, Launch, Swap
from inductorscope.capturing.measure.machine import Watching
from inductorscope.capturing.measure.profile import Profiled, counts, profiled, story_of, structure
from inductorscope.capturing.permission import model_folders, permit
from inductorscope.capturing.run import run_capture
from inductorscope.capturing.spec import CaptureSpec, SpecError
from inductorscope.capturing.watch import CaptureFailed, CaptureInterrupted
from inductorscope.formats.capture_facts import COMPILED, INTERRUPTED, CaptureFacts, ProfileFacts
from inductorscope.formats.results import EAGER_RESULTS, RESULTS, Results
from inductorscope.settings import Settings

SECONDS = 2.0
"""Seconds for which a process is timed."""
DIFFER = 1.3
"""Steps differ if a quarter of them takes so many times longer than another quarter."""
NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
"""The environment variable, which many images set, that lets Python compile modules each time."""
BRIEF: dict[str, Any] = {
    "eager": False, "source": False, "record": False, "values": False, "repeats": None,
    "full": False, "steps_after": 0,
}  # fmt: skip
"""Options of a capture whose only purpose is to be compared with others."""


class Arm(msgspec.Struct, frozen=True):
    """A program to measure against others."""

    label: str
    spec: CaptureSpec
    sources: Mapping[str, bytes] = msgspec.field(default_factory=dict)
    """Files by path with their earlier content, if it differs from the disk."""
    python: str = sys.executable
    environment: Mapping[str, str | None] = msgspec.field(default_factory=dict)
    """Environment variables to set, or to remove."""
    root: Path | None = None
    """The repository that the sources belong to. None: the folder of the model's file."""
    swap: Swap | None = None
    """A kernel of another program that replaces one of its own."""


class Once(msgspec.Struct, frozen=True):
    """The result of one process."""

    arm: str
    ms: float
    """A tenth of its steps are at most this long; other processes only ever add time."""
    step: Profiled
    torch: str
    seconds: float
    """Seconds of everything: starting, compiling and timing."""
    load: float | None
    others: float
    """Share of our cores that other processes used."""
    clock_mhz: float | None
    disturbed: list[str]
    mean_ms: float = 0.0
    differ: bool = False
    """Whether its steps differ by themselves, as with inputs of several sizes."""


class Looked(msgspec.Struct, frozen=True):
    """What a process compiled, and what its first steps computed."""

    structure: Structure
    results: Results | None
    eager: Results | None
    """The same steps without torch.compile."""
    run: str = ""
    """Its run, if it was stored."""


Store = Callable[[Structure, Path], str]
"""Reads a capture's folder as a run and returns the run; empty if it is not worth that."""


class Runner(msgspec.Struct, eq=False):
    """Runs arms. Keeps each arm's compiled kernels, so that later processes generate the code again
    but do not wait for the compiler."""

    folder: Path
    settings: Settings
    trusted: bool
    alike: bool = False
    """Whether the arms are one program on one torch: they share compiled kernels, which are found
    by their text."""

    def once(self, arm: Arm, seconds: float = SECONDS, *, only_timed: bool = False) -> Once:
        """Runs an arm in a fresh process; with `only_timed`, neither code nor kernels are looked
        at, so that it starts sooner. Raises CaptureFailed, SpecError."""
        began = time.monotonic()
        with (
            Watching(arm.spec.device) as watching,
            self._captured(arm, profile=not only_timed, seconds=seconds, only_timed=only_timed) as (
                facts,
                out,
            ),
        ):
            timing = facts.timings.get(COMPILED)
            if timing is None:
                why = " ".join(facts.missing)
                raise CaptureFailed(f"{arm.label} has no time of a compiled step. {why}")
            step = _profiled(out, facts.profiles.get(COMPILED))
        seen, samples = watching.seen, timing.samples
        low, high = np.quantile(samples, (0.25, 0.75)).tolist()
        return Once(
            arm=arm.label, ms=timing.p10, step=step, torch=facts.torch_version or "",
            seconds=time.monotonic() - began, load=seen.load, others=seen.others_share,
            clock_mhz=seen.clock, disturbed=seen.disturbed(), mean_ms=statistics.mean(samples),
            differ=high > DIFFER * low,
        )  # fmt: skip

    def start(self, arm: Arm) -> tuple[CaptureFacts, Story]:
        """Starts an arm with what earlier starts left in its label's caches. Raises CaptureFailed,
        SpecError."""
        trace = self.folder / re.sub(r"\W", "_", arm.label) / "out" / TRACE_FOLDER
        logged = msgspec.structs.replace(
            arm, environment={**arm.environment, "TORCH_TRACE": str(trace)}
        )
        timed = arm.spec.kind == "script"
        brief = {"seconds": 0.1, "measure": timed, "only_timed": True}
        with self._captured(logged, None, math.inf, profile=False, **brief) as (facts, out):
            return facts, story_of(out)

    def counts(self, arm: Arm) -> dict[str, int]:
        """Only compiles an arm, and counts what compiling produced. Raises CaptureFailed,
        SpecError."""
        # Run a script until it has compiled, by measuring it.
        timed = arm.spec.kind == "script"
        with self._captured(arm, profile=False, seconds=0.1, measure=timed) as (_, out):
            return counts(out)

    def look(
        self, arm: Arm, store: Store | None = None, *,
        eager: bool = False, cold: bool = False, longest: float = math.inf,
    ) -> Looked:  # fmt: skip
        """Only compiles an arm and runs its first steps, and `eager` ones if asked, without timing
        them. `cold`: with no kernel that was compiled before. `longest`: seconds after which it is
        ended. Raises CaptureFailed, SpecError."""
        cache = self.folder / "cold" if cold else None
        # Only what is stored for comparisons needs the times of its kernels and its source.
        kept = store is not None and (eager or cold)
        options = {"profile": kept, "source": kept, "seconds": 0.1, "results": True, "eager": eager}
        with self._captured(arm, cache, longest, **options) as (facts, out):
            found = structure(out, facts)
            return Looked(
                found,
                _results(out / RESULTS),
                _results(out / EAGER_RESULTS),
                store(found, out) if store is not None else "",
            )

    @contextmanager
    def _captured(
        self, arm: Arm, cache: Path | None = None, longest: float = math.inf, **options: object
    ) -> Iterator[tuple[CaptureFacts, Path]]:
        """Captures an arm and yields the facts and the folder, which is deleted afterwards."""
        own = self.folder / re.sub(r"\W", "_", arm.label)
        out, swap, swapped = own / "out", own / "swap.json", own / "swap.done"
        kept = (self.folder if self.alike else own) / "cache"
        own.mkdir(parents=True, exist_ok=True)
        permit(arm.spec, model_folders(self.settings.model_folders), self.trusted)
        spec, environment = as_it_was(arm, own / "sources")
        if os.environ.get(NO_BYTECODE):  # compiling torch's modules is half of a short process
            environment |= {NO_BYTECODE: None, "PYTHONPYCACHEPREFIX": str(self.folder / "bytecode")}
        if arm.swap is not None:
            swapped.unlink(missing_ok=True)
            swap.write_bytes(msgspec.json.encode(arm.swap))
            environment[SWAP] = str(swap)
        limit = math.ceil(min(longest, self.settings.capture_seconds))
        try:
            facts = run_capture(
                msgspec.structs.replace(spec, **(BRIEF | options)), out,
                dataclasses.replace(self.settings, capture_seconds=limit),
                trusted=self.trusted, cache=cache or kept,
                launch=Launch(arm.python, (own / "sources",), environment, brief=True),
            )  # fmt: skip
            if facts.error == INTERRUPTED:
                raise KeyboardInterrupt
            if facts.state != "complete":
                raise CaptureFailed(f"{arm.label}: {facts.error.message if facts.error else ''}")
            if arm.swap is not None and not swapped.exists():
                raise CaptureFailed(f"{arm.label}: no graph has this kernel when it runs again.")
            yield facts, out
        except CaptureInterrupted:  # a failed process would not end a search
            raise KeyboardInterrupt from None
        finally:
            for folder in (out, *filter(None, (cache,))):
                shutil.rmtree(folder, ignore_errors=True)


def main_file(spec: CaptureSpec) -> Path | None:
    """Returns the file with the model, if the model is given by its path."""
    path = spec.model if spec.kind == "script" else spec.model.rpartition(":")[0]
    return Path(path).expanduser().absolute() if path.endswith(".py") else None


def repository(spec: CaptureSpec) -> Path:
    """Returns the folder of the repository that contains the model's file. Raises SpecError."""
    return Path(git(spec, "rev-parse", "--show-toplevel").decode().strip())


def git(spec: CaptureSpec, *arguments: str) -> bytes:
    """Runs git in the repository of the model's file and returns its output. Raises SpecError."""
    main = main_file(spec)
    if main is None:
        raise SpecError(f"{spec.model} is not named by its file, so it has no revisions.")
    try:
        command = ["git", "-C", str(main.parent), *arguments]
        return subprocess.run(command, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        said = (getattr(error, "stderr", None) or b"").decode(errors="replace").strip()
        raise SpecError(f"git cannot read the revisions of {main}. {said}") from None


def at_revision(spec: CaptureSpec, revision: str) -> dict[str, bytes]:
    """Returns the files of the model's repository that differ in a git revision, with their content
    in it. Raises SpecError."""
    top = repository(spec)
    # --end-of-options: git must not read the revision as an option.
    differing = git(
        spec, "diff", "--name-only", "-z", "--diff-filter=d", "-R", "--end-of-options", revision,
        "--", ":/",
    )  # fmt: skip
    return {
        str(top / name): git(spec, "show", "--end-of-options", f"{revision}:{name}")
        for name in differing.decode().split("\0")
        if name
    }


def as_it_was(arm: Arm, folder: Path) -> tuple[CaptureSpec, dict[str, str | None]]:
    """Returns the spec with its file in a copy of its folder or repository that has the arm's
    sources, and the variables to run it with. Unchanged files are links to those on the disk."""
    main, environment = main_file(arm.spec), dict(arm.environment)
    if main is None or not arm.sources:
        return arm.spec, environment
    top = arm.root or main.parent
    if not folder.exists():
        changed = {
            tuple(Path(path).relative_to(top).parts): text
            for path, text in {str(main): main.read_bytes(), **arm.sources}.items()
            if Path(path).is_relative_to(top)  # another program's model may be outside them
        }
        _lay_out(top, folder, changed)
    copy = folder / main.relative_to(top)
    factory = "" if arm.spec.kind == "script" else f":{arm.spec.model.rpartition(':')[2]}"
    # Packages are imported from the copy too, and nothing is written through the links.
    packages = [str(folder), str(folder / "src"), environment.get("PYTHONPATH")]
    if arm.root is not None:
        environment["PYTHONPATH"] = os.pathsep.join(path for path in packages if path)
    environment[NO_BYTECODE] = "1"
    return msgspec.structs.replace(arm.spec, model=f"{copy}{factory}"), environment


def _lay_out(parent: Path, folder: Path, changed: Mapping[tuple[str, ...], bytes]) -> None:
    folder.mkdir(parents=True)
    for entry in parent.iterdir() if parent.is_dir() else ():
        if entry.name != ".git" and not any(parts[0] == entry.name for parts in changed):
            (folder / entry.name).symlink_to(entry)
    for name in {parts[0] for parts in changed}:
        if (name,) in changed:
            (folder / name).write_bytes(changed[name,])
        else:
            inner = {parts[1:]: text for parts, text in changed.items() if parts[0] == name}
            _lay_out(parent / name, folder / name, inner)


def _results(file: Path) -> Results | None:
    """Returns the results that a process wrote; None if it wrote none."""
    return msgspec.json.decode(file.read_bytes(), type=Results) if file.is_file() else None


def _profiled(out: Path, profile: ProfileFacts | None) -> Profiled:
    if profile is None:
        return Profiled()
    averages = msgspec.json.decode((out / profile.key_averages).read_bytes())
    return profiled(averages["rows"], profile.steps)
