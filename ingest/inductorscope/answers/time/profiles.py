"""Profiles of a run: what their traces and tables show, and which one a page shows."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from inductorscope.analyze.time.eager_compiled import Comparison
from inductorscope.analyze.time.facts import (
    HOST_BOUND,
    PER_CALL,
    PROCESSOR,
    ProfileFacts,
    RegionTime,
    Timeline,
    TimelinePart,
    TraceFigures,
)
from inductorscope.analyze.time.parts import ONCE_PARTS, REPLAYED_PARTS
from inductorscope.analyze.verdicts import Busy
from inductorscope.answers.missing import NotHere
from inductorscope.answers.parts import share
from inductorscope.fields import Hidden, Prose, view
from inductorscope.formats.vocabulary import MEMCPY, MEMSET
from inductorscope.store.tables.models import Profile, Run
from inductorscope.store.tables.times import TraceKernel

ORDER = {"eager": 0, "compiled": 1}
"""Labels in the order in which pages list them; others follow by name."""


FIRST_CALLS = 0.1
"""A trace with a larger share of first calls shows a warm-up."""


RESIDUE_US = 1e-3
"""Less than this, of a sum of times, is rounding."""


class ProfileTable(msgspec.Struct, frozen=True):
    """One profiled execution; `time/table` has pages of its rows and kernels."""

    id: int
    label: str
    device_kind: str | None
    steps: int | None
    artifact_id: Hidden[int | None]
    """The Chrome trace, to download."""
    facts: Hidden[ProfileFacts]
    over_wall: float | None
    """Kernel time of a step divided by the wall time of a step without the profiler."""
    wall_us: float | None
    rank: int | None
    """The rank that recorded its collectives."""


class ProfileShown(msgspec.Struct, frozen=True):
    """The profile that the page breaks down, and conclusions from it."""

    id: int
    label: str
    joined_to_code: bool
    """Whether the times of the code's kernels, lines and nodes come from it."""
    by: int
    """Number of steps that its figures sum over; 1 if the trace does not mark steps."""
    steps: int | None
    steps_from: Prose
    """How the number of steps is known."""
    over_wall: float | None
    wall_us: float | None
    breakdown: TraceFigures | None
    """Timeline, categories, compiled graphs and findings."""
    comparison: Comparison | None
    """Comparison with eager."""
    busy: float | None
    """Share of the trace's duration in which work ran."""
    longest_wait: TimelinePart | None
    """The part of the timeline with the longest idle time."""
    launching: int
    """Compiled graphs with work on a device."""
    host_bound: int
    """Those that make the device wait for the host."""
    graphs_save_us: float
    """What CUDA graphs could save per step, estimated."""
    joined: float | None
    """Share of its kernel time that is attributed to kernels of the run's code."""
    joined_by: Hidden[list[tuple[str, float]]]
    """How they were attributed, with the share of each way, the largest first."""

    @property
    def timeline(self) -> Timeline | None:
        return None if self.breakdown is None else self.breakdown.timeline

    @property
    def regions(self) -> list[RegionTime]:
        return [] if self.breakdown is None else self.breakdown.regions


def profile_tables(session: Session, run: Run) -> list[ProfileTable]:
    profiles = session.scalars(select(Profile).where(Profile.run_id == run.id)).all()
    return [_profile(profile, run) for profile in sorted(profiles, key=order_of)]


def order_of(profile: Any) -> tuple[int, str]:  # noqa: ANN401  # a profile or some of its columns
    return ORDER.get(profile.label, 2), profile.label


def _profile(profile: Profile, run: Run) -> ProfileTable:
    facts, breakdown = profile.facts, profile.facts.breakdown
    wall_ms = facts.wall_ms
    if wall_ms is None:
        wall_ms = {"eager": run.eager_ms, "compiled": run.compiled_ms}.get(profile.label)
    over_wall = None
    if breakdown is not None and breakdown.on_device and profile.steps and wall_ms:
        over_wall = breakdown.total_us / profile.steps / (wall_ms * 1000)
    return view(
        ProfileTable,
        profile,
        facts=replace(facts, collectives=None, shapes=[]),
        over_wall=over_wall,
        wall_us=None if wall_ms is None else wall_ms * 1000,
        rank=None if facts.collectives is None else facts.collectives.rank,
    )


def shown_profile(
    run: str, profiles: Sequence[ProfileTable], asked: str = ""
) -> ProfileShown | None:
    """Returns the profile with the requested label, or the most informative one: compiled first,
    eager last, and of several traces the steady one. Raises NotHere for an unknown label."""
    broken = [profile for profile in profiles if profile.facts.breakdown is not None]
    named = (profile for profile in broken if profile.label == asked)
    chosen = next(named, None) if asked else _judged(profiles)
    if asked and chosen is None:
        raise NotHere(
            f"Run {run} has no profile {asked} whose events were read.",
            f"Its profiles are listed at /runs/{run}/time.",
            run,
        )
    return None if chosen is None else _shown(chosen)


def _judged(profiles: Sequence[ProfileTable]) -> ProfileTable | None:
    broken = [profile for profile in profiles if profile.facts.breakdown is not None]
    joined = [profile for profile in profiles if profile.facts.joined_to_code]
    compiled = [profile for profile in broken if profile.label == "compiled"]
    others = [profile for profile in broken if profile.label != "eager"]
    return next(iter(joined or compiled), None) or steady(others or broken)


def kernel_time_is_of(profiles: Sequence[ProfileTable]) -> str:
    """Returns what the code's times are of: a step, or a call of the graph."""
    of_code = (profile.facts for profile in profiles if profile.facts.joined_to_code)
    return "call of the graph" if any(f.steps_from == PER_CALL for f in of_code) else "step"


