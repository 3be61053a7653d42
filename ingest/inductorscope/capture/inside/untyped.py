"""A name for values whose type is torch's or the model's, not ours."""

from __future__ import annotations

from typing import Any, TypeAlias

Untyped: TypeAlias = Any
