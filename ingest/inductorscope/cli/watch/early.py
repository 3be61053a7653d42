"""The run of a script that is still running, which can be opened as soon as its steps are
measured."""

import secrets
from collections.abc import Callable
from pathlib import Path

from inductorscope.cli.watch.loop import TAG, UnreadableYetError
from inductorscope.cli.watch.readers import local_reader, server_reader
from inductorscope.jobs.queue.address import address, to_open
from inductorscope.settings import Settings


class EarlyRun:
    """Stands in for the capture's run until that one is read; both have the same address."""

    def __init__(
        self, settings: Settings, title: str, server: str, token: str, log: Callable[[str], None]
    ) -> None:
        self._title = title
        self._log = log
        self._read, self._forget = (
            server_reader(server, token) if server else local_reader(settings)
        )
        self._key = secrets.token_hex(6)
        base = server.rstrip("/") or address(settings)
        how = "" if server else f" {to_open(settings)}"
        self._url = f"{base}/watch/{self._key}{how}".rstrip()
        self._run: str | None = None

    @property
    def tags(self) -> list[str]:
        """Tags for the capture's run, if this one stands in for it."""
        return [TAG + self._key] if self._run else []

    def read(self, folder: Path) -> None:
        """Reads what the script has recorded so far."""
        try:
            run, is_new = self._read(folder, self._title, TAG + self._key)
        except UnreadableYetError as error:
            self._log(f"The steps are measured, but cannot be shown yet: {error}")
            return
        self._run = run if is_new else None
        self._log(f"The steps are measured, and the script runs on: {self._url}")

    def forget(self) -> None:
        """Deletes this run, because the capture's run is read now."""
        if self._run:
            self._forget(self._run)
