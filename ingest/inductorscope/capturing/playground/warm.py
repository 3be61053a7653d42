"""The warm process: `python -m inductorscope.capturing.playground.warm --parent PID …`.

It imports torch and compiles a small function once. Each try is then a confined fork of it, and a
further fork runs the code. Orders and answers are lines of JSON.
"""

import argparse
import os
import select
import shutil
import signal
import sys
import tarfile
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Never

import msgspec

from inductorscope.capturing import process_group
from inductorscope.capturing.inside.untyped import Untyped
from inductorscope.capturing.playground import confine, kernel_calls
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


class Warm:
    """The process with torch, from which tries are forked."""

    def __init__(self, root: Path, hidden: list[str]) -> None:
        self.room = Room(root, hidden=hidden)
        self.separated = False

    def prepare(self) -> Ready:
        # Otherwise checking for a GPU would initialise it, and no fork could use it then.
        os.environ[ASK_DRIVER] = "1"
        with without_collection():
            import torch
            from torch._inductor import codecache

            from inductorscope.capturing.playground import attempt
            from inductorscope.capturing.playground.warming import names_of_torch, warm_up

            self.attempt = attempt.attempt
            warm_up(self.room.root)
        if os.getuid() == 0:  # tries then run as nobody
            for path in (headers := Path(codecache._HEADER_DIR), *headers.iterdir()):
                path.chmod(path.stat().st_mode | (0o055 if path.is_dir() else 0o044))
        self.room.shown = [codecache._HEADER_DIR]
        protections = confine.protections(self.room)
        self.separated = not protections["files, processes and network"]
        cuda = torch.cuda.is_available() and self._reaches_gpu()
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

    # --- in the fork that archives the files ---

    def _keep(self, order: Order, target: BinaryIO) -> Never:
        """Confines this process, forks another to run the code, and archives its files."""
        status = 1
        try:
            os.setsid()
            kernel_calls.die_with_parent()
            kernel_calls.adopt_orphans()
            base, cache = self.room.root, Path(order.cache)
            confine.limit(order.spec.device)
            if self.separated:
                self.room.shown.append(order.cache)  # in this fork
                confine.separate(self.room)
                base = Path("/play")
            _lay_out(base, order.code, cache)
            runner = os.fork()
            if runner == 0:
                self._run(order, base)
            _, ended = os.waitpid(runner, 0)
            if not self.separated:
                _kill_all(os.getpid(), without=os.getpid())
            _archive(base, target, cache)
            target.flush()
            status = os.waitstatus_to_exitcode(ended) and 2
        finally:
            os._exit(status)

    def _run(self, order: Order, base: Path) -> Never:
        """Runs the code, and writes its result."""
        status = 1
        try:
            printed = os.open(base / PRINTED, os.O_WRONLY | os.O_CREAT)
            os.dup2(printed, 1)
            os.dup2(printed, 2)
            os.closerange(3, confine.FILES)
            with suppress(OSError):
                if self.separated:
                    confine.show_processes()
            home = Path("/home") if self.separated else base / "home"
            own = [home, *([Path("/tmp")] if self.separated else [])]  # noqa: S108  # its own
            confine.become_nobody([*own, base, *base.rglob("*")])
            kernel_calls.die_with_parent()
            with suppress(OSError):  # the page reports it
                kernel_calls.give_up_privileges()
                # In its namespaces, a try cannot reach any other process with a local socket.
                on_gpu = self.separated and order.spec.device == "cuda"
                kernel_calls.refuse_calls(local_sockets=on_gpu)
            # Triton read HOME when it was imported.
            os.environ |= {"HOME": str(home), "TRITON_HOME": str(home)}
            os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(base / CACHE)
            del os.environ[ASK_DRIVER]
            os.environ["TMPDIR"] = tempfile.tempdir = str(own[-1])
            os.chdir(home)
            outcome = self.attempt(order.spec, order.code, base / FILE, base / RUN)
            sys.stdout.flush()
            (base / RESULT).write_bytes(msgspec.json.encode(outcome))
            status = 0
        finally:
            os._exit(status)


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
    _kill_all(keeper)
    os.waitpid(keeper, 0)
    return Done(why)


def _kill_all(leader: int, without: int = 0) -> None:
    """Kills a process and its descendants, including any that are forked meanwhile."""
    for _ in range(100):
        left = [pid for pid in process_group.members(leader) if pid != without]
        for pid in left:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if not left or left == [leader]:
            return


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m inductorscope.capturing.playground.warm")
    parser.add_argument("--parent", type=int, required=True, help="end when this process does")
    parser.add_argument("--room", type=Path, required=True, help="empty folder for tries")
    parser.add_argument("--hide", action="append", default=[], help="folder to keep out of sight")
    given = parser.parse_args(arguments)
    die_with(given.parent)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    warm = Warm(given.room, given.hide)

    def say(answer: Untyped) -> None:
        answers.write(msgspec.json.encode(answer) + b"\n")
        answers.flush()

    say(warm.prepare())
    for line in sys.stdin.buffer:
        say(warm.run(msgspec.json.decode(line, type=Order)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
