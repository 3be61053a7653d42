"""Two captured runs that a command runs again."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from inductorscope.cli.app import FAILED, fail, load_settings

if TYPE_CHECKING:
    from inductorscope.cli.progress import Progress
    from inductorscope.jobs.work.measuring import Pair
    from inductorscope.settings import Settings
    from inductorscope.store.database.engine import Sessions


@dataclass(frozen=True)
class Opened:
    """What running them needs."""

    pair: Pair
    runs: tuple[str, str]
    sessions: Sessions
    settings: Settings
    folder: Path
    progress: Progress


@contextmanager
def two_runs(a: str, b: str, data: Path | None, *, quiet: bool) -> Iterator[Opened]:
    """Opens them by the first characters of their ids; says in a sentence why one cannot run."""
    from inductorscope.capturing.spec import SpecError
    from inductorscope.capturing.watch import CaptureFailed
    from inductorscope.cli.one_run import one_run
    from inductorscope.cli.progress import Progress
    from inductorscope.intake.limits import Refused
    from inductorscope.jobs.work.measuring import load_pair
    from inductorscope.jobs.work.task import WorkRefused
    from inductorscope.store.database.engine import make_engine, sessions
    from inductorscope.store.database.migrate import migrate
    from inductorscope.store.database.private import make_private_folder

    configured = load_settings(data=data)
    migrate(configured)
    make_private_folder(configured.data)
    make_private_folder(configured.captures)
    engine = make_engine(configured)
    factory = sessions(engine)
    try:
        with factory() as session:
            runs = one_run(session, a), one_run(session, b)
            pair = load_pair(session, *runs)
        with (
            tempfile.TemporaryDirectory(dir=configured.captures) as folder,
            Progress(quiet=quiet) as progress,
        ):
            yield Opened(pair, runs, factory, configured, Path(folder), progress)
    except (Refused, WorkRefused, CaptureFailed, SpecError) as error:
        fail(str(error), FAILED)
    finally:
        engine.dispose()
