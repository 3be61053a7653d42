"""`inductorscope bisect`: finds the change that makes a captured program differ."""

from typing import Annotated, Literal

import typer

from inductorscope.cli.app import AsJson, Data, app, fail, print_json
from inductorscope.errors import FAILED, USAGE


@app.command()
def bisect(
    a: Annotated[str, typer.Argument(help="The first run's id, or its first characters.")],
    b: Annotated[
        str, typer.Argument(help="The second run's, to search the settings that differ.")
    ] = "",
    revisions: Annotated[
        str, typer.Option(help="Search these git revisions of A's repository: FIRST..LAST.")
    ] = "",
    python: Annotated[
        list[str] | None,
        typer.Option(help="Search these Pythons, which may have other torches, in this order."),
    ] = None,
    by: Annotated[
        Literal["time", "kernels", "graphs", "breaks", "recompiles"],
        typer.Option(help="What to compare."),
    ] = "time",
    seconds: Annotated[float, typer.Option(help="Longest time to spend on processes.")] = 1800.0,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Find the settings, the git revision or the torch that changes a captured program.

    Each try runs the program in turns with both ends of the search, in fresh processes; with --by
    and a count, it is only compiled. Files on the disk stay as they are: revisions are checked out
    elsewhere.
    """
    from msgspec.structs import replace

    from inductorscope.analyze.measure.result import Search
    from inductorscope.answers.compare.measured import search_in_words, try_in_words
    from inductorscope.cli.pair import two_runs
    from inductorscope.jobs.work import bisecting
    from inductorscope.jobs.work.settings import Version, revisions_between, settings_between

    first, dots, last = revisions.partition("..")
    if sum((bool(b), bool(revisions), bool(python))) != 1 or bool(revisions) != bool(dots):
        fail("Name a second run, --revisions FIRST..LAST or several --python.", USAGE)
    with two_runs(a, b or a, data, quiet=as_json) as opened:
        one, other = opened.pair.a, opened.pair.b
        settings = settings_between(one, other)
        versions = [Version("Python", path) for path in python or ()]
        if revisions:
            versions = revisions_between(one.spec, first, last or "HEAD")
        if b and not settings:
            fail("The two runs do not differ in a setting.", FAILED)
        if not b:
            if len(versions) < 2:
                fail("There is only one version.", FAILED)
            one, other = (replace(versions[at].of(one), label="AB"[at]) for at in (0, -1))
        judge: bisecting.Judge
        if by == "time":
            judge = bisecting.ByTime(one, other, opened.runner.once, seconds, opened.progress)
            judge.check()
        else:
            judge = bisecting.ByCount(one, other, opened.runner.counts, by)

        def keep(search: Search) -> None:
            opened.progress.log(try_in_words(search.tries[-1], search.by))

        if b:
            found = bisecting.search_settings(one, settings, judge, keep)
        else:
            found = bisecting.search_versions(opened.pair.a, versions, judge, keep)
    if as_json:
        print_json(found)
    else:
        typer.echo(search_in_words(found))
