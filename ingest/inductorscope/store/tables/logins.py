"""The table of browsers that are logged in."""

from datetime import datetime

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from inductorscope.store.tables.models import Base


class Login(Base):
    """A browser that is logged in, until it logs out or the login expires."""

    __tablename__ = "logins"

    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    """Hash of the cookie's value, which is stored nowhere (see `store.logins`)."""
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime] = mapped_column(index=True)
    person_id: Mapped[int | None] = mapped_column(index=True)
    """Who logged in; None for who has the server's token."""
    agent: Mapped[str | None]
    """What the browser calls itself."""
