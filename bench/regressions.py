"""Injected slow-downs: is each found, how much of it is explained, and is its cause named?

    python -m bench.regressions DATA [--cuda] [NAME…]

Captures a small program and its slower forms into DATA, and measures each beside the first. With
`--cuda` it runs those that need a GPU. It takes about four minutes for each, on an idle machine.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import torch
from inductorscope.analyze.measure.result import Measurement
from inductorscope.answers.compare.compare import compare_page
from inductorscope.answers.compare.measured import in_words
from inductorscope.capturing.measure.processes import Runner
from inductorscope.capturing.run import run_capture
from inductorscope.capturing.spec import CaptureSpec
from inductorscope.cli.local import read_paths
from inductorscope.jobs.work.measuring import Asked, measure_pair
from inductorscope.jobs.work.pair import load_pair
from inductorscope.progress import silent
from inductorscope.settings import Settings
from inductorscope.store.database.engine import make_engine, sessions
from inductorscope.store.runs.measurements import write_measurement

ROWS, COLUMNS = 16384, 64
EXPLAINED = 0.8


@dataclass(frozen=True)
class Injected:
    """A way to make the program slower, and what names its cause."""

    named: tuple[str, ...]
    """Words of the comparison's sentences, or of the lines that say what caused the difference."""
    config: dict[str, str] = field(default_factory=dict)
    mode: str | None = None
    cuda: bool = False


IN_PROCESS = {"compile_threads": "1", "graph_partition": "False"}
"""For programs that change torch: it compiles where they run."""
INJECTED = {
    "none": Injected(()),
    "fusion off": Injected(("max_fusion_size",), {"max_fusion_size": "1"}),
    "no vectors": Injected(("cpp.simdlen",), {"cpp.simdlen": "1"}),
    "graph break": Injected(("graph break",)),
    "cast": Injected(("convert_element_type", "_to_copy", "double")),
    "copy": Injected(("cat", "slice")),
    "layout": Injected(("clone", "permute", "transpose")),
    "slower kernel": Injected(("erf", "sin", "cos")),
    "more work": Injected(("mm",)),
    "recompiles": Injected(("recompile",)),
    "cache misses": Injected(("at the same code",)),
    "cuda none": Injected((), IN_PROCESS, "reduce-overhead", cuda=True),
    "fewer warps": Injected(("warps",), IN_PROCESS, "reduce-overhead", cuda=True),
    "cudagraphs skipped": Injected(
        ("CUDA graphs skipped",), IN_PROCESS, "reduce-overhead", cuda=True
    ),
}


class Program(torch.nn.Module):  # type: ignore[misc]  # torch is untyped here
    """A small block, and the same with one thing that makes it slower."""

    def __init__(self, slow: str) -> None:
        super().__init__()
        self.up, self.down = (torch.nn.Linear(COLUMNS, COLUMNS) for _ in range(2))
        self.slow, self.calls = slow, 0
        self.scale = torch.ones(())  # no buffer, so that it stays on the CPU

    def forward(self, x: torch.Tensor, order: torch.Tensor, wide: torch.Tensor) -> torch.Tensor:
        taken = torch.cat([x] * 3)[:ROWS] if self.slow == "copy" else x
        y = torch.nn.functional.gelu(self.up(taken))
        if self.slow == "layout":
            y = y.t().contiguous().t()
        y = y.flatten()[order].view_as(x)
        match self.slow:
            case "graph break":
                # Not in a loop: torch would leave the whole function to Python.
                y = y * 1.01
                torch._dynamo.graph_break()
                y = y * 1.01
                torch._dynamo.graph_break()
            case "cast":
                y = (y.double() * 1.5).sin().float()
            case "slower kernel":
                y = y.sin().cos().erf().sin().cos().erf()
            case "more work":
                for _ in range(3):
                    y = y @ self.up.weight
            case "recompiles":
                self.calls += 1  # a guard on each value, until torch gives up
                y = y * self.calls / self.calls
            case "cudagraphs skipped":
                y = y * self.scale
        for _ in range(3):
            y = torch.nn.functional.layer_norm(y, (COLUMNS,)) + x
        sums = [each.sum(-1, True) for each in (wide, wide.abs(), wide.square(), wide.relu())]
        y = torch.softmax(y, -1) * sum(sums)
        if self.slow == "layout":
            y = y.t().contiguous().t()
        return self.down(y) + x


def program(slow: str = "none") -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    torch.set_num_threads(1)  # two would wait for each other whenever something else runs
    if slow == "fewer warps":
        with_one_warp()
    size = ROWS * COLUMNS
    order = torch.randperm(size) if slow == "cache misses" else torch.arange(size)
    return Program(slow), (torch.randn(ROWS, COLUMNS), order, torch.randn(ROWS, 8 * COLUMNS))


def with_one_warp() -> None:
    """Makes Inductor choose one warp for each kernel."""
    from torch._inductor.runtime import triton_heuristics

    triton_heuristics._num_warps = lambda *given, **named: 1


def capture(settings: Settings, name: str) -> str:
    injected = INJECTED[name]
    spec = CaptureSpec(
        model=f"{Path(__file__).resolve()}:program", args=(name,), name=name, seconds=1.0,
        config=injected.config, mode=injected.mode, device="cuda" if injected.cuda else "cpu",
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as out:
        run_capture(spec, Path(out), settings, trusted=True)
        return read_paths(
            settings, [Path(out)], name=name, tags=[], origin="capture", progress=silent
        ).run_id


def measured(settings: Settings, base: str, other: str, name: str) -> tuple[Measurement, str]:
    """The measurement, and all that the page then says."""
    factory = sessions(make_engine(settings))
    with factory.begin() as session, tempfile.TemporaryDirectory() as folder:
        pair = load_pair(session, base, other)
        asked = Asked()
        runner = Runner(Path(folder), settings, trusted=True)
        found = measure_pair(pair, asked, runner, silent, lambda _: None)
        now = datetime.now(UTC)
        write_measurement(session, base, other, name, now, found, complete=True)
        page = compare_page(session, base, other)
    said = [f"{line.label}: {line.text}" for line in page.said]
    return found, "\n".join([*said, *(line.words for line in page.measured.lines)])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--cuda", action="store_true")
    asked = parser.parse_args()
    settings = Settings(data=asked.data, database_url="")
    first, *others = (name for name, one in INJECTED.items() if one.cuda == asked.cuda)
    base = capture(settings, first)
    named = explained = 0
    names = asked.names or others
    for name in names:
        found, words = measured(settings, base, capture(settings, name), name)
        share = 1 - abs(found.rest.share) if found.rest else None
        is_named = found.rest is not None and any(one in words for one in INJECTED[name].named)
        named += is_named
        explained += share is not None and share >= EXPLAINED
        shown = "—" if share is None else f"{share:.0%}"
        print(f"{name}: {in_words(found)}\n  explained {shown}, named {is_named}", flush=True)
        print("    " + words.replace("\n", "\n    "), flush=True)
    print(f"explained {explained} of {len(names)}, named {named} of {len(names)}")


if __name__ == "__main__":
    main()
