"""The timeline page: a window of one trace of a run, with the selected event and search results."""

import msgspec
import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.analyze.timeline.bars import Bars, joined
from inductorscope.analyze.timeline.facts import STREAM, TimelineFacts
from inductorscope.answers.missing import NotHere
from inductorscope.answers.parts import RunName, run_of
from inductorscope.answers.time.profiles import profile_tables, shown_profile
from inductorscope.answers.timeline.selected import Selected, selected
from inductorscope.answers.timeline.window import (
    BarColumns,
    CategorySum,
    Event,
    Laid,
    Track,
    laid_out,
    longest,
    sums,
    window,
)
from inductorscope.fields import Hidden
from inductorscope.store.runs.timelines import names_with, read_matching
from inductorscope.store.tables.times import Timeline

MOST_MATCHES = 10_000
SHORTEST_US = 0.001


class WindowAsked(msgspec.Struct, frozen=True):
    """The requested part of a timeline."""

    profile: str = ""
    start: float = 0.0
    end: float = 0.0
    """0 for the end of the trace."""
    width: int = 1200
    """Width in pixels; 0 for no bars."""
    event: int | None = None
    q: str = ""
    mark: tuple[float, float] | None = None


class Matches(msgspec.Struct, frozen=True):
    """Events whose names contain the words of a search."""

    total: int
    us: float
    """The sum of their times; nested events count several times."""
    device: int
    """Those on streams of devices, and their time."""
    device_us: float
    event: list[int]
    row: list[int]
    start_us: list[float]
    length_us: list[float]


class TraceName(msgspec.Struct, frozen=True):
    """A trace with a timeline."""

    label: str
    artifact_id: Hidden[int | None]
    """The trace to download."""


class TimelinePage(msgspec.Struct, frozen=True):
    """Timeline `/runs/{run}/timeline`. Times are in µs since the start of the trace."""

    run: RunName
    traces: list[TraceName]
    profile: str
    """Label of the trace that is shown; empty if there is none."""
    span_us: float
    events: int
    left_out_tracks: int
    """The tracks with the fewest events, if there are hundreds."""
    left_out_events: int
    start_us: float
    end_us: float
    resolution_us: float
    """Events shorter than that are merged with their neighbours."""
    tracks: list[Track]
    categories: Hidden[list[str]]
    names: Hidden[list[str]]
    bars: Hidden[BarColumns]
    longest: list[Event]
    sums: list[CategorySum]
    """Sums over the marked stretch, or over the window."""
    mark_us: tuple[float, float] | None
    """Start and end of the marked stretch."""
    event: Selected | None
    q: str
    matches: Matches | None


def timeline_page(session: Session, run_id: str, asked: WindowAsked) -> TimelinePage:
    run = run_of(session, run_id)
    profiles = profile_tables(session, run)
    query = select(Timeline.profile_id, Timeline.facts).where(
        Timeline.profile_id.in_([profile.id for profile in profiles])
    )
    facts = {row.profile_id: row.facts for row in session.execute(query)}
    with_timeline = [profile for profile in profiles if profile.id in facts]
    if asked.profile or with_timeline:
        shown = shown_profile(run_id, profiles, asked.profile)
        chosen = next((row for row in with_timeline if shown and row.id == shown.id), None)
        if chosen is None and not asked.profile:
            chosen = with_timeline[0]
    else:
        chosen = None
    laid = laid_out(chosen.id, facts[chosen.id]) if chosen else laid_out(0, TimelineFacts())
    span = max(laid.facts.span_us, SHORTEST_US if chosen else 0.0)
    start = min(max(0.0, asked.start), span)
    end = min(asked.end, span) if asked.end > start else span
    if end - start < SHORTEST_US:
        start, end = max(0.0, end - SHORTEST_US), max(end, SHORTEST_US)
    shown_window = window(session, laid, start, end, asked.width)
    of_stretch = asked.mark or (start, end)
    event = None
    if asked.event is not None and chosen:
        event = selected(session, run, laid, asked.event)
        if event is None:
            raise NotHere(
                f"The timeline of {chosen.label} has no event {asked.event}.",
                f"It is at /runs/{run_id}/timeline.",
                run_id,
            )
    return TimelinePage(
        run=RunName(run.id, run.name),
        traces=[TraceName(profile.label, profile.artifact_id) for profile in with_timeline],
        profile=chosen.label if chosen else "",
        span_us=span,
        events=laid.facts.events,
        left_out_tracks=laid.facts.left_out[0],
        left_out_events=laid.facts.left_out[1],
        start_us=start,
        end_us=end,
        resolution_us=shown_window.resolution_us,
        tracks=list(laid.tracks),
        categories=laid.facts.categories,
        names=shown_window.names,
        bars=shown_window.bars,
        longest=longest(session, laid, start, end) if asked.width else [],
        sums=sums(session, laid, *of_stretch) if asked.width or asked.mark else [],
        mark_us=asked.mark,
        event=event,
        q=asked.q,
        matches=_matches(session, laid, asked.q, start) if asked.q and chosen else None,
    )


def _matches(session: Session, laid: Laid, q: str, start: float) -> Matches:
    """Counts all matches, and lists them all, or if there are very many, the first ones from
    `start` on."""
    names = names_with(session, laid.profile, q)
    total, us, device, device_us = 0, 0.0, 0, 0.0
    first, last = laid.rows_of(STREAM) or (0, -1)
    listed = from_start = joined([])
    for bars in read_matching(session, laid.profile, names) if len(names) else ():
        total += len(bars)
        us += float(bars.us.sum())
        of_device = bars.us[(bars.row >= first) & (bars.row <= last)]
        device, device_us = device + len(of_device), device_us + float(of_device.sum())
        listed = _first_ones(listed, bars)
        from_start = _first_ones(from_start, bars.taken(bars.ts >= start))
    if total > MOST_MATCHES:
        listed = from_start
    return Matches(
        total=total, us=us, device=device, device_us=device_us,
        event=listed.event.tolist(), row=listed.row.tolist(),
        start_us=np.round(listed.ts, 3).tolist(), length_us=np.round(listed.us, 3).tolist(),
    )  # fmt: skip


def _first_ones(known: Bars, more: Bars) -> Bars:
    bars = joined([known, more])
    return bars.taken(np.argsort(bars.ts, kind="stable")[:MOST_MATCHES])
