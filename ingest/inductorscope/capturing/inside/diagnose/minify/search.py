"""The state of a search for the smallest failing program."""

import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec
import torch
from torch.fx import GraphModule

from inductorscope.capturing.inside.diagnose.minify import failure as failures
from inductorscope.capturing.inside.diagnose.minify.asked import Journal
from inductorscope.capturing.inside.diagnose.minify.catch import AOT, Caught
from inductorscope.capturing.inside.diagnose.minify.failure import Failure
from inductorscope.capturing.inside.diagnose.minify.program import Wanted, program_text, run_program
from inductorscope.capturing.inside.diagnose.minify.text import (
    NodeLine,
    class_text,
    node_lines,
    packed_inputs,
)
from inductorscope.capturing.spec import CaptureSpec

KEPT, CUT, INPUT, CHANGED = "kept", "removed", "made an input", "changed"
_NOT_COMPUTED = ("placeholder", "output", "get_attr")


class Search:
    """Collects the results of a search; `result()` is stored and shown."""

    def __init__(self, after: str, journal: Journal, started: float) -> None:
        self.after = after
        self.journal = journal
        self.started = started
        self.step = ""
        """What came of the last step, in words."""
        self.notes: list[str] = []
        self.graphs: list[dict[str, Any]] = []
        self.label = ""
        self.original: list[dict[str, Any]] = []
        self.current: list[dict[str, Any]] = []
        self.failure: dict[str, Any] | None = None
        self.inputs: list[dict[str, Any]] = []
        self.repro: dict[str, Any] | None = None

    def tested(self, label: str, graph: GraphModule, failure: Failure | None) -> None:
        self.graphs.append(
            {
                "label": label,
                "nodes": sum(line.op not in _NOT_COMPUTED for line in node_lines(graph)),
                "failure": failures.in_words(failure) if failure else None,
            }
        )

    def begin(self, caught: Caught, failure: Failure) -> None:
        """Records that minifying a graph starts."""
        self.label = caught.label
        self.failure = msgspec.to_builtins(failure)
        self.original = [_line(line) for line in node_lines(caught.graph)]
        self.now(caught.graph, caught.inputs)
        self.step = f"Started with {len(self.current)} nodes"

    def now(self, graph: GraphModule, inputs: Sequence[Any]) -> None:
        """Records the smallest graph so far."""
        lines = node_lines(graph)
        remaining = {line.name: line for line in lines}
        for line in self.original:
            node = remaining.get(line["name"])
            line["state"] = KEPT if node is not None else CUT
            if node is not None and node.op == "placeholder" and line["op"] != "placeholder":
                line["state"] = INPUT
            if node is not None and node.op == "output" and node.text != line["text"]:
                line["state"] = CHANGED
        self.current = [_line(line) for line in lines]
        self.inputs = [
            {name: item[name] for name in item.keys() - {"data", "draw"}} | {"kept": "data" in item}
            for item in packed_inputs(inputs)
        ]

    def prove(
        self, graph: GraphModule, inputs: Sequence[Any], failure: Failure, spec: CaptureSpec,
        folder: Path,
    ) -> None:  # fmt: skip
        """Writes variants of the program and runs them until one fails like the graph.

        The most readable variant comes first: torch.compile, and inputs from a generator.
        """
        packed, text = packed_inputs(inputs), class_text(graph)
        about = f"The smallest program that fails with: {failures.in_words(failure)}"
        about = " ".join(about.replace('"""', "'''").replace("\\", "/").split())[:600]
        embedded = any("data" in value for value in packed)
        forms = [(direct, embed) for embed in ((False, True) if embedded else (False,))
                 for direct in ((False, True) if self.after == AOT else (False,))]  # fmt: skip
        for number, (direct, embed) in enumerate(forms):
            wanted = Wanted(text, packed, failure.level, direct, embed, about=about)
            program = program_text(wanted, spec)
            ran = run_program(program, folder / str(number))
            shows = failure.shown_by(ran)
            if self.repro is None or shows:
                self.repro = {
                    "text": program, "fails": shows, "status": ran.status, "output": ran.output,
                    "sentence": f"Run on its own, it {ran.sentence}.", "direct": direct,
                    "embedded": embed, "seconds": round(ran.seconds, 2),
                }  # fmt: skip
            if shows:
                return
        self.notes.append(
            "The program does not fail on its own like the graph in the search: it depends on "
            "something outside its text (a library of operators, state of the process)."
        )

    def nothing(self, why: str | None) -> dict[str, Any]:
        """Returns the result of a search with nothing to minify."""
        if why is None:
            count = len(self.graphs)
            graphs = "its only graph" if count == 1 else f"each of its {count} graphs"
            if count == 0:
                why = "The program has no graph to compile: there is nothing to minify."
            else:
                why = (
                    f"The program does not fail: {graphs} compiles, runs, and gives the same "
                    "numbers as eager. There is nothing to minify."
                )
        result = self.result(complete=True)
        result["summary"]["verdict"] = why
        return result

    def result(self, *, complete: bool = False) -> dict[str, Any]:
        return {
            "summary": self._summary(complete=complete), "after": self.after,
            "torch": str(torch.__version__), "label": self.label,
            "failure": self.failure, "graphs": self.graphs, "original": self.original,
            "current": self.current, "inputs": self.inputs,
            "queries": len(self.journal.asked.answers),
            "checkpoint": msgspec.to_builtins(self.journal.asked),
            "seconds": round(time.monotonic() - self.started, 2), "notes": self.notes,
            "repro": self.repro,
        }  # fmt: skip

    def _summary(self, *, complete: bool) -> dict[str, Any]:
        before, after = _computed_of(self.original), _computed_of(self.current)
        names = [line["operation"] for line in self.current if line["op"] not in _NOT_COMPUTED]
        verdict = ""
        if self.original:
            cut = f"{_operations(before)} of {self.label} reduced to {_operations(after)}"
            shown = f" ({', '.join(names)})" if len(names) <= 4 else ""
            proof = ""
            if self.repro is not None:
                proof = "; run on its own, the program " + (
                    "fails too" if self.repro["fails"] else "does not fail"
                )
            verdict = f"{cut}{shown}{proof}." if complete else f"{cut}{shown} so far."
        return {
            "verdict": verdict, "operations_before": before, "operations": after,
            "names": names[:8], "fails_alone": None if self.repro is None else self.repro["fails"],
        }  # fmt: skip


def _operations(number: int) -> str:
    return f"{number} operation{'' if number == 1 else 's'}"


def _computed_of(lines: Sequence[dict[str, Any]]) -> int:
    return sum(line["op"] not in _NOT_COMPUTED for line in lines)


def _line(each: NodeLine) -> dict[str, Any]:
    return asdict(each) | {"state": KEPT}
