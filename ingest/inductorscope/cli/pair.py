"""Opens two captured runs that a command runs again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from inductorscope.cli.app import load_settings

if TYPE_CHECKING:
    from inductorscope.capturing.measure.processes import Runner
    from inductorscope.cli.progress import Progress
    from inductorscope.jobs.work.pair import Pair
    from inductorscope.store.database.engine import Sessions


@dataclass(frozen=True)
class Opened:
    """Two captured runs, and what it takes to run them again."""

    pair: Pair
    runs: tuple[str, str]
    sessions: Sessions
    runner: Runner
    progress: Progress


@contextmanager
def two_runs(a: str, b: str, data: Path | None, *, quiet: bool) -> Iterator[Opened]:
    """Opens two runs by the first characters of their ids. Raises Refused or WorkRefused with a
    sentence if one may not be run."""
    from inductorscope.capturing.measure.processes import Runner
    from inductorscope.cli.local import working_folder
    from inductorscope.cli.progress import Progress
    from inductorscope.cli.reading import one_run
    from inductorscope.jobs.work.pair import load_pair
    from inductorscope.store.database.engine import engine_of, sessions
    from inductorscope.store.database.migrate import migrate

    settings = load_settings(data=data)
    migrate(settings)
    with engine_of(settings) as engine, working_folder(settings) as folder:
        factory = sessions(engine)
        with factory() as session:
            runs = one_run(session, a), one_run(session, b)
            pair = load_pair(session, *runs)
        with Progress(quiet=quiet) as progress:
            runner = Runner(folder, settings, trusted=True)
            yield Opened(pair, runs, factory, runner, progress)
