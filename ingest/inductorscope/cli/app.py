"""The command line: the app, and the options that commands share.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 input refused or unreadable, 4 server unreachable or
refusing, 5 no such page.

Only the module of the requested command is imported, and a command defers its slow imports until it
runs, so that `inductorscope --version` is fast.
"""

from __future__ import annotations

import atexit
import gc
import signal
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from inductorscope import __version__
from inductorscope.errors import FAILED, InWords

if TYPE_CHECKING:
    from inductorscope.settings import Settings

ON_CTRL_C = 130
COLLECTED_AFTER = 50_000
"""New objects between two collections: commands import many modules, which a collection cannot
free."""


class Commands(TyperGroup):
    """Runs a command; prints an error that is not a bug as a sentence."""

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401  # typer keeps its click to itself
        try:
            return super().invoke(ctx)
        except (typer.Exit, typer.Abort):
            raise
        except Exception as error:
            end = _end(error)
            if end is None:
                raise
            fail(*end)


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    help="See what TorchInductor did to your model, line by line.\n\n"
    "[bold]inductorscope serve[/] opens the dashboard; [bold]inductorscope capture[/] compiles and "
    "records a model; [bold]inductorscope ingest[/] reads the debug folders, logs and traces you "
    "have.\n\n"
    "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 input refused, 4 server unreachable or "
    "refusing, 5 no such page.",
)

Data = Annotated[
    Path | None,
    typer.Option(
        "--data", help="Folder of the database and of unfinished uploads.", show_default=False
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
RunId = Annotated[str, typer.Argument(help="The run's id, or its first characters.")]
Name = Annotated[
    str | None, typer.Option("--name", help="Name of the run. Default: the name of the first path.")
]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="A tag; may be repeated.")]
Server = Annotated[
    str, typer.Option("--server", help="Address of the server.", envvar="INDUCTORSCOPE_SERVER")
]
Token = Annotated[
    str, typer.Option("--token", help="The server's token.", envvar="INDUCTORSCOPE_TOKEN")
]


def fail(message: str, code: int) -> NoReturn:
    typer.echo(message, err=True)
    raise typer.Exit(code)


def load_settings(**overrides: object) -> Settings:
    from inductorscope.settings import load

    return load(**overrides)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"inductorscope {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def print_json(value: object, indent: int = -1) -> None:
    """Prints JSON on one line, unless indented."""
    import msgspec

    typer.echo(msgspec.json.format(msgspec.json.encode(value), indent=indent).decode())


def load_commands(wanted: str | None = None) -> None:
    """Imports the module of one command or of all; importing a module adds its command."""
    folder = Path(__file__).with_name("commands")
    modules = {
        file.stem: ".".join(file.relative_to(folder).with_suffix("").parts)
        for file in sorted(folder.rglob("[a-z]*.py"))
    }
    name = (wanted or "").replace("-", "_")
    for module in [modules[name]] if name in modules else modules.values():
        import_module(f"inductorscope.cli.commands.{module}")


def main() -> None:
    """Runs the command line."""
    gc.set_threshold(COLLECTED_AFTER)
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # ends children too
    # The app's options take no values, so the first word that is not an option is the command.
    load_commands(next((word for word in sys.argv[1:] if not word.startswith("-")), None))
    atexit.register(gc.freeze)  # a last collection over all modules takes 0.2 s
    app()


def _end(error: Exception) -> tuple[str, int] | None:
    """Returns the sentence to print for an error that is not a bug, and the exit code; None for a
    bug."""
    from sqlalchemy.exc import DBAPIError

    from inductorscope.jobs.errors import cause_of

    if isinstance(error, InWords):
        return error.sentences(), error.exit_code
    if isinstance(error, DBAPIError):
        return f"The database failed: {cause_of(error)}", FAILED
    if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
        return f"{cause_of(error)}.", FAILED
    return None
