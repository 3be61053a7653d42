"""Prints the table of runs on a terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from inductorscope.answers.runs.runs import RunRow
from inductorscope.units import ratio

WIDE_COLUMNS, WIDEST_COLUMNS = 130, 150
PIPED_COLUMNS = 200


def print_runs(runs: Sequence[RunRow]) -> None:
    if not runs:
        Console().print("No runs. Start with: inductorscope capture neg-maximum-cat", markup=False)
        return
    console = Console()
    # A file or pipe gets all columns in full; a narrow terminal has no room for them.
    if not console.is_terminal:
        console.width = max(console.width, PIPED_COLUMNS)
    wide, widest = console.width >= WIDE_COLUMNS, console.width >= WIDEST_COLUMNS
    table = Table(box=None, header_style="bold")
    table.add_column("Run", no_wrap=True, min_width=16)
    # The name takes the width that the other columns leave, within a readable minimum.
    most = max(console.width - (125 if widest else 105 if wide else 60), 12)
    table.add_column("Name", no_wrap=True, overflow="ellipsis", max_width=most)
    if wide:
        table.add_column("torch", no_wrap=True, overflow="ellipsis", max_width=18)
        table.add_column("Device", no_wrap=True, overflow="ellipsis", max_width=18)
    if widest:
        table.add_column("Verdict", no_wrap=True, overflow="ellipsis", max_width=18)
    for heading in ("Graphs", "Kernels", "Speed-up", "When"):
        table.add_column(heading, justify="right", no_wrap=True)
    for run in runs:
        made_on = (run.torch_version or "—", run.device_name or run.device_kind or "—")
        table.add_row(
            run.id,
            run.name,
            *(made_on if wide else ()),
            *((run.verdict.label,) if widest else ()),
            str(run.graph_count),
            str(run.kernel_count),
            ratio(run.speed_up),
            f"{run.created_at:{'%Y-%m-%d %H:%M' if wide else '%m-%d %H:%M'}}",
        )
    console.print(table)
