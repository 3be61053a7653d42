"""Compiles the cells of a survey, one after another; several processes share them."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from sqlalchemy import Text, cast, delete, select

from inductorscope.answers.markdown.pages import page_markdown
from inductorscope.capturing.watch import CaptureFailed, CaptureInterrupted
from inductorscope.cli.contract import RunFailed, compile_program
from inductorscope.cli.progress import Progress
from inductorscope.cli.surveying.matrix import Cell, Python, on_device
from inductorscope.jobs.queue.slots import Slot
from inductorscope.settings import Settings
from inductorscope.store.database.engine import engine_of, sessions
from inductorscope.store.runs.runs import delete_run
from inductorscope.store.tables.models import Run
from inductorscope.store.tables.surveys import SurveyCell
from inductorscope.survey.beside import beside_page
from inductorscope.survey.cells import cells_of, compare_neighbours
from inductorscope.survey.events import AtlasEvent, events_of
from inductorscope.units import plural, seconds

LONGEST = 240
"""Most characters of the reason why a cell failed."""


@dataclass
class Survey:
    """A survey of these cells."""

    settings: Settings
    name: str
    cells: Sequence[Cell]
    seconds: int
    progress: Progress

    def stored(self) -> dict[str, str]:
        """Returns the keys of cells that are done, with the reason of those that failed."""
        with engine_of(self.settings) as engine, sessions(engine, read_only=True)() as session:
            return {cell.key: cell.failure or "" for cell in cells_of(session, self.name)}

    def run(self, until: float, *, retry: bool) -> Iterator[str]:
        """Compiles what is not there, until that time; yields a line for each cell."""
        again = {key for key, failure in self.stored().items() if failure} if retry else set()
        for number, cell in enumerate(self.cells, start=1):
            if time.monotonic() >= until:
                return
            slot = Slot(self.settings, cell.key, "survey")
            if not slot.take():
                continue  # another process compiles it
            try:
                if cell.key not in self.stored() or cell.key in again:
                    yield f"[{number}/{len(self.cells)}] {cell.words}: {self._compile(cell)}"
            finally:
                slot.path.unlink(missing_ok=True)
                slot.release()

    def _compile(self, cell: Cell) -> str:
        """Compiles a cell and stores it, with the reason if it fails."""
        self._forget(cell)
        began = time.monotonic()
        limited = replace(self.settings, capture_seconds=self.seconds)
        options = {name: value for name, value in cell.options.items() if name != "model"}
        row = SurveyCell(
            key=cell.key, survey=self.name, program=cell.program, python=cell.python.label,
            torch=cell.python.torch, device=cell.device, mode=cell.mode, run_id=None, failure=None,
            made={}, counts={}, details={}, before=None, changes=[],
        )  # fmt: skip
        tags = [f"survey:{self.name}", f"cell:{cell.key}"]
        try:
            program, row.run_id = compile_program(
                limited, cell.options["model"], options, self.progress, cell.python.path, tags
            )
        except CaptureInterrupted:
            raise
        except CaptureFailed as error:
            row.failure = _in_short(str(error))
            row.run_id = error.run if isinstance(error, RunFailed) else None
        else:
            row.made, row.counts, row.details = program.made, program.counts, program.details
        row.seconds, row.created_at = time.monotonic() - began, datetime.now(UTC)
        run = f" (run {row.run_id})" if row.run_id else ""
        said = f"failed: {row.failure}{run}" if row.failure else (
            f"{plural(row.counts['graphs'], 'graph')}, {plural(row.counts['kernels'], 'kernel')}"
            f"{run}"
        )  # fmt: skip
        took = seconds(row.seconds)
        with engine_of(self.settings) as engine, sessions(engine).begin() as session:
            session.add(row)
        return f"{said}, {took}"

    def _forget(self, cell: Cell) -> None:
        """Deletes what an earlier try left: its run, if the process was killed before its end."""
        tagged = cast(Run.tags, Text).contains(f'"cell:{cell.key}"', autoescape=True)
        with engine_of(self.settings) as engine, sessions(engine).begin() as session:
            for run in session.scalars(select(Run.id).where(tagged)).all():
                delete_run(session, run)
            session.execute(delete(SurveyCell).where(SurveyCell.key == cell.key))

    def beside(self, model: str, python: Python, device: str) -> str:
        """Compiles a program, and returns it beside the nearest of the survey as Markdown. Raises
        CaptureFailed and NotHere."""
        _, run = compile_program(
            self.settings, model, on_device(device), self.progress, python.path
        )
        with engine_of(self.settings) as engine, sessions(engine, read_only=True)() as session:
            page = beside_page(session, run, self.name)
        return page_markdown(page, f"{model} beside {self.name}")

    def events(self) -> list[AtlasEvent]:
        """Compares neighbouring versions of these cells."""
        keys = {cell.key for cell in self.cells}
        with engine_of(self.settings) as engine, sessions(engine)() as session:
            own = [cell for cell in cells_of(session, self.name) if cell.key in keys]
            compare_neighbours(session, own)
            return events_of(own)


def _in_short(why: str) -> str:
    """Returns the first sentence of a failure; its run has the rest."""
    lines = [line.strip() for line in why.split("\n")]
    first = " ".join(lines[:2]) if lines[0].endswith("raised:") else lines[0]
    return first if len(first) <= LONGEST else f"{first[:LONGEST]}…"
