"""Nodes of a graph."""

from __future__ import annotations

from pydantic import Field

from inductorscope_server.shapes.base import Shape


class Nodes(Shape):
    """Nodes in the order of their lines, as parallel columns."""

    names: list[str] = Field(description="As entities name them, without `fx:`.")
    targets: list[str] = Field(description="What is called, as written.")
    types: list[str] = Field(description="`f32[4, 256][256, 1]cpu`; empty where none is written.")
    lines: list[int]
    inputs: list[list[int]] = Field(description="Places of the nodes that each one takes.")
