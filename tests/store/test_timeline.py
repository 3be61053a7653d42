"""Windows of a stored timeline, compared with the raw events of the trace."""

import json
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from inductorscope.answers.missing import NotHere
from inductorscope.answers.timeline.page import TimelinePage, WindowAsked, timeline_page
from inductorscope.answers.timeline.window import LONGEST, MOST_BARS
from inductorscope.formats.code.short_names import short_name
from inductorscope.intake.recognise import recognise
from inductorscope.reading.notes import Notes
from inductorscope.reading.profiles.profiles import draft_of, read_profiles
from inductorscope.settings import Settings
from inductorscope.store.database.engine import make_engine, sessions
from inductorscope.store.database.migrate import migrate
from inductorscope.store.runs.draft import RunDraft
from sqlalchemy.orm import Session

from tests.support.long_trace import write
from tests.support.whole_runs import insert_run

EVENTS = 20_000
NS = 0.0011
"""Stored times are rounded to nanoseconds in answers."""


class Stored:
    """A trace in a store, and its raw events."""

    def __init__(self, session: Session, run: str, trace: Path) -> None:
        self.session = session
        self.run = run
        events = [
            event for event in json.loads(trace.read_text())["traceEvents"] if event["ph"] == "X"
        ]
        self.begin = min(event["ts"] for event in events)
        self.raw: list[dict[str, Any]] = [
            {**event, "ts": event["ts"] - self.begin} for event in events
        ]

    def page(
        self, start: float = 0, end: float = 0, width: int = 1000, **more: Any
    ) -> TimelinePage:
        return timeline_page(
            self.session, self.run, WindowAsked(start=start, end=end, width=width, **more)
        )

    def within(self, start: float, end: float, *categories: str) -> list[tuple[str, float]]:
        """Name of each raw event in a stretch, and the time of it inside."""
        return [
            (event["name"], min(event["ts"] + event["dur"], end) - max(event["ts"], start))
            for event in self.raw
            if event["cat"] in categories
            and event["ts"] < end
            and event["ts"] + event["dur"] > start
        ]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("traces")
    write(folder / "compiled.trace.json", EVENTS)
    write(folder / "eager.trace.json", 500)
    settings = Settings(data=tmp_path_factory.mktemp("store"), database_url="")
    migrate(settings)
    engine = make_engine(settings)
    draft = RunDraft("f" * 64, "long", [], "test", datetime.now(UTC), 1)
    profiles = read_profiles(recognise(folder).files, None, Notes(), None)
    draft.profiles = [draft_of(profile) for profile in profiles]
    bare = RunDraft("e" * 64, "bare", [], "test", datetime.now(UTC), 1)
    with sessions(engine).begin() as session:
        insert_run(session, draft)
        insert_run(session, bare)
    with sessions(engine)() as session:
        yield Stored(session, draft.id, folder / "compiled.trace.json")
    engine.dispose()


def test_the_whole_trace_holds_every_event(stored: Stored) -> None:
    page = stored.page()
    assert page.events == len(stored.raw)
    merged = {at: (count, busy) for at, count, busy in page.bars.merged}
    assert merged
    assert len(page.bars.us) <= MOST_BARS
    counts = [merged.get(at, (1, 0.0))[0] for at in range(len(page.bars.us))]
    assert sum(counts) == len(stored.raw)
    busy = sum(merged[at][1] if at in merged else us for at, us in enumerate(page.bars.us))
    assert busy == pytest.approx(sum(event["dur"] for event in stored.raw), rel=1e-6)
    for at, (count, _) in merged.items():
        assert count > 1
        assert page.bars.us[at] < 2 * page.resolution_us
    kernels = sorted(event["dur"] for event in stored.raw if event["cat"] == "kernel")
    device = [event.us for event in page.longest if event.on_device]
    assert device == pytest.approx(kernels[::-1][: len(device)])
    assert len(device) == LONGEST
    assert [track.kind for track in page.tracks] == ["thread", "thread", "stream", "stream"]
    assert page.tracks[0].title == "thread 4242 (python)"
    assert page.tracks[-1].title == "GPU 0, stream 20"


