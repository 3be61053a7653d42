"""What a server says when it starts about secrets that were found in runs: once of each run."""

from __future__ import annotations

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from inductorscope.formats.secrets import OWN_SETTING
from inductorscope.store.tables.secrets import FoundSecret

MOST_NAMED = 5


def tell_found(session: Session) -> str | None:
    """A few sentences on runs that held what protects an installation, of which nobody was told
    yet; from now on they are taken to be told."""
    untold = FoundSecret.kind == OWN_SETTING, FoundSecret.told.is_(False)
    query = select(FoundSecret.run_id).where(*untold).order_by(FoundSecret.id)
    runs = list(dict.fromkeys(session.scalars(query)))
    if not runs:
        return None
    session.execute(update(FoundSecret).where(*untold).values(told=True))
    named = ", ".join(runs[:MOST_NAMED]) + (", …" if len(runs) > MOST_NAMED else "")
    several = len(runs) > 1
    return (
        f"{len(runs):,} stored {'runs' if several else 'run'} held an access token or a database "
        f"address of Inductorscope ({named}; the page What was read names the files). "
        "They were removed, but whoever could read "
        f"{'these runs' if several else 'this run'} may know them: if they are still in use, "
        "change INDUCTORSCOPE_TOKEN and the database's password."
    )
