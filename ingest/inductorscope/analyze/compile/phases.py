"""Phases of all compiles: their owners, their sums, and the longest on one timeline."""

from collections.abc import Iterable, Sequence

from inductorscope.analyze.compile.kinds import kind_of
from inductorscope.analyze.compile.model import (
    BecameDynamic,
    CacheEvent,
    Compile,
    PhaseRow,
    Story,
    Tuning,
)
from inductorscope.formats.border import read_object
from inductorscope.formats.log.guard_failures import source_as_written
from inductorscope.formats.log.phase_events import TUNING, Instant, PhaseEvents, Span
from inductorscope.formats.printed.autotune_tables import Choice
from inductorscope.formats.text import split_top
from inductorscope.formats.vocabulary import CPP, TRITON

CHUNK = 4000
"""Number of phases that are stored and read together."""
ON_TIMELINE = 2500
"""Most phases drawn on the timeline of the whole process: the longest."""
LEAST_SHARE = 2e-4

WAIT = "async_compile.wait"
CPP_FILE = "compile_file"
MOST_TRIED = 20
LOADING = ("PyCodeCache.load_by_key_path", "backend_compile")
"""Phases of computing keys and loading generated code, which compiles from a cache have too."""

BECAME_DYNAMIC, DISABLED = "automatic_dynamic", "_cache_disabled"

Chunk = list[Span]


def lay_out_phases(story: Story, logs: Sequence[PhaseEvents]) -> list[Chunk]:
    """Assigns phases to compiles, sums them and returns them in chunks, in the order of compiles.

    The last chunk is the timeline of the whole process.
    """
    _instants(story, [log.instants for log in logs])
    owned: dict[int, list[Span]] = {}
    for facts, log in zip(story.logs, logs, strict=True):
        for span in log.spans:
            owned.setdefault(span.owner, []).append(span)
        if log.spans:
            facts.start_us = min(span.start_us for span in log.spans)
            facts.end_us = max(span.start_us + span.duration_us for span in log.spans)
            for span in (span for span in log.spans if span.owner < 0):
                kind = work_of(span.name, TRITON)
                facts.outside[kind] = facts.outside.get(kind, 0.0) + span.self_us
    compiles_cpp = any(span.name == CPP_FILE for spans in owned.values() for span in spans)
    waiting = CPP if compiles_cpp else TRITON
    sums: dict[str, PhaseRow] = {}
    chunks: list[Chunk] = [[]]
    prepared: set[int] = set()
    for owner in sorted(owned):
        spans = sorted(owned[owner], key=lambda span: (span.start_us, span.depth))
        for span in spans:
            _add(sums, span, waiting)
        if owner < 0:
            continue
        if len(chunks[-1]) >= CHUNK:
            chunks.append([])
        compile_ = story.compiles[owner]
        compile_.spans = (len(chunks) - 1, len(chunks[-1]), len(spans))
        chunks[-1] += spans
        _divide(compile_, spans, waiting)
        if compile_.seconds is not None or compile_.backward_seconds is not None:
            compile_.seconds_from = "metrics"
        else:
            # Outer phases of an unfinished compile have no end, so only finished phases count.
            ended = sum(span.self_us for span in spans)
            compile_.seconds, compile_.seconds_from = ended / 1e6, "phases"
        compile_.start_us = spans[0].start_us
        compile_.end_us = max(span.start_us + span.duration_us for span in spans)
        own = [span for span in spans if span.name == CPP_FILE and not span.beside]
        if own and compile_.log not in prepared:
            prepared.add(compile_.log)
            compile_.loading_us += _preparing(spans, own)
    story.phases = sorted(sums.values(), key=lambda row: -row.self_us)
    return [*chunks, _timeline(owned.values())]


def _divide(compile_: Compile, spans: Chunk, waiting: str) -> None:
    """Divides the time of a compile by kind of work."""
    for span in spans:
        kind = work_of(span.name, waiting)
        compile_.phases[kind] = compile_.phases.get(kind, 0.0) + span.self_us
        if span.beside:
            compile_.beside[kind] = compile_.beside.get(kind, 0.0) + span.self_us
        elif span.name.startswith(WAIT):
            compile_.waited_us += span.self_us
        elif span.name.startswith(LOADING):
            compile_.loading_us += span.self_us


def _preparing(spans: Chunk, own: Chunk) -> float:
    """What each process needs to compile C++: to find the precompiled header, the shortest of its
    compiles, and to try vector instructions, for which code generation waits."""
    waits = (
        span.self_us
        for span in spans
        if span.name == "Scheduler.codegen"
        if any(0 < file.start_us - span.start_us < span.duration_us for file in own[:MOST_TRIED])
    )
    return min(file.self_us for file in own) + sum(waits)


