"""The warm process: `python -m inductorscope.capturing.playground.warm --parent PID …`.

It imports torch and compiles a small function once. Each try is then a confined fork of it, and a
further fork runs the code. A judgement of a kernel is a fork too. Orders and answers are lines of
JSON.
"""

import argparse
import hashlib
import os
import select
import shutil
import sys
import tarfile
import tempfile
import time
from contextlib import suppress
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import BinaryIO, Never

import msgspec
from msgspec.structs import replace as replace_struct

from inductorscope.analyze.judging.verdict import Verdict
from inductorscope.capturing import process_group
from inductorscope.capturing.inside.untyped import Untyped
from inductorscope.capturing.judging.order import WHOLE
from inductorscope.capturing.judging.order import Order as Judgement
from inductorscope.capturing.playground import confine
from inductorscope.capturing.playground.confine import Room
from inductorscope.capturing.playground.order import (
    CACHE,
    FILE,
    MODEL,
    PRINTED,
    RESULT,
    RUN,
    Done,
    Order,
    Outcome,
    Ready,
    is_kernel,
)
from inductorscope.capturing.spec import CaptureSpec
from inductorscope.formats.sizes import GIB, MIB
from inductorscope.processes.dying import die_with
from inductorscope.processes.importing import without_collection

RESIDENT = 8 * GIB
"""Memory limit of all processes of a try together."""
ON_GPU = "import torch\ndef f(x):\n    return x\ninputs = torch.ones(1, device='cuda')\n"
ASK_DRIVER = "PYTORCH_NVML_BASED_CUDA_CHECK"
MEASURE_EVERY_S = 0.2
MOST_ARCHIVED = 64 * MIB
MOST_KEPT = 20


class Warm:
    """The process with torch, from which tries are forked."""

    def __init__(self, folder: Path, hidden: list[str]) -> None:
        self.room = Room(folder / "root", hidden=hidden)
        self.kept = folder / "kept"
        """What runs' own kernels compiled to, a folder for each."""
        self.ready: Prepared | None = None

    def prepare(self, *, judges: bool) -> Ready:
        """`judges`: it is asked for judgements alone."""
        # Otherwise checking for a GPU would initialise it, and no fork could use it then.
        os.environ[ASK_DRIVER] = "1"
        with without_collection():
            with suppress(ImportError):  # tries need none of it
                import scipy.stats  # noqa: F401  # loaded once, for all verdicts
            import torch
            from torch._inductor import codecache

            from inductorscope.capturing.judging.deciding import decide_in
            from inductorscope.capturing.playground import attempt
            from inductorscope.capturing.playground.warming import names_of_torch, warm_up

            self.decide, self.attempt = decide_in, attempt.attempt
            self.room.root.mkdir()
            self.room.root.parent.chmod(0o711)  # where namespaces are missing, nobody works in it
            self.kept.mkdir()
            warm_up(self.kept)
        self.room.shown = [codecache._HEADER_DIR]
        protections = confine.protections(self.room)
        self.room.separated = not protections["files, processes and network"]
        cuda = not judges and torch.cuda.is_available() and self._reaches_gpu()
        return Ready(protections, cuda, names_of_torch())

    def _reaches_gpu(self) -> bool:
        """Whether a try can use the GPU, because confinement may block the driver."""
        spec = CaptureSpec(model=MODEL, device="cuda")
        with tempfile.NamedTemporaryFile() as target, tempfile.TemporaryDirectory() as cache:
            self.run(Order(spec, ON_GPU, target.name, cache))
            if not Path(target.name).stat().st_size:
                return False
            with tarfile.open(target.name) as archive:
                result = archive.extractfile(RESULT) if RESULT in archive.getnames() else None
                return (
                    result is not None
                    and not msgspec.json.decode(result.read(), type=Outcome).error
                )

    def run(self, order: Order) -> Done:
        """Forks a try and waits until it ends or exceeds a limit."""
        with Path(order.target).open("wb") as target:
            keeper = os.fork()
            if keeper == 0:
                self._keep(order, target)
        return _watched(keeper, order.seconds)

    def judge(self, order: Judgement) -> Verdict:
        """Decides in a process that is ready for this original, or makes one ready."""
        if self.ready is None or not self.ready.judges(order):
            self.make_ready(order)
        assert self.ready is not None
        return self.ready.verdict(order.candidate)

    def make_ready(self, order: Judgement) -> None:
        """Starts the process that decides on the next candidate for this original. A candidate
        sees only what its own original compiled to."""
        if self.ready is not None:
            self.ready.end()
        kept = self.kept / hashlib.sha256(order.original.encode()).hexdigest()
        if not (kept / WHOLE).exists():  # the process that compiled it may have been killed
            shutil.rmtree(kept, ignore_errors=True)
        (kept / CACHE).mkdir(parents=True, exist_ok=True)
        os.utime(kept)
        for old in sorted(self.kept.iterdir(), key=os.path.getmtime)[:-MOST_KEPT]:
            shutil.rmtree(old, ignore_errors=True)
        room = replace(self.room, shown=[*self.room.shown, str(kept)])
        self.ready = Prepared(self.decide, room, kept, order)

    # --- in the fork that archives the files ---

    def _keep(self, order: Order, target: BinaryIO) -> Never:
        """Confines this process, forks another to run the code, and archives its files."""
        status = 1
        try:
            cache = Path(order.cache)
            self.room.shown.append(order.cache)  # in this fork
            base = confine.enter(self.room, order.spec.device)
            _lay_out(base, order.code, cache)
            runner = os.fork()
            if runner == 0:
                self._run(order, base)
            _, ended = os.waitpid(runner, 0)
            if not self.room.separated:
                process_group.kill(os.getpid(), without=(os.getpid(),))
            _archive(base, target, cache)
            target.flush()
            status = os.waitstatus_to_exitcode(ended) and 2
        finally:
            os._exit(status)

    def _run(self, order: Order, base: Path) -> Never:
        """Runs the code, and writes its result."""
        status = 1
        try:
            os.closerange(3, confine.FILES)
            separated = self.room.separated
            local = separated and order.spec.device == "cuda"
            confine.settle(base, separated=separated, local_sockets=local)
            del os.environ[ASK_DRIVER]
            outcome = self.attempt(order.spec, order.code, base / FILE, base / RUN)
            sys.stdout.flush()
            (base / RESULT).write_bytes(msgspec.json.encode(outcome))
            status = 0
        finally:
            os._exit(status)


