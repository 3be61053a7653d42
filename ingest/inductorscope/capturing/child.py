"""The process that runs a model: `python -m inductorscope.capturing.child SPEC.json OUT`.

Torch is imported only here. The environment that torch reads at import is set first, so the imports
of this module must be torch-free; code that needs torch is in `inside` and imported late.
`capture.json` always records the outcome.
"""

import argparse
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec

from inductorscope.capturing.inside import environment, sources
from inductorscope.capturing.inside.compiled import keep_compiled
from inductorscope.capturing.inside.errors import describe_error, is_compile_error
from inductorscope.capturing.inside.leaving import leave
from inductorscope.capturing.inside.report import Reporter
from inductorscope.capturing.inside.untyped import Call, Untyped
from inductorscope.capturing.measure.machine import undisturbed
from inductorscope.capturing.permission import Loading
from inductorscope.capturing.spec import CaptureSpec, from_json
from inductorscope.formats.capture_facts import (
    COMPILED,
    EAGER,
    INTERRUPTED,
    CaptureFacts,
    EagerOutcome,
    State,
)
from inductorscope.formats.results import EAGER_RESULTS, RESULTS
from inductorscope.processes.dying import die_with
from inductorscope.processes.importing import without_collection


class CompileFailed(Exception):
    """The first compiled call failed although the eager one succeeded; the cause is chained."""


@dataclass
class Capture:
    """A running capture."""

    spec: CaptureSpec
    loading: Loading
    out: Path
    report: Reporter
    memory: int | None
    brief: bool = False
    """Whether compiled calls are only timed and profiled."""

    def __post_init__(self) -> None:
        spec, file = self.spec, self.loading.file
        self.certain_sources = [file] if file else []
        self.facts = CaptureFacts(name=spec.title, model=spec.model, options=spec.to_builtins())

    def run(self) -> State:
        """Captures, and always writes the facts."""
        facts = self.facts
        try:
            self._capture()
            facts.state = "complete"
        except CompileFailed as failure:
            facts.state = "failed to compile"
            facts.error = describe_error(failure.__cause__ or failure)
            if self.spec.measures and not self.brief:
                facts.eager_outcome = EagerOutcome(passed=True)
        except KeyboardInterrupt:
            facts.error = INTERRUPTED
        except Exception as error:  # noqa: BLE001  # the model is a user's code and may raise anything
            facts.state = "failed to compile" if is_compile_error(error) else "failed"
            facts.error = describe_error(error)
        if self.spec.source:
            self.report.progress("collecting sources")
            facts.sources = sources.keep_sources(self.out, self.certain_sources)
        else:
            facts.missing.append(sources.LEFT_OUT)
        facts.write(self.out)
        return facts.state

    def _capture(self) -> None:
        self.report.progress("importing torch")
        pretended: AbstractContextManager[object] = nullcontext()
        if self.spec.pretend:  # before any module of torch looks for GPUs
            from inductorscope.capturing.inside.pretending import pretend

            pretended = pretend(self.spec.pretend)
            self.facts.missing.append(
                f"What autotuning would choose: {self.spec.pretend} is not here; its kernels were "
                "compiled and did not run."
            )
        with without_collection():
            from inductorscope.capturing.inside.compiling import Compiling
            from inductorscope.capturing.inside.instructions import try_instructions
            from inductorscope.capturing.inside.logging_text import keep_logs
            from inductorscope.capturing.inside.machine import describe_machine
            from inductorscope.capturing.inside.options import apply_options
            from inductorscope.capturing.inside.swapping import swap_kernel
            from inductorscope.capturing.trial.inside.changing import install

        self.facts.config = apply_options(self.spec, trusted=self.loading.trusted)
        self.facts.env = environment.recorded()
        describe_machine(self.facts, self.spec.device)
        try_instructions(self.spec.device)
        environment.limit_memory(self.memory, self.facts.device)
        swap_kernel()
        if self.spec.change:
            install(self.spec.change, None, trusted=self.loading.trusted)
        compiling = Compiling(self.spec)
        keep_logs(self.out)
        try:
            with pretended:
                self._measure()
        finally:
            compiling.write(self.facts, self.out)

    def _measure(self) -> None:
        from inductorscope.capturing.inside import loading, profiling, timing

        spec, report = self.spec, self.report
        report.progress("making the model")
        model = loading.load(spec, self.loading)
        if model.file:
            self.certain_sources.append(model.file)
        synchronize = profiling.synchronizer(spec.device)
        calls: dict[str, Call] = {}
        if spec.measures and not self.brief:
            calls[EAGER] = model.step(model.function)
            report.progress("running eagerly once")
            calls[EAGER]()
            synchronize()
        report.progress("compiling")
        function = compiled(spec, model.function)
        calls[COMPILED] = model.step(function)
        start = time.perf_counter()
        try:
            calls[COMPILED]()
            synchronize()
            self.facts.first_call_s = time.perf_counter() - start
            for other in loading.with_shapes(model, spec.shapes):
                other.step(function)()
        except Exception as error:
            raise CompileFailed from error
        if spec.results:
            self._record_results(model, function)
        if not spec.measures:
            self.facts.missing.append("Times: the model was only compiled, as asked.")
            return
        if self.brief:
            report.progress("timing and profiling")
            self.facts.timings[COMPILED], self.facts.profiles[COMPILED] = (
                profiling.time_and_profile(
                    COMPILED, calls[COMPILED], spec.seconds, spec.device, self.out, report
                )
            )
            return
        report.progress("timing eager and compiled", 0, spec.repeats, "samples")
        self.facts.timings = undisturbed(
            lambda: timing.interleave(calls, synchronize, spec.seconds, spec.repeats, report),
            spec.device,
            "the model was timed",
            self.facts.disturbed,
        )
        if spec.profiles:
            self._profile(calls)
        else:
            self.facts.missing.append("Kernel times: profiling was switched off.")
        if spec.values:
            from inductorscope.capturing.inside import values

            report.progress("recording values")
            if missing := values.record_values(calls[COMPILED], self.out):
                self.facts.missing.append(f"Values: {missing}")

    def _record_results(self, model: Untyped, function: Untyped) -> None:
        """Records what one call computes, compiled and in eager."""
        from inductorscope.capturing.trial.inside.results import Recorder

        for name, called, float64 in (
            (RESULTS, function, False),
            (EAGER_RESULTS, model.function, True),
        ):
            recorder = Recorder(float64=float64)
            model.step(recorder.around("model", model.function, called))()
            if model.train:
                recorder.keep_gradients(list(model.function.parameters()))
            recorder.write(self.out, name)

    def _profile(self, calls: dict[str, Call]) -> None:
        from inductorscope.capturing.benchmark import peaks as benchmark_peaks
        from inductorscope.capturing.inside import profiling

        spec, report = self.spec, self.report
        for name, call in calls.items():
            report.progress(f"profiling {name}")
            long = self.facts.timings[name].median_ms > 1000 * profiling.LONG_STEP_S
            steps = 1 if long else profiling.STEPS
            self.facts.profiles[name] = undisturbed(
                partial(profiling.profile_calls, name, call, steps, spec.device, self.out),
                spec.device,
                f"its {name} code was profiled",
                self.facts.disturbed,
            )
        report.progress("measuring the machine's peaks")
        self.facts.peaks = benchmark_peaks.measure_peaks(spec.device, spec.dtype)


