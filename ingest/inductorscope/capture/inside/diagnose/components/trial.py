"""One run of the program in a forked process, and the verdict on it."""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import torch
import torch._inductor.config as inductor
from torch._functorch import config as functorch

from inductorscope.capture.inside import environment
from inductorscope.capture.inside.diagnose.components.compare import Difference, compare, flat
from inductorscope.capture.inside.loading import SEED, Model, load
from inductorscope.capture.inside.untyped import Untyped
from inductorscope.capture.permission import Loading
from inductorscope.capture.spec import CaptureSpec

LOOK_EVERY_S = 0.02
LONGEST_TRACE = 8_000
LONGEST_MESSAGE = 4_000
THREADS = torch.get_num_threads()
COMPILE_THREADS = inductor.compile_threads


class Ended:
    """Outcomes, as people read them."""

    RUNS = "runs"
    AGREES = "agrees"
    DIFFERS = "differs"
    FAILS = "fails"
    ENDED = "ended"
    TOO_LONG = "took too long"


class Verdict(msgspec.Struct):
    """What came of one trial."""

    outcome: str
    said: str
    """In words that follow "it"."""
    kind: str = ""
    message: str = ""
    trace: str = ""
    seconds: float | None = None
    max_abs: float | None = None
    max_rel: float | None = None
    tolerance: str = ""
    where: str = ""

    @property
    def good(self) -> bool:
        return self.outcome in (Ended.RUNS, Ended.AGREES)

    @property
    def failing(self) -> str:
        return "computes other numbers" if self.outcome == Ended.DIFFERS else "fails"

    def builtins(self) -> dict[str, Any]:
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found


@dataclass
class Trial:
    """Runs the program of one capture, each time from the beginning, in a process of its own."""

    spec: CaptureSpec
    loading: Loading
    folder: Path
    seconds: int

    def reference(self) -> Verdict:
        """Eager, and once more in float64, to compare with."""
        self.folder.mkdir(parents=True, exist_ok=True)
        verdict = self._forked(lambda: self._run(self.spec, None, self.folder / "eager.pt"))
        if verdict.good and self._is_floating():
            spec = msgspec.structs.replace(self.spec, dtype="float64")
            self._forked(lambda: self._run(spec, None, self.folder / "float64.pt"))
        return verdict

    def notes(self) -> list[str]:
        notes = ["Random numbers are drawn as the eager run draws them (fallback_random)."]
        if not (self.folder / "float64.pt").is_file() and self._is_floating():
            notes.append("The program does not run in float64, so there is no such reference.")
        return notes

    def compiled(self, backend: str) -> Verdict:
        """Compiled with this backend, beside the eager run."""
        if self.spec.device == "cpu":
            _warm()  # not with CUDA, which does not survive a fork once it was asked
        return self._forked(lambda: self._run(self.spec, backend, None))

    def _is_floating(self) -> bool:
        path = self.folder / "eager.pt"
        if not path.is_file():
            return False
        kept = torch.load(path, weights_only=True)
        return any(tensor.is_floating_point() for tensor in kept.values())

    def _run(self, spec: CaptureSpec, backend: str | None, keep: Path | None) -> Verdict:
        """In the trial's process: one call of the program, kept or compared."""
        torch.set_num_threads(THREADS)
        inductor.compile_threads = COMPILE_THREADS
        inductor.fallback_random = True
        inductor.force_disable_caches = True
        functorch.enable_autograd_cache = False
        inductor.trace.enabled = False
        # Inputs come from the model's factory, which faults of a model are put in by as well.
        model = load(spec, self.loading)
        function = model.function
        if backend is not None:
            options = {"mode": spec.mode} if backend == "inductor" else {}
            function = torch.compile(function, backend=backend, dynamic=spec.dynamic, **options)
        started = time.perf_counter()
        results = _results(model, function)
        seconds = time.perf_counter() - started
        if keep is not None:
            torch.save(results, keep)
        if backend is None:
            return Verdict(Ended.RUNS, "runs", seconds=seconds)
        eager = torch.load(self.folder / "eager.pt", weights_only=True)
        wide = self.folder / "float64.pt"
        exact = torch.load(wide, weights_only=True) if wide.is_file() else {}
        return _judged(compare(eager, results, exact), seconds)

    def _forked(self, run: Callable[[], Verdict]) -> Verdict:
        said = self.folder / "verdict.json"
        said.unlink(missing_ok=True)
        started = time.perf_counter()
        parent = os.getpid()
        child = os.fork()
        if child == 0:
            _be_trial(run, said, parent)
        status, stopped = self._wait(child)
        seconds = time.perf_counter() - started
        if stopped:
            return Verdict(
                Ended.TOO_LONG, f"took longer than {self.seconds} s and was stopped",
                seconds=seconds,
            )  # fmt: skip
        try:
            return msgspec.json.decode(said.read_bytes(), type=Verdict)
        except (OSError, msgspec.DecodeError):
            pass
        if os.WIFSIGNALED(status):
            name = signal.Signals(os.WTERMSIG(status)).name
            return Verdict(Ended.ENDED, f"was ended by {name}", kind=name, seconds=seconds)
        code = os.waitstatus_to_exitcode(status)
        return Verdict(Ended.ENDED, f"ended its process with status {code}", seconds=seconds)

    def _wait(self, child: int) -> tuple[int, bool]:
        """Its status, and whether it had to be stopped, with all that it started."""
        deadline = time.monotonic() + self.seconds
        while time.monotonic() < deadline:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return status, False
            time.sleep(LOOK_EVERY_S)
        for process in [*_descendants(child), child]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        return os.waitpid(child, 0)[1], True


