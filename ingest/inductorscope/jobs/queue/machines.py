"""What a worker's machine has, and what a job needs."""

import os
import re
from collections import Counter
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.jobs.queue.health import is_alive
from inductorscope.settings import Settings
from inductorscope.store.tables.models import Worker

ANY, TORCH, GPU = "any", "torch", "gpu"
"""What a job can need, besides a GPU's name or a kind of machine. Each need is a partition of the
engine's queue of long jobs; a worker takes jobs from the partitions that it meets."""
CPU = "CPU"
IN_WORDS = {TORCH: "torch", GPU: "a GPU and torch"}
GPUS = Path("/proc/driver/nvidia/gpus")


class Machine(msgspec.Struct, frozen=True):
    """A machine of workers: its device and version of torch."""

    device: str
    """A GPU's name, or `CPU`."""
    torch: str | None

    @property
    def kind(self) -> str:
        return f"{self.device}, {f'torch {self.torch}' if self.torch else 'no torch'}"

    def meets(self, need: str) -> bool:
        if need in (ANY, self.kind):
            return True
        on_gpu = need == GPU and self.device != CPU
        return self.torch is not None and (need in (TORCH, self.device) or on_gpu)


def this_machine(settings: Settings) -> Machine:
    """Finds out torch's version and the GPU without starting either."""
    try:
        torch = metadata.version("torch")
    except metadata.PackageNotFoundError:
        torch = None
    return Machine(settings.device or _gpu() or CPU, torch)


def machine_of(worker: Worker) -> Machine:
    return Machine(worker.device or CPU, worker.torch)


def living_machines(session: Session) -> list[Machine]:
    return [machine_of(worker) for worker in session.scalars(select(Worker)) if is_alive(worker)]


def why_nobody(need: str, machines: Sequence[Machine]) -> str | None:
    """Says why no worker can take a job with this need; None if a machine meets it."""
    if any(machine.meets(need) for machine in machines):
        return None
    kinds = Counter(machine.kind for machine in machines)
    there = "; ".join(kind if n == 1 else f"{n} x {kind}" for kind, n in sorted(kinds.items()))
    what = "" if need == ANY else f" with {IN_WORDS.get(need, need)}"
    return f"No worker{what} is connected{f'; there is: {there}' if there else ''}."


def _gpu() -> str | None:
    """Returns the first GPU's name, as NVIDIA's driver lists it."""
    if os.environ.get("CUDA_VISIBLE_DEVICES") == "":
        return None
    for about in sorted(GPUS.glob("*/information")):
        found = re.search(r"^Model:\s*(\S.*)$", about.read_text(errors="replace"), re.MULTILINE)
        if found is not None:
            return found[1].strip()
    return None
