"""The audit: who read an upload's files, deleted something, ran code, or changed a person's
rights."""

from collections.abc import Iterator
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.store.tables.people import AuditEntry

COLUMNS = ("at", "who", "address", "action", "target")


def record(
    session: Session, now: datetime, who: str, action: str, target: str, address: str | None = None
) -> None:
    session.add(AuditEntry(at=now, who=who, address=address, action=action, target=target))


def entries(session: Session, since: datetime | None = None) -> Iterator[dict[str, str | None]]:
    """Returns the entries, oldest first."""
    query = select(AuditEntry).order_by(AuditEntry.id).execution_options(yield_per=1000)
    if since is not None:
        query = query.where(AuditEntry.at >= since)
    for entry in session.scalars(query):
        values = {name: getattr(entry, name) for name in COLUMNS}
        yield values | {"at": entry.at.isoformat(timespec="seconds")}
