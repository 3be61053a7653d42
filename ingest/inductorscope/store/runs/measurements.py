"""Measurements of two runs, kept with the first one's diagnoses."""

from datetime import datetime

import msgspec
from sqlalchemy import and_, or_, select
from sqlalchemy.orm import Session

from inductorscope.analyze.measure.result import Measurement, turned
from inductorscope.store.runs.diagnoses import read_diagnosis, write_diagnosis
from inductorscope.store.tables.diagnoses import Diagnosis

KIND = "measure"


class Measured(msgspec.Struct, frozen=True):
    """A measurement, when it was made, and whether it is complete."""

    job: str
    created_at: datetime
    complete: bool
    found: Measurement


def write_measurement(
    session: Session, run: str, other: str, job: str, now: datetime, found: Measurement, *,
    complete: bool,
) -> None:  # fmt: skip
    """Replaces a job's partial result with a newer one."""
    result = {"summary": {"other": other}, "measurement": msgspec.to_builtins(found)}
    write_diagnosis(session, run, KIND, job, now, complete=complete, result=result)


def newest_measurement(session: Session, run: str, other: str) -> Measured | None:
    """Returns the newest measurement of two runs, in either order; a complete one before one that
    was stopped."""
    beside = Diagnosis.summary["other"].as_string()
    query = (
        select(Diagnosis)
        .where(
            Diagnosis.kind == KIND,
            or_(
                and_(Diagnosis.run_id == run, beside == other),
                and_(Diagnosis.run_id == other, beside == run),
            ),
        )
        .order_by(Diagnosis.complete.desc(), Diagnosis.created_at.desc(), Diagnosis.id.desc())
        .limit(1)
    )
    row = session.scalar(query)
    read = read_diagnosis(session, row.job_id) if row is not None else None
    if row is None or read is None:
        return None
    found = msgspec.convert(read.result["measurement"], Measurement)
    found = found if row.run_id == run else turned(found)
    return Measured(row.job_id, row.created_at, row.complete, found)
