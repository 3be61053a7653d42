"""What a start compiled again, and why no cache had it, beside another run."""

from collections import defaultdict
from collections.abc import Iterable

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.analyze.compile.model import CacheEvent, Compile
from inductorscope.analyze.compile.reuse import Difference, Key, differences, nearest
from inductorscope.analyze.compile.start import Prediction, TriedStart
from inductorscope.analyze.compile.words import compile_seconds
from inductorscope.answers.compile.parts import CompileRef, RunStory, read_run_story
from inductorscope.answers.compile.rows import WorkRow, work_rows
from inductorscope.answers.compile.starting import (
    PieceRow,
    pieces,
    start_of_run,
    unsaid,
    what_if,
)
from inductorscope.answers.parts import RunName, previous_run
from inductorscope.answers.time.script import script_of
from inductorscope.fields import Hidden, Prose, view
from inductorscope.formats.log.cache_keys import COMPONENTS_FROM, read_components
from inductorscope.formats.log.server_log import ServerPhase, ServerStart, read_server_log
from inductorscope.formats.vocabulary import CODE, SERVER_LOG, TORCH_LOGS
from inductorscope.store.contents.texts import read_blob
from inductorscope.store.tables.models import Artifact, Graph, Run

MOST_RUNS = 30
MOST_LOOKUPS = 2_000
MOST_NEAR = 200
"""Lookups of the other run to compare a key with: those of the same compile come first."""
MOST_OTHERS = 8
"""Further components that a row names."""
MOST_FACTORS = 100
MOST_NAMED = 5
MISSED = frozenset({"miss", "bypass", "disabled", "pickle failure", "exception"})


class MissRow(msgspec.Struct, frozen=True):
    """Lookups that found nothing for one reason."""

    caches: list[str]
    cause: str
    """The component that differs, or the log's reason."""
    what: Prose
    advice: Prose
    here: str
    there: str
    others: list[str]
    """Further components that differ."""
    count: int
    seconds: float
    """Time of these compiles, in the process where that is longest. A compile counts in its first
    row only."""
    code: Prose
    """Whether the same code was generated; empty if that is not known."""
    compiles: list[CompileRef]


class ServerRow(msgspec.Struct, frozen=True):
    """A phase that the server's own log tells."""

    title: str
    of: str
    seconds: float | None
    """Of the process that took longest; None if only the other run has it."""
    other_seconds: float | None
    processes: int


class FactorRow(msgspec.Struct, frozen=True):
    """A factor of the key of vLLM's cache that differs."""

    name: str
    here: str
    there: str


class StartupPage(msgspec.Struct, frozen=True):
    """Caches of a run, beside those of another one."""

    run: RunName
    other: RunName | None
    runs: Hidden[list[RunName]]
    """Runs to choose from: those of the same name first."""
    known: bool
    """Whether a log has the compiles of this run."""
    other_known: bool
    seconds: float | None
    other_seconds: float | None
    missed_seconds: float
    lookups: int
    rows: list[MissRow]
    said: Prose
    """The result in a sentence."""
    start: list[WorkRow]
    """What the thread that compiles did; the parts add up."""
    from_exec: bool
    """Whether this is from the start of a captured script's process to the end of its first step
    that compiled. Otherwise it is from the first event of the log to the last one."""
    beside: list[WorkRow]
    """What workers and other threads did meanwhile."""
    other_start: list[WorkRow]
    what_if: list[Prediction]
    tried: list[TriedStart]
    pieces: list[PieceRow]
    unsaid: Prose
    server: list[ServerRow]
    """Of a log of vLLM or SGLang, in the order of the log."""
    factors: list[FactorRow]
    server_said: Prose
    unlogged: Prose
    """Which caches' keys the log lacks, and what makes torch log them."""


class _Lookup(msgspec.Struct):
    event: CacheEvent
    compile: Compile
    key: Key


class _Why(msgspec.Struct, frozen=True):
    """The reason of one miss."""

    cause: str
    what: str
    advice: str
    here: str
    there: str
    others: tuple[str, ...] = ()


