"""Reports secrets that were removed from runs, once per run, when a server starts."""

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from inductorscope.formats.secret_rules import OWN_SETTING
from inductorscope.store.tables.models import FoundSecret

MOST_NAMED = 5


def report_secrets(session: Session) -> str | None:
    """Returns sentences on runs that contained secrets of this installation and were not reported
    yet, and marks them as reported."""
    unreported = FoundSecret.kind == OWN_SETTING, FoundSecret.told.is_(False)
    query = select(FoundSecret.run_id).where(*unreported).order_by(FoundSecret.id)
    runs = list(dict.fromkeys(session.scalars(query)))
    if not runs:
        return None
    session.execute(update(FoundSecret).where(*unreported).values(told=True))
    named = ", ".join(runs[:MOST_NAMED]) + (", …" if len(runs) > MOST_NAMED else "")
    several = len(runs) > 1
    return (
        f"{len(runs):,} stored {'runs' if several else 'run'} held an access token or a database "
        f"address of Inductorscope ({named}; the page What was read names the files). "
        "They were removed, but anybody who could read "
        f"{'these runs' if several else 'this run'} may know them: if they are still in use, "
        "change INDUCTORSCOPE_TOKEN and the database's password."
    )
