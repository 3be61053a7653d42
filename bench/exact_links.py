"""Writes the exact links of a captured run, against which inferred links are scored:
`python -m bench.exact_links RUN OUT`. Torch-free.

It writes the files that a user would upload, and next to them `truth.json`: graph folder → line of
output_code.py → [[op, loop-body node, FX node], …].
"""

import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from inductorscope.errors import REFUSED, InWords
from inductorscope.formats.capture_facts import LINE_RECORD

TRUTH = "truth.json"
UPLOADED = (
    "output_code.py",
    "fx_graph_transformed.py",
    "fx_graph_readable.py",
    "fx_graph_runnable.py",
    "ir_pre_fusion.txt",
    "ir_post_fusion.txt",
    "inductor_provenance_tracking_node_mappings.json",
)
"""Files of a graph's folder that are kept."""


class NoTruth(InWords, ValueError):
    """The path contains no exact record; the message says what is missing."""

    exit_code = REFUSED


@dataclass(frozen=True, slots=True)
class TruthWritten:
    """Counts of what was written."""

    graphs: int
    lines: int


def write_truth(run: Path, out: Path) -> TruthWritten:
    """Writes the truth of the captured run below `run` to the folder `out`, which is created."""
    records = sorted(run.rglob(LINE_RECORD)) if run.is_dir() else []
    if not records:
        raise NoTruth(
            f"{run} and its folders contain no {LINE_RECORD}. Name the folder of a run that "
            "inductorscope captured with its line record."
        )
    truth: dict[str, dict[str, list[list[str]]]] = {}
    for file in records:
        for graph, lines in _lines_of(file).items():
            folders = [code.parent for code in file.parent.rglob(f"{graph}/output_code.py")]
            if not lines or len(folders) != 1 or graph in truth:
                continue  # without its code, or with two codes, line numbers mean nothing
            truth[graph] = lines
            _copy(folders[0], out)
    if not truth:
        raise NoTruth(f"{records[0]} records no line of a graph whose output_code.py is below it.")
    (out / TRUTH).write_text(json.dumps(truth), encoding="utf-8")
    return TruthWritten(len(truth), sum(len(lines) for lines in truth.values()))


def _lines_of(file: Path) -> dict[str, dict[str, list[list[str]]]]:
    try:
        record = json.loads(file.read_bytes())
        graphs = record["graphs"]
        return {name: dict(graph["lines"]) for name, graph in graphs.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise NoTruth(f"{file} is not a line record: {error}.") from error


def _copy(folder: Path, out: Path) -> None:
    """Copies a folder, with its name and that of its process, as torch lays them out."""
    process = folder.parent.parent.name
    target = out / "torch_compile_debug" / process / "torchinductor" / folder.name
    target.mkdir(parents=True, exist_ok=True)
    for name in UPLOADED:
        if (folder / name).is_file():
            shutil.copyfile(folder / name, target / name)


if __name__ == "__main__":
    written = write_truth(Path(sys.argv[1]), Path(sys.argv[2]))
    print(f"{sys.argv[2]}: exact links of {written.lines:,} lines in {written.graphs:,} graphs.")
