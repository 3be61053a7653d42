"""Observes a script from inside its process: steps, compiles, and a profile of some steps.

It does not change what the script does. It notices steps in torch's callbacks: after each step of
an optimizer, and before each call of a compiled function.
"""

import atexit
import contextlib
import math
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import FrameType, TracebackType
from typing import Never

import msgspec
import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

from inductorscope.capturing.inside import environment
from inductorscope.capturing.inside.errors import describe_error, is_compile_error
from inductorscope.capturing.inside.untyped import Untyped
from inductorscope.capturing.measure.machine import Others, disturbs, others_sentence
from inductorscope.capturing.script.measured import Clock, Graphs, Profiles, device, memory_of
from inductorscope.capturing.script.order import PACKAGE, STATUS, STOP, Order, Status, read_order
from inductorscope.capturing.script.sampling import Sampler
from inductorscope.capturing.script.steps import PROFILED, TIMED, WARM_UP, Plan, Steps, slowed
from inductorscope.capturing.spec import SpecError
from inductorscope.formats.capture_facts import (
    COMPILED,
    EAGER,
    CaptureFacts,
    CompileEvent,
    ScriptStart,
    ScriptSteps,
    Wrapped,
)
from inductorscope.processes.dying import die_with

MOST_COMPILES = 2000
MOST_FIRST = 500
DESCRIBED_FIRST, DESCRIBED_EVERY = 20, 20
"""The inputs of the first 20 measured steps are recorded, and of every 20th later one; recording
takes as long as a short call."""
MOST_CALLED = 100
WRAPPER = "compile_wrapper"
"""The name of torch's function around a compiled one."""
WHAT = {"LAZY_BACKWARD": "backward", "CUDAGRAPH_RECORDING": "cuda graph"}
WAIT_S = 0.02
PROCESS = Path("/proc/self/stat")
"""Linux's facts of this process, with its start."""


@dataclass(frozen=True)
class FirstStep:
    """The first step of an optimizer."""

    optimizer: int
    mark: Untyped
    now_s: float
    compiles: int
    """How many compiles preceded it."""