@pytest.mark.parametrize("part", [0.1, 0.5, 0.93])
def test_a_short_window_shows_each_event(stored: Stored, part: float) -> None:
    start = stored.page(width=0).span_us * part
    end = start + 700
    page = stored.page(start, end, 20_000)
    assert not page.bars.merged
    shown = sorted(
        (page.names[name], row_start, us)
        for name, row_start, us in zip(
            page.bars.name, page.bars.start_us, page.bars.us, strict=True
        )
    )
    wanted = sorted(
        (event["name"], event["ts"], event["dur"])
        for event in stored.raw
        if event["ts"] < end and event["ts"] + event["dur"] > start
    )
    assert [name for name, *_ in shown] == [name for name, *_ in wanted]
    for one, other in zip(shown, wanted, strict=True):
        assert one[1:] == pytest.approx(other[1:], abs=NS)
    (longest, *_) = [event for event in page.longest if event.on_device]
    on_device = stored.within(start, end, "kernel")
    assert longest.name in {name for name, _ in on_device}


def union(stretches: list[tuple[float, float]]) -> float:
    total, until = 0.0, float("-inf")
    for start, end in sorted(stretches):
        total += max(0.0, end - max(start, until))
        until = max(until, end)
    return total


@pytest.mark.parametrize(("start", "end"), [(0, 0), (1234.5, 43210.9), (20000.25, 20100.75)])
def test_sums_are_those_of_the_raw_events(stored: Stored, start: float, end: float) -> None:
    page = stored.page(start, end)
    device = [row for row in page.sums if row.on_device]
    raw = stored.within(page.start_us, page.end_us, "kernel")
    assert sum(row.us for row in device) == pytest.approx(sum(us for _, us in raw))
    assert sum(row.events for row in device) == len(raw)
    pointwise = [us for name, us in raw if name.startswith("triton_poi")]
    of_kind = [row.us for row in device if row.category == "triton_pointwise"]
    assert sum(of_kind) == pytest.approx(sum(pointwise))
    threads = [row for row in page.sums if not row.on_device]
    # The innermost event counts: together they are the time in which a thread was in any event.
    covered = sum(
        union(
            [
                (max(event["ts"], page.start_us), min(event["ts"] + event["dur"], page.end_us))
                for event in stored.raw
                if event["tid"] == thread
                and event["ts"] < page.end_us
                and event["ts"] + event["dur"] > page.start_us
            ]
        )
        for thread in (4242, 4243)
    )
    assert sum(row.us for row in threads) == pytest.approx(covered, rel=1e-6)
    assert sum(row.share or 0 for row in threads) == pytest.approx(1)


def test_parts_sum_to_the_whole(stored: Stored) -> None:
    span = stored.page(width=0).span_us

    def sums(start: float, end: float) -> dict[tuple[bool, str], float]:
        page = stored.page(width=0, mark=(start, end))
        return {(row.on_device, row.category): row.us for row in page.sums}

    whole, cuts = sums(0, span), [0, span * 0.21, span * 0.6, span]
    parts = [sums(*pair) for pair in pairwise(cuts)]
    for key, us in whole.items():
        assert sum(part.get(key, 0.0) for part in parts) == pytest.approx(us, rel=1e-6)


