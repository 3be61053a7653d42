"""Columns of numbers that grow while a file is read: short ones in memory, long ones on disk."""

from __future__ import annotations

from array import array
from io import FileIO
from pathlib import Path
from tempfile import TemporaryFile, gettempdir
from typing import Any
from weakref import finalize

import numpy as np
import numpy.typing as npt

HELD_BYTES = 256 * 1024
"""Bytes of one column in memory; the rest is written to a file."""


class NoRoomError(OSError):
    """A column cannot be written to disk; the message names the folder."""


class Column:
    """Numbers of one type, in order. Its file is anonymous and is deleted with the column."""

    def __init__(self, code: str, folder: Path | None = None) -> None:
        """`code`: a type code of `array`. `folder`: the folder for the file."""
        self._held: array[Any] = array(code)
        self._type = np.dtype(code)
        self._folder = folder
        self._file: FileIO | None = None
        self._written = 0

    def __len__(self) -> int:
        return self._written + len(self._held)

    def add(self, values: npt.NDArray[Any]) -> None:
        self._held.frombytes(values.astype(self._type, copy=False).tobytes())
        self._write_out()

    def numbers(self) -> npt.NDArray[Any]:
        """Returns all numbers; nothing may be added afterwards. Each use reads the file again, so
        keep the result only while you need it."""
        if self._file is None:
            held = np.frombuffer(self._held, self._type)
            held.flags.writeable = False
            return held
        return self.some(0, len(self))

    def some(self, begin: int, end: int) -> npt.NDArray[Any]:
        """A copy of the numbers from `begin` to `end`, or to the last."""
        end = min(end, len(self))
        numbers = np.empty(max(0, end - begin), self._type)
        in_file = max(0, min(end, self._written) - begin)
        if self._file is not None and in_file:
            target = numbers[:in_file].data.cast("B")
            self._file.seek(begin * self._type.itemsize)
            done = 0
            while done < len(target):
                read = self._file.readinto(target[done:])
                if not read:
                    raise OSError(
                        "The temporary file of a column is shorter than what was written."
                    )
                done += read
            self._file.seek(0, 2)
        if in_file < len(numbers):
            held = np.frombuffer(self._held, self._type)
            numbers[in_file:] = held[begin + in_file - self._written : end - self._written]
        return numbers

    def _write_out(self) -> None:
        if len(self._held) * self._held.itemsize < HELD_BYTES:
            return
        try:
            if self._file is None:
                self._file = TemporaryFile(dir=self._folder, buffering=0)  # noqa: SIM115  # as the column
                finalize(self, self._file.close)
            data = memoryview(self._held).cast("B")
            done = 0
            while done < len(data):
                done += self._file.write(data[done:])
        except OSError as error:
            place = self._folder or gettempdir()
            raise NoRoomError(
                f"a long trace's events cannot be written to {place} for the time being "
                f"({error.strerror}). Make room there, or name another folder with TMPDIR."
            ) from error
        data.release()
        self._written += len(self._held)
        self._held = array(self._held.typecode)
