"""Errors that are not bugs: each says in sentences what happened, and what to do."""

from typing import ClassVar

FAILED, USAGE, REFUSED, SERVER = 1, 2, 3, 4
"""Exit codes of the command line."""


class InWords(Exception):
    """An error whose sentences the command line prints and the server answers with."""

    exit_code: ClassVar[int] = FAILED
    status: ClassVar[int] = 409
    """Of the server's answer."""

    def __init__(self, what: str, do: str | None = None, limit: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.do = do
        self.limit = limit
        """Name of the setting that sets the limit, if there is one."""

    def sentences(self) -> str:
        return " ".join(filter(None, (self.what, self.do)))