def test_a_kernel_leads_to_its_launch_and_back(stored: Stored) -> None:
    page = stored.page(30_000, 30_400, 20_000)
    kernel = next(event for event in page.longest if event.on_device)
    chosen = stored.page(width=0, event=kernel.number).event
    assert chosen is not None
    assert chosen.event.on_device
    raw = next(
        event
        for event in stored.raw
        if event["cat"] == "kernel" and abs(event["ts"] - chosen.event.start_us) < NS
    )
    number = raw["args"]["correlation"]
    launch = next(
        event
        for event in stored.raw
        if event["cat"] == "cuda_runtime" and event["args"]["correlation"] == number
    )
    assert [event.name for event in chosen.around][-1] == "cudaLaunchKernel"
    assert chosen.around[-1].start_us == pytest.approx(launch["ts"], abs=NS)
    assert any(event.name.startswith("aten::") for event in chosen.around)
    assert chosen.runs is not None
    operator = next(event for event in chosen.around if event.name.startswith("aten::"))
    back = stored.page(width=0, event=operator.number).event
    assert back is not None
    assert kernel.number in {made.event.number for made in back.launched}
    step = next(event for event in page.longest if event.name.startswith("ProfilerStep"))
    whole = stored.page(width=0, event=step.number).event
    assert whole is not None
    of_thread = [
        event
        for event in stored.raw
        if event["cat"] == "cuda_runtime"
        and event["tid"] == 4242
        and step.start_us <= event["ts"] < step.start_us + step.us
    ]
    assert whole.launched_count == len(of_thread)


def test_search_counts_every_match(stored: Stored) -> None:
    found = stored.page(width=0, q="ATEN::MM").matches
    raw = [event for event in stored.raw if "aten::mm" in event["name"]]
    assert found is not None
    assert found.total == len(raw) == len(found.event)
    assert found.us == pytest.approx(sum(event["dur"] for event in raw))
    assert found.start_us == sorted(found.start_us)
    nothing = stored.page(width=0, q="no such kernel").matches
    assert nothing is not None
    assert nothing.total == 0


def test_search_finds_short_names_and_tells_the_device_apart(stored: Stored) -> None:
    name = next(event["name"] for event in stored.raw if event["name"].startswith("triton_poi"))
    short = stored.page(width=0, q=str(short_name(name)).upper()).matches
    raw = [event for event in stored.raw if event["name"] == name]
    runs = [event for event in raw if event["cat"] == "kernel"]
    assert short is not None
    assert (short.total, short.device) == (len(raw), len(runs))
    assert short.device
    assert short.device_us == pytest.approx(sum(event["dur"] for event in runs))


def test_every_trace_of_a_run_is_there(stored: Stored) -> None:
    page = stored.page()
    assert {trace.label for trace in page.traces} == {"compiled", "eager"}
    assert page.profile == "compiled"
    eager = stored.page(profile="eager")
    assert eager.profile == "eager"
    assert eager.events < page.events
    with pytest.raises(NotHere, match="no profile other"):
        stored.page(profile="other")
    with pytest.raises(NotHere, match="no event 999999"):
        stored.page(event=999_999)


def test_a_trace_without_a_duration_can_be_shown(tmp_path: Path) -> None:
    event = {"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 5.0, "dur": 0}
    settings = Settings(data=tmp_path / "store", database_url="")
    migrate(settings)
    engine = make_engine(settings)
    for digest, events in (("a" * 64, [event]), ("b" * 64, [])):
        folder = tmp_path / digest
        folder.mkdir()
        (folder / "eager.trace.json").write_text(json.dumps({"traceEvents": events}))
        draft = RunDraft(digest, "short", [], "test", datetime.now(UTC), 1)
        profiles = read_profiles(recognise(folder).files, None, Notes(), None)
        draft.profiles = [draft_of(profile) for profile in profiles]
        with sessions(engine).begin() as session:
            insert_run(session, draft)
        with sessions(engine)() as session:
            page = timeline_page(session, draft.id, WindowAsked())
        assert (page.profile, page.events) == ("eager", len(events))
        assert page.span_us > 0
        assert page.bars.event == [0][: len(events)]
    engine.dispose()


def test_a_run_without_a_trace_has_an_empty_timeline(stored: Stored) -> None:
    page = timeline_page(stored.session, "e" * 16, WindowAsked(q="x"))
    assert (page.profile, page.events, page.bars.us, page.sums) == ("", 0, [], [])