def startup_page(session: Session, run_id: str, other_id: str = "") -> StartupPage:
    """Returns the page; without `other_id` beside the previous run of the same name, if any."""
    run_story = read_run_story(session, run_id)
    runs = _runs(session, run_story.run)
    other_id = other_id or previous_run(session, run_story.run) or ""
    other = read_run_story(session, other_id) if other_id else None
    lookups = _lookups(run_story)
    off = bool(lookups) and all(lookup.event.outcome == "disabled" for lookup in lookups)
    rows = [] if off else _rows(run_story, other, lookups)
    seconds = compile_seconds(run_story.story_or_empty)
    missed = (off and seconds) or _slowest(
        {
            lookup.event.compile: lookup.compile
            for lookup in lookups
            if lookup.event.outcome in MISSED
        }.values()
    )
    began = start_of_run(run_story)
    script, listed = script_of(run_story.run), pieces(run_story)
    start = _server_start(session, run_id)
    beside = _server_start(session, other_id)
    factors = [
        FactorRow(name, start.factors.get(name, ""), beside.factors.get(name, ""))
        for name in dict.fromkeys((*start.factors, *beside.factors))
        if start.factors and beside.factors
        if start.factors.get(name) != beside.factors.get(name)
    ][:MOST_FACTORS]
    return StartupPage(
        run=run_story.name,
        other=other.name if other else None,
        runs=runs,
        known=bool(run_story.story_or_empty.compiles),
        other_known=other is not None and bool(other.story_or_empty.caches),
        seconds=seconds,
        other_seconds=compile_seconds(other.story_or_empty) if other else None,
        missed_seconds=missed,
        lookups=len(lookups),
        rows=rows,
        said=_said(rows, lookups, seconds, missed)
        if not off
        else f"Caches were off, so no lookup happened in all {missed:.3g} s of compiling. Without "
        "`TORCHINDUCTOR_FORCE_DISABLE_CACHES`, `TORCHINDUCTOR_FX_GRAPH_CACHE=1` turns them on.",
        start=work_rows(began.parts),
        from_exec=began.from_exec,
        beside=work_rows(began.beside),
        other_start=work_rows(start_of_run(other).parts) if other else [],
        what_if=what_if(run_story, began),
        tried=script.tried if script else [],
        pieces=listed,
        unsaid=unsaid(listed),
        server=_server_rows(start, beside),
        factors=factors,
        server_said=_server_said(start, beside, factors),
        unlogged=_unlogged(lookups),
    )


def _server_start(session: Session, run: str) -> ServerStart:
    roles = (SERVER_LOG, TORCH_LOGS)
    query = select(Artifact.digest).where(Artifact.run_id == run, Artifact.role.in_(roles))
    texts = [read_blob(session, digest) or b"" for digest in session.scalars(query)]
    return read_server_log(
        line for text in texts for line in text.decode("utf-8", "replace").split("\n")
    )


def _server_rows(start: ServerStart, beside: ServerStart) -> list[ServerRow]:
    sides = [defaultdict[tuple[str, str], list[ServerPhase]](list) for _ in range(2)]
    for side, known in zip(sides, (start, beside), strict=True):
        for phase in known.phases:
            side[phase.title, phase.of].append(phase)
    here, there = (
        {key: max(phase.seconds for phase in phases) for key, phases in side.items()}
        for side in sides
    )
    return [
        ServerRow(
            *key, here.get(key), there.get(key), len({phase.process for phase in sides[0][key]})
        )
        for key in dict.fromkeys((*here, *there))
    ]


def _server_said(start: ServerStart, beside: ServerStart, factors: list[FactorRow]) -> str:
    if not start.folder or not beside.folder:
        return ""
    if start.folder == beside.folder:
        return f"Both starts used the cache folder `{start.folder}`."
    said = f"vLLM used the cache folder `{start.folder}`, and `{beside.folder}` in the other run"
    if not factors:
        return f"{said}. `VLLM_LOGGING_LEVEL=DEBUG` makes it log the factors that name the folder."
    names = [row.name for row in factors if "[" in row.name] or [row.name for row in factors]
    differ = "differs" if len(names) == 1 else "differ"
    return f"{said}, because {', '.join(f'`{name}`' for name in names[:MOST_NAMED])} {differ}."


def _runs(session: Session, run: Run) -> list[RunName]:
    newest = (
        select(Run.id, Run.name)
        .where(Run.id != run.id)
        .order_by((Run.name == run.name).desc(), Run.created_at.desc())
        .limit(MOST_RUNS)
    )
    return [RunName(row.id, row.name) for row in session.execute(newest)]


def _lookups(run_story: RunStory) -> list[_Lookup]:
    story = run_story.story_or_empty
    events = story.caches[:MOST_LOOKUPS]
    records = run_story.records((event.log, event.line) for event in events)
    query = select(Artifact.id, Artifact.digest).where(Artifact.id.in_(set(records.values())))
    digests = dict(run_story.session.execute(query).all())
    return [
        _Lookup(event, story.compiles[event.compile],
                _key(run_story.session, digests.get(records.get((event.log, event.line), 0))))
        for event in events
    ]  # fmt: skip


def _key(session: Session, digest: str | None) -> Key:
    payload = read_blob(session, digest) if digest else None
    return read_components(payload) if payload else {}


