"""Every call of a kernel has its own time: as a sum over raw events, made independently, says."""

import bisect
import gzip
import json
import tarfile
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inductorscope.analyze.time.call_times import LIBRARY, match_calls
from inductorscope.answers.explorer.graph import explorer
from inductorscope.answers.time.roofline import roofline_page
from inductorscope.reading.graphs.relink import relink
from inductorscope.reading.run import read_run
from inductorscope.store.database.engine import Sessions, sessions
from inductorscope.store.tables.models import Graph, Kernel, KernelCall
from inductorscope.store.tables.times import CallTime, LineCost
from sqlalchemy import Engine, func, select

from tests.conftest import ON_SQLITE

STEPS = 6
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")


@pytest.fixture
def factory(engine: Engine) -> Sessions:
    return sessions(engine)


def read_archive(factory: Sessions, archive: Path, folder: Path) -> str:
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    return read_run(folder, session_factory=factory, origin="ingest").run_id


def marked_times(archive: Path) -> dict[int, float]:
    """Line of the wrapper → device time of a step. The program that made this trace marked each
    call with a span called `CALL file:line`, which the reader does not know."""
    with tarfile.open(archive) as tar:
        text = tar.extractfile("compiled.trace.json")
        assert text is not None
        events = json.load(text)["traceEvents"]
    spans: dict[object, list[tuple[float, float, int]]] = defaultdict(list)
    launches = {}
    for event in events:
        if event.get("name", "").startswith("CALL "):
            end = event["ts"] + event["dur"]
            spans[event["tid"]].append((event["ts"], end, int(event["name"].rpartition(":")[2])))
        elif event.get("cat") in ("cuda_runtime", "cuda_driver"):
            launches[event["args"].get("correlation")] = event
    for on_thread in spans.values():
        on_thread.sort()
    sums: dict[int, float] = defaultdict(float)
    for event in events:
        launch = launches.get(event.get("args", {}).get("correlation"))
        if event.get("cat") not in DEVICE or launch is None:
            continue
        on_thread = spans[launch["tid"]]
        place = bisect.bisect_right(on_thread, (launch["ts"], float("inf"), 0)) - 1
        if place >= 0 and launch["ts"] <= on_thread[place][1]:
            sums[on_thread[place][2]] += event["dur"]
    return {line: us / STEPS for line, us in sums.items()}


@ON_SQLITE
def test_each_call_has_the_time_that_the_raw_events_sum_to(
    engine: Engine, factory: Sessions, fixtures: Path, tmp_path: Path
) -> None:
    archive = fixtures / "cuda-calls" / "calls.tar.xz"
    run = read_archive(factory, archive, tmp_path)
    relink(engine, run=run)
    wanted = marked_times(archive)
    with factory() as session:
        rows = session.execute(
            select(KernelCall.line, CallTime.time_us, CallTime.known, CallTime.runs).join(
                CallTime, CallTime.call_id == KernelCall.id
            )
        ).all()
        assert {line for line, *_ in rows} == set(wanted)
        assert {(known, runs) for *_, known, runs in rows} == {("measured", STEPS)}
        for line, us, *_ in rows:
            assert us == pytest.approx(wanted[line], rel=1e-6), line
        of_kernels = (
            select(Kernel.time_us, func.sum(CallTime.time_us))
            .join(KernelCall, KernelCall.kernel_id == Kernel.id)
            .join(CallTime, CallTime.call_id == KernelCall.id)
            .group_by(Kernel.id)
        )
        sums = session.execute(of_kernels).all()
        assert all(whole == pytest.approx(parts, rel=1e-9) for whole, parts in sums)
        convolutions = session.execute(
            select(Kernel.call_count, func.min(CallTime.time_us), func.max(CallTime.time_us))
            .join(KernelCall, KernelCall.kernel_id == Kernel.id)
            .join(CallTime, CallTime.call_id == KernelCall.id)
            .where(Kernel.name == "extern_kernels.convolution")
            .group_by(Kernel.id)
        ).one()
        assert convolutions[0] == 53
        assert convolutions[2] > 3 * convolutions[1]
        roofline = roofline_page(session, run)
        shapes = [row for row in roofline.kernels if row.name == "extern_kernels.convolution"]
        assert (len(shapes), sum(row.calls for row in shapes)) == (23, 53)
        assert shapes[0].shapes == "bf16[32,3,224,224] bf16[64,3,7,7] bf16[32,64,112,112]"
        assert sum(row.time_us or 0.0 for row in roofline.kernels) == pytest.approx(
            sum(wanted.values()), rel=1e-6
        )
        lines = session.scalars(select(LineCost.shared_us).where(LineCost.run_id == run)).all()
        assert sum(lines) == pytest.approx(sum(wanted.values()), rel=1e-6)