class Observer:
    """Observes this process."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self.pid = os.getpid()
        self.facts = CaptureFacts(
            name=order.spec.title, model=order.spec.model, options=order.spec.to_builtins()
        )
        self.steps_facts = ScriptSteps(pid=self.pid)
        self.profiles = Profiles(order.label, order.folder, self.facts)
        self.clock = Clock()
        self._others = Others(os.getppid())
        self.steps = self._new_steps()
        self.optimizer: int | None = None
        self.thread: int | None = threading.main_thread().ident
        """The thread whose calls begin steps. None until the first call, which sets it."""
        self.function: Untyped = None
        """The compiled function whose calls begin steps, until an optimizer takes a step."""
        self._first_step: FirstStep | None = None
        self._called_again = False
        self._called: list[Untyped] = []
        self._inputs_of, self._inputs_seen = 0, 0
        self._first_call: tuple[Untyped, float] | None = None
        self._compiling: Untyped = None
        self._compile_began = 0.0
        self._first_compile: float | None = None
        self._stop = Path(order.out) / STOP
        self._recorder: Untyped = None
        self._sampler: Sampler | None = None
        self._sampled_from = math.inf
        """Infinite between steps, and in steps that are not timed."""
        self._arguments: Untyped = None
        self._wrapped: list[Wrapped] = []
        self._status = Status("")

    def _new_steps(self) -> Steps[Untyped]:
        spec, several = self.order.spec, _processes() > 1
        plan = Plan(spec.seconds, spec.profiles, several, spec.steps_after, self.order.first)
        return Steps(plan, self.profiles, self._measured)

    # --- callbacks of torch ---

    def torch_imported(self) -> None:
        from inductorscope.capturing.inside.logging_text import keep_logs
        from inductorscope.capturing.inside.options import apply_options
        from inductorscope.capturing.inside.swapping import swap_kernel

        spec, trusted = self.order.spec, self.order.trusted
        try:
            if spec.config:
                apply_options(spec, trusted=trusted)
            if spec.change or spec.results:
                self._change(trusted)
        except SpecError as error:
            self._refuse(error)
        swap_kernel()
        if self.order.label == COMPILED and os.environ.get("RANK", "0") == "0":
            keep_logs(Path(self.order.out))
        _follow_torch()
        atexit.register(self._exit)
        self._follow_errors()
        self.facts.torch_version = str(torch.__version__)
        if PROCESS.exists():
            self.steps_facts.start = ScriptStart(_age_s(time.perf_counter()))
        self.steps_facts.usual_threads = torch.get_num_threads()
        if (package := _package()) and package.exists():
            torch.compiler.load_cache_artifacts(package.read_bytes())

    def _change(self, trusted: bool) -> None:
        """Makes the script run with the spec's change, and records its results."""
        from inductorscope.capturing.trial.inside.changing import install
        from inductorscope.capturing.trial.inside.results import Recorder

        spec, eager = self.order.spec, self.order.label == EAGER
        self._recorder = Recorder(float64=eager) if spec.results else None
        around = self._recorder.around if self._recorder else None
        install(None if eager else spec.change, around, trusted=trusted)

    def _refuse(self, error: SpecError) -> Never:
        """Ends the process, because it must not run with options other than those requested."""
        self.facts.error = describe_error(error)
        self._save()
        os._exit(2)

    def _save(self) -> None:
        self.facts.script = [self.steps_facts]
        self.order.folder.mkdir(parents=True, exist_ok=True)
        self.facts.write(self.order.folder)

    def give_up(self, error: Exception) -> None:
        """Stops observing, because an error here must not fail the script."""
        self.pid = 0
        self.facts.missing.append(f"Observing the script stopped: {error!r}.")
        print(self.facts.missing[-1], file=sys.stderr)
        self._save()
        with contextlib.suppress(Exception):  # otherwise the profile would grow forever
            self.profiles.stop(keep=False)

    def wrapped(self, function: Untyped) -> None:
        """Called when `torch.compile` is given a function or a module."""
        from inductorscope.capturing.script.wasted import wrapped

        if len(self._wrapped) < MOST_CALLED:
            self._wrapped.append(wrapped(function))

    def called(self, function: Untyped) -> None:
        """Called for each call of a compiled function, which is identified by torch's callback."""
        if self.pid != os.getpid():
            return
        if self._compiling is None:
            self._start_compiling()
        here = threading.get_ident()
        self.thread = self.thread or here
        if self.thread != here:
            return
        if self.optimizer is None:
            if function is self.function:
                self._called_again = True
                self._boundary()
            elif not self._called_again:
                self._first_calls(function)
        if self.steps.kind in (TIMED, PROFILED) and self._inputs_of != self.steps.step:
            self._inputs_of = self.steps.step
            self._inputs_seen += 1
            if self._inputs_seen <= DESCRIBED_FIRST or self._inputs_seen % DESCRIBED_EVERY == 0:
                self._keep_inputs()

    def _first_calls(self, function: Untyped) -> None:
        """Chooses the function whose calls begin steps: the first one, or the first that is called
        again. Functions called by another compiled function do not count."""
        wrapper = _wrapper_around(sys._getframe())
        if wrapper is not None and _wrapper_around(wrapper.f_back) is not None:
            return
        if self.function is None or function in self._called:
            self._called_again = function in self._called
            self.function = function
            self._first_call = (self.clock.mark(), time.perf_counter())
            self.steps = self._new_steps()
            self.steps.begin(*self._first_call)
            self.steps_facts.from_what = f"a call of {_name_of_wrapper(wrapper)}"
            self.report("compiling" if self.order.label == COMPILED else "warming up")
        elif len(self._called) < MOST_CALLED:
            self._called.append(function)

    def optimizer_stepped(self, optimizer: Untyped) -> None:
        if self.pid != os.getpid():
            return
        if self.optimizer is None:
            self._choose(optimizer)
        elif self.optimizer == id(optimizer):
            self._boundary()

    def _choose(self, optimizer: Untyped) -> None:
        """Makes steps end with those of an optimizer that has taken two.

        A single one does not suffice: if the optimizer's step is compiled, torch calls back only
        while compiling it.
        """
        if self._first_step is None:
            self._first_step = FirstStep(
                id(optimizer),
                self.clock.mark(),
                time.perf_counter(),
                len(self.steps_facts.compiles),
            )
            return
        first = self._first_step
        if first.optimizer != id(optimizer):
            return
        self.profiles.stop(keep=False)
        self.optimizer = first.optimizer
        self.steps = self._new_steps()
        compiles = self.steps_facts.compiles
        for number, event in enumerate(compiles):
            event.step = 1 if number < first.compiles else 2
        self.steps.begin(*(self._first_call or (None, first.now_s)))
        self.steps.compiling = first.compiles > 0
        self.steps.end(first.mark, first.now_s)
        self.steps.begin(first.mark, first.now_s)
        self.steps.compiling = len(compiles) > first.compiles
        self.steps_facts.inputs, self._inputs_seen = [], 0
        self.steps_facts.from_what = f"the end of {type(optimizer).__name__}.step"
        self.steps_facts.optimizer = _named(optimizer)
        self._boundary()

    def _boundary(self) -> None:
        """Ends one step and begins the next."""
        if self.clock.capturing:  # nothing else may run while it records a graph
            return
        steps, before = self.steps, self.steps.kind
        if steps.done:  # from now on, steps are only counted
            steps.end(None, 0.0)
            if self._stop.exists():
                # It waits to be ended here, where the script writes no file.
                self.report("waiting", measured=True, waiting=True)
            while self._stop.exists():
                time.sleep(WAIT_S)
            steps.begin(None, 0.0)
            return
        mark, now = self.clock.mark(), time.perf_counter()
        self._sampled_from = math.inf
        steps.end(mark, now)
        if self._first_compile is not None and self.facts.first_call_s is None:
            self._note_start(self._first_compile, now)
        if steps.kind != before:
            self.report(f"{_DOING.get(steps.kind, 'running')} from step {steps.step + 1}")
            self._note_gradients()
            if steps.kind == TIMED and self._sampler is None and self.order.label == COMPILED:
                self._sampler = Sampler(threading.get_ident(), lambda: self._sampled_from)
        self._sampled_from = time.perf_counter() if steps.kind == TIMED else math.inf
        # Do nothing between two timed steps, so that there is nothing to exclude from their times.
        if not before == steps.kind == TIMED:
            mark, now = self.clock.mark(), time.perf_counter()
        steps.begin(mark, now)

    def _note_start(self, began: float, ended: float) -> None:
        """Records the first step that compiled; an optimizer's steps are known after two."""
        first = self._first_step
        if first is not None and first.compiles:
            ended = first.now_s
        self.facts.first_call_s = ended - began
        if start := self.steps_facts.start:
            start.compile_s, start.step_s = _age_s(began), _age_s(ended)
            start.step_cpu_s = sum(os.times()[:4])

    # --- compiles ---

    def _start_compiling(self) -> None:
        """Prepares to record compiles, before the first one."""
        self._compiling = False
        if self.order.label != COMPILED:
            return
        from inductorscope.capturing.inside.compiling import recording
        from inductorscope.capturing.inside.instructions import try_instructions
        from inductorscope.capturing.script.wasted import Arguments

        try_instructions(device())
        self._arguments = Arguments()
        self._compiling = recording(self.order.spec)

    def compile_starts(self, _: Untyped) -> None:
        self.steps.compiling = True
        self._compile_began = time.perf_counter()
        if self._first_compile is None:
            self._first_compile = self._compile_began
            if start := self.steps_facts.start:
                start.compile_cpu_s = sum(os.times()[:4])

    def compile_ends(self, args: Untyped) -> None:
        trigger = getattr(getattr(args, "callback_trigger", None), "name", "")
        event = CompileEvent(
            step=self.steps.step,
            compile_id=str(getattr(args, "compile_id", "")),
            what=WHAT.get(trigger, "compile"),
            seconds=time.perf_counter() - self._compile_began,
        )
        if len(self.steps_facts.compiles) < MOST_COMPILES:
            self.steps_facts.compiles.append(event)

    def _keep_inputs(self) -> None:
        """Records types and shapes of the call's tensors, to check that eager and compiled runs
        match."""
        wrapper = _wrapper_around(sys._getframe())
        if wrapper is None:
            return
        values = wrapper.f_locals
        if self._arguments:
            closely = self._inputs_seen > DESCRIBED_FIRST
            self._arguments.look(values["fn"], values["args"], values["kwargs"], closely=closely)
        shown = ", ".join(_tensors([*values.get("args", ()), *values.get("kwargs", {}).values()]))
        if shown and shown not in self.steps_facts.inputs:
            self.steps_facts.inputs.append(shown)

    # --- the end ---

    def _measured(self) -> None:
        if disturbs(share := self._others.share(), device()):
            self.facts.disturbed.append(others_sentence(share, "the script ran"))
        self._note_waste()
        self._write()
        if (package := _package()) and not package.exists():
            saved = torch.compiler.save_cache_artifacts()
            package.write_bytes(saved[0] if saved else b"")
        self.report("letting the script finish", measured=True)

    def _note_waste(self) -> None:
        """Records what the steps compute in vain. Until torch compiles it costs nothing."""
        unused = "torch._dynamo" not in sys.modules or self.order.label != COMPILED
        if unused or self.pid != os.getpid():
            return
        mine = self.steps_facts
        if self._compiling is None:
            mine.uncalled = self._wrapped
        elif self._compiling and not mine.unchanged:
            self._keep_inputs()
            mine.unchanged, mine.denormal = self._arguments.unchanged(), self._arguments.denormal
            mine.padding, mine.rows = self._arguments.padding, self._arguments.rows
            self._note_gradients()

    def _note_gradients(self) -> None:
        """Looks for gradients that nobody reads: between steps too, since at the end the script's
        objects may be gone."""
        if not self._compiling or self.steps_facts.unread_gradients:
            return
        from inductorscope.capturing.script.wasted import unread_gradients

        try:
            self.steps_facts.unread_gradients = unread_gradients()
        except Exception as error:  # noqa: BLE001  # it looks at objects of any library
            self.facts.missing.append(f"Gradients that nobody reads: {error!r}.")

    def finish(self, error: BaseException | None) -> None:
        """Ends a capture inside a program, and writes its records."""
        if error is not None:
            self._failed(error)
        if self.pid == os.getpid():
            self.profiles.stop(keep=True)
            self._write()
        self.report("ending", ended=True)

    def _exit(self) -> None:
        self._sampled_from = math.inf
        self._note_waste()
        if self.pid == os.getpid() and (self._status.doing or self.steps_facts.uncalled):
            self.finish(None)

    def _write(self) -> None:
        """Writes the records so far."""
        from inductorscope.capturing.inside.machine import describe_machine
        from inductorscope.capturing.inside.options import effective_config

        facts, mine, folder = self.facts, self.steps_facts, self.order.folder
        if self._sampler:
            mine.lines = self._sampler.stop()
        folder.mkdir(parents=True, exist_ok=True)
        if facts.error is None:
            facts.state = "complete"
        facts.env = environment.recorded()
        describe_machine(facts, device())
        if self._compiling:
            facts.config = effective_config(self.order.spec)
            self._compiling.write(facts, folder)
        steps = self.steps
        mine.rank, mine.anomaly = _rank(), torch.is_anomaly_enabled()
        mine.deterministic = torch.are_deterministic_algorithms_enabled()
        mine.cudnn_benchmark = torch.backends.cudnn.benchmark
        mine.float32_products = torch.get_float32_matmul_precision()
        mine.count, mine.kinds = steps.step if steps.done else max(0, steps.step - 1), steps.kinds
        try:
            self.clock.wait()
            times = {step: self.clock.ms(*marks) for step, marks in steps.marks.items()}
        except RuntimeError:  # the device has failed, and answers nothing any more
            times = {}
        mine.first_ms = [
            times.get(step) or 0.0 for step in range(1, min(len(times), MOST_FIRST) + 1)
        ]
        samples = [ms for step in steps.samples() if (ms := times.get(step)) is not None]
        if samples:
            from inductorscope.capturing.inside.timing import summarize

            facts.timings[self.order.label] = summarize(samples, 1)
            facts.disturbed += slowed(samples, steps.profiled_ones(times))
        if self._recorder:
            self._recorder.write(folder)
        memory_of(mine)
        mine.peak = self.profiles.allocations.peak
        mine.cuda_graphs = GRAPHS.facts(Path(self.order.out))
        self._save()

    def report(
        self, doing: str, *, measured: bool = False, waiting: bool = False, ended: bool = False
    ) -> None:
        measured = measured or self._status.measured
        self._status = Status(doing, measured, waiting, ended, _processes())
        folder = self.order.folder
        folder.mkdir(parents=True, exist_ok=True)
        part = folder / f".{STATUS}"
        part.write_bytes(msgspec.json.encode(self._status))
        part.replace(folder / STATUS)

    def _follow_errors(self) -> None:
        """Records the exception that ends the script."""
        before = sys.excepthook

        def excepthook(
            kind: type[BaseException], error: BaseException, trace: TracebackType | None
        ) -> None:
            self._failed(error)
            self._status.doing = self._status.doing or "failed"
            before(kind, error, trace)

        sys.excepthook = excepthook

    def _failed(self, error: BaseException) -> None:
        self.facts.state = "failed to compile" if is_compile_error(error) else "failed"
        self.facts.error = describe_error(error)


