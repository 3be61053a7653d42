"""`inductorscope.trace_handler`: reads what torch.profiler records."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from inductorscope.api.read import read_folder


def trace_handler(
    name: str = "profile", *, server: str | None = None, data: str | Path | None = None
) -> Callable[[Any], None]:
    """Returns an `on_trace_ready` for torch.profiler; each trace becomes a run."""

    def handle(profiler: Any) -> None:  # noqa: ANN401  # torch's class, which is not imported here
        folder = Path(tempfile.mkdtemp(prefix="inductorscope-")) / name.replace("/", "_")
        folder.mkdir()
        profiler.export_chrome_trace(str(folder / "profile.trace.json.gz"))
        read_folder(folder, name, "ingest", server=server, data=data)

    return handle
