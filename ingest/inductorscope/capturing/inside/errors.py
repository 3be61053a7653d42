"""Describes an exception of a captured program."""

import traceback

from inductorscope.capturing.spec import SpecError
from inductorscope.formats.capture_facts import CaptureError

LONGEST_MESSAGE = 20_000
LONGEST_TRACE = 20_000


def is_compile_error(error: BaseException) -> bool:
    """Whether a script's exception, or a cause of it, comes from the compiler."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        if type(cause).__module__.startswith(("torch._dynamo", "torch._inductor")):
            return True
        cause = cause.__cause__
    return False


def describe_error(error: BaseException) -> CaptureError:
    """Returns the exception's type, message and the end of its traceback."""
    kind = type(error)
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    if isinstance(error, SpecError):
        return CaptureError(name, str(error))
    trace = "".join(traceback.format_exception(error))
    return CaptureError(name, str(error)[:LONGEST_MESSAGE], trace[-LONGEST_TRACE:])