class Prepared:
    """A process that is ready to decide on a candidate for one original. It is a fork, since the
    warm process must have neither threads nor CUDA."""

    def __init__(self, decide: Untyped, room: Room, kept: Path, order: Judgement) -> None:
        fork = get_context("fork")
        self.order = replace_struct(order, candidate="")
        self.asked = False
        self.ours, theirs = fork.Pipe()
        self.process = fork.Process(target=decide, args=(theirs, room, kept, self.order))
        self.process.start()
        theirs.close()

    def judges(self, order: Judgement) -> bool:
        return not self.asked and replace_struct(order, candidate="") == self.order

    def verdict(self, candidate: str) -> Verdict:
        self.asked = True
        try:
            self.ours.send(candidate)
            found: Verdict = self.ours.recv()
        except (EOFError, OSError):
            return Verdict(error="The judge failed: its process ended.")
        return found

    def end(self) -> None:
        if not self.asked:
            self.process.kill()
        self.process.join()
        self.ours.close()


def _lay_out(base: Path, code: str, cache: Path) -> None:
    shutil.rmtree(
        base, ignore_errors=True
    )  # without namespaces, it holds the files of the last try
    for folder in ("home", RUN, CACHE):
        (base / folder).mkdir(parents=True, exist_ok=True)
    (base / FILE).write_text(code, encoding="utf-8")
    shutil.copytree(cache, base / CACHE, dirs_exist_ok=True)


def _archive(base: Path, target: BinaryIO, cache: Path) -> None:
    """Archives only plain files, and kernels only if they are new; the reader does not trust the
    archive either."""
    size = 0
    printed = base / PRINTED
    if printed.is_file() and not printed.is_symlink() and printed.stat().st_size > MOST_ARCHIVED:
        printed.write_text(f"(It printed more than {MOST_ARCHIVED // MIB} MiB, which is not kept.)")
    with tarfile.open(fileobj=target, mode="w") as archive:
        for path in sorted(base.rglob("*")):
            name = path.relative_to(base)
            wanted = name.parts[0] in (RUN, RESULT, PRINTED) or (
                is_kernel(name) and not (cache / name.relative_to(CACHE)).exists()
            )
            if not wanted or path.is_symlink() or not path.is_file():
                continue
            size += path.stat().st_size
            if size > MOST_ARCHIVED:
                break
            archive.add(path, str(name), recursive=False)


# --- watching ---


def _watched(keeper: int, seconds: int) -> Done:
    until = time.monotonic() + seconds
    end = os.pidfd_open(keeper)
    try:
        while not select.select([end], [], [], MEASURE_EVERY_S)[0]:
            if time.monotonic() > until:
                return _stop(keeper, f"It took longer than {seconds} s and was stopped.")
            if process_group.resident_bytes(keeper) > RESIDENT:
                return _stop(
                    keeper, f"It used more than {RESIDENT // GIB} GiB of memory and was stopped."
                )
    finally:
        os.close(end)
    _, status = os.waitpid(keeper, 0)
    if os.waitstatus_to_exitcode(status) == 0:
        return Done()
    return Done("Its process ended without a result, for example by a crash or a limit.")


def _stop(keeper: int, why: str) -> Done:
    process_group.kill(keeper)
    os.waitpid(keeper, 0)
    return Done(why)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m inductorscope.capturing.playground.warm")
    parser.add_argument("--parent", type=int, required=True, help="end when this process does")
    parser.add_argument("--room", type=Path, required=True, help="empty folder for tries")
    parser.add_argument("--hide", action="append", default=[], help="folder to keep out of sight")
    parser.add_argument("--judge", action="store_true", help="be ready for judgements alone")
    given = parser.parse_args(arguments)
    die_with(given.parent)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    warm = Warm(given.room, given.hide)

    def say(answer: Untyped) -> None:
        answers.write(msgspec.json.encode(answer) + b"\n")
        answers.flush()

    say(warm.prepare(judges=given.judge))
    for line in sys.stdin.buffer:
        order = msgspec.json.decode(line, type=Order | Judgement)
        if isinstance(order, Order):
            say(warm.run(order))
        else:
            say(warm.judge(order) if order.candidate else Verdict())
            if warm.room.separated:
                warm.make_ready(order)
    return 0


if __name__ == "__main__":
    sys.exit(main())
