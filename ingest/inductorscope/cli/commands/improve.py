"""`inductorscope improve`: searches for changes that make a program faster."""

import secrets
from datetime import UTC, datetime
from typing import Annotated

import typer

from inductorscope.cli.app import ON_CTRL_C, AsJson, Data, app, load_settings, print_json
from inductorscope.errors import FAILED


@app.command(context_settings={"allow_interspersed_args": True})
def improve(
    program: Annotated[
        str,
        typer.Argument(
            help="A captured run's id, or its first characters; or a script.py or file.py:factory, "
            "which is captured first."
        ),
    ],
    args: Annotated[
        list[str] | None, typer.Argument(help="Arguments of the script, after `--`.")
    ] = None,
    data: Data = None,
    minutes: Annotated[float, typer.Option(help="Longest time to search.", min=0.1)] = 20.0,
    as_json: AsJson = False,
) -> None:
    """Try changes of a program in fresh processes, and join those that make it faster.

    The program's files stay as they are. Ctrl-C keeps what is known; the next search goes on from
    there. The exit code is 0 if something is faster, else 1. Use an idle machine.
    """
    from inductorscope.analyze.trial.result import Improvement
    from inductorscope.answers.trials import words
    from inductorscope.answers.trials.trials import IMPROVE, stored_improvement, trials_page
    from inductorscope.capturing.measure.processes import Runner
    from inductorscope.capturing.spec import kind_of
    from inductorscope.capturing.trial.trying import Trier
    from inductorscope.cli.local import captured, working_folder
    from inductorscope.cli.progress import Progress
    from inductorscope.cli.reading import one_run
    from inductorscope.jobs.work.trial import Searching, reader
    from inductorscope.store.database.engine import engine_of, sessions
    from inductorscope.store.database.migrate import migrate
    from inductorscope.store.runs.diagnoses import write_diagnosis

    settings = load_settings(data=data)
    migrate(settings)
    job = f"improve-{secrets.token_hex(8)}"
    told: list[str] = []
    with (
        engine_of(settings) as engine,
        working_folder(settings) as folder,
        Progress(quiet=as_json) as progress,
    ):
        factory = sessions(engine)
        if kind_of(program) != "built-in":  # a script or a factory, and not a run
            program = captured(settings, program, args or (), progress)
        with factory() as session:
            run_id = one_run(session, program)
            searching = Searching(session, run_id)

        found, interrupted = Improvement(), False

        def keep(new: Improvement) -> None:
            nonlocal found
            found = new
            for trial in found.trials[len(told) :]:
                told.append(trial.title)
                progress.log(f"{trial.title}: {words.outcome(trial)}")
            with factory.begin() as session:
                write_diagnosis(
                    session, run_id, IMPROVE, job, datetime.now(UTC), complete=found.complete,
                    result=stored_improvement(found),
                )  # fmt: skip

        runner = Runner(folder, settings, trusted=True, alike=True)
        trier = Trier(searching.arm, runner, progress, reader(settings, factory, run_id))
        try:
            keep(searching.run(trier, minutes, keep))
        except KeyboardInterrupt:
            interrupted = True
        with factory() as session:
            page = trials_page(session, run_id)
    if as_json:
        print_json(found, indent=1)
    else:
        typer.echo(words.verdict(found))
        for row in page.trials:
            typer.echo(f"  {row.title}: {row.outcome}")
        for line in page.writes:
            typer.echo(line)
        if page.patch:
            typer.echo(page.patch)
    if interrupted:
        raise typer.Exit(ON_CTRL_C)
    if found.gain <= 1.0:
        raise typer.Exit(FAILED)
