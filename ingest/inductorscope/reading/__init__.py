"""Reads a folder of files into a run in the database: recognise, parse, link, join times, store."""

from inductorscope.reading.owner import Owner
from inductorscope.reading.run import NothingToRead, ReadResult, read_run

__all__ = ["NothingToRead", "Owner", "ReadResult", "read_run"]