_DOING = {TIMED: "timing", PROFILED: "profiling", WARM_UP: "warming up"}
GRAPHS = Graphs()
_observer: Observer | None = None


def start(order: Order) -> Observer:
    """Observes this process, which has already imported torch, until `stop()`."""
    global _observer
    if _observer is not None:
        raise RuntimeError("A capture runs in this process; end it before another one starts.")
    _observer = Observer(order)
    _observer.thread = None
    _observer.facts.torch_version = str(torch.__version__)
    _observer.report("starting")
    GRAPHS.forget()
    _follow_once()
    return _observer


def stop() -> None:
    """Stops observing; also in a forked process, such as a data loader's, which runs no steps."""
    global _observer
    _observer = None


@cache
def _follow_once() -> None:
    import torch._dynamo
    from torch._inductor import cudagraph_trees

    _follow_torch()
    _follow_dynamo(torch._dynamo)
    GRAPHS.follow(cudagraph_trees)


def imported(name: str) -> None:
    """Called when a module of torch has been imported."""
    global _observer
    if name == "torch":
        order = read_order()
        if os.getppid() == order.parent or "LOCAL_RANK" in os.environ:
            die_with(os.getppid())
        _observer = Observer(order)
        _observer.torch_imported()
    elif _observer is not None and name == "torch._dynamo":
        _follow_dynamo(sys.modules[name])
        if _observer.order.label == EAGER:
            torch.compiler.set_stance("force_eager")
    elif _observer is not None:
        GRAPHS.follow(sys.modules[name])


