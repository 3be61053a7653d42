"""`inductorscope.trace_handler`: reads what torch.profiler records."""

import os
import shutil
import socket
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from inductorscope.api.read import read_folder


def trace_handler(
    name: str = "profile",
    *,
    server: str | None = None,
    data: str | Path | None = None,
    tensorboard: str | Path | None = None,
) -> Callable[[Any], None]:
    """Returns an `on_trace_ready` for torch.profiler; each trace becomes a run.

    torch writes a trace once, so two handlers cannot; TensorBoard's folder gets a copy.
    """

    def handle(profiler: Any) -> None:  # noqa: ANN401  # torch's class, which is not imported here
        folder = Path(tempfile.mkdtemp(prefix="inductorscope-")) / name.replace("/", "_")
        folder.mkdir()
        worker = f"{socket.gethostname()}_{os.getpid()}.{time.time_ns()}"
        trace = folder / f"{worker}.pt.trace.json.gz"
        profiler.export_chrome_trace(str(trace))
        if tensorboard is not None:
            Path(tensorboard).mkdir(parents=True, exist_ok=True)
            shutil.copy(trace, tensorboard)
        read_folder(folder, name, "ingest", server=server, data=data)

    return handle
