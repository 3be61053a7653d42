"""The progress bar."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars


class Progress:
    """A progress bar on standard error; prints nothing when quiet."""

    def __init__(self, *, quiet: bool) -> None:
        self._bars = Bars(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[amount]}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            disable=quiet,
            transient=True,
        )
        self._task = self._bars.add_task("Starting", total=None, amount="")

    def __enter__(self) -> Progress:
        self._bars.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bars.stop()

    def __call__(self, step: str, done: int, total: int | None, unit: str | None) -> None:
        amount = "" if not total else f"{done:,} of {total:,} {unit or ''}"
        self._bars.update(self._task, description=step, completed=done, total=total, amount=amount)

    def bytes(self, step: str, done: int, total: int) -> None:
        self(step, done, total or None, "bytes")

    def log(self, text: str) -> None:
        self._bars.console.print(text, markup=False, highlight=False, soft_wrap=True)
