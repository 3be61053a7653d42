"""Injected slow-downs: is each found, how much of it is explained, and is its cause named?

    python -m bench.regressions DATA [--cuda] [NAME…]

Captures a small program and its slower forms into DATA, and measures each beside the first. With
`--cuda` it runs those that need a GPU. It takes about three minutes for each, on an idle machine.
"""

import argparse
import tempfile
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from inductorscope.analyze.measure.result import Measurement
from inductorscope.answers.compare.compare import compare_page
from inductorscope.answers.compare.measured import in_words
from inductorscope.capturing.measure.processes import Runner
from inductorscope.capturing.run import run_capture
from inductorscope.capturing.spec import CaptureSpec
from inductorscope.cli.local import read_paths
from inductorscope.jobs.work.measuring import PairAsked, measure_pair
from inductorscope.jobs.work.pair import load_pair
from inductorscope.progress import silent
from inductorscope.settings import Settings
from inductorscope.store.database.engine import make_engine, sessions
from inductorscope.store.runs.measurements import write_measurement

PROGRAM = Path(__file__).parent / "slower_programs.py"
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
    "recompiles": Injected(("recompile",)),
    "cache misses": Injected(("at the same code",)),
    "cuda none": Injected((), IN_PROCESS, "reduce-overhead", cuda=True),
    "fewer warps": Injected(("warps",), IN_PROCESS, "reduce-overhead", cuda=True),
    "cudagraphs skipped": Injected(
        ("CUDA graphs skipped",), IN_PROCESS, "reduce-overhead", cuda=True
    ),
}


def capture(settings: Settings, name: str) -> str:
    injected = INJECTED[name]
    device = "cuda" if injected.cuda else "cpu"
    spec = CaptureSpec(
        model=f"{PROGRAM.resolve()}:program", args=(name, device), name=name, seconds=1.0,
        config=injected.config, mode=injected.mode, device=device,
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
        asked = PairAsked()
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
    asked = parser.parse_intermixed_args()  # names may follow an option
    settings = Settings(data=asked.data, database_url="")
    first, *others = (name for name, form in INJECTED.items() if form.cuda == asked.cuda)
    base = capture(settings, first)
    named = explained = 0
    names = asked.names or others
    for name in names:
        found, words = measured(settings, base, capture(settings, name), name)
        share = 1 - abs(found.rest.share) if found.rest else None
        is_named = found.rest is not None and any(word in words for word in INJECTED[name].named)
        named += is_named
        explained += share is not None and share >= EXPLAINED
        shown = "—" if share is None else f"{share:.0%}"
        print(f"{name}: {in_words(found)}\n  explained {shown}, named {is_named}", flush=True)
        print("    " + words.replace("\n", "\n    "), flush=True)
    print(f"explained {explained} of {len(names)}, named {named} of {len(names)}")


if __name__ == "__main__":
    main()
