"""From a folder of files to a run in the database: recognise, parse, link, join times, store."""

from inductorscope.reading.owner import Owner
from inductorscope.reading.run import NothingToRead, ReadResult, read_run

__all__ = ["NothingToRead", "Owner", "ReadResult", "read_run"]
