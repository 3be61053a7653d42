"""Switches torch's own records on and off in a process that is already running."""

import logging
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import torch
import torch._dynamo
from torch._functorch import config as functorch_config
from torch._inductor import config
from torch._logging import _internal, structured

from inductorscope.capturing.inside.environment import DEBUG_FOLDER, TRACE_FOLDER
from inductorscope.capturing.inside.loaded import wrapper_files
from inductorscope.capturing.inside.options import set_everywhere
from inductorscope.capturing.inside.untyped import Untyped

EARLIER = "compiled_before"
SETTINGS = {
    "trace.enabled": True,
    "trace.provenance_tracking_level": 1,
    "triton.unique_kernel_names": True,
    "cpp.enable_kernel_profile": True,
    # Compiled kernels may be reused, but code must be generated again.
    "fx_graph_cache": False,
}


@contextmanager
def recording(out: Path) -> Iterator[None]:
    """Makes torch write its debug folders and structured log to `out`."""
    with ExitStack() as stack:
        for key, value in SETTINGS.items():
            _set(stack, config, key, value)
        _set(stack, functorch_config, "enable_autograd_cache", False)
        _set(stack, torch._dynamo.config, "debug_dir_root", str(out / DEBUG_FOLDER))
        handler = _internal.LazyTraceHandler(str(out / TRACE_FOLDER))
        handler.setFormatter(_internal.TorchLogsFormatter(trace=True))
        (out / TRACE_FOLDER).mkdir(parents=True, exist_ok=True)
        _repeat_strings(handler)
        _internal.trace_log.addHandler(handler)
        # Otherwise the program's own log handlers, such as pytest's, would show thousands of
        # records.
        stack.callback(setattr, _internal.trace_log, "propagate", _internal.trace_log.propagate)
        _internal.trace_log.propagate = False
        stack.callback(handler.close)
        stack.callback(_internal.trace_log.removeHandler, handler)
        debug_log = logging.getLogger("torch._inductor.debug")
        debug_log.addFilter(_names_no_folder)
        stack.callback(debug_log.removeFilter, _names_no_folder)
        yield


def _names_no_folder(record: logging.LogRecord) -> bool:
    """Whether it is not torch's warning that names a debug folder: ours is gone when it is read."""
    return "debug trace:" not in str(record.msg)


def _set(stack: ExitStack, holder: Untyped, key: str, value: object) -> None:
    known = holder.get_config_copy()
    if key in known:
        stack.callback(set_everywhere, holder, key, known[key])
        set_everywhere(holder, key, value)


def _repeat_strings(handler: logging.Handler) -> None:
    """Writes the file names that torch has already logged, because it now refers to them by
    number."""
    log = _internal.trace_log
    for text, number in structured.INTERN_TABLE.items():
        extra = {"metadata": {"str": (text, number)}, "payload": None}
        record = log.makeRecord(log.name, logging.DEBUG, __file__, 0, "", (), None, extra=extra)
        handler.handle(record)


def keep_earlier_code(out: Path) -> int:
    """Copies the code that this process compiled earlier; returns the number of graphs."""
    files = wrapper_files()
    for number, file in enumerate(files):
        folder = out / EARLIER / f"graph_{number}"
        folder.mkdir(parents=True)
        shutil.copyfile(file, folder / "output_code.py")
    return len(files)


def compiled_before() -> bool:
    """Whether this process has compiled anything."""
    return bool(torch._dynamo.utils.counters["stats"]["unique_graphs"])


def forget_compiled() -> None:
    """Discards all compiled code, so that it is compiled again when it next runs."""
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    torch._dynamo.utils.compilation_time_metrics.clear()