def compiled(spec: CaptureSpec, function: Untyped) -> Untyped:
    """Returns the function under torch.compile with the spec's options."""
    import torch

    options = {"mode": spec.mode} if spec.backend == "inductor" else {}
    return torch.compile(function, backend=spec.backend, dynamic=spec.dynamic, **options)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m inductorscope.capturing.child")
    parser.add_argument("spec", type=Path, help="JSON file of the capture's spec")
    parser.add_argument("out", type=Path, help="folder to write to")
    parser.add_argument("--loading", required=True, help="what is permitted, as JSON")
    parser.add_argument("--cache", type=Path, required=True, help="folder for compiled kernels")
    parser.add_argument("--brief", action="store_true", help="only time and profile compiled calls")
    parser.add_argument("--reuse", action="store_true", help="reuse kernels of the cache")
    parser.add_argument("--report", type=int, help="file descriptor for progress lines")
    parser.add_argument("--memory", type=int, help="memory limit in bytes")
    parser.add_argument("--parent", type=int, help="process to die with")
    options = parser.parse_args(arguments)
    die_with(options.parent)
    environment.forget_settings()
    spec = from_json(options.spec.read_bytes())
    out = options.out.absolute()
    out.mkdir(parents=True, exist_ok=True)
    environment.prepare(spec, out, options.cache, reuse_cache=options.reuse)
    loading = msgspec.json.decode(options.loading, type=Loading)
    report = Reporter(options.report)
    state = Capture(spec, loading, out, report, options.memory, brief=options.brief).run()
    keep_compiled(options.cache, out)
    return 0 if state == "complete" else 1


if __name__ == "__main__":
    leave(main())
