"""`inductorscope capture`: runs a model on this machine, then stores the recording or sends it."""

from typing import Annotated

import typer

from inductorscope.capturing.spec import CaptureSpec
from inductorscope.cli import model_options as given
from inductorscope.cli.app import ON_CTRL_C, AsJson, Data, Name, Tags, Token, app, load_settings
from inductorscope.errors import FAILED


@app.command(context_settings={"allow_interspersed_args": True})
def capture(
    model: Annotated[
        str,
        typer.Argument(
            help="A built-in model (another word lists them), package.module:factory, "
            "file.py:factory, a script.py, or what starts a script: python, torchrun or accelerate."
        ),
    ],
    args: Annotated[
        list[str] | None, typer.Argument(help="Arguments of the script or launcher, after `--`.")
    ] = None,
    data: Data = None,
    server: Annotated[
        str, typer.Option(help="Send the run to this server instead of the local database.")
    ] = "",
    token: Token = "",
    name: Name = None,
    tag: Tags = None,
    device: given.Device = "cpu",
    pretend: given.Pretend = None,
    dtype: given.Dtype = None,
    train: given.Train = False,
    dynamic: given.Dynamic = None,
    mode: given.Mode = None,
    backend: Annotated[str, typer.Option(help="Back end of torch.compile.")] = "inductor",
    values: Annotated[
        bool, typer.Option("--values", help="Record the values each kernel reads and writes.")
    ] = False,
    config: given.Config = None,
    source: Annotated[
        bool,
        typer.Option("--source/--no-source", help="Keep the source files that stack frames name."),
    ] = True,
    seconds: Annotated[float, typer.Option(help="Seconds to spend on timing.")] = 10.0,
    repeats: Annotated[int | None, typer.Option(help="Exact number of timing samples.")] = None,
    eager: Annotated[
        bool | None,
        typer.Option(
            "--eager/--no-eager",
            help="Run a script again without torch.compile. Default: for at most a minute.",
        ),
    ] = None,
    steps_after: Annotated[
        int,
        typer.Option(help="Steps that a script runs on after it is measured, before it is ended."),
    ] = 0,
    full: Annotated[
        bool, typer.Option("--full", help="Let a script run to its end instead of ending it.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Compile a model, time it against eager, profile it, and store everything Inductor wrote.

    A script runs unchanged: its steps are found, timed and profiled while it runs. Then it is ended
    between two steps, without its exit handlers, and run once more without torch.compile.
    """
    settings = load_settings(data=data)
    spec = CaptureSpec(
        model=model,
        args=tuple(args or ()),
        name=name,
        device="cuda:0" if pretend else device,
        pretend=pretend,
        dtype=dtype.value if dtype else None,
        train=train,
        dynamic=dynamic,
        mode=mode.value if mode else None,
        backend=backend,
        values=values,
        config=given.pairs(config),
        source=source,
        seconds=seconds,
        repeats=repeats,
        eager=eager,
        steps_after=steps_after,
        full=full,
    )
    from inductorscope.analyze.failures.blame import judge
    from inductorscope.analyze.failures.text import explain
    from inductorscope.capturing.run import run_capture
    from inductorscope.cli.local import working_folder
    from inductorscope.cli.progress import Progress
    from inductorscope.cli.results import ingest_and_print, push_and_print
    from inductorscope.formats.capture_facts import INTERRUPTED

    with working_folder(settings) as out:
        with Progress(quiet=as_json) as progress:
            facts = run_capture(spec, out, settings, progress, log=progress.log, trusted=True)
        interrupted = facts.error is not None and facts.error.kind == INTERRUPTED.kind
        if interrupted:
            typer.echo("Interrupted; what was recorded until then is kept.", err=True)
        if server:
            url = push_and_print(server, token, [out], spec.title, tag or [], as_json)
        else:
            url = ingest_and_print(
                settings, [out], spec.title, tag or [], origin="capture", as_json=as_json
            )
    if interrupted:
        raise typer.Exit(ON_CTRL_C)
    if facts.state != "complete":
        if spec.kind != "script" and facts.error is not None:  # a script's last lines are shown
            failed = facts.error
            why = explain(failed.message, failed.trace, failed.kind)
            judge(why, facts.eager_outcome)
            what = why.title.rstrip(".")
            typer.echo(f"The model {facts.state}: {what}. {url}/failures", err=True)
        raise typer.Exit(FAILED)
