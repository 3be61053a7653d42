"""Logins of browsers: a browser keeps a random value, the database keeps its hash.

The hash is keyed with the server's token. So a copy of the database opens nothing, and a new token
ends all logins.
"""

import hmac
import re
import secrets
from datetime import datetime, timedelta

from sqlalchemy import CursorResult, delete
from sqlalchemy.orm import Session

from inductorscope.store.tables.people import Login

LIFETIME = timedelta(days=30)
"""Time after which a browser must log in again."""
RANDOM_BYTES = 32
LONGEST_AGENT = 300
VALUE = re.compile(r"[A-Za-z0-9_-]{43}")
"""Matches a value of `RANDOM_BYTES` bytes."""


def begin_login(
    session: Session, token: str, now: datetime, person: int | None = None, agent: str = ""
) -> str:
    """Stores a login and returns the value for the browser's cookie."""
    value = secrets.token_urlsafe(RANDOM_BYTES)
    session.add(
        Login(
            digest=_digest(value, token),
            created_at=now,
            expires_at=now + LIFETIME,
            person_id=person,
            agent=agent[:LONGEST_AGENT] or None,
        )
    )
    return value


def login_with(session: Session, value: str, token: str, now: datetime) -> Login | None:
    """Returns the login with this value, unless it has ended or expired."""
    if not VALUE.fullmatch(value):
        return None
    login = session.get(Login, _digest(value, token))
    return login if login is not None and now < login.expires_at else None


def end_login(session: Session, value: str, token: str) -> None:
    """Ends the login with this value, if there is one."""
    session.execute(delete(Login).where(Login.digest == _digest(value, token)))


def delete_expired_logins(session: Session, now: datetime) -> int:
    """Returns the number of deleted logins."""
    deleted = session.execute(delete(Login).where(Login.expires_at <= now))
    assert isinstance(deleted, CursorResult)
    return deleted.rowcount


def login_id(value: str, token: str) -> str:
    """Returns the id of a login for addresses, which cannot be used to log in."""
    return _digest(value, token)[:16]


def _digest(value: str, token: str) -> str:
    return hmac.new(token.encode(), value.encode(errors="replace"), "sha256").hexdigest()
