"""Inferred links of recorded programs, line by line beside the truth."""

import json
import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inductorscope.correlate.directory import links_of_path

from bench.truth_programs.program import half_of

_SCORED = re.compile(r"\btmp|_ptr\d")
_COUNT = re.compile(r"_?\d+$")


@dataclass(slots=True)
class ScoredLine:
    program: str
    graph: str
    number: int
    text: str
    want: frozenset[str]
    got: frozenset[str]
    want_ops: frozenset[str]
    got_ops: frozenset[str]
    want_body: frozenset[str]
    got_body: frozenset[str]
    confidence: str

    @property
    def right(self) -> bool:
        return self.got == self.want

    @property
    def op_found(self) -> bool:
        return self.want_ops <= self.got_ops

    @property
    def cause(self) -> str:
        """Which step of inference went wrong."""
        if self.right:
            return "right"
        if not self.got_body:
            return "line not explained"
        if self.got_body != self.want_body:
            return "other operations" if not self.want_body <= self.got_body else "more operations"
        return "no node found" if not self.got else "other node"

    @property
    def kind(self) -> str:
        """The backend and what the line does."""
        backend = "triton" if self.program.startswith("cuda") else "cpp"
        return f"{backend} {'+'.join(sorted(self.want_ops))}"


@dataclass(slots=True)
class Figures:
    lines: int = 0
    right: int = 0
    ops: int = 0
    inferred: int = 0
    inferred_right: int = 0
    graphs: dict[str, list[int]] = field(default_factory=dict)

    def add(self, line: ScoredLine) -> None:
        self.lines += 1
        self.right += line.right
        self.ops += line.op_found
        if line.confidence == "inferred":
            self.inferred += 1
            self.inferred_right += line.right
        counts = self.graphs.setdefault(f"{line.program} {line.graph}", [0, 0])
        counts[0] += 1
        counts[1] += line.right

    def __str__(self) -> str:
        low = sum(right < 0.9 * lines for lines, right in self.graphs.values())
        return (
            f"{self.lines:7} lines  fx_exact {_share(self.right, self.lines)}  "
            f"op_found {_share(self.ops, self.lines)}  "
            f"inferred {_share(self.inferred, self.lines)} of lines, "
            f"right {_share(self.inferred_right, self.inferred)}  "
            f"{len(self.graphs)} graphs, {low} below 90 %"
        )


def _share(part: int, whole: int) -> str:
    return f"{100 * part / max(whole, 1):6.2f} %"


def program_folders(roots: Iterable[Path], half: str | None) -> list[Path]:
    """Folders with a truth.json below the roots, of one half or of both."""
    found = sorted(file.parent for root in roots for file in root.glob("**/truth.json"))
    return [f for f in found if half is None or half_of(f.name.partition("-")[2]) == half]


def measure(folders: list[Path], jobs: int = 2) -> Iterator[list[ScoredLine]]:
    """The scored lines of each program."""
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(lines_of_program, folders, chunksize=4)


def lines_of_program(folder: Path) -> list[ScoredLine]:
    """The scored lines of a program, as inference links them from its debug folder."""
    has_truth = (folder / "truth.json").read_text().strip() not in ("", "{}")
    answer: Any = links_of_path(folder / "torch_compile_debug") if has_truth else {"graphs": []}
    return scored_lines(folder, answer)


def scored_lines(folder: Path, answer: dict[str, Any]) -> list[ScoredLine]:
    """The lines of a program that count, beside what links say of them (`inductorscope links`)."""
    truth = json.loads((folder / "truth.json").read_text())
    found: list[ScoredLine] = []
    for graph in answer["graphs"]:
        name = graph["name"]
        if name not in truth:
            continue
        (code,) = folder.glob(f"torch_compile_debug/*/torchinductor/{name}/output_code.py")
        source = code.read_text().split("\n")
        answers = {line["line"]: line for kernel in graph["kernels"] for line in kernel["lines"]}
        for key, entries in truth[name].items():
            number = int(key)
            text = source[number - 1].strip()
            if _SCORED.search(text):
                found.append(_scored(folder.name, name, number, text, entries, answers))
    return found


def _scored(
    program: str,
    graph: str,
    number: int,
    text: str,
    entries: list[list[str]],
    answers: dict[int, dict[str, Any]],
) -> ScoredLine:
    line = answers.get(number, {})
    nodes = (name.rpartition(".")[2] for name in line.get("fx", ()))  # without their subgraph
    ops = line.get("ops", ())
    return ScoredLine(
        program, graph, number, text,
        frozenset(entry[2] for entry in entries), frozenset(nodes),
        frozenset(_COUNT.sub("", entry[0]) for entry in entries),
        frozenset(_COUNT.sub("", op.rsplit(".", 1)[-1]) for op in ops),
        frozenset(entry[1] for entry in entries), frozenset(op.rsplit(".", 2)[-2] for op in ops),
        line.get("confidence", "none"),
    )  # fmt: skip
