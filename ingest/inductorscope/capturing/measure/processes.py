"""One fresh process: what it runs, and its times. Torch-free."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from inductorscope.capturing.launch import Launch
from inductorscope.capturing.measure.machine import Watching
from inductorscope.capturing.permission import model_folders, permit
from inductorscope.capturing.run import run_capture
from inductorscope.capturing.spec import CaptureSpec, SpecError
from inductorscope.capturing.watch import CaptureFailed
from inductorscope.formats.capture_facts import COMPILED, ProfileFacts
from inductorscope.settings import Settings

SECONDS = 2.0
"""How long a process is timed."""
_GRAPH = re.compile(r"^graph_\d+_(?=cpp_)")
"""What the profiler puts before the name of a C++ kernel."""


@dataclass(frozen=True)
class Arm:
    """A program that is measured beside others."""

    label: str
    spec: CaptureSpec
    sources: Mapping[str, bytes] = field(default_factory=dict)
    """Files as they were, by path, where they differ from those on the disk."""
    python: str = sys.executable
    environment: Mapping[str, str | None] = field(default_factory=dict)
    """Variables that are set for it, or removed."""


class Once(msgspec.Struct, frozen=True):
    """One process."""

    arm: str
    ms: float
    """What a tenth of its steps stay below: neighbours only ever add time."""
    kernels: dict[str, float]
    """µs of a profiled step, by kernel, or by operator with what it calls."""
    torch: str
    seconds: float
    """Of everything: starting, compiling, timing."""
    load: float | None
    others: float
    """Share of all cores that other processes used."""
    clock_mhz: float | None
    disturbed: list[str]


class Runner:
    """Runs arms. Keeps the compiled kernels of each: later processes generate the code again, but
    do not wait for the compiler."""

    def __init__(self, folder: Path, settings: Settings, *, trusted: bool) -> None:
        self.folder = folder
        self.settings = settings
        self.trusted = trusted

    def once(self, arm: Arm, seconds: float = SECONDS) -> Once:
        """Raises CaptureFailed, SpecError."""
        own = self.folder / re.sub(r"\W", "_", arm.label)
        out = own / "out"
        permit(arm.spec, model_folders(self.settings.model_folders), self.trusted)
        spec = msgspec.structs.replace(
            as_it_was(arm, own / "sources"), seconds=seconds, eager=False, source=False,
            record=False, values=False, profile=True, repeats=None, full=False, steps_after=0,
        )  # fmt: skip
        began = time.monotonic()
        try:
            with Watching(spec.device) as watching:
                facts = run_capture(
                    spec, out, self.settings, trusted=self.trusted, cache=own / "cache",
                    launch=Launch(arm.python, (own / "sources",), arm.environment, brief=True),
                )  # fmt: skip
            timing = facts.timings.get(COMPILED)
            if facts.state != "complete" or timing is None:
                why = facts.error.message if facts.error else " ".join(facts.missing)
                raise CaptureFailed(f"{arm.label} has no time of a compiled step. {why}")
            kernels = _kernels(out, facts.profiles.get(COMPILED))
        finally:
            shutil.rmtree(out, ignore_errors=True)
        seen = watching.seen
        return Once(
            arm.label, timing.p10, kernels, facts.torch_version or "",
            time.monotonic() - began, seen.load, seen.others_share, seen.clock, seen.disturbed(),
        )  # fmt: skip


def main_file(spec: CaptureSpec) -> Path | None:
    """The file with the model, if it is named by its path."""
    path = spec.model if spec.kind == "script" else spec.model.rpartition(":")[0]
    return Path(path).expanduser().absolute() if path.endswith(".py") else None


def at_revision(spec: CaptureSpec, revision: str) -> dict[str, bytes]:
    """Files below the folder of the model's file that differ from those of a git revision, as they
    are there. Raises SpecError."""
    main = main_file(spec)
    if main is None:
        raise SpecError(f"{spec.model} is not named by its file, so it has no revisions.")

    def git(*arguments: str) -> bytes:
        command = ["git", "-C", str(main.parent), *arguments]
        try:
            return subprocess.run(command, capture_output=True, check=True).stdout
        except (OSError, subprocess.CalledProcessError) as error:
            said = getattr(error, "stderr", b"").decode(errors="replace").strip()
            raise SpecError(f"git knows no revision {revision} of {main}. {said}") from None

    # --end-of-options: the revision is never an option.
    differing = git(
        "diff", "--name-only", "-z", "--relative", "--diff-filter=d", "-R",
        "--end-of-options", revision, "--", ".",
    )  # fmt: skip
    return {
        str(main.parent / name): git("show", "--end-of-options", f"{revision}:./{name}")
        for name in differing.decode().split("\0")
        if name
    }


def as_it_was(arm: Arm, folder: Path) -> CaptureSpec:
    """The spec with its file in a copy of its folder that has the arm's sources; other files are
    links to those on the disk."""
    main = main_file(arm.spec)
    if main is None or not arm.sources:
        return arm.spec
    if not folder.exists():
        parent = main.parent
        changed = {
            tuple(Path(path).relative_to(parent).parts): text
            for path, text in {str(main): main.read_bytes(), **arm.sources}.items()
            if Path(path).is_relative_to(parent)
        }
        _lay_out(parent, folder, changed)
    factory = "" if arm.spec.kind == "script" else f":{arm.spec.model.rpartition(':')[2]}"
    return msgspec.structs.replace(arm.spec, model=f"{folder / main.name}{factory}")


def _lay_out(parent: Path, folder: Path, changed: Mapping[tuple[str, ...], bytes]) -> None:
    folder.mkdir(parents=True)
    for entry in parent.iterdir() if parent.is_dir() else ():
        if not any(parts[0] == entry.name for parts in changed):
            (folder / entry.name).symlink_to(entry)
    for name in {parts[0] for parts in changed}:
        if (name,) in changed:
            (folder / name).write_bytes(changed[name,])
        else:
            inner = {parts[1:]: text for parts, text in changed.items() if parts[0] == name}
            _lay_out(parent / name, folder / name, inner)


def _kernels(out: Path, profile: ProfileFacts | None) -> dict[str, float]:
    if profile is None:
        return {}
    averages = msgspec.json.decode((out / profile.key_averages).read_bytes())
    times: dict[str, float] = {}
    for row in averages["rows"]:
        kind = "" if "::" in row["name"] else "self_"
        # On a GPU, what counts is the work there, not its launch.
        us = row[f"{kind}device_us"] or row[f"{kind}cpu_us"]
        name = _GRAPH.sub("", row["name"])
        if us:
            times[name] = times.get(name, 0.0) + us / profile.steps
    return times