def _package() -> Path | None:
    """Returns the file of caches to load at the start, or to write if it does not exist."""
    return Path(os.environ[PACKAGE]) if PACKAGE in os.environ else None


def _age_s(then: float) -> float:
    """Returns how old this process was at a time of `perf_counter`."""
    ticks = PROCESS.read_text().rpartition(")")[2].split()[19]
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - int(ticks) / os.sysconf("SC_CLK_TCK")
    return age - (time.perf_counter() - then)


def _follow_torch() -> None:
    register_optimizer_step_post_hook(_optimizer_stepped)
    os.register_at_fork(after_in_child=stop)


def _follow_dynamo(dynamo: Untyped) -> None:
    """Hooks into calls of compiled functions, and into compiles."""
    eval_frame = dynamo.eval_frame
    original = eval_frame._callback_from_stance

    def callback_from_stance(callback: Untyped) -> Untyped:
        if callback is not None and callback is not False:
            _tell(Observer.called, callback)
        return original(callback)

    context = eval_frame.OptimizeContext
    wrap = context.__call__

    def call(self: Untyped, function: Untyped) -> Untyped:
        _tell(Observer.wrapped, function)
        return wrap(self, function)

    context.__call__ = call
    eval_frame._callback_from_stance = callback_from_stance
    handler = dynamo.callback.callback_handler
    clear = handler.clear

    def follow() -> None:
        handler.register_start_callback(partial(_tell, Observer.compile_starts))
        handler.register_end_callback(partial(_tell, Observer.compile_ends))

    def clear_others() -> None:  # torch._dynamo.reset() calls it
        clear()
        follow()

    handler.clear = clear_others
    follow()


