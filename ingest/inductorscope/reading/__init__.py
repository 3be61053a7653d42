"""From a folder of files to a run in the database: recognise, parse, link, join times, store."""

from .arriving import ArrivingLog
from .owner import Owner
from .pool import Pool
from .run import NothingToRead, Progress, ReadResult, read_run

__all__ = ["ArrivingLog", "NothingToRead", "Owner", "Pool", "Progress", "ReadResult", "read_run"]
