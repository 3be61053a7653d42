"""Injected slow-downs: is each found, how much of it is explained, and is its cause named?

    python -m bench.regressions DATA [NAME…]

Captures a small program and its slower forms into DATA, and measures each beside the first.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import torch
from inductorscope.analyze.measure.result import Measurement
from inductorscope.answers.compare.compare import compare_page
from inductorscope.answers.compare.measured import in_words
from inductorscope.capturing.run import run_capture
from inductorscope.capturing.spec import CaptureSpec
from inductorscope.cli.local import read_paths
from inductorscope.jobs.work.measuring import Asked, load_pair, measure_pair
from inductorscope.progress import silent
from inductorscope.settings import Settings
from inductorscope.store.database.engine import make_engine, sessions


@dataclass(frozen=True)
class Injected:
    """A way to make the program slower, and what names its cause."""

    named: tuple[str, ...]
    """Words of the comparison's sentences, of the largest cause, or of the setting."""
    config: dict[str, str] = field(default_factory=dict)


INJECTED = {
    "none": Injected(()),
    "no fusion": Injected(("split",), {"max_fusion_size": "1"}),
    "no vectors": Injected(("cpp.simdlen",), {"cpp.simdlen": "1"}),
    "graph break": Injected(("graph break",)),
    "cast": Injected(("convert_element_type", "float64")),
    "copy": Injected(("clone",)),
    "layout": Injected(("clone", "permute", "transpose")),
    "slower kernel": Injected(("erf", "sin", "cos")),
    "more work": Injected(("mm",)),
    "recompiles": Injected(("recompile",)),
}


class Program(torch.nn.Module):  # type: ignore[misc]  # torch is untyped here
    """A small block, and the same with one thing that makes it slower."""

    def __init__(self, slow: str) -> None:
        super().__init__()
        self.up, self.down = torch.nn.Linear(256, 256), torch.nn.Linear(256, 256)
        self.slow, self.calls = slow, 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.nn.functional.gelu(self.up(x))
        match self.slow:
            case "graph break":
                torch._dynamo.graph_break()
            case "cast":
                y = (y.double() * 1.5).sin().float()
            case "copy":
                y = y.t().clone(memory_format=torch.contiguous_format).t().clone()
            case "layout":
                y = y.view(64, 32, 256).permute(2, 0, 1).contiguous().permute(1, 2, 0)
                y = y.reshape(2048, 256)
            case "slower kernel":
                y = y.sin().cos().erf().sin().cos().erf()
            case "more work":
                y = y @ self.up.weight
            case "recompiles":
                self.calls += 1
                y = y * self.calls if self.calls < 5 else y * (self.calls % 7)
        return self.down(torch.softmax(y, -1)) + x


def program(slow: str = "none") -> tuple[torch.nn.Module, tuple[torch.Tensor]]:
    return Program(slow), (torch.randn(2048, 256),)


def capture(settings: Settings, name: str) -> str:
    spec = CaptureSpec(
        model=f"{Path(__file__).resolve()}:program", args=(name,), name=name, seconds=1.0,
        config=INJECTED[name].config,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as out:
        run_capture(spec, Path(out), settings, trusted=True)
        return read_paths(
            settings, [Path(out)], name=name, tags=[], origin="capture", progress=silent
        ).run_id


def named(page_words: str, found: Measurement, injected: Injected) -> bool:
    first = found.causes[0] if found.causes else None
    words = page_words + (f" {first.change} {first.name} {first.b}" if first else "")
    return any(word in words for word in injected.named)


def main() -> None:
    settings = Settings(data=Path(sys.argv[1]), database_url="")
    base = capture(settings, "none")
    factory = sessions(make_engine(settings))
    for name in sys.argv[2:] or [*INJECTED][1:]:
        other = capture(settings, name)
        with factory() as session, tempfile.TemporaryDirectory() as folder:
            pair = load_pair(session, base, other)
            page = compare_page(session, base, other)
            asked = Asked(processes=6)
            found = measure_pair(
                pair, asked, Path(folder), settings, silent, lambda _: None, trusted=True
            )
        words = " ".join(f"{line.label}: {line.text}" for line in page.said)
        explained = 1 - found.rest.share if found.rest else None
        share = "—" if explained is None else f"{explained:.0%}"
        is_named = named(words, found, INJECTED[name])
        print(f"{name}: {in_words(found)} explained {share}, named {is_named}", flush=True)
        print(f"    {words[:500]}", flush=True)


if __name__ == "__main__":
    main()