def _optimizer_stepped(optimizer: Untyped, args: Untyped, kwargs: Untyped) -> None:
    if not torch.compiler.is_compiling():  # a compiled step must not contain this
        _tell(Observer.optimizer_stepped, optimizer)


def _tell(method: Callable[[Observer, Untyped], None], of: Untyped) -> None:
    """Calls a method of the observer, if this process is observed."""
    observer = _observer
    if observer is not None:
        try:
            method(observer, of)
        except Exception as error:  # noqa: BLE001  # see give_up
            observer.give_up(error)


def _wrapper_around(frame: FrameType | None) -> FrameType | None:
    """Returns the innermost call of a compiled function that the frame is, or runs in."""
    while frame is not None and frame.f_code.co_name != WRAPPER:
        frame = frame.f_back
    return frame


def _name_of_wrapper(frame: FrameType | None) -> str:
    function = None if frame is None else frame.f_locals.get("fn")
    owner = getattr(function, "__self__", None)
    if owner is not None:
        return type(owner).__name__
    return str(getattr(function, "__qualname__", "the compiled function"))


def _named(optimizer: Untyped) -> str:
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    numbers = sum(parameter.numel() for parameter in parameters)
    return f"{type(optimizer).__name__} of {len(parameters):,} tensors, {numbers:,} numbers"


def _processes() -> int:
    """Returns how many processes run the script's steps together."""
    return int(os.environ.get("WORLD_SIZE", "1") or 1)


def _rank() -> int | None:
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return int(torch.distributed.get_rank())
    text = os.environ.get("RANK", "")
    return int(text) if text.isdigit() else None


def _tensors(values: list[Untyped]) -> list[str]:
    described = []
    for value in values:
        if isinstance(value, torch.Tensor):
            described.append(f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}")
        elif isinstance(value, dict):
            described += _tensors(list(value.values()))
        elif isinstance(value, list | tuple):
            described += _tensors(list(value))
    return described