def _rows(run_story: RunStory, beside: RunStory | None, lookups: list[_Lookup]) -> list[MissRow]:
    others = _lookups(beside) if beside else []
    groups: dict[_Why, list[_Lookup]] = {}
    for lookup in lookups:
        if lookup.event.outcome in MISSED:
            near = [other for other in others if other.event.cache == lookup.event.cache]
            near.sort(key=lambda other: other.compile.id != lookup.compile.id)
            why = _why(lookup, near[:MOST_NEAR])
            groups.setdefault(why, []).append(lookup)
    codes, other_codes = _codes(run_story), _codes(beside) if beside else {}
    counted: set[int] = set()
    rows = []
    for why, missed in groups.items():
        numbers = dict.fromkeys(lookup.event.compile for lookup in missed)
        own = [lookup.compile for lookup in missed if lookup.event.compile not in counted]
        compiles = {compile_.number: compile_ for compile_ in own}
        counted |= set(numbers)
        rows.append(
            view(
                MissRow,
                why,
                caches=list(dict.fromkeys(lookup.event.cache for lookup in missed)),
                others=list(why.others),
                count=len(missed),
                seconds=_slowest(compiles.values()),
                code=_same_code(missed, codes, other_codes),
                compiles=run_story.refs(numbers),
            )
        )
    return sorted(rows, key=lambda row: -row.seconds)


def _slowest(compiles: Iterable[Compile]) -> float:
    """The seconds of these compiles in the process where they took longest; ranks compile at the
    same time."""
    sums: defaultdict[int, float] = defaultdict(float)
    for compile_ in compiles:
        sums[compile_.log] += compile_.seconds or 0.0
    return max(sums.values(), default=0.0)


def _why(lookup: _Lookup, others: list[_Lookup]) -> _Why:
    if lookup.event.outcome != "miss":
        reason = lookup.event.reason or lookup.event.detail or lookup.event.outcome
        return _Why(reason, f"The cache was not asked: {lookup.event.outcome}.", "", "", "")
    if not others:
        return _Why("", "There is no lookup of this cache in another run to compare with.", "",
                    "", "")  # fmt: skip
    if lookup.event.key and any(near.event.key == lookup.event.key for near in others):
        return _Why(
            "no entry", "The key is the same, and the cache had no entry for it: another or an "
            "emptied folder, or the other run did not store it.",
            "Use one TORCHINDUCTOR_CACHE_DIR, and keep it between starts.", "", "",
        )  # fmt: skip
    key = nearest(lookup.key, (near.key for near in others if near.key)) if lookup.key else None
    if key is None:
        return _Why("", "The key differs; the log does not say in what.", "", "", "")
    found: list[Difference] = differences(lookup.key, key)
    if not found:
        return _Why("", "The key differs in a part that torch does not log.", "", "", "")
    first, *more = found
    return _Why(
        first.name, f"{first.what[0].upper()}{first.what[1:]} differs.", first.advice, first.here,
        first.there, others=tuple(difference.name for difference in more[:MOST_OTHERS]),
    )  # fmt: skip


def _codes(run_story: RunStory) -> dict[str | None, frozenset[str]]:
    """Digests of the generated code of each compile id."""
    query = (
        select(Graph.compile_id, Artifact.digest)
        .join(Artifact, Artifact.graph_id == Graph.id)
        .where(Graph.run_id == run_story.run.id, Artifact.role == CODE)
    )
    found: dict[str | None, set[str]] = defaultdict(set)
    for compile_id, digest in run_story.session.execute(query):
        found[compile_id].add(digest)
    return {compile_id: frozenset(digests) for compile_id, digests in found.items()}


def _same_code(
    missed: list[_Lookup],
    codes: dict[str | None, frozenset[str]],
    others: dict[str | None, frozenset[str]],
) -> str:
    every = frozenset().union(*others.values())
    own = [
        codes.get(compile_id, frozenset())
        for compile_id in {lookup.compile.id for lookup in missed}
    ]
    if not every or not all(own):
        return ""
    same = sum(code <= every for code in own)
    if same == len(own):
        return "the same"
    return f"the same in {same} of {len(own)} compiles" if same else "other code"


def _said(rows: list[MissRow], lookups: list[_Lookup], seconds: float | None, missed: float) -> str:
    if not lookups:
        return ""
    if not rows:
        return "Every lookup was answered by a cache."
    lead = rows[0]
    of_all = f" of {seconds:.3g}" if seconds else ""
    lost = f"{missed:.3g}{of_all} s of compiling were not taken from a cache."
    if not lead.cause:
        return f"{lost} {lead.what}"
    because = f"missed because `{lead.cause}` differs"
    if lead.cause == "no entry":
        because = "missed because the key is the same, and the cache had no entry"
    elif not lead.there and not lead.here:
        because = f"did not happen: {lead.cause}"
    code = f" The generated code is {lead.code}." if lead.code else ""
    return f"{lost} {lead.count} of {len(lookups)} lookups {because}.{code}"


def _unlogged(lookups: list[_Lookup]) -> str:
    lacking = {
        lookup.event.cache
        for lookup in lookups
        if lookup.event.outcome == "miss" and not lookup.key
    }
    settings = [COMPONENTS_FROM[cache] for cache in sorted(lacking) if cache in COMPONENTS_FROM]
    if not settings:
        return ""
    return (
        f"The log lacks the components of {' and '.join(sorted(lacking))} keys. Start both "
        f"programs with `{' '.join(settings)}` to have them logged."
    )
