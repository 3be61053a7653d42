"""`inductorscope.capture`: records what torch compiles and runs, from inside a program."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from contextlib import ExitStack
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from inductorscope.api import ranks
from inductorscope.api.read import read_folder
from inductorscope.capturing.inside import sources
from inductorscope.capturing.script.gather import gather
from inductorscope.capturing.script.order import VARIABLE, Order
from inductorscope.capturing.spec import CaptureSpec
from inductorscope.formats.capture_facts import COMPILED

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class Capture:
    """A capture of a part of this program: a context manager, a decorator, or start() and stop().

    If `inductorscope capture` already observes the whole program, this does nothing.
    """

    run: str | None = None
    """The run's id, once it is read."""
    url: str | None = None
    """The run's address."""

    def __init__(
        self,
        name: str | None = None,
        *,
        server: str | None = None,
        data: str | Path | None = None,
        seconds: float = 10.0,
    ) -> None:
        script = str(getattr(sys.modules["__main__"], "__file__", ""))
        self._script = script if script.endswith(".py") else "python"
        self.name = name or (Path(script).name if script.endswith(".py") else "capture")
        self._server, self._data, self._seconds = server, data, seconds
        self._running: ExitStack | None = None

    def __call__(self, function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        """Captures each call of a function; a call within a call belongs to the outer one."""

        @wraps(function)
        def captured(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
            if self._running is not None:
                return function(*args, **kwargs)
            with self:
                return function(*args, **kwargs)

        return captured

    def __enter__(self) -> Capture:
        self.start()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.stop(error)

    def start(self) -> None:
        """Starts recording. Raises RuntimeError while another capture runs in this process."""
        if VARIABLE in os.environ:
            return
        from inductorscope.capturing.script import observer, records

        folder = ranks.new_folder(self.name)
        self._out = folder / "capture"
        self._out.mkdir(exist_ok=True)
        spec = CaptureSpec(model=self._script, name=self.name, seconds=self._seconds)
        order = Order(spec, str(self._out), COMPILED, trusted=True, parent=os.getppid())
        with ExitStack() as stack:
            failed = stack.enter_context(ExitStack())
            failed.callback(shutil.rmtree, folder, ignore_errors=True)
            self._observer = observer.start(order)
            stack.callback(observer.stop)
            self._before = records.compiled_before()
            keeps = self._before and ranks.is_first()
            self._kept = records.keep_earlier_code(self._out) if keeps else 0
            stack.enter_context(records.recording(self._out))
            failed.pop_all()
            self._running = stack.pop_all()

    def stop(self, error: BaseException | None = None) -> None:
        """Stops recording, reads what was recorded, and waits until that is done.

        Of several ranks, the first one reads what all have recorded.

        `error` is the exception that ended the captured part, if there was one.
        """
        running, self._running = self._running, None
        if running is None:
            return
        with running:
            self._observer.finish(error)
        if not ranks.is_first():
            return
        missing = ranks.wait_for_others(self._out)
        facts = gather(self._out, self._observer.order.spec, COMPILED).facts
        facts.missing += [
            *missing,
            "Eager: a capture inside a program does not run its code again without torch.compile.",
            "Peaks: a capture inside a program leaves the device alone, and measures no limits.",
        ]
        if self._before:
            facts.missing.append(
                "Earlier compiles: the program compiled before the capture began. The code of "
                f"{self._kept} graphs is kept, whether or not it ran in the capture; their FX "
                "graphs, logs and compile times are unknown, and on a CPU their kernels' times."
            )
        facts.sources = sources.keep_sources(self._out, [])
        facts.write(self._out)
        self.run, self.url = read_folder(
            self._out, self.name, "capture", server=self._server, data=self._data
        )


def capture(name: str | Callable[..., Any] | None = None, **options: Any) -> Any:  # noqa: ANN401  # what is given
    """Returns a Capture; as a decorator without a name, returns the captured function."""
    return Capture(**options)(name) if callable(name) else Capture(name, **options)
