"""The timeline of a run's traces."""

from typing import Annotated

from fastapi import Query
from inductorscope.answers.timeline.page import TimelinePage, WindowAsked, timeline_page

from inductorscope_server.web.ids import LARGEST, RunId, text
from inductorscope_server.web.parts import Reading

LONGEST = 1e13
"""Longest time of a trace, in µs: some months."""

Label = Annotated[str, text("Label of the trace to show.", 1000)]
Start = Annotated[
    float, Query(description="Begin of the window, in µs.", ge=0, le=LONGEST, allow_inf_nan=False)
]
End = Annotated[
    float,
    Query(
        description="End of the window, in µs; 0 for the end of the trace.",
        ge=0, le=LONGEST, allow_inf_nan=False,
    ),
]  # fmt: skip
Width = Annotated[
    int,
    Query(
        description="Pixels to show it in: shorter events are merged. 0 for no events.",
        ge=0, le=20_000,
    ),
]  # fmt: skip
EventNumber = Annotated[
    int | None, Query(description="Number of the selected event.", ge=0, le=LARGEST)
]
Words = Annotated[str, text("Part of a name to search for.", 500)]
Mark = Annotated[
    str,
    Query(
        description="A stretch to sum up: its begin and end in µs, as in `10.5~20`.",
        max_length=60,
        pattern=r"^([0-9]{1,13}(\.[0-9]{1,9})?~[0-9]{1,13}(\.[0-9]{1,9})?)?$",
    ),
]


def load(
    session: Reading, run: RunId, profile: Label = "", start: Start = 0, end: End = 0,
    width: Width = 1200, event: EventNumber = None, q: Words = "", mark: Mark = "",
) -> TimelinePage:  # fmt: skip
    """A window of a trace in as much detail as it has room for, and what is selected in it. The
    work is bounded, however long the trace is."""
    begin, _, until = mark.partition("~")
    stretch = None
    if until:
        first, last = sorted((float(begin), float(until)))
        stretch = first, last
    asked = WindowAsked(profile, start, end, width=width, event=event, q=q.strip(), mark=stretch)
    return timeline_page(session, run, asked)
