"""Reads paths of this machine straight into the database, without upload or worker, and captures
programs for commands that need their run."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from inductorscope.capturing.spec import CaptureSpec
from inductorscope.cli.app import fail
from inductorscope.cli.run_name import name_of
from inductorscope.errors import FAILED
from inductorscope.intake.limits import Limits
from inductorscope.intake.unpack import lay_out, unpack
from inductorscope.progress import Progress
from inductorscope.reading.graphs.apart import cores
from inductorscope.reading.graphs.relink import relink
from inductorscope.reading.logs.renew import renew_stories
from inductorscope.reading.run import ReadResult, read_run
from inductorscope.settings import Settings
from inductorscope.store.database.engine import engine_of, sessions
from inductorscope.store.database.migrate import migrate
from inductorscope.store.database.private import make_private_folder

TIMED_SECONDS = 2.0
"""Seconds for which a captured program is timed if the command times it anew."""


@contextmanager
def working_folder(settings: Settings) -> Iterator[Path]:
    """A private folder for what programs write while they run; it is deleted at the end."""
    make_private_folder(settings.data)
    make_private_folder(settings.captures)
    with tempfile.TemporaryDirectory(dir=settings.captures) as folder:
        yield Path(folder)


def read_paths(
    settings: Settings,
    paths: list[Path],
    *,
    name: str | None,
    tags: list[str],
    origin: str,
    progress: Progress,
    workers: int = 0,
) -> ReadResult:
    """Reads all paths as one run.

    A single folder is read in place; anything else is first laid out in a working folder.
    """
    migrate(settings)
    make_private_folder(settings.data)
    name = name or name_of(paths)
    with tempfile.TemporaryDirectory(dir=settings.data, prefix="reading-") as work:
        root = paths[0]
        if len(paths) > 1:
            root = Path(work) / "all"
            lay_out(
                [path.resolve() for path in paths],
                root,
                Limits.of(settings),
                lambda path: progress(f"Unpacking {path.name}", 0, None, None),
            )
        elif not root.is_dir():
            root = Path(work)
            progress(f"Unpacking {paths[0].name}", 0, None, None)
            unpack(paths[0], root, Limits.of(settings))
        with engine_of(settings) as engine:
            return read_run(
                root,
                settings=settings,
                session_factory=sessions(engine),
                origin=origin,
                name=name,
                tags=tags,
                progress=progress,
                workers=workers,
            )


def align_lines(settings: Settings, run: str, progress: Progress, *, workers: int = 0) -> bool:
    """Aligns the lines of a run's kernels that are not aligned yet, and renews what an older
    version made; returns whether there was anything to do.

    Interrupting is safe: a worker, or `inductorscope relink`, does the rest.
    """
    with engine_of(settings) as engine:
        done = relink(engine, workers, run, progress)
        done.stories = renew_stories(engine, run, progress)
    return bool(done.done or done.failed or done.stories)


def captured(settings: Settings, model: str, args: Sequence[str], progress: Progress) -> str:
    """Captures a program without its eager part, and returns its run. Exits if it does not run."""
    from inductorscope.capturing.run import run_capture

    file, *factory = model.split(":")
    if Path(file).is_file():
        model = ":".join([str(Path(file).absolute()), *factory])  # to try it from any folder
    spec = CaptureSpec(model=model, args=tuple(args), eager=False, seconds=TIMED_SECONDS)
    with working_folder(settings) as out:
        facts = run_capture(spec, out, settings, progress, trusted=True)
        if facts.state != "complete":
            why = facts.error.message if facts.error else ""
            fail(f"{model} {facts.state}: {why}", FAILED)
        return read_paths(
            settings, [out], name=spec.title, tags=[], origin="capture", progress=progress,
            workers=cores(),
        ).run_id  # fmt: skip
