"""Splits a profiled step of a fresh process into parts that do not overlap, and counts
what compiling produced. Torch-free."""

import hashlib
import re
from pathlib import Path
from typing import Any

import msgspec

from inductorscope.analyze.compile.breaks import break_places
from inductorscope.analyze.compile.gather import StoryGatherer
from inductorscope.analyze.compile.model import Story
from inductorscope.analyze.compile.recompiles import histories
from inductorscope.analyze.trial.result import Structure
from inductorscope.capturing.inside.environment import DEBUG_FOLDER, TRACE_FOLDER
from inductorscope.formats.capture_facts import CaptureFacts
from inductorscope.formats.code.output_code import parse_output_code
from inductorscope.formats.log.trace_log import read_trace_log

_OPERATION = re.compile(r"^ +[\w\", :\[\]()]+= torch\.ops\.", re.MULTILINE)
_COMMENT = re.compile(r"^\s*(?:#(?!include|pragma|define|if|endif|else)|//).*\n", re.MULTILINE)
_PATH = re.compile(r"/[\w./-]*/[\w.-]+")


def counts(out: Path) -> dict[str, int]:
    """Returns a capture's numbers of generated kernels, graphs, graph breaks and recompiles."""
    found = structure(out, CaptureFacts())
    return {name: getattr(found, name) for name in ("kernels", "graphs", "breaks", "recompiles")}


def structure(out: Path, facts: CaptureFacts) -> Structure:
    """Returns what a capture compiled."""
    texts = [
        file.read_text(encoding="utf-8", errors="replace")
        for file in sorted((out / DEBUG_FOLDER).glob("**/output_code.py"))
    ]
    codes = [parse_output_code(text) for text in texts]
    graphs = (out / DEBUG_FOLDER).glob("**/fx_graph_transformed.py")
    story = story_of(out)
    steps = facts.script[0] if facts.script else None
    events = [event.seconds for event in steps.compiles] if steps else []
    recorded = steps.cuda_graphs if steps else None
    peak = (steps.allocated_bytes or steps.resident_bytes) if steps else None
    return Structure(
        graphs=len(codes),
        breaks=len(break_places(story)),
        recompiles=sum(history.recompiles for history in histories(story)),
        operations=sum(
            len(_OPERATION.findall(file.read_text(encoding="utf-8", errors="replace")))
            for file in graphs
        ),
        kernels=sum(len(code.kernels) for code in codes),
        launches=sum(len(code.calls) for code in codes),
        cuda_graphs=bool(recorded and recorded.replayed),
        codes=tuple(sorted(digest(text) for text in texts)),
        compile_s=sum(events) if events else facts.first_call_s,
        peak_bytes=peak,
    )


def story_of(out: Path) -> Story:
    """Returns the story of a capture's compiles."""
    gatherer = StoryGatherer()
    for file in sorted((out / TRACE_FOLDER).glob("*.log")):
        log = gatherer.log(file.name, None)
        with file.open("rb") as stream:
            read = read_trace_log(stream)
            for record in read:
                log.add(record)
            log.finish(read.strings)
    return gatherer.finish()[0]


def digest(code: str) -> str:
    """Returns a digest of generated code, without comments and paths."""
    plain = _PATH.sub("", _COMMENT.sub("", code))
    return hashlib.blake2b(plain.encode(), digest_size=12).hexdigest()


COMPILED_CODE, PYTHON = "calling compiled code", "Python outside of operators"
"""Parts of a step on a CPU in which no kernel and no operator runs."""
_GRAPH = re.compile(r"^graph_\d+_(?=cpp_)")
"""The profiler's prefix of a C++ kernel's name."""
_RUNTIME = (
    "Torch-Compiled Region", "TorchDynamo Cache Lookup", "Pregraph bytecode", "Inductor Lookup",
    "AOTDispatcher Runtime Wrapper", "## Call CompiledFxGraph", "CompiledFunction",
    "autograd::engine::evaluate_function: CompiledFunction",
)  # fmt: skip
_STEP = "ProfilerStep"


class Profiled(msgspec.Struct, frozen=True):
    """Time of a step in µs."""

    kernels: dict[str, float] = {}
    """Time by kernel, or by operator including what it calls."""
    work: float = 0.0
    """Time of all kernels and operators together, each counted once."""
    around: dict[str, float] = {}
    """Time by part of the step around them. Empty on a GPU, which is idle then."""


def profiled(rows: list[dict[str, Any]], steps: int) -> Profiled:
    """Splits up the rows of `key_averages`."""
    on_gpu = any(row["device"] != "cpu" for row in rows)
    kernels: dict[str, float] = {}
    around = {} if on_gpu else dict.fromkeys((COMPILED_CODE, PYTHON), 0.0)
    work = 0.0
    for row in rows:
        name = str(row["name"])
        part = COMPILED_CODE if name.startswith(_RUNTIME) else PYTHON
        if row["user_annotation"] or part == COMPILED_CODE or name.startswith(_STEP):
            if not on_gpu:
                around[part] += row["self_cpu_us"] / steps
            continue
        if on_gpu and row["device"] == "cpu":
            # An operator's row includes what it starts on the GPU; a Triton kernel has its own row
            # there.
            own, us = 0.0, row["device_us"] if "::" in name else 0.0
        else:
            own = row["self_device_us"] if on_gpu else row["self_cpu_us"]
            us = row["cpu_us"] if "::" in name else own
        work += own / steps
        if us:
            name = _GRAPH.sub("", name)
            kernels[name] = kernels.get(name, 0.0) + us / steps
    return Profiled(kernels, work, around)
