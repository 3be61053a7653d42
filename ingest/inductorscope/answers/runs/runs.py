"""The list of runs: searched, sorted by any column, a page at a time."""

import base64
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Literal, get_args

import msgspec
from sqlalchemy import ColumnElement, Select, and_, false, func, or_, select
from sqlalchemy.orm import Session, defer

from inductorscope.analyze.verdicts import Busy, Facts, Spread, Verdict, verdicts
from inductorscope.answers.parts import RunName
from inductorscope.answers.search.runs import with_words
from inductorscope.answers.time.profiles import busy_of
from inductorscope.fields import Hidden, Prose, view
from inductorscope.store.database import storable
from inductorscope.store.runs.rules import tagged
from inductorscope.store.tables.models import READING, TRY, UNLISTED, Job, JobEvent, Run

PAGE = 50
LISTED = Run.origin.not_in(UNLISTED)
OF_ROWS = (defer(Run.report, raiseload=True), defer(Run.environment, raiseload=True))
"""Columns not to load: reports and environments can take megabytes, and the table does not show
them."""
ACTIVE = ("queued", "running")
STEPS = 8
"""Newest lines of the first job's log that the page shows."""
COUNTED = 10_000
"""Matches are counted up to here; beyond it the count is shown as a lower bound."""
GROUPS, OF_GROUP = 30, 5
"""Groups that a page shows, and runs of each."""

Sort = Literal[
    "created_at",
    "name",
    "torch_version",
    "device_name",
    "graph_count",
    "kernel_count",
    "graph_breaks",
    "recompiles",
    "compile_seconds",
    "speed_up",
]
Direction = Literal["asc", "desc"]
RunReading = Literal["reading", "complete"]
Grouping = Literal["", "tag", "script"]

SPEED_UP: ColumnElement[Any] = Run.eager_ms / func.nullif(Run.compiled_ms, 0.0)
SORTED_BY: dict[str, ColumnElement[Any]] = {
    **{name: Run.__table__.c[name] for name in get_args(Sort) if name != "speed_up"},
    "name": func.lower(Run.name),
    "speed_up": SPEED_UP,
}
GROUPED_BY: dict[str, Any] = {
    "tag": Run.tags,
    # What a capture ran; another run has only its name.
    "script": func.coalesce(func.nullif(Run.environment["model"].as_string(), ""), Run.name),
}


class RunRow(RunName, frozen=True):
    """One run in the table."""

    tags: list[str]
    origin: str
    state: RunReading
    """`reading` while parts are still to come."""
    step: str | None
    """What is being read, in words."""
    created_at: datetime
    torch_version: str | None
    device_kind: str | None
    device_name: str | None
    graph_count: int
    kernel_count: int
    graph_breaks: int | None
    recompiles: int | None
    compile_seconds: float | None
    eager_ms: float | None
    compiled_ms: float | None
    speed_up: float | None
    """Eager time divided by compiled time."""
    verdict: Verdict


class FirstJob(msgspec.Struct, frozen=True):
    """The job that makes the first run."""

    id: str
    title: str
    step: Prose
    steps: list[Prose]
    """What it did so far."""


class RunGroup(msgspec.Struct, frozen=True):
    """Runs with the same tag or script."""

    name: str
    """Empty for runs without a tag."""
    count: int
    first: int
    """Position of its newest run in the list."""
    shown: int


class RunsPage(msgspec.Struct, frozen=True):
    """Runs `/`. `sort`, `order`, `q`, `device`, `tag`, `script` and `group` repeat the request."""

    runs: list[RunRow]
    """If they are grouped, the newest few of each group."""
    groups: list[RunGroup]
    """The group with the newest run comes first, runs without a tag last."""
    next_cursor: Hidden[str | None]
    """Pass it as `cursor` for the next page; None on the last."""
    total: int
    """Number of matching runs, counted up to a cap."""
    total_capped: bool
    q: str
    sort: Sort
    order: Direction
    device: str
    tag: str
    script: str
    group: Grouping
    devices: Hidden[list[str]]
    """Device kinds to filter by."""
    active_jobs: int
    """Number of jobs queued or running."""
    any_runs: Hidden[bool]
    """False if the database has no run except tries."""
    first_job: FirstJob | None
    """The running job that makes the first run; None if there are runs."""
    tries: bool
    """Whether these are tries of the playground, which are not listed otherwise."""


