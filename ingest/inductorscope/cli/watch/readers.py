"""Reads files that grow: each reading is a run, which replaces the one before."""

from pathlib import Path

from inductorscope.cli.watch.loop import Forget, Read
from inductorscope.settings import Settings


def local_reader(settings: Settings) -> tuple[Read, Forget]:
    """Reads into the database of this machine."""
    from inductorscope.cli.local import align_lines, read_paths
    from inductorscope.cli.watch.loop import UnreadableYetError
    from inductorscope.intake.unpack import Refused
    from inductorscope.progress import silent
    from inductorscope.reading.run import NothingToRead
    from inductorscope.store.database.engine import engine_of, sessions
    from inductorscope.store.runs.runs import delete_run

    def read(root: Path, name: str, tag: str) -> tuple[str, bool]:
        try:
            result = read_paths(
                settings, [root], name=name, tags=[tag], origin="ingest", progress=silent
            )
        except (Refused, NothingToRead) as error:
            raise UnreadableYetError(str(error)) from error
        align_lines(settings, result.run_id, silent)
        return result.run_id, not result.duplicate

    def forget(run: str) -> None:
        with engine_of(settings) as engine, sessions(engine).begin() as session:
            delete_run(session, run)

    return read, forget


def server_reader(server: str, token: str) -> tuple[Read, Forget]:
    """Sends to a server, and waits until it has read the files."""
    from inductorscope.cli.client import Client
    from inductorscope.cli.watch.loop import UnreadableYetError

    client = Client(server, token)

    def read(root: Path, name: str, tag: str) -> tuple[str, bool]:
        done = client.push([root], name, [tag], lambda step, sent, total: None)
        if done.run is None:
            raise UnreadableYetError(
                done.message or f"The server's job ended with the state {done.state}."
            )
        return done.run, not done.duplicate

    return read, client.delete