def _be_trial(run: Callable[[], Verdict], said: Path, parent: int) -> None:
    """The forked process: it leaves its verdict in a file, and never returns."""
    status = 0
    try:
        environment.die_with(parent)
        try:
            verdict = run()
        except BaseException as error:  # noqa: BLE001  # it runs anybody's model: any may come
            verdict = _failed(error)
        part = said.with_suffix(".part")
        part.write_bytes(msgspec.json.encode(verdict))
        part.replace(said)
    except BaseException:  # noqa: BLE001  # the status tells; nothing above must run twice
        traceback.print_exc()
        status = 70
    finally:
        os._exit(status)


def _failed(error: BaseException) -> Verdict:
    kind = type(error)
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    message = str(error)
    head = next((line.strip() for line in message.split("\n") if line.strip()), "").rstrip(":")
    short = name.rpartition(".")[2]
    said = f"fails with {short}: {head[:200]}" if head else f"fails with {short}"
    trace = "".join(traceback.format_exception(error))[-LONGEST_TRACE:]
    return Verdict(Ended.FAILS, said, name, message[:LONGEST_MESSAGE], trace)


def _judged(difference: Difference, seconds: float) -> Verdict:
    verdict = Verdict(
        Ended.AGREES, "computes what eager computes", seconds=seconds, where=difference.where,
        max_abs=_finite(difference.max_abs), max_rel=_finite(difference.max_rel),
        tolerance=difference.tolerance,
    )  # fmt: skip
    if not difference.agrees:
        verdict.outcome = Ended.DIFFERS
        verdict.said = f"computes other numbers: of {difference.where}, {difference.why}"
    return verdict


def _finite(value: float | None) -> float | None:
    """JSON has no infinity."""
    return value if value is None or value < float("inf") else None


def _results(model: Model, function: Untyped) -> dict[str, torch.Tensor]:
    """What one step gives: outputs, and gradients where it trains."""
    torch.manual_seed(SEED)
    found = flat(model.step(function)())
    if model.train:
        for name, parameter in model.function.named_parameters():
            if parameter.grad is not None:
                found[f"gradient of {name}"] = parameter.grad.detach().to("cpu").clone()
    return found


@cache
def _warm() -> None:
    """What every trial would do by itself, done once before they are forked.

    On one thread, and without compiling: threads do not live on in a forked process.
    """
    torch.set_num_threads(1)
    inductor.compile_threads = 1
    for name in ("codegen.cpp", "compile_fx", "graph", "scheduler"):
        importlib.import_module(f"torch._inductor.{name}")
    from torch._inductor.cpu_vec_isa import pick_vec_isa
    from torch._inductor.fx_passes import joint_graph, post_grad

    pick_vec_isa()
    for module in (joint_graph, post_grad):
        module.lazy_init()


def _descendants(process: int) -> list[int]:
    """Processes below this one: compilers that it started, with their own."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                stat = (entry / "stat").read_text(encoding="utf-8", errors="replace")
                parent = int(stat.rpartition(")")[2].split()[1])
                parents.setdefault(parent, []).append(int(entry.name))
    found: list[int] = []
    waiting = [process]
    while waiting:
        below = parents.get(waiting.pop(), [])
        found += below
        waiting += below
    return found