@ON_SQLITE
@pytest.mark.parametrize("recording", ["t213reg", "t214reg"])
def test_each_instance_of_a_region_has_its_own_time(
    factory: Sessions, shared: Path, recording: str
) -> None:
    """A region that three profiled steps call four times each."""
    folder = shared / "regions" / recording
    with gzip.open(folder / "trace.json.gz") as stream:
        events = json.load(stream)["traceEvents"]
    calls = [(event["ts"], event["dur"]) for event in events if event.get("name") == "aten::addmm"]
    assert len(calls) == 12
    spent = [us for _, us in sorted(calls)]
    expected = [sum(spent[place::4]) / 3 for place in range(4)]
    assert max(expected) > 2 * min(expected)
    run = read_run(folder, session_factory=factory, origin="ingest").run_id
    with factory() as session:
        (slug,) = session.scalars(select(Graph.slug).where(Graph.run_id == run))
        kernels = {kernel.name: kernel for kernel in explorer(session, run, slug).kernels}
    (call,) = kernels["extern_kernels.addmm"].calls
    assert call.instances == pytest.approx(expected)
    assert call.time_us == pytest.approx(sum(expected))
    others = [call for name, ran in kernels.items() for call in ran.calls if "addmm" not in name]
    assert others
    assert not any(call.instances for call in others)  # the recording has no time of theirs


def test_a_recorded_graphs_library_kernels_belong_to_the_calls_between_their_neighbours(
    factory: Sessions, fixtures: Path, tmp_path: Path
) -> None:
    """Replays name no operator. The same program without a recorded graph says what to expect."""
    read_archive(factory, fixtures / "cuda-calls" / "replayed.tar.xz", tmp_path)
    alone = marked_times(fixtures / "cuda-calls" / "calls.tar.xz")
    with factory() as session:
        rows = session.execute(
            select(KernelCall.line, Kernel.kind, CallTime.time_us, CallTime.known)
            .join(Kernel, Kernel.id == KernelCall.kernel_id)
            .join(CallTime, CallTime.call_id == KernelCall.id)
            .order_by(KernelCall.line)
        ).all()
    assert {known for *_, known in rows} == {"measured"}
    assert len(rows) == len(alone)
    pairs = [
        (us, expected)
        for (_, kind, us, _), (_, expected) in zip(rows, sorted(alone.items()), strict=True)
        if kind == "extern"
    ]
    assert len(pairs) == 54
    near = [us for us, expected in pairs if us == pytest.approx(expected, rel=0.25)]
    assert len(near) >= 50  # another run of the same work: the same kernels take about as long


KERNELS = st.lists(st.integers(0, 5), min_size=1, max_size=60)


@given(KERNELS, st.sets(st.integers(0, 5)), st.data())
def test_items_of_unknown_kernels_are_placed_by_their_neighbours(
    wrapper: list[int], unknown: set[int], data: st.DataObject
) -> None:
    """Calls of some kernels launch one to three items whose kernel is not known."""
    items: list[int | None] = []
    owner: list[int] = []
    for call, kernel in enumerate(wrapper):
        count = data.draw(st.integers(1, 3)) if kernel in unknown else 1
        items += [None if kernel in unknown else kernel] * count
        owner += [call] * count
    match = match_calls(wrapper, items, unknown)
    for call, places in match.of_call.items():
        alone = not any(
            0 <= call + step < len(wrapper) and wrapper[call + step] in unknown for step in (-1, 1)
        )
        if wrapper[call] not in unknown or alone:
            assert {owner[place] for place in places} == {call}
    placed = [place for places in match.of_call.values() for place in places]
    placed += [place for _, places in match.shared for place in places]
    assert sorted(placed) == list(range(len(items)))
    for calls, places in match.shared:
        assert {owner[place] for place in places} <= set(calls)


def test_an_operators_item_is_no_generated_kernels() -> None:
    """`aten::addmm` ran four times between kernels that the trace does not have."""
    generated, addmm = 0, 1
    match = match_calls([generated] * 5, [LIBRARY] * 4)
    assert (match.of_call, match.shared) == ({}, [])
    wrapper = [generated, addmm, generated, addmm]
    match = match_calls(wrapper, [LIBRARY] * 2, {addmm})
    assert match.of_call == {1: [0], 3: [1]}


def test_different_generated_kernels_never_share_items() -> None:
    assert match_calls([0, 1, 2], [None, None]).shared == []
    assert match_calls([0, 0, 0], [None, None]).shared == [([0, 1, 2], [0, 1])]
