"""Stores diagnoses, overwritten with each partial result, and reads them whole or as lists."""

from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.fields import view
from inductorscope.store.contents.packing import compressor, decompressed
from inductorscope.store.database import storable
from inductorscope.store.tables.diagnoses import Diagnosis
from inductorscope.store.tables.models import Job

LEVEL = 6
SHOWN = 20
_WITH_JOBS = select(Diagnosis, Job.state, Job.message).outerjoin(Job, Job.id == Diagnosis.job_id)


class DiagnosisLine(msgspec.Struct, frozen=True):
    """A diagnosis in a list, with the state of its job."""

    kind: str
    job_id: str
    created_at: datetime
    complete: bool
    state: str
    """State of its job: `queued`, `running`, `done`, `failed`, `cancelled`; `gone` without one."""
    message: str | None
    """Last message of the job, which says why the diagnosis is incomplete."""
    summary: dict[str, Any]


class DiagnosisRead(msgspec.Struct, frozen=True):
    """A diagnosis with its whole result."""

    line: DiagnosisLine
    result: dict[str, Any]


def write_diagnosis(
    session: Session, run_id: str, kind: str, job_id: str, now: datetime, *, complete: bool,
    result: dict[str, Any],
) -> None:  # fmt: skip
    """Replaces a job's partial result with a newer one. Lists show `result["summary"]`."""
    kept: dict[str, Any] = storable.plain(result)  # type: ignore[assignment]  # a dict stays one
    row = session.scalar(select(Diagnosis).where(Diagnosis.job_id == job_id))
    if row is None:
        row = Diagnosis(run_id=run_id, kind=kind, job_id=job_id, created_at=now)
        session.add(row)
    row.complete = complete
    row.summary = dict(kept.get("summary") or {})
    row.payload = compressor(LEVEL).compress(msgspec.json.encode(kept))


def diagnoses_of(session: Session, run_id: str, kind: str | None = None) -> list[DiagnosisLine]:
    """Returns the diagnoses of a run, newest first."""
    query = (
        _WITH_JOBS.where(Diagnosis.run_id == run_id)
        .order_by(Diagnosis.created_at.desc(), Diagnosis.id.desc())
        .limit(SHOWN)
    )
    if kind is not None:
        query = query.where(Diagnosis.kind == kind)
    return [_line(*row) for row in session.execute(query)]


def read_diagnosis(session: Session, job_id: str) -> DiagnosisRead | None:
    """Returns the result of a job so far; None if it has stored nothing."""
    row = session.execute(_WITH_JOBS.where(Diagnosis.job_id == job_id)).first()
    if row is None:
        return None
    plain = decompressed(row[0].payload)
    return DiagnosisRead(_line(*row), msgspec.json.decode(plain, type=dict[str, Any]))


def newest_diagnosis(session: Session, run_id: str, kind: str) -> DiagnosisRead | None:
    lines = diagnoses_of(session, run_id, kind)
    return read_diagnosis(session, lines[0].job_id) if lines else None


def _line(row: Diagnosis, state: str | None, message: str | None) -> DiagnosisLine:
    return view(DiagnosisLine, row, state=state or "gone", message=message)
