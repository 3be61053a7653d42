"""Compiles programs for a lock, and reads what was recorded."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from inductorscope.capturing.launch import Launch
from inductorscope.capturing.run import run_capture
from inductorscope.capturing.spec import CaptureSpec, SpecError, from_builtins
from inductorscope.capturing.watch import CaptureFailed
from inductorscope.cli.app import FAILED, USAGE, fail
from inductorscope.cli.client import Client
from inductorscope.cli.local import align_lines, read_paths
from inductorscope.cli.one_run import one_run
from inductorscope.cli.progress import Progress
from inductorscope.contract.lock import Lock, LockError, Program, read_lock
from inductorscope.contract.project import NOWHERE, project
from inductorscope.progress import silent
from inductorscope.settings import Settings
from inductorscope.store.database.engine import engine_of, sessions
from inductorscope.store.database.migrate import migrate
from inductorscope.store.database.private import make_private_folder


def lock_in(file: Path) -> Lock:
    """The lock. Exits if there is none."""
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
) -> tuple[Program, str]:
    """Compiles a model without measuring it, with a Python that may have another torch. Returns it
    and the run, which is sent to the client's server too; exits if it fails."""
    try:
        spec = from_builtins({"model": model, **options})
        if spec.kind == "script":  # it runs until its steps are found
            fast = {"seconds": 0.5, "eager": False, "profile": False}
            spec = from_builtins({"model": model, **fast, **options})
        else:
            spec = from_builtins({"model": model, "measure": False, "record": False, **options})
        make_private_folder(settings.data)
        make_private_folder(settings.captures)
        with tempfile.TemporaryDirectory(dir=settings.captures) as out:
            facts = run_capture(
                spec, Path(out), settings, progress, trusted=True, launch=Launch(python)
            )
            named = spec.title, ["lock", *tags]
            run = read_paths(
                settings, [Path(out)], name=named[0], tags=named[1], origin="capture",
                progress=progress,
            ).run_id  # fmt: skip
            if client:
                client.push([Path(out)], *named, progress.bytes)
    except (CaptureFailed, SpecError) as error:
        progress.stop()
        fail(f"{model}: {error}", FAILED)
    if facts.state != "complete":
        progress.stop()
        why = facts.error.message if facts.error else "no reason is known"
        fail(f"{model} {facts.state}: {why} (run {run})", FAILED)
    return stored_program(settings, run, model, options)


def stored_program(
    settings: Settings, run: str, model: str = "", options: dict[str, Any] | None = None
) -> tuple[Program, str]:
    """A stored run as a program; by default its model is the run's name."""
    migrate(settings)
    with engine_of(settings) as engine:
        with sessions(engine, read_only=True)() as session:
            run = one_run(session, run)
            program = project(session, run, model, options)
        # Torch does not say what the kernels of backward graphs compute; their aligned lines do.
        if any(NOWHERE in text for text in program.details.get("kernels", ())) and align_lines(
            settings, run, silent
        ):
            with sessions(engine, read_only=True)() as session:
                program = project(session, run, model, options)
    return program, run


def changed_options(spec: CaptureSpec) -> dict[str, Any]:
    """The options that differ from the defaults."""
    plain = CaptureSpec(model=spec.model).to_builtins()
    return {
        name: value
        for name, value in spec.to_builtins().items()
        if name != "model" and value != plain[name]
    }
