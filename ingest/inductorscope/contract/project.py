"""Makes a program of a lock from a stored run, out of what the run's pages show."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.analyze.compare.lines import SourcePlace
from inductorscope.analyze.compile.breaks import break_places
from inductorscope.analyze.compile.model import Story
from inductorscope.analyze.compile.recompiles import histories
from inductorscope.analyze.compile.resumptions import resumed
from inductorscope.analyze.compile.words import change_in_words
from inductorscope.analyze.failures.fold import is_library
from inductorscope.analyze.roofline.roofline import Peaks, peaks_of, predicted_us, standing
from inductorscope.analyze.time.eager_compiled import code_group
from inductorscope.analyze.time.extern_nodes import operation
from inductorscope.answers.compile.parts import RunStory, read_run_story
from inductorscope.answers.compile.shapes import guard_trees
from inductorscope.answers.compile.torch_says import loops, torch_report
from inductorscope.answers.memory.memory import graph_plan
from inductorscope.answers.runs.diagnosis.step import CASTS, COPIES, VIEWS
from inductorscope.answers.time.graph_facts import graph_facts
from inductorscope.contract.lock import BY_ID, COUNTS, WARM, Program
from inductorscope.formats.graph.fx_nodes import FxNode, parse_annotation, short_name
from inductorscope.formats.machine.metadata import COMPILED
from inductorscope.formats.vocabulary import (
    AOT,
    BACKWARD,
    CODEGEN,
    COMMUNICATION,
    DYNAMO,
    EXTERN,
    LOWERING,
    OTHER,
    PASSES,
    TUNING,
)
from inductorscope.store.database.storable import JsonObject
from inductorscope.store.runs.nodes import all_kernel_facts, call_texts, fx_nodes
from inductorscope.store.tables.models import Graph, Kernel, KernelCall
from inductorscope.units import by_number, plural

WORK = (DYNAMO, AOT, PASSES, LOWERING, CODEGEN)
"""Kinds of phases that run equally often in each compile, unlike those of caches and compilers."""
COMPILED_GRAPH = "fx_codegen_and_compile"
"""The phase of Inductor that no graph of a cache has."""
AMBIENT = (
    "GLOBAL_STATE", "DEFAULT_DEVICE", "TORCH_FUNCTION_MODE_STACK", "DETERMINISTIC_ALGORITHMS",
    "GRAD_MODE", "AUTOGRAD_SAVED_TENSORS_HOOKS", "DIMENSION_DYNAMIC_MARKING_GUARD", "NO_HASATTR",
)  # fmt: skip
"""Guards on torch's settings and on marks of tensors, which every compile has."""
NOWHERE = "no line of the program"
PLACES = re.compile(r"\blines? (\d+(?:, \d+)*) of (\S+?\.py)\b")
"""Matches the lines that details name."""
_ROOT = re.compile(r"\b[LG]\['([^'\]]{1,200})'\]")
_ADDRESS = re.compile(r"(___check_(?:obj|type)_id\([^,]{1,300}, |\b0x)[0-9a-f]+")
"""Matches addresses of objects, which differ in each process."""
_INSTALLED = re.compile(r"^.*/(?:site-packages|dist-packages|lib/python3\.\d+)/")


def project(
    session: Session, run: str, model: str, options: dict[str, Any] | None = None
) -> Program:
    """Returns a run as a program of a lock; by default its model is the run's name. Raises NotHere
    if there is no such run."""
    run_story = read_run_story(session, run)
    made = _Made(session, run_story, peaks_of(None, run_story.run.device_name))
    graphs = session.scalars(
        select(Graph).where(Graph.run_id == run).order_by(Graph.position)
    ).all()
    # If its process compiled before, a run also has the sources of those compiles.
    compiles = run_story.story_or_empty.compiles
    made.files = {done.file for done in compiles if done.file}.union(*(of.sources for of in graphs))
    for graph in graphs:
        made.add_graph(graph)
    made.add_loops()
    if run_story.story is not None:
        made.add_story(run_story.story)
    program = Program(
        model or run_story.run.name, options or {}, _made_with(run_story, made.instructions)
    )
    # Only programs on a GPU have the counts of GPU kernels; `add_warm` adds those of WARM.
    program.counts = {
        name: made.counts[name]
        for name, count in BY_ID.items()
        if name in made.counts or not {"gpu", *WARM}.intersection(count.made)
    }
    program.details = {
        name: sorted(
            (_times(found, key) for key, found in made.details[name].items()), key=by_number
        )
        for name in BY_ID
        if made.details[name]
    }
    program.source = made.source()
    return program


def _made_with(run_story: RunStory, instructions: str) -> dict[str, str]:
    run = run_story.run
    gpu = run.device_kind not in (None, "cpu")
    known = {
        "torch": run.torch_version, "device": run.device_kind, "instructions": instructions,
        "triton": run.environment.get("versions", {}).get("Triton") if gpu else None,
        "gpu": run.device_name if gpu else None,
    }  # fmt: skip
    return {name: value for name, value in known.items() if value}


