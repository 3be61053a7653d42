"""Finds the component that fails: compares each back end with eager, then runs torch's bisector.

Every trial is a separate process, forked before the model has run, so that a crash, a hang or too
much memory is the verdict of that trial and affects nothing else.
"""

from pathlib import Path
from typing import Any

import msgspec

from inductorscope.capturing.inside.diagnose.components import bisect
from inductorscope.capturing.inside.diagnose.components.trial import Ended, Trial, Verdict
from inductorscope.capturing.inside.report import Reporter
from inductorscope.capturing.permission import Loading
from inductorscope.capturing.spec import CaptureSpec, SpecError

BACKENDS = {
    "eager": "Dynamo",
    "aot_eager": "AOTAutograd",
    "aot_eager_decomp_partition": "decompositions and the partitioner",
    "inductor": "Inductor: passes, lowering, scheduling, code generation",
}
"""Back end → the component that it adds to the previous one."""
SECONDS, LONGEST_SECONDS = 240, 3600
BISECT_SECONDS = 90
"""Time limit of the bisector's trials if the back end itself hung."""

_IN_WORDS = {
    "eager": "Dynamo",
    "aot_eager": "AOTAutograd",
    "aot_eager_decomp_partition": "AOTAutograd with decompositions",
    "inductor": "Inductor",
}


def diagnose(
    spec: CaptureSpec, loading: Loading, options: dict[str, Any], folder: Path, report: Reporter
) -> dict[str, Any]:
    """Searches for the failing component. The option `seconds` limits each trial."""
    if spec.kind == "script":
        raise SpecError(
            "A captured script calls torch.compile itself, so it cannot be run with other back "
            "ends. Capture the function that it compiles, as a factory (file.py:factory)."
        )
    seconds = min(max(int(options.get("seconds", SECONDS)), 1), LONGEST_SECONDS)
    search = _Search(Trial(spec, loading, folder / "trials", seconds), report)
    search.run()
    return search.result()


class _Search:
    """A running search and its result so far."""

    def __init__(self, trial: Trial, report: Reporter) -> None:
        self.trial = trial
        self.report = report
        self.trials: list[dict[str, Any]] = []
        self.steps: list[dict[str, Any]] = []
        self.notes: list[str] = []
        self.found: dict[str, Any] | None = None
        self.verdict = "The program is being run eagerly."

    def run(self) -> None:
        total = len(BACKENDS) + 1
        self.report.progress("running the program eagerly", 0, total, "backends")
        eager = self.trial.reference()
        if eager.outcome != "runs":
            self._keep("none", "the program itself, without torch.compile", eager)
            failure = eager.said.rstrip(".")
            self.verdict = f"Not torch.compile: without it, the program {failure}."
            self._locate("program")
            return
        self.notes += self.trial.notes()
        for number, (backend, adds) in enumerate(BACKENDS.items(), 1):
            self.report.progress(f"compiling with {backend}", number, total, "backends")
            verdict = self.trial.compiled(backend)
            self._keep(backend, adds, verdict)
            if not verdict.good:
                self._blame(backend, verdict)
                return
            self.verdict = f"{_IN_WORDS[backend]} is correct; the next back end is being tried."
            self.report.partial(self.result())
        self.verdict = "No component fails: every back end runs, and its numbers agree with eager."

    def _keep(self, backend: str, adds: str, verdict: Verdict) -> None:
        self.trials.append({"backend": backend, "title": adds} | msgspec.to_builtins(verdict))

    def _blame(self, backend: str, verdict: Verdict) -> None:
        """Reports the first back end that fails, then searches inside it."""
        component = _IN_WORDS[backend]
        self.verdict = f"{component}: {verdict.said}; the search for the part continues."
        self._locate(backend)
        self.report.partial(self.result())
        if backend in ("eager", "aot_eager"):
            self.verdict = f"{component}: it is the first that {verdict.failing}."
            return
        if verdict.outcome == Ended.TOO_LONG:
            self.trial.seconds = min(self.trial.seconds, BISECT_SECONDS)
        self.report.progress("bisecting passes and lowerings", 0, None, "trials")
        try:
            part = bisect.search(backend, self.trial, self._step)
        except bisect.Unsteady as error:
            self.notes.append(str(error))
            part = None
        if part is None:
            self.verdict = (
                f"{component}: it is the first that {verdict.failing}; no single pass or lowering "
                "is to blame, so look at scheduling and code generation."
            )
            return
        self._locate(backend, part)
        self.verdict = f"{component}: {bisect.in_words(part)}; {verdict.said}."

    def _locate(self, backend: str, part: bisect.BlamedPart | None = None) -> None:
        self.found = {"backend": backend, "component": _IN_WORDS.get(backend, "the program")}
        if part is not None:
            self.found |= {"subsystem": part.subsystem, "number": part.number, "node": part.node}

    def _step(self, step: dict[str, Any]) -> None:
        self.steps.append(step)
        self.report.progress("bisecting passes and lowerings", len(self.steps), None, "trials")
        self.report.partial(self.result())

    def result(self) -> dict[str, Any]:
        return {
            "summary": {"verdict": self.verdict, "found": self.found},
            "trials": self.trials,
            "bisect": self.steps,
            "found": self.found,
            "notes": self.notes,
        }