def work_of(name: str, waiting: str) -> str:
    """The kind of a phase; `waiting` is that of waiting for workers that compile kernels."""
    return waiting if name.startswith(WAIT) else kind_of(name)


def _add(sums: dict[str, PhaseRow], span: Span, waiting: str) -> None:
    total = sums.get(span.name)
    if total is None:
        total = sums[span.name] = PhaseRow(
            span.name, work_of(span.name, waiting), 0, 0.0, 0.0, longest_us=0.0, longest_compile=-1
        )
    total.count += 1
    total.total_us += span.duration_us
    total.self_us += span.self_us
    if span.duration_us > total.longest_us:
        total.longest_us, total.longest_compile = span.duration_us, span.owner


def _timeline(owned: Iterable[list[Span]]) -> Chunk:
    """The longest phases, parents before their children."""
    every = [span for spans in owned for span in spans]
    whole = sum(span.duration_us for span in every if span.depth == 0)
    every.sort(key=lambda span: -span.duration_us)
    longest = [span for span in every[:ON_TIMELINE] if span.duration_us >= whole * LEAST_SHARE]
    return sorted(longest, key=lambda span: (span.start_us, span.depth))


def is_used(name: str) -> bool:
    """Whether the story uses instants with that name."""
    return name == BECAME_DYNAMIC or name.endswith((DISABLED, TUNING))


def _instants(story: Story, logs: Sequence[list[Instant]]) -> None:
    for number, instants in enumerate(logs):
        for instant in instants:
            if instant.name == BECAME_DYNAMIC:
                _became(story, instant)
            elif instant.name.endswith(DISABLED) and instant.owner >= 0:
                story.caches.append(
                    CacheEvent(
                        "FX graph", "disabled", compile=instant.owner, log=number,
                        line=instant.line,
                        reason=_text(instant, "cache_bypass_reason") or "not enabled",
                    )
                )  # fmt: skip
            elif instant.duration_us is not None:
                _tuning(story, number, instant)


INFERRED = "InferStride"


def _became(story: Story, instant: Instant) -> None:
    if instant.owner < 0:
        return
    source, dim = _text(instant, "name") or "", instant.arguments.get("dim_changed")
    subject = source_as_written(source)
    if isinstance(dim, int):
        what = "stride" if "stride" in (_text(instant, "reason") or "") else "size"
        subject = f"{subject}.{what}({dim})"
    listed = story.became.setdefault(instant.owner, [])
    item = BecameDynamic(
        subject, source, _value(instant, "cached", dim), _value(instant, "new", dim),
        _text(instant, "reason") or "",
    )  # fmt: skip
    if INFERRED in f"{item.old}{item.new}":  # a stride that follows from another dimension
        return
    if all(known.subject != item.subject for known in listed):
        listed.append(item)


def _value(instant: Instant, name: str, dim: object) -> str | None:
    """The value; of a whole shape, only the changed size."""
    text = instant.arguments.get(name)
    if text is None:
        return None
    if isinstance(dim, int) and isinstance(text, str) and text.startswith(("(", "[")):
        parts = split_top(text.strip()[1:-1])
        if dim < len(parts):
            return parts[dim]
    return str(text)[:200]


def _tuning(story: Story, log: int, instant: Instant) -> None:
    choices: list[Choice] = []
    count = None
    stats = _text(instant, "autotune_choices_stats")
    if stats and (facts := read_object(stats, story.unread)):
        number = facts.get("num_choices")
        count = number if isinstance(number, int) else None
        choices = [*_choice(facts, "best"), *_choice(facts, "best_triton")]
    story.tunings.append(
        Tuning(
            compile=instant.owner, log=log, line=instant.line,
            what=instant.name.removesuffix("_autotuning").removesuffix("_template"),
            shapes=(_text(instant, "autotune_shape") or "")[:300], us=instant.duration_us,
            choices=choices, dtypes=(_text(instant, "autotune_dtypes") or "")[:200], count=count,
        )
    )  # fmt: skip


def _choice(facts: dict[str, object], which: str) -> list[Choice]:
    """Returns the fastest candidate, or the fastest Triton kernel if that is a different one."""
    name, time = facts.get(f"{which}_kernel"), facts.get(f"{which}_time")
    if not isinstance(name, str):
        return []
    us = time * 1000 if isinstance(time, float | int) else None
    return [Choice(name[:300], us, str(facts.get(f"{which}_kernel_desc", ""))[:500])]


def _text(instant: Instant, name: str) -> str | None:
    value = instant.arguments.get(name)
    return value if isinstance(value, str) else None
