"""Makes lines that Inductor rewrites keep the origin of the original line.

The C++ back end rewrites finished lines with `re.sub`, which returns plain strings: a loop's
remainder gets a separate loop variable (`x2` → `x2_tail`), and accumulators shared by threads or
tails become elements of arrays. Accumulators are declared late, by functions that remember what to
declare; the declarations belong to the reduction that created the function.
"""

from functools import wraps

from torch._inductor.codegen import cpp
from torch._inductor.utils import IndentedBuffer

from inductorscope.capturing.inside.untyped import Untyped
from inductorscope.capturing.record.lines import mark_at, origin_of
from inductorscope.capturing.record.origins import Origin, Recorder, after

_REWRITING = ("replace_acc_name", "replace_cascade_sum_with_add")
_HEADER = 2
"""Lines before the moved lines: `for (…)` and `{`."""


def follow_rewritten(recorder: Recorder) -> None:
    """Installs the hooks."""
    for name in _REWRITING:
        _keep_in_place(recorder, name)
    _keep_when_moved(recorder)
    _keep_declared(recorder)


def _keep_in_place(recorder: Recorder, name: str) -> None:
    original = getattr(cpp, name)

    @wraps(original)
    def rewrite(buffer: Untyped, *args: Untyped, **kwargs: Untyped) -> None:
        origins = [origin_of(line) for line in buffer._lines]
        original(buffer, *args, **kwargs)
        recorder.guarded(lambda: _mark_all(buffer._lines, 0, origins))

    setattr(cpp, name, rewrite)


def _keep_when_moved(recorder: Recorder) -> None:
    def mark(moved: Untyped, code: Untyped, *_args: Untyped, **_kwargs: Untyped) -> None:
        _mark_all(moved._lines, _HEADER, [origin_of(line) for line in code._lines])

    after(recorder, cpp, "move_code_under_inner_loop", mark)


def _keep_declared(recorder: Recorder) -> None:
    original = cpp.CppKernel._gen_reduction_prefix

    @wraps(original)
    def generator(self: Untyped, *args: Untyped, **kwargs: Untyped) -> Untyped:
        declare = original(self, *args, **kwargs)
        origin = recorder.current()
        if origin is None:
            return declare

        def declare_marked(*args: Untyped, **kwargs: Untyped) -> Untyped:
            declared = declare(*args, **kwargs)
            buffer = declared
            if isinstance(declared, str):
                buffer = IndentedBuffer()
                buffer.writeline(declared)
            origins: list[Origin | None] = [origin] * len(buffer._lines)
            recorder.guarded(lambda: _mark_all(buffer._lines, 0, origins))
            return buffer

        return declare_marked

    cpp.CppKernel._gen_reduction_prefix = generator


def _mark_all(lines: list[Untyped], first: int, origins: list[Origin | None]) -> None:
    for place, origin in enumerate(origins, first):
        if origin is not None and place < len(lines):
            mark_at(lines, place, origin)
