"""A start: its parts, what it would take otherwise, and its graphs with what each cache said."""

from collections import Counter, defaultdict

import msgspec

from inductorscope.analyze.compile.model import Compile
from inductorscope.analyze.compile.start import Prediction, Start, predictions, start_of
from inductorscope.answers.compile.parts import CompileRef, RunStory
from inductorscope.answers.parts import graph_rows
from inductorscope.answers.runs.diagnosis.blocks import equal_blocks, equal_inside
from inductorscope.answers.runs.diagnosis.evidence import Evidence
from inductorscope.answers.runs.instances import instances
from inductorscope.answers.time.script import script_of

MOST_PIECES = 200
LAYERS = {
    "of_dynamo": "`TORCH_CACHING_PRECOMPILE=1` keeps and logs what Dynamo makes",
    "of_autograd": "`TORCHINDUCTOR_AUTOGRAD_CACHE=1` turns AOTAutograd's cache on",
    "of_inductor": "`TORCHINDUCTOR_FX_GRAPH_CACHE=1` turns the FX graph cache on",
    "of_triton": "on a GPU, torch since 2.7 logs the Triton kernels that it compiles",
    "of_autotuning": "on a GPU, `TORCHINDUCTOR_AUTOTUNE_LOCAL_CACHE=1` turns autotuning's cache on",
}
"""What makes the log tell what a cache said, by the fields of `PieceRow`."""
_FIELDS = {
    "Dynamo": "of_dynamo", "precompiled code": "of_dynamo", "AOTAutograd": "of_autograd",
    "autotuning": "of_autotuning",
}  # fmt: skip
"""By a lookup's cache; others are kinds of the FX graph cache."""


class PieceRow(msgspec.Struct, frozen=True):
    """Compiles to the same code, and what each cache said; empty if the log does not say."""

    function: str
    instances: int
    seconds: float
    """Of all together."""
    compiles: list[CompileRef]
    of_dynamo: str = ""
    of_autograd: str = ""
    of_inductor: str = ""
    of_triton: str = ""
    of_autotuning: str = ""


def start_of_run(run_story: RunStory) -> Start:
    """Returns a run's start: of several processes of a script, of the one that took longest."""
    script = script_of(run_story.run)
    starts = [
        (process.start.step_s, process.pid, process.start)
        for process in (script.processes if script else ())
        if process.start and process.start.step_s
    ]
    _, pid, began = max(starts, default=(0.0, None, None), key=lambda start: start[0])
    return start_of(run_story.story_or_empty, began, pid)


def what_if(run_story: RunStory, start: Start) -> list[Prediction]:
    ids = {compile_.id for compile_ in start.compiles}
    rows = graph_rows(run_story.session, run_story.run.id)
    own = [row for row in rows if (row.compile_id or "").strip("[]") in ids]
    evidence = Evidence(
        run_story.session, run_story.run, run_story, None, None, step_us=None, step="",
        graphs=own, kernels=[], costs=[], roofline=None, failures=None,
    )  # fmt: skip
    causes = [equal_blocks(evidence), equal_inside(evidence)]
    saved = max((cause.wins_us or 0.0 for cause in causes if cause), default=0.0)
    return predictions(run_story.story_or_empty, start, saved)


def pieces(run_story: RunStory) -> list[PieceRow]:
    """Returns the compiles, those to equal code as one, the dearest first."""
    story = run_story.story_or_empty
    rows = graph_rows(run_story.session, run_story.run.id)
    first = {
        (row.compile_id or "").strip("[]"): group[0].slug
        for group in instances(run_story.session, run_story.run.id, rows)
        for row in reversed(group)
    }
    together: dict[object, list[Compile]] = {}
    for compile_ in story.compiles:
        if compile_.hits or compile_.misses or compile_.codes:
            key = first.get(compile_.id or "", compile_.number), compile_.log
            together.setdefault(key, []).append(compile_)
    said: dict[int, Counter[tuple[str, str]]] = defaultdict(Counter)
    for event in story.caches:
        said[event.compile][_FIELDS.get(event.cache, "of_inductor"), event.outcome] += 1
    for kernel in story.kernels:
        if kernel.us:
            said[kernel.compile]["of_triton", "compiled"] += 1
        if kernel.state.startswith(("hit", "miss")):
            said[kernel.compile]["of_autotuning", kernel.state.partition(",")[0]] += 1
    found = [
        PieceRow(
            compiles[0].function or "", len(compiles), sum(own.took_s for own in compiles),
            run_story.refs(own.number for own in compiles[:MOST_PIECES]),
            **_outcomes(sum((said[own.number] for own in compiles), Counter())),
        )
        for compiles in together.values()
    ]  # fmt: skip
    return sorted(found, key=lambda row: -row.seconds)[:MOST_PIECES]


def unsaid(rows: list[PieceRow]) -> str:
    """Says which settings make a log tell what it does not."""
    settings = [LAYERS[name] for name in LAYERS if not any(getattr(row, name) for row in rows)]
    return f"Where the log says nothing: {'; '.join(settings)}." if rows and settings else ""


def _outcomes(counts: Counter[tuple[str, str]]) -> dict[str, str]:
    texts: dict[str, list[str]] = {}
    for (field, outcome), count in counts.most_common():
        texts.setdefault(field, []).append(f"{outcome} ×{count}" if count > 1 else outcome)
    return {field: ", ".join(outcomes) for field, outcomes in texts.items()}
