"""What workers and supervisor print: their own lines, and warnings of others."""

from __future__ import annotations

import logging


def speak() -> None:
    """Lines go to stderr; libraries have their say from warnings up."""
    logging.basicConfig(format="%(asctime)s %(name)s: %(message)s")
    logging.getLogger("inductorscope").setLevel(logging.INFO)
