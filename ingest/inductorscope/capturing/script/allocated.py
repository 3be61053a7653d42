"""Records what torch's CUDA allocator held at the peak of a step, and which lines allocated it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from inductorscope.capturing.inside.environment import DEBUG_FOLDER
from inductorscope.capturing.inside.sources import is_users
from inductorscope.formats.capture_facts import AllocatedPeak, HeldMemory

MOST_EVENTS = 1_000_000
MOST_HELD = 1000
Event = Mapping[str, Any]
"""An entry of `device_traces` in torch.cuda.memory._snapshot()."""


class Allocations:
    """Records the allocator's history during a step."""

    peak: AllocatedPeak | None = None

    def __init__(self) -> None:
        self._before: int | None = None

    def start(self) -> None:
        """Starts, unless the script records the history itself."""
        import torch

        if torch.cuda.is_initialized() and not torch._C._cuda_isHistoryEnabled():
            self._before = torch.cuda.memory_allocated()
            torch.cuda.memory._record_memory_history(
                context="alloc", stacks="python", max_entries=MOST_EVENTS, clear_history=True
            )

    def stop(self, out: Path) -> None:
        """Stops. `out` contains the debug folder, which identifies the graphs' code."""
        import torch

        before, self._before = self._before, None
        if before is None:
            return
        events = torch.cuda.memory._snapshot()["device_traces"][torch.cuda.current_device()]
        torch.cuda.memory._record_memory_history(enabled=None)
        if len(events) < MOST_EVENTS:
            self.peak = peak_of(events, before, _graphs(out))


def peak_of(events: Sequence[Event], before: int, graphs: Mapping[str, str]) -> AllocatedPeak:
    """Returns what is allocated at the peak. `before`: bytes allocated before the history begins;
    `graphs`: the graph of each file with a wrapper."""
    signs = {"alloc": 1, "free_requested": -1}
    held = peak = before
    end = 0
    for number, event in enumerate(events, 1):
        held += signs.get(event["action"], 0) * event["size"]
        if held > peak:
            peak, end = held, number
    live: dict[int, Event] = {}
    for event in events[:end]:
        if event["action"] == "alloc":
            live[event["addr"]] = event
        elif event["action"] == "free_requested" and live.pop(event["addr"], None) is None:
            before -= event["size"]
    sizes: Counter[tuple[str, str, int]] = Counter()
    blocks: Counter[tuple[str, str, int]] = Counter()
    for event in live.values():
        maker = _maker(event.get("frames") or [], graphs)
        sizes[maker] += event["size"]
        blocks[maker] += 1
    return AllocatedPeak(
        peak,
        before,
        [HeldMemory(*maker, size, blocks[maker]) for maker, size in sizes.most_common(MOST_HELD)],
    )


def _maker(frames: list[Event], graphs: Mapping[str, str]) -> tuple[str, str, int]:
    """Returns graph, file and line of the innermost frame in a wrapper, or else in the user's
    code."""
    for graph_wanted in (True, False):
        for frame in frames:
            file, line = frame["filename"], frame["line"]
            if file in graphs if graph_wanted else is_users(file):
                return graphs.get(file, ""), file, line
    return "", "", 0


def _graphs(out: Path) -> dict[str, str]:
    """Returns the debug folder's name for each loaded wrapper, by the content of the code."""
    from inductorscope.capturing.inside.loaded import wrapper_files

    names = {
        code.read_bytes(): code.parent.name
        for code in (out / DEBUG_FOLDER).glob("**/output_code.py")
    }
    files = wrapper_files()
    return {file: name for file in files if (name := names.get(Path(file).read_bytes()))}
