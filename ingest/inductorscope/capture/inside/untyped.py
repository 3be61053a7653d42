"""Names for values whose type is torch's or the model's, not ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

Untyped: TypeAlias = Any
Call: TypeAlias = Callable[[], Untyped]
"""One call of the model, arguments and all."""