def list_runs(
    session: Session,
    *,
    q: str = "",
    sort: Sort = "created_at",
    order: Direction = "desc",
    device: str | None = None,
    cursor: str | None = None,
    limit: int = PAGE,
    tries: bool = False,
    tag: str = "",
    script: str = "",
    group: Grouping = "",
) -> RunsPage:
    """Returns runs that match every word of `q`: without tries of the playground, or only tries.
    Grouped runs are in the order of time.

    Raises ValueError for an invalid cursor.
    """
    key = SORTED_BY[sort]
    matching = _matching(session, q, device, tries)
    if tag:
        matching = matching.where(tagged(tag))
    if script:
        matching = matching.where(GROUPED_BY["script"] == script)
    query = matching.add_columns(key.label("sort_key"))
    if cursor:
        query = _after(query, key, order == "desc", *_decode(cursor, sort))
    ranked = [key.is_(None), _directed(key, order), _directed(Run.id, order)]
    groups: list[RunGroup] = []
    following = None
    if group:
        shown, groups = _grouped(session, matching, group)
    else:
        rows = session.execute(query.order_by(*ranked).limit(limit + 1)).all()
        shown = [row.Run for row in rows[:limit]]
        if len(rows) > limit:
            following = _encode(rows[limit - 1].sort_key, shown[-1].id)
    counted = select(func.count()).select_from(
        matching.with_only_columns(Run.id).limit(COUNTED + 1).subquery()
    )
    total = session.scalar(counted) or 0
    any_runs = session.scalar(select(Run.id).where(LISTED).limit(1)) is not None
    return RunsPage(
        runs=run_rows(session, shown),
        groups=groups,
        next_cursor=following,
        total=min(total, COUNTED),
        total_capped=total > COUNTED,
        q=q,
        sort=sort,
        order=order,
        device=device or "",
        tag=tag,
        script=script,
        group=group,
        devices=_devices(session),
        active_jobs=session.scalar(select(func.count()).where(Job.state.in_(ACTIVE))) or 0,
        any_runs=any_runs,
        first_job=None if any_runs else _first_job(session),
        tries=tries,
    )


def _grouped(
    session: Session, matching: Select[Any], group: Grouping
) -> tuple[list[Run], list[RunGroup]]:
    """Returns the newest runs of each group, and the groups."""
    of = matching.with_only_columns(Run.id, GROUPED_BY[group])
    ids: dict[str, list[str]] = {}
    newest = of.order_by(Run.created_at.desc(), Run.id.desc()).limit(COUNTED)
    for run, names in session.execute(newest):
        for name in dict.fromkeys(names or [""]) if group == "tag" else [names]:
            ids.setdefault(str(name), []).append(run)
    named = sorted(ids, key=lambda name: not name)[:GROUPS]
    shown = [run for name in named for run in ids[name][:OF_GROUP]]
    query = select(Run).options(*OF_ROWS).where(Run.id.in_(shown))
    runs = {run.id: run for run in session.scalars(query)}
    groups: list[RunGroup] = []
    for name in named:
        first = sum(group.shown for group in groups)
        groups.append(RunGroup(name, len(ids[name]), first, min(len(ids[name]), OF_GROUP)))
    return [runs[run] for run in shown], groups


def run_rows(session: Session, runs: Sequence[Run]) -> list[RunRow]:
    busy = busy_of(session, [run.id for run in runs if speed_up(run) is None])
    return [run_row(run, busy.get(run.id)) for run in runs]


def run_row(run: Run, busy: Busy | None = None) -> RunRow:
    verdict = verdicts(facts_of(run, busy))[0]
    tags = [str(tag) for tag in run.tags]
    return view(RunRow, run, tags=tags, speed_up=speed_up(run), verdict=verdict)


