"""Runs the program in a forked process and returns a verdict."""

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

import msgspec
import torch
import torch._inductor.config as inductor
from torch._functorch import config as functorch

from inductorscope.capturing.inside.diagnose.components.compare import Difference, compare, flat
from inductorscope.capturing.inside.diagnose.minify.failure import first_line
from inductorscope.capturing.inside.errors import describe_error
from inductorscope.capturing.inside.loading import SEED, Model, load
from inductorscope.capturing.inside.untyped import Untyped
from inductorscope.capturing.permission import Loading
from inductorscope.capturing.process_group import members
from inductorscope.capturing.spec import CaptureSpec
from inductorscope.processes.dying import die_with

LOOK_EVERY_S = 0.02
LONGEST_TRACE = 8_000
LONGEST_MESSAGE = 4_000
THREADS = torch.get_num_threads()
COMPILE_THREADS = inductor.compile_threads


class Ended:
    """Outcomes of a trial, in words."""

    RUNS = "runs"
    AGREES = "agrees"
    DIFFERS = "differs"
    FAILS = "fails"
    ENDED = "ended"
    TOO_LONG = "took too long"


class Verdict(msgspec.Struct):
    """The outcome of a trial."""

    outcome: str
    said: str
    """Outcome in words, with "it" as the subject."""
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


@dataclass
class Trial:
    """Runs the program of a capture, each time from the start in a separate process."""

    spec: CaptureSpec
    loading: Loading
    folder: Path
    seconds: int

    def reference(self) -> Verdict:
        """Runs eagerly, and again in float64, as references."""
        self.folder.mkdir(parents=True, exist_ok=True)
        verdict = self._forked(lambda: self._run(self.spec, None, self.folder / "eager.pt"))
        if verdict.good and self._is_floating():
            spec = msgspec.structs.replace(self.spec, dtype="float64")
            self._forked(lambda: self._run(spec, None, self.folder / "float64.pt"))
        return verdict

    def notes(self) -> list[str]:
        notes = ["Random numbers are drawn like in the eager run (fallback_random)."]
        if not (self.folder / "float64.pt").is_file() and self._is_floating():
            notes.append("The program does not run in float64, so there is no float64 reference.")
        return notes

    def compiled(self, backend: str) -> Verdict:
        """Compiles with this back end, and compares with eager."""
        if self.spec.device == "cpu":
            _warm()  # not with CUDA, which does not survive a fork after its first use
        return self._forked(lambda: self._run(self.spec, backend, None))

    def _is_floating(self) -> bool:
        path = self.folder / "eager.pt"
        if not path.is_file():
            return False
        kept = torch.load(path, weights_only=True)
        return any(tensor.is_floating_point() for tensor in kept.values())

    def _run(self, spec: CaptureSpec, backend: str | None, keep: Path | None) -> Verdict:
        """Calls the program once in the trial's process, and stores or compares its results."""
        torch.set_num_threads(THREADS)
        inductor.compile_threads = COMPILE_THREADS
        inductor.fallback_random = True
        inductor.force_disable_caches = True
        functorch.enable_autograd_cache = False
        inductor.trace.enabled = False
        # The model's factory makes the inputs, and also installs a model's deliberate faults.
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
        verdict_file = self.folder / "verdict.json"
        verdict_file.unlink(missing_ok=True)
        started = time.perf_counter()
        parent = os.getpid()
        child = os.fork()
        if child == 0:
            _run_trial(run, verdict_file, parent)
        status, stopped = self._wait(child)
        seconds = time.perf_counter() - started
        if stopped:
            return Verdict(
                Ended.TOO_LONG, f"took longer than {self.seconds} s and was stopped",
                seconds=seconds,
            )  # fmt: skip
        try:
            return msgspec.json.decode(verdict_file.read_bytes(), type=Verdict)
        except (OSError, msgspec.DecodeError):
            pass
        if os.WIFSIGNALED(status):
            name = signal.Signals(os.WTERMSIG(status)).name
            return Verdict(Ended.ENDED, f"was ended by {name}", kind=name, seconds=seconds)
        code = os.waitstatus_to_exitcode(status)
        return Verdict(Ended.ENDED, f"ended its process with status {code}", seconds=seconds)

    def _wait(self, child: int) -> tuple[int, bool]:
        """Returns the child's status, and whether it and its descendants had to be stopped."""
        deadline = time.monotonic() + self.seconds
        while time.monotonic() < deadline:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return status, False
            time.sleep(LOOK_EVERY_S)
        for process in members(child):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        return os.waitpid(child, 0)[1], True


def _run_trial(run: Callable[[], Verdict], verdict_file: Path, parent: int) -> None:
    """Runs the trial in the forked process, writes the verdict to a file, and never returns."""
    status = 0
    try:
        die_with(parent)
        try:
            verdict = run()
        except BaseException as error:  # noqa: BLE001  # the model is a user's code and may raise anything
            verdict = _failed(error)
        part = verdict_file.with_suffix(".part")
        part.write_bytes(msgspec.json.encode(verdict))
        part.replace(verdict_file)
    except BaseException:  # noqa: BLE001  # the status reports it; no caller's code may run twice
        traceback.print_exc()
        status = 70
    finally:
        os._exit(status)


def _failed(error: BaseException) -> Verdict:
    known = describe_error(error)
    head = first_line(known.message).rstrip(":")
    sentence = f"fails with {type(error).__name__}" + (f": {head[:200]}" if head else "")
    message, trace = known.message[:LONGEST_MESSAGE], known.trace[-LONGEST_TRACE:]
    return Verdict(Ended.FAILS, sentence, known.kind, message, trace)


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
    """Replaces infinity by None, because JSON has none."""
    return value if value is None or value < float("inf") else None


def _results(model: Model, function: Untyped) -> dict[str, torch.Tensor]:
    """Returns the results of a step: outputs, and gradients when training."""
    torch.manual_seed(SEED)
    results = flat(model.step(function)())
    if model.train:
        for name, parameter in model.function.named_parameters():
            if parameter.grad is not None:
                results[f"gradient of {name}"] = parameter.grad.detach().to("cpu").clone()
    return results


@cache
def _warm() -> None:
    """Does the work that every trial would repeat, before they are forked.

    On one thread and without compilers of C++, because threads do not survive a fork.
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
    with contextlib.suppress(Exception):  # what fails here fails in the trials, which report it
        torch.compile(lambda x: x + 1, backend="aot_eager")(torch.ones(2))
    torch.compiler.reset()
