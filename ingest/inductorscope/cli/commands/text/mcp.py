"""`inductorscope mcp`: serves coding agents over standard input and output."""

from collections.abc import Callable

from inductorscope.cli.app import Data, app, fail, load_settings
from inductorscope.errors import FAILED


@app.command()
def mcp(data: Data = None) -> None:
    """Serve the Model Context Protocol on standard input and output, for coding agents.

    Reads the database of the data folder, and changes nothing. A running dashboard serves the same
    at /mcp.
    """
    try:
        from inductorscope.agents.protocol import create
    except ModuleNotFoundError as error:
        if error.name != "mcp":
            raise
        fail("Agents need one more package: pip install 'inductorscope[mcp]'.", FAILED)
    from starlette.concurrency import run_in_threadpool

    from inductorscope.jobs.queue.address import address
    from inductorscope.store.database.engine import make_engine, sessions
    from inductorscope.store.database.migrate import migrate

    settings = load_settings(data=data)
    migrate(settings)
    factory = sessions(make_engine(settings), read_only=True)

    def answer(function: Callable[..., str], run: str, **given: object) -> str:
        with factory() as session:
            return function(session, run, **given)

    async def ask(function: Callable[..., str], run: str, **given: object) -> str:
        return await run_in_threadpool(answer, function, run, **given)

    create(ask, lambda: address(settings)).run("stdio")
