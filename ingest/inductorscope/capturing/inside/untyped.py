"""Aliases for values whose types belong to torch or the model."""

from collections.abc import Callable
from typing import Any, TypeAlias

Untyped: TypeAlias = Any
Call: TypeAlias = Callable[[], Untyped]
"""A call of the model with its arguments bound."""