def unattributed(profiles: Sequence[ProfileTable]) -> float | None:
    """Returns the time of the joined profile that belongs to no kernel of the run's code."""
    for profile in profiles:
        facts = profile.facts
        if facts.joined_to_code and facts.kernel_us is not None and facts.attributed_us is not None:
            left = facts.kernel_us - facts.attributed_us
            return left if left > RESIDUE_US else 0.0
    return None


def steady(profiles: Sequence[ProfileTable]) -> ProfileTable | None:
    """Returns the trace with the median step among those of the first one's rank, preferably one
    without first calls."""
    alike = [profile for profile in profiles if profile.rank == profiles[0].rank]
    alike = [profile for profile in alike if _once(profile) < FIRST_CALLS] or alike
    alike.sort(key=lambda trace: _timeline(trace).span_us / (trace.steps or 1))
    return alike[(len(alike) - 1) // 2] if alike else None


def _timeline(profile: ProfileTable) -> Timeline:
    breakdown = profile.facts.breakdown
    return (breakdown.timeline if breakdown is not None else None) or Timeline(0.0, 0.0, [])


def _once(profile: ProfileTable) -> float:
    return sum(part.share for part in _timeline(profile).idle if part.name in ONCE_PARTS)


def _shown(chosen: ProfileTable) -> ProfileShown:
    facts, by = chosen.facts, chosen.steps or 1
    breakdown = facts.breakdown
    timeline = breakdown.timeline if breakdown else None
    regions = breakdown.regions if breakdown else []
    waiting = [region for region in regions if region.verdict == HOST_BOUND]
    saves = sum(region.graphs_save_us * region.calls for region in waiting) / by
    if chosen.wall_us and timeline:
        # A profile slows the host down, and the device's work takes its time in any case. So does
        # what the host does before and after compiled code.
        saves *= min(1.0, chosen.wall_us * by / timeline.span_us)
        idle = sum(part.us for part in timeline.idle)
        replayed = sum(part.us for part in timeline.idle if part.name in REPLAYED_PARTS)
        waits = max(chosen.wall_us - timeline.busy_us / by, 0.0)
        saves = min(saves, waits * replayed / idle) if idle else 0.0
    kernel_us, attributed_us = facts.kernel_us, facts.attributed_us
    ways = facts.attributed_by or {}
    known = "marked by the profiler"
    if not chosen.steps:
        known = "not marked: figures are of the whole trace"
    return view(
        ProfileShown,
        chosen,
        facts,
        joined_to_code=bool(facts.joined_to_code and attributed_us),
        by=by,
        steps_from=facts.steps_from or known,
        busy=share(timeline.busy_us, timeline.span_us) if timeline else None,
        longest_wait=max(timeline.idle if timeline else (), key=lambda part: part.us, default=None),
        launching=sum(region.verdict != PROCESSOR for region in regions),
        host_bound=len(waiting),
        graphs_save_us=saves,
        joined=share(attributed_us, kernel_us),
        joined_by=[
            (how, us / kernel_us)
            for how, us in sorted(ways.items(), key=lambda way: -way[1])
            if kernel_us
        ],
    )


class CopyTime(msgspec.Struct, frozen=True):
    """All copies or fills of one kind in a trace, per step."""

    name: str
    calls: float
    time_us: float
    max_us: float | None


def copy_times(session: Session, profile: ProfileShown) -> list[CopyTime]:
    """Returns copies and fills, the slowest first."""
    spent = func.sum(TraceKernel.total_us)
    query = (
        select(TraceKernel.name, func.sum(TraceKernel.calls), spent, func.max(TraceKernel.max_us))
        .where(TraceKernel.profile_id == profile.id, TraceKernel.category.in_((MEMCPY, MEMSET)))
        .group_by(TraceKernel.name)
        .order_by(spent.desc(), TraceKernel.name)
    )
    return [
        CopyTime(name, calls / profile.by, us / profile.by, longest)
        for name, calls, us, longest in session.execute(query)
    ]


def busy_of(session: Session, runs: Sequence[str]) -> dict[str, Busy]:
    """Returns how busy the trace of each run kept its device or main thread, from the trace that
    pages show first. Only figures are read, because a profile's other facts can take megabytes."""
    figures, line = Profile.facts["breakdown"], Profile.facts["breakdown"]["timeline"]
    query = select(
        Profile.run_id, Profile.label, Profile.steps,
        Profile.facts["joined_to_code"].as_boolean().label("joined"),
        Profile.facts["collectives"]["rank"].as_integer().label("rank"),
        figures["on_device"].as_boolean().label("on_device"),
        line["span_us"].as_float().label("span_us"), line["busy_us"].as_float().label("busy_us"),
        line["parts"].as_string().label("parts"),
    ).where(Profile.run_id.in_(runs))  # fmt: skip
    tables: dict[str, list[ProfileTable]] = defaultdict(list)
    for row in sorted(session.execute(query), key=order_of):
        facts = ProfileFacts(joined_to_code=row.joined)
        if row.on_device is not None:
            parts = msgspec.json.decode(row.parts or "[]", type=list[TimelinePart])
            timeline = Timeline(row.span_us, row.busy_us, parts) if row.span_us else None
            facts.breakdown = TraceFigures(bool(row.on_device), 0.0, timeline, [])
        tables[row.run_id].append(
            ProfileTable(0, row.label, None, row.steps, None, facts=facts, over_wall=None,
                         wall_us=None, rank=row.rank)
        )  # fmt: skip
    busy: dict[str, Busy] = {}
    for run, some in tables.items():
        judged = _judged(some)
        shown = judged.facts.breakdown if judged is not None else None
        if shown is not None and (timeline := shown.timeline) is not None:
            busy[run] = Busy(shown.on_device, timeline.busy_us, timeline.span_us)
    return busy
