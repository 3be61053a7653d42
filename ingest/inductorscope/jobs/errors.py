"""Errors of requests about uploads and jobs; each message is a sentence."""

import re

from inductorscope.errors import InWords

# postgresql://user:secret@host; up to the last @, since a password may contain one
_PASSWORD = re.compile(r"(://[^:/@\s]*):\S{0,2000}@")


def without_password(text: str) -> str:
    """Removes passwords from database addresses, so that a message can be logged."""
    return _PASSWORD.sub(r"\1:…@", text)


def cause_of(error: Exception) -> str:
    """Says in one line why a database, a folder or a file cannot be used."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    lines = without_password(str(getattr(error, "orig", None) or error)).strip().splitlines()
    return (lines or [type(error).__name__])[0]


class JobsError(InWords):
    """A request that is refused: what is wrong, what to do, and the setting if it is over a
    limit."""


class NotFoundError(JobsError):
    """There is no such upload, file or job."""

    status = 404


class UploadRefusedError(JobsError):
    """The upload or its bytes are not accepted."""

    status = 422


class TooManyError(JobsError):
    """Too many uploads or bytes of them wait to be read, or a rule does not allow one more job."""

    status = 429


class TooManyRunsError(JobsError):
    """A rule does not allow one more run."""

    status = 507


class OffsetError(JobsError):
    """The bytes do not start where the file ends; `offset` says where that is."""

    def __init__(self, what: str, offset: int) -> None:
        super().__init__(what, f"Go on from byte {offset}.")
        self.offset = offset


class FileBusyError(OffsetError):
    """Another request is writing the file."""


class UploadOverError(JobsError):
    """The upload is finished: its files cannot change any more."""


class IncompleteError(JobsError):
    """Not all files have arrived; `missing` names the incomplete ones."""

    def __init__(self, what: str, missing: list[str]) -> None:
        super().__init__(what, "Send the rest, then finish the upload again.")
        self.missing = missing


class CaptureRefusedError(JobsError):
    """The capture as described cannot be run."""

    status = 422


class NotOursError(CaptureRefusedError):
    """The run was not captured on this installation, so its program is never run here."""

    status = 403


class StorageError(JobsError):
    """The data folder cannot take the bytes: it is full or cannot be written."""

    status = 507
