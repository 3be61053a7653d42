"""`inductorscope judge`: judges a kernel that somebody wrote against a run's kernel."""

from pathlib import Path
from typing import Annotated

import typer

from inductorscope.cli.app import AsJson, Data, app, fail, print_json
from inductorscope.errors import FAILED, REFUSED, USAGE


@app.command()
def judge(
    file: Annotated[
        Path,
        typer.Argument(
            help="The kernel's source, its definition as in the output code, or its test case."
        ),
    ],
    against: Annotated[
        str, typer.Option(help="RUN/GRAPH/KERNEL, or RUN/GRAPH/KERNEL:CALL for a call by number.")
    ],
    in_step: Annotated[
        bool,
        typer.Option("--in-step", help="Also measure the program's step with it, unconfined."),
    ] = False,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Say whether a kernel is correct, honest and faster than the run's own.

    The exit code is 0 if it is correct and honest, else 1. The text is run: read it first if you do
    not know who wrote it. Use an idle machine.
    """  # fmt: skip
    from msgspec.structs import replace

    from inductorscope import urls
    from inductorscope.analyze.benchmark.case import NoCase
    from inductorscope.analyze.judging.verdict import of_time, verdict_lines
    from inductorscope.answers.explorer.attempts import kept_attempt
    from inductorscope.answers.explorer.judging import cases_of
    from inductorscope.capturing.judging.order import order_of, swap_of
    from inductorscope.capturing.judging.run import judging
    from inductorscope.capturing.measure.turns import compare_swapped
    from inductorscope.cli.pair import two_runs
    from inductorscope.cli.reading import one_run, reading, writing
    from inductorscope.jobs.queue.address import address

    start, _, rest = against.partition("/")
    slug, _, called = rest.rpartition("/")
    kernel, _, handle = called.partition(":")
    if not slug or not (handle or "0").isdecimal():
        fail("--against is RUN/GRAPH/KERNEL.", USAGE)
    if not file.is_file():
        fail(f"There is no file {file}.", USAGE)
    text = file.read_text(encoding="utf-8")
    with reading(data) as (session, settings):
        run = one_run(session, start)
        try:
            found = cases_of(session, run, slug, kernel, int(handle) if handle else None)
            if not found.may_run:
                raise NoCase("Code of runs that were not captured here is never run.")
            order = order_of(found.cases, found.origin, text)
            swap = swap_of(found.cases[0], text) if in_step else None
        except NoCase as error:
            fail(str(error), REFUSED)
    with judging(settings) as judges:
        verdict = judges.judge(order)
    if swap is not None and verdict.accepted:
        with two_runs(run, run, data, quiet=as_json) as opened:
            step = compare_swapped(opened.pair.a, swap, opened.runner, opened.progress)
        verdict = replace(verdict, step=step, in_step=of_time(step, "A step"))
    call = kernel, found.cases[0].handle
    with writing(data) as (session, _):
        attempt = kept_attempt(session, run, slug, call, text, verdict=verdict)
    if as_json:
        print_json(verdict, indent=1)
    else:
        shown = urls.kernel(run, slug, *call, "edit", attempt=attempt.id)
        typer.echo("\n".join([*verdict_lines(verdict), f"{address(settings)}{shown}"]))
    if not verdict.accepted:
        raise typer.Exit(FAILED)