def speed_up(run: Run) -> float | None:
    """Returns eager time divided by compiled time; None if either is unknown."""
    return run.eager_ms / run.compiled_ms if run.eager_ms and run.compiled_ms else None


def facts_of(run: Run, busy: Busy | None = None) -> Facts:
    """Returns the facts that verdicts are based on."""
    return view(
        Facts,
        run,
        dropped=run.dropped_count,
        busy=busy,
        eager_spread=_spread(run.timings.get("eager")),
        compiled_spread=_spread(run.timings.get("compiled")),
        # Whatever is compiled leaves a log, in which breaks are counted.
        nothing_compiled=run.origin == "capture"
        and run.compiled_ms is not None
        and not run.graph_count
        and run.graph_breaks is None,
        uncompiled=bool(run.timings.get("uncompiled")),
        disturbed=bool(run.timings.get("disturbed")),
        reading=run.state == READING,
    )


def _spread(timing: object) -> Spread | None:
    """Returns the range from 10 to 90 % of the samples, in milliseconds; None if only a mean is
    known."""
    found = timing if isinstance(timing, dict) else {}
    low, high = found.get("p10"), found.get("p90")
    return (low, high) if isinstance(low, float) and isinstance(high, float) else None


def _matching(session: Session, q: str, device: str | None, tries: bool) -> Select[Any]:
    query = (
        select(Run)
        .options(*OF_ROWS)
        .where(Run.origin == TRY if tries else Run.origin.not_in(UNLISTED))
    )
    if device:
        query = query.where(Run.device_kind == device)
    if q.strip():
        query = query.where(with_words(session, q))
    return query


def _devices(session: Session) -> list[str]:
    kinds = select(Run.device_kind).where(Run.device_kind.is_not(None)).distinct()
    return sorted(kind for kind in session.scalars(kinds) if kind is not None)


def _first_job(session: Session) -> FirstJob | None:
    active = select(Job).where(Job.state.in_(ACTIVE)).order_by(Job.created_at).limit(1)
    job = session.scalar(active)
    if job is None:
        return None
    events = select(JobEvent.text).where(JobEvent.job_id == job.id, JobEvent.level == "info")
    newest = session.scalars(events.order_by(JobEvent.id.desc()).limit(STEPS))
    return FirstJob(job.id, job.title, job.step, list(newest)[::-1])


def _directed(key: Any, order: str) -> ColumnElement[Any]:  # noqa: ANN401  # any column
    directed: ColumnElement[Any] = key.desc() if order == "desc" else key.asc()
    return directed


def _after(
    query: Select[Any],
    key: ColumnElement[Any],
    falling: bool,
    value: Any,  # noqa: ANN401  # of the type of the column
    last: str,
) -> Select[Any]:
    """Selects rows after the one in the cursor; rows without a value come last."""
    further = Run.id < last if falling else Run.id > last
    if value is None:
        return query.where(and_(key.is_(None), further))
    beyond = key < value if falling else key > value
    return query.where(or_(beyond, and_(key == value, further), key.is_(None), false()))


def _encode(value: object, last: str) -> str:
    plain = value.isoformat() if isinstance(value, datetime) else value
    return base64.urlsafe_b64encode(json.dumps([plain, last]).encode()).decode().rstrip("=")


def _decode(cursor: str, sort: str) -> tuple[Any, str]:
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        value, last = json.loads(base64.urlsafe_b64decode(padded.encode("ascii")))
        if sort == "created_at":
            # Convert to UTC here: a time in year 1 or 9999 may have no equivalent.
            value = datetime.fromisoformat(value).astimezone(UTC)
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise ValueError("not a cursor") from error
    if not isinstance(last, str) or last != storable.plain(last):
        raise ValueError("not a cursor")
    if sort != "created_at" and value is not None:
        wanted = (str,) if sort in ("name", "torch_version", "device_name") else (int, float)
        if not isinstance(value, wanted) or isinstance(value, bool):
            raise ValueError("the cursor does not fit this order")
        if value != storable.plain(value):
            raise ValueError("the database cannot compare with this value")
    return value, last
