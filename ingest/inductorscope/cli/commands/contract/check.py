"""`inductorscope check`: compiles again and prints what differs from a lock."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from inductorscope.cli.app import AsJson, Data, Tags, Token, app, fail, load_settings, print_json
from inductorscope.errors import FAILED, USAGE


@app.command()
def check(
    lock: Annotated[Path, typer.Argument(help="The lock.")] = Path("inductor.lock"),
    update: Annotated[
        bool, typer.Option("--update", help="Accept what differs: write it to the lock.")
    ] = False,
    run: Annotated[
        str | None,
        typer.Option(
            help="Compare a stored run instead: with the program of its name, or the only one."
        ),
    ] = None,
    baseline: Annotated[
        str,
        typer.Option(
            help="Compare with a run instead of the lock's counts: its id, its address on a "
            "server, or the address of a history, such as https://…/history?tag=main: the newest "
            "run there of the program's name.",
        ),
    ] = "",
    python: Annotated[
        str,
        typer.Option(
            help="Compile with this Python and its torch; it needs numpy and msgspec too.",
            show_default="this one",
        ),
    ] = sys.executable,
    server: Annotated[str, typer.Option(help="Send the runs to this server.")] = "",
    tag: Tags = None,
    token: Token = "",
    markdown: Annotated[
        Path | None, typer.Option(help="Append Markdown to this file: $GITHUB_STEP_SUMMARY.")
    ] = None,
    as_json: AsJson = False,
    data: Data = None,
) -> None:
    """Compile the lock's programs again and print what got worse and what got better.

    Exits with 1 if anything is worse, different or over a budget. The runs of these programs are
    kept. --json prints the counts in the format of github-action-benchmark.
    """
    settings = load_settings(data=data)
    from inductorscope.cli.baseline import baseline_of
    from inductorscope.cli.client import Client
    from inductorscope.cli.contract import compile_program, lock_in, stored_program
    from inductorscope.cli.progress import Progress
    from inductorscope.cli.reading import writing
    from inductorscope.contract.compare import compare
    from inductorscope.contract.lock import write_lock
    from inductorscope.contract.report import as_benchmark, as_markdown, as_text
    from inductorscope.store.runs.runs import delete_run

    programs = {program.model: program for program in lock_in(lock).program}
    only = next(iter(programs)) if len(programs) == 1 else ""
    made = [stored_program(settings, run, only)] if run else []
    if unknown := {program.model for program, _ in made} - programs.keys():
        fail(f"{lock} has no program {unknown.pop()}.", USAGE)
    wanted = [programs[program.model] for program, _ in made] or list(programs.values())
    bases = [
        baseline_of(settings, own, baseline, token) if baseline else (own, "") for own in wanted
    ]
    if not run:
        client = Client(server, token) if server else None
        with Progress(quiet=as_json) as progress:
            made = [
                compile_program(
                    settings, own.model, own.options, progress, python, tag or (), client, own.warm
                )
                for own in wanted
            ]
    results = [compare(base, now) for (base, _), (now, _) in zip(bases, made, strict=True)]
    failed = [
        (base, of)
        for (_, base), (_, of), result in zip(bases, made, results, strict=True)
        if not result.passes
    ]
    if not run:
        kept = [] if server else [of for _, of in failed]
        with writing(data) as (session, _):
            for of in {of for _, of in made}.difference(kept):
                delete_run(session, of)
    if update:
        for program, _ in made:
            program.options = programs[program.model].options
            program.budgets = programs[program.model].budgets
            programs[program.model] = program
        lock.write_text(write_lock(programs.values()), encoding="utf-8")
    if markdown:
        with markdown.open("a", encoding="utf-8") as file:
            file.write(as_markdown(results))
    if as_json:
        print_json(as_benchmark([program for program, _ in made]))
    else:
        shown = (_where_shown(base, of, run, baseline, server) for base, of in failed)
        typer.echo(as_text(results) + "".join(shown), nl=False)
        if update:
            typer.echo(f"Updated {lock}.")
    if failed and not update:
        raise typer.Exit(FAILED)


def _where_shown(base: str, of: str, run: str | None, baseline: str, server: str) -> str:
    """Returns lines that tell where a run that failed and its baseline are shown."""
    from inductorscope import urls

    lines = ""
    if server:
        path = urls.compare(base, of) if baseline.startswith(server) else urls.run(of)
        lines = f"{server.rstrip('/')}{path}\n"
    elif not run:
        lines = f"Run {of} is kept: inductorscope serve shows it.\n"
    if baseline and "://" not in baseline:
        lines += f"inductorscope diff {base} {of} shows the rest.\n"
    return lines
