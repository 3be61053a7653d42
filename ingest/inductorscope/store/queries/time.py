"""Where the time goes: eager beside compiled; by category, kernel, node and line."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from ..models import Artifact, Profile, ProfilerRow, Run
from ..texts import read_blob
from .lines import LineTime, NodeTime, line_times, node_times
from .parts import (
    CategoryTime,
    GraphRow,
    KernelRow,
    RunName,
    categories,
    graph_rows,
    kernel_rows,
    kernel_time,
)
from .runs import speed_up

SHOWN = 200


@dataclass(frozen=True, slots=True)
class ProfilerLine:
    name: str
    category: str
    calls: float
    self_cpu_us: float | None
    cpu_us: float | None
    self_device_us: float | None
    device_us: float | None


@dataclass(frozen=True, slots=True)
class ProfileTable:
    label: str
    device_kind: str | None
    steps: int | None
    artifact_id: int | None
    facts: dict[str, Any]
    rows: list[ProfilerLine]


@dataclass(frozen=True, slots=True)
class TimePage:
    run: RunName
    eager_ms: float | None
    compiled_ms: float | None
    speed_up: float | None
    timings: dict[str, Any]
    kernel_time_us: float | None
    unattributed_us: float | None
    categories: list[CategoryTime]
    graphs: list[GraphRow]
    kernels: list[KernelRow]
    nodes: list[NodeTime]
    source_lines: list[LineTime]
    profiles: list[ProfileTable]


def time_page(session: Session, run_id: str) -> TimePage | None:
    run = session.get(Run, run_id)
    if run is None:
        return None
    profiles = _profiles(session, run_id)
    attributed = kernel_time(session, run_id)
    return TimePage(
        run=RunName(run.id, run.name),
        eager_ms=run.eager_ms,
        compiled_ms=run.compiled_ms,
        speed_up=speed_up(run),
        timings=run.timings,
        kernel_time_us=attributed,
        unattributed_us=_unattributed(profiles, attributed),
        categories=categories(session, run_id),
        graphs=graph_rows(session, run_id),
        kernels=kernel_rows(session, run_id, SHOWN),
        nodes=node_times(session, run_id)[:SHOWN],
        source_lines=_with_code(session, run_id, line_times(session, run_id)[:SHOWN]),
        profiles=profiles,
    )


def _profiles(session: Session, run: str) -> list[ProfileTable]:
    found = session.scalars(select(Profile).where(Profile.run_id == run)).all()
    rows: dict[int, list[ProfilerRow]] = defaultdict(list)
    query = select(ProfilerRow).where(ProfilerRow.profile_id.in_([item.id for item in found]))
    for row in session.scalars(query):
        rows[row.profile_id].append(row)
    order = {"eager": 0, "compiled": 1}
    return [
        ProfileTable(
            label=profile.label,
            device_kind=profile.device_kind,
            steps=profile.steps,
            artifact_id=profile.artifact_id,
            facts=profile.facts,
            rows=sorted((_a_step(row, profile.steps) for row in rows[profile.id]), key=_by_time),
        )
        for profile in sorted(found, key=lambda item: (order.get(item.label, 2), item.label))
    ]


def _a_step(row: ProfilerRow, steps: int | None) -> ProfilerLine:
    """Numbers of one step; of the whole profile, where its steps are not known."""
    by = steps or 1
    return ProfilerLine(
        name=row.name,
        category=row.category,
        calls=row.calls / by,
        self_cpu_us=_divided(row.self_cpu_us, by),
        cpu_us=_divided(row.cpu_us, by),
        self_device_us=_divided(row.self_device_us, by),
        device_us=_divided(row.device_us, by),
    )


def _divided(value: float | None, by: int) -> float | None:
    return None if value is None else value / by


def _by_time(row: ProfilerLine) -> tuple[float, str]:
    spent = max(row.self_device_us or 0.0, row.self_cpu_us or 0.0)
    return -spent, row.name


def _unattributed(profiles: list[ProfileTable], attributed: float | None) -> float | None:
    """Device time of the compiled profile that no kernel of the run's code explains."""
    for profile in profiles:
        if (
            profile.label == "compiled"
            and profile.steps
            and profile.device_kind not in (None, "cpu")
        ):
            work = sum(
                row.self_device_us or 0.0 for row in profile.rows if row.category == "kernel"
            )
            return max(work - (attributed or 0.0), 0.0)
    return None


def _with_code(session: Session, run: str, rows: list[LineTime]) -> list[LineTime]:
    """The rows with the text of their lines, where the run holds the file."""
    wanted = {row.path for row in rows}
    query = select(Artifact.path, Artifact.digest).where(
        Artifact.run_id == run, Artifact.role == "source"
    )
    texts: dict[str, list[bytes]] = {}
    for path, digest in session.execute(query.order_by(Artifact.derived, Artifact.id)):
        if path in wanted and path not in texts:
            texts[path] = (read_blob(session, digest) or b"").split(b"\n")
    return [replace(row, code=_line(texts.get(row.path, []), row.line)) for row in rows]


def _line(lines: list[bytes], number: int) -> str | None:
    if not 0 < number <= len(lines):
        return None
    return lines[number - 1].decode(errors="replace").strip() or None