def _times(found: int, text: str) -> str:
    """Adds how often a fact was found: `→ 3 kernels`, or `×3` after other facts."""
    if text.endswith("→ kernel"):
        return text.removesuffix("kernel") + plural(found, "kernel")
    return f"{text} ×{found}" if found > 1 else text


@dataclass
class _Made:
    """Collects the counts and details of a program."""

    session: Session
    run_story: RunStory
    peaks: Peaks | None
    """Taken from the GPU's data sheet: measured limits differ from run to run."""
    counts: Counter[str] = field(default_factory=Counter)
    details: dict[str, Counter[str]] = field(
        default_factory=lambda: {name: Counter() for name in BY_ID}
    )
    instructions: str = ""
    files: set[str] = field(default_factory=set)
    """Files that compiles and graphs name."""
    named: set[SourcePlace] = field(default_factory=set)
    calls: dict[tuple[str, str], str] = field(default_factory=dict)
    """Graph and kernel → the lines of its first call."""

    def add(self, name: str, text: str, times: int = 1) -> None:
        text = _ADDRESS.sub(r"\1…", text)
        self.counts[name] += times
        self.details[name][text] += times

    def lines(self, places: Iterable[SourcePlace]) -> str:
        """Formats lines as `lines 12, 13 of model.py`; names a library's lines only if there are no
        others."""
        known = set(places)
        own = {place for place in known if not is_library(place[0])} or known
        self.named |= own
        files: dict[str, list[int]] = {}
        for path, line in sorted(own):
            files.setdefault(self.name(path), []).append(line)
        return " and ".join(
            f"line{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))} of {name}"
            for name, numbers in files.items()
        ) or NOWHERE  # fmt: skip

    def name(self, path: str) -> str:
        """Returns the shortest end of a path that no other file of the program has; it is the same
        on every machine."""
        short = _INSTALLED.sub("", path)
        if short != path:
            return short
        parts = path.rsplit("/")
        others = [other.rsplit("/") for other in self.files if other != path]
        for keep in range(1, len(parts)):
            if all(other[-keep:] != parts[-keep:] for other in others):
                return "/".join(parts[-keep:])
        return path

    def add_graph(self, graph: Graph) -> None:
        nodes = {node.name: node for node in fx_nodes(self.session, graph.id)}
        texts = call_texts(self.session, graph.id)
        query = (
            select(Kernel, KernelCall.number)
            .join(KernelCall, KernelCall.kernel_id == Kernel.id)
            .where(Kernel.graph_id == graph.id)
            .order_by(KernelCall.line, KernelCall.id)
        )
        calls = [
            (kernel, [nodes[name] for name in texts[number][1] if name in nodes])
            for kernel, number in self.session.execute(query)
        ]
        library = {operation(kernel.name) for kernel, _ in calls if kernel.category == EXTERN}
        of = "backward of " if graph.direction == BACKWARD else ""
        for kernel, computed in calls:
            self._add_call(kernel, computed, library, of)
            self.calls.setdefault((graph.slug, kernel.name), of + self.lines(_places(computed)))
        for node in nodes.values():
            if short_name(node.target) in CASTS and node.inputs and node.inputs[0] in nodes:
                kinds = [parse_annotation(end.annotation or "")[0] or "another dtype"
                         for end in (nodes[node.inputs[0]], node)]  # fmt: skip
                self.add("casts", f"{of}{self.lines(_places([node]))}: {' → '.join(kinds)}")
        self.add("graphs", f"{self._function(graph)}{graph.direction}")
        plan = graph_plan(self.session, graph)
        self.counts["peak"] = max(self.counts["peak"], plan.peak if plan else 0)
        for work in graph_facts(self.session, graph).works:
            self.counts["bytes"] += work.bytes.total or 0
            if self.peaks is not None:
                roof = standing(
                    self.peaks, moved=work.bytes.total, products=work.products,
                    operations=work.operations, dtype=work.dtype, time_us=None, step_us=None,
                ).roof_us  # fmt: skip
                self.counts["predicted_ns"] += round(1000 * predicted_us(roof, 1))
        for name, facts in all_kernel_facts(self.session, graph.id).items():
            self._add_compiled(self.calls.get((graph.slug, name), NOWHERE), facts)

    def _add_compiled(self, lines: str, facts: JsonObject) -> None:
        """Adds the registers and memory of a kernel that Triton compiled."""
        found = [kernel for kernel in facts.get(COMPILED, ()) if kernel.get("registers")]
        for name, unit, values in (
            ("registers", "", [kernel["registers"] for kernel in found]),
            ("local", " B", [kernel["local"] for kernel in found]),
            ("shared", " B", [kernel["options"].get("shared", 0) for kernel in found]),
        ):
            most = max(values, default=0)
            if found:
                self.counts[name] += most
            if most:
                self.details[name][f"{lines}: {most:,}{unit}"] += 1

    def _function(self, graph: Graph) -> str:
        """Formats the function of a graph: `block`, line 12 of model.py,"""
        own = (graph.compile_id or "").partition("_")[0]
        compiles = self.run_story.story_or_empty.compiles
        known = next((done for done in compiles if done.id == own and done.function), None)
        if known is None:
            return ""
        return f"`{resumed(known.function or '')[0]}`, {self._line(known.file, known.first_line)}, "

    def _line(self, file: str | None, line: int | None) -> str:
        return self.lines([(file, line)] if file and line else [])

    def _add_call(self, kernel: Kernel, computed: list[FxNode], library: set[str], of: str) -> None:
        if kernel.category == EXTERN or code_group(kernel.name, kernel.category) == COMMUNICATION:
            own = operation(kernel.name)
            if own == "wait_tensor":  # it only ends a collective
                return
            exactly = [node for node in computed if operation(node.target) == own]
            group = code_group(kernel.name, kernel.category)
            name = {OTHER: "fallbacks", COMMUNICATION: "collectives"}.get(group, "library_calls")
            said = short_name(kernel.name) if kernel.name.startswith("torch.ops.") else own
            self.add(name, f"{of}{self.lines(_places(exactly or computed))}: {said}")
            return
        lines = of + self.lines(_places(computed))
        self.add("kernels", f"{lines} → kernel")
        ops = {short_name(node.target) for node in computed if node.target != node.name}
        if ops and not ops - COPIES - VIEWS - library and (ops & COPIES or ops & library):
            self.add("copies", lines)

    def add_loops(self) -> None:
        """Adds the loops of C++ kernels."""
        says = torch_report(self.session, self.run_story.run.id)
        self.instructions = says.instructions or ""
        table = loops(self.session, self.run_story.run.id, says)
        for row in table.rows if table else ():
            lines = self.calls.get((row.graph or "", row.kernel), NOWHERE)
            if row.vectorised:
                widths = ", ".join(re.findall(r"(\d{1,6}) at a time", row.how))
                self.add("vector_loops", f"{lines}: {widths} at a time")
            else:
                self.add("scalar_loops", f"{lines}: {row.how}")

    def add_story(self, story: Story) -> None:
        for place in break_places(story):
            where = self._line(place.file, place.line)
            where += f" in `{place.function}`" if place.function else ""
            self.add("breaks", f"{where}, {place.short}: {place.title}", place.count)
        for history in histories(story):
            why = "; ".join(map(change_in_words, history.changes)) or "for reasons not in the log"
            line = self._line(history.file, history.line)
            self.add("recompiles", f"`{history.function}`, {line}: {why}", history.recompiles)
        for node in (node for _, tree in guard_trees(self.run_story) for node in tree.nodes):
            root = _ROOT.search(node.text)
            # Torch's: on a global module or function, or on a name that Dynamo made.
            of_torch = node.text.startswith("___check_obj_id(G[") or "G['__" in node.text
            if root and node.kind not in ("manager", *AMBIENT) and not of_torch:
                self.add("guards", f"{node.kind} of {root.group(1)}")
        for compile_ in story.compiles:
            if compile_.cudagraph_skip:
                self.add("cuda_graphs_skipped", compile_.cudagraph_skip[:200])
            if compile_.outcome in ("failed", "unfinished"):
                self.add("unfinished", f"`{compile_.function}`: {compile_.outcome}")
        for event in story.caches:
            if event.outcome == "bypass":
                self.add("cache_bypasses", f"{event.cache}: {(event.reason or '')[:200]}")
        for phase in story.phases:
            if phase.kind in WORK and phase.name != "gc":
                self.counts["passes"] += phase.count

    def source(self) -> dict[str, list[str]]:
        """Returns the named lines with their numbers: `12: y = x.sin()`."""
        files: dict[str, list[str]] = {}
        for path, line in sorted(self.named):
            text = [] if is_library(path) else self.run_story.source_text(path).split("\n")
            if 1 <= line <= len(text) and text[line - 1].strip():
                files.setdefault(self.name(path), []).append(f"{line}: {text[line - 1].strip()}")
        return files


def add_warm(program: Program, story: Story) -> None:
    """Adds what a start with filled caches does again: nothing if caching works."""
    found = {count.id: Counter[str]() for count in COUNTS if count.made == WARM}
    for event in story.caches:
        if event.outcome != "hit":
            name = "warm_misses" if event.outcome == "miss" else "warm_bypasses"
            of = story.compiles[event.compile].function
            found[name][f"{event.cache} of `{of}`: {event.reason or event.outcome}"] += 1
    for phase in story.phases:
        if phase.name == COMPILED_GRAPH:
            found["warm_graphs"][phase.name] += phase.count
        elif phase.kind == TUNING:
            found["warm_tunings"][phase.name] += phase.count
    for name, texts in found.items():
        program.counts[name] = texts.total()
        if texts:
            program.details[name] = sorted(_times(count, text) for text, count in texts.items())


def places_in(text: str) -> set[SourcePlace]:
    """Returns the lines that a detail names."""
    return {
        (file, int(number))
        for numbers, file in PLACES.findall(text)
        for number in numbers.split(", ")
    }


def _places(nodes: Sequence[FxNode]) -> list[SourcePlace]:
    return [
        (node.stack_file, node.stack_line) for node in nodes if node.stack_file and node.stack_line
    ]
