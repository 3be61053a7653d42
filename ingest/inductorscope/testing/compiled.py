"""Compiles in a test, records the compile, and asserts what it is."""

from __future__ import annotations

import fcntl
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import torch

from inductorscope.capturing.inside import sources
from inductorscope.capturing.inside.compiling import recording as recording_compiles
from inductorscope.capturing.inside.loading import reshaped
from inductorscope.capturing.inside.machine import describe_machine
from inductorscope.capturing.inside.untyped import Untyped
from inductorscope.capturing.script.records import recording
from inductorscope.capturing.spec import CaptureSpec
from inductorscope.cli.contract import stored_program
from inductorscope.cli.local import read_paths
from inductorscope.contract.compare import compare
from inductorscope.contract.lock import Program, read_lock, write_lock
from inductorscope.contract.project import places_in
from inductorscope.contract.report import as_text
from inductorscope.formats.call_shapes import Value, read_shapes
from inductorscope.formats.capture_facts import CaptureFacts
from inductorscope.progress import silent
from inductorscope.settings import Settings


class Inductor:
    """The fixture `inductor` of one test."""

    def __init__(self, test: str, lock: Path, folder: Path, update: bool) -> None:
        self._test, self._lock, self._folder, self._update = test, lock, folder, update
        self._made = 0

    def compile(self, function: Untyped, *args: Untyped, **kwargs: Untyped) -> Compiled:
        """Compiles a function or module with torch.compile and calls it once with the arguments.

        A function that torch.compile returned is used as it is. All code that the process compiled
        before is discarded.
        """
        __tracebackhide__ = True
        self._made += 1
        name = self._test if self._made == 1 else f"{self._test} {self._made}"
        folder = self._folder / f"inductor-{self._made}"
        return Compiled(name, function, args, kwargs, folder, lock=self._lock, update=self._update)


class Compiled:
    """A compiled function with assertions, each of which returns the function again."""

    def __init__(
        self, name: str, function: Untyped, args: tuple[Any, ...], kwargs: dict[str, Any],
        folder: Path, lock: Path, update: bool,
    ) -> None:  # fmt: skip
        self.name, self._lock, self._update = name, lock, update
        self._original = getattr(function, "_orig_mod", None) or getattr(
            function, "_torchdynamo_orig_callable", function
        )
        self._args, self._kwargs = args, kwargs
        self._folder = folder
        self._readings = 0
        self._program: Program | None = None
        self.run = ""
        """The id of the run in `data`."""
        torch.compiler.reset()
        (folder / "capture").mkdir(parents=True)
        self._record = recording_compiles(CaptureSpec(model="test.py", name=name, record=False))
        self._compiled = torch.compile(function) if self._original is function else function
        self._call(args, kwargs)

    @property
    def data(self) -> Path:
        """The data folder with the run, which `inductorscope serve --data` shows."""
        return self._folder / f"data-{self._readings}"

    @property
    def program(self) -> Program:
        """The program so far, as in a lock."""
        if self._program is None:
            self._read()
        assert self._program is not None
        return self._program

    def assert_no_breaks(self) -> Compiled:
        """Asserts that the graph does not break."""
        __tracebackhide__ = True
        if self.program.counts["breaks"]:
            self._fail("The graph breaks:", self.program.details["breaks"])
        return self

    def assert_no_recompiles(self, shapes: str | Sequence[dict[str, Value]] = ()) -> Compiled:
        """Calls the function with further shapes, such as `x=(8,128),(9,128)`, and asserts that it
        is not compiled again."""
        __tracebackhide__ = True
        if isinstance(shapes, str):
            asked = read_shapes(shapes)
            if asked.problem:
                raise ValueError(asked.problem)
            shapes = asked.calls
        for values in shapes:
            self._program = None
            self._call(*reshaped(self._original, self._args, self._kwargs, dict(values)))
        if self.program.counts["recompiles"]:
            self._fail("It is compiled again:", self.program.details["recompiles"])
        return self

    def assert_fused(self, *places: str) -> Compiled:
        """Asserts that one kernel computes all these lines: `"model.py:29", "model.py:30"`."""
        __tracebackhide__ = True
        wanted = {(file, int(line)) for file, _, line in (text.rpartition(":") for text in places)}
        kernels = self.program.details.get("kernels", [])
        if not any(wanted <= places_in(kernel) for kernel in kernels):
            near = [kernel for kernel in kernels if wanted & places_in(kernel)]
            self._fail(f"No kernel computes all of {', '.join(places)}:", near or kernels)
        return self

    def assert_lock(self) -> Compiled:
        """Asserts that the compile is the one in the lock next to the test file;
        `--inductor-update` writes it."""
        __tracebackhide__ = True
        if self._update:
            self._write()
            return self
        known = {program.model: program for program in self._locked()}
        if self.name not in known:
            self._fail(f"{self._lock.name} has no {self.name!r}: run pytest --inductor-update.", [])
        result = compare(known[self.name], self.program)
        if not result.passes:
            self._fail("The compile differs from its lock:", as_text([result]).splitlines()[1:])
        return self

    def _call(self, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        out = self._folder / "capture"
        with recording(out):
            self._compiled(*args, **kwargs)
        facts = CaptureFacts(name=self.name, model=self.name, state="complete")
        on_gpu = any(isinstance(arg, torch.Tensor) and arg.is_cuda for arg in args)
        describe_machine(facts, "cuda" if on_gpu else "cpu")
        self._record.write(facts, out)
        facts.sources = sources.keep_sources(out, [])
        facts.write(out)

    def _read(self) -> None:
        self._readings += 1
        settings = Settings(data=self.data, database_url="")
        self.run = read_paths(
            settings, [self._folder / "capture"], name=self.name, tags=[], origin="capture",
            progress=silent,
        ).run_id  # fmt: skip
        self._program, _ = stored_program(settings, self.run, self.name)
        # The first compile of a process has other phases than later ones.
        del self._program.counts["passes"]

    def _locked(self) -> list[Program]:
        return read_lock(self._lock.read_text("utf-8")).program if self._lock.exists() else []

    def _write(self) -> None:
        """Writes the lock while holding a lock on a file, since tests may run in parallel."""
        with self._lock.with_suffix(".writing").open("w") as turn:
            fcntl.flock(turn, fcntl.LOCK_EX)
            known = {program.model: program for program in self._locked()}
            if self.name in known:
                self.program.budgets = known[self.name].budgets
            known[self.name] = self.program
            text = write_lock(known[name] for name in sorted(known))
            self._lock.write_text(text, "utf-8")

    def _fail(self, title: str, lines: list[str]) -> NoReturn:
        __tracebackhide__ = True
        shown = "".join(f"\n  {line}" for line in lines)
        where = f"Run {self.run}; to see it: inductorscope serve --data {self.data}"
        raise AssertionError(f"{title}{shown}\n{where}")
