"""`inductorscope lock`: writes what a compile is to a file that `check` compares."""

from pathlib import Path
from typing import Annotated

import typer

from inductorscope.cli import model_options as given
from inductorscope.cli.app import Data, app, fail, load_settings
from inductorscope.errors import USAGE

Shapes = Annotated[
    str,
    typer.Option(
        "--shapes",
        help="Shapes of further calls, such as 'x=(8,128),(8,129)'; ';' separates arguments.",
    ),
]


@app.command()
def lock(
    models: Annotated[
        list[str] | None,
        typer.Argument(help="Built-in models, package.module:factory, file.py:factory, scripts."),
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The lock.")] = Path(
        "inductor.lock"
    ),
    shapes: Shapes = "",
    device: given.Device = "cpu",
    pretend: given.Pretend = None,
    dtype: given.Dtype = None,
    train: given.Train = False,
    dynamic: given.Dynamic = None,
    mode: given.Mode = None,
    config: given.Config = None,
    warm: Annotated[
        bool,
        typer.Option(
            "--warm",
            help="Also lock what a start does when the caches are filled; compiles three times.",
        ),
    ] = False,
    run: Annotated[
        str | None, typer.Option(help="Lock a stored run instead of compiling a model.")
    ] = None,
    data: Data = None,
) -> None:
    """Compile models and write a lock of the results: breaks, kernels, bytes, guards, …

    Keeps budgets, and programs in the lock that are not named here.
    """
    settings = load_settings(data=data)
    if bool(models) == bool(run):
        fail("Name models to compile, or a stored run with --run.", USAGE)
    from inductorscope.capturing.spec import from_builtins
    from inductorscope.cli.contract import (
        changed_options,
        compile_program,
        lock_in,
        stored_program,
    )
    from inductorscope.cli.progress import Progress
    from inductorscope.contract.lock import write_lock
    from inductorscope.units import plural

    known = {own.model: own for own in lock_in(output).program} if output.exists() else {}
    options = {
        "device": "cuda:0" if pretend else device, "pretend": pretend,
        "dtype": dtype and dtype.value, "train": train, "dynamic": dynamic,
        "mode": mode and mode.value, "shapes": shapes, "config": given.pairs(config),
    }  # fmt: skip
    specs = [from_builtins({"model": model, **options}) for model in models or []]
    with Progress(quiet=False) as progress:
        made = [
            compile_program(settings, spec.model, changed_options(spec), progress, warm=warm)
            for spec in specs
        ]
    if run:
        made.append(stored_program(settings, run))
    for program, _ in made:
        program.budgets = known[program.model].budgets if program.model in known else {}
        known[program.model] = program
    output.write_text(write_lock(known.values()), encoding="utf-8")
    for program, of in made:
        counts = program.counts
        typer.echo(
            f"{program.model}: {plural(counts['graphs'], 'graph')}, "
            f"{plural(counts['breaks'], 'break')}, {plural(counts['recompiles'], 'recompile')}, "
            f"{plural(counts['kernels'], 'kernel')} (run {of})"
        )
    typer.echo(f"Wrote {output}.")
