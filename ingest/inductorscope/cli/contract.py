"""Compiles programs for a lock, and reads what was recorded."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from inductorscope.capturing.launch import Launch
from inductorscope.capturing.measure.processes import Arm, Runner
from inductorscope.capturing.run import run_capture
from inductorscope.capturing.spec import CaptureSpec, SpecError, from_builtins, kind_of
from inductorscope.capturing.watch import CaptureFailed, CaptureInterrupted
from inductorscope.cli.app import fail
from inductorscope.cli.client import Client
from inductorscope.cli.local import align_lines, read_paths, working_folder
from inductorscope.cli.progress import Progress
from inductorscope.cli.reading import one_run
from inductorscope.contract.lock import Lock, LockError, Program, read_lock
from inductorscope.contract.project import NOWHERE, add_warm, project
from inductorscope.errors import USAGE
from inductorscope.formats.capture_facts import INTERRUPTED
from inductorscope.progress import silent
from inductorscope.settings import Settings
from inductorscope.store.database.engine import engine_of, sessions
from inductorscope.store.database.migrate import migrate


class RunFailed(CaptureFailed):
    """The program failed; its run is kept."""

    def __init__(self, what: str, run: str) -> None:
        super().__init__(what)
        self.run = run


def lock_in(file: Path) -> Lock:
    """Returns the lock in a file. Exits if there is none."""
    try:
        return read_lock(file.read_text(encoding="utf-8"))
    except OSError as error:
        fail(f"{file} cannot be read: {error.strerror}.", USAGE)
    except (LockError, UnicodeDecodeError) as error:
        fail(f"{file}: {error}", USAGE)


def compile_program(
    settings: Settings,
    model: str,
    options: dict[str, Any],
    progress: Progress,
    python: str = sys.executable,
    tags: Sequence[str] = (),
    client: Client | None = None,
    warm: bool = False,
) -> tuple[Program, str]:
    """Compiles a model without measuring it, with a Python that may have another torch. Returns the
    program and its run, which is also sent to the client's server. With `warm`, starts it twice
    more, to count what the second start does although the first one filled the caches. Raises
    CaptureFailed."""
    # A script must run until its steps are found.
    fast = (
        {"seconds": 0.5, "eager": False, "profile": False}
        if kind_of(model) == "script"
        else {"measure": False, "record": False}
    )
    try:
        spec = from_builtins({"model": model, **fast, **options})
        with working_folder(settings) as out:
            facts = run_capture(spec, out, settings, progress, trusted=True, launch=Launch(python))
            if facts.error is not None and facts.error.kind == INTERRUPTED.kind:
                raise CaptureInterrupted(INTERRUPTED.message)
            name, tags = spec.title, ["lock", *tags]
            run = read_paths(
                settings, [out], name=name, tags=tags, origin="capture", progress=progress
            ).run_id
            if client:
                client.push([out], name, tags, progress.bytes)
    except CaptureInterrupted:
        raise
    except (CaptureFailed, SpecError) as error:
        raise CaptureFailed(f"{model}: {error}") from None
    if facts.state != "complete":
        why = facts.error.message if facts.error else "no reason is known"
        raise RunFailed(f"{model} {facts.state}: {why} (run {run})", run)
    program, run = stored_program(settings, run, model, options)
    if warm:
        with working_folder(settings) as folder:
            runner, arm = Runner(folder, settings, trusted=True), Arm("warm", spec, python=python)
            for doing in ("filling the caches", "starting with filled caches"):
                progress(doing, 0, None, None)
                _, story = runner.start(arm)
        add_warm(program, story)
    return program, run


def stored_program(
    settings: Settings, run: str, model: str = "", options: dict[str, Any] | None = None
) -> tuple[Program, str]:
    """Returns a stored run as a program; by default its model is the run's name."""
    migrate(settings)
    with engine_of(settings) as engine:
        with sessions(engine, read_only=True)() as session:
            run = one_run(session, run)
            program = project(session, run, model, options)
        # Torch does not say what kernels of backward graphs compute, but their aligned lines do.
        if any(NOWHERE in text for text in program.details.get("kernels", ())) and align_lines(
            settings, run, silent
        ):
            with sessions(engine, read_only=True)() as session:
                program = project(session, run, model, options)
    return program, run


def changed_options(spec: CaptureSpec) -> dict[str, Any]:
    """Returns the options that differ from the defaults."""
    plain = CaptureSpec(model=spec.model).to_builtins()
    return {
        name: value
        for name, value in spec.to_builtins().items()
        if name != "model" and value != plain[name]
    }
