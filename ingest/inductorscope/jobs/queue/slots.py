"""Executor ids. A living worker holds its id's lock file, which the system releases when the worker
dies."""

import fcntl
import hashlib
import os
import socket
import time
from pathlib import Path

from inductorscope.settings import Settings


class SlotTakenError(Exception):
    """Another living worker has this id."""


class Slot:
    """The right to work under an executor id, on this machine and data folder."""

    def __init__(self, settings: Settings, executor_id: str, purpose: str = "worker") -> None:
        self.executor_id = executor_id
        self.path = lock_path(settings, executor_id, purpose)
        self._file = -1

    def take(self, patience: float = 0.0) -> bool:
        """Takes the slot; returns False if another process holds it for longer than `patience`."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        until = time.monotonic() + patience
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= until:
                    os.close(file)
                    return False
                time.sleep(0.05)
            else:
                self._file = file
                return True

    def release(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def reserve(settings: Settings, count: int) -> list[Slot]:
    """Reserves names for the workers of one supervisor, which holds them as long as it lives.

    Several supervisors may share a data folder; each gets the first free numbers, and so the same
    ones again after a restart.
    """
    reserved: list[Slot] = []
    number = 0
    while len(reserved) < count:
        number += 1
        slot = Slot(settings, executor_id(settings, number), purpose="supervisor")
        if slot.take():
            reserved.append(slot)
    return reserved


def lock_path(settings: Settings, executor_id: str, purpose: str = "worker") -> Path:
    return settings.workers_folder / f"{executor_id}.{purpose}"


def executor_id(settings: Settings, number: int) -> str:
    """Returns an id such as `host-data-worker-1`: the same after a restart, different for each data
    folder."""
    data = hashlib.sha256(str(settings.data.resolve()).encode()).hexdigest()[:8]
    return f"{this_host()}-{data}-worker-{number}"


def this_host() -> str:
    plain = "".join(c if c.isalnum() or c in "-." else "-" for c in socket.gethostname())
    return plain[:40] or "host"
