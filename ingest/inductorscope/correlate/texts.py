"""What is known of one graph before its lines are linked."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class GraphTexts:
    """The artifacts of one graph, as far as they exist."""

    fx_transformed: str | None = None
    fx_readable: str | None = None
    ir_pre: str | None = None
    ir_post: str | None = None
    output_code: str | None = None
    provenance: bytes | None = None
    line_record: dict[str, object] | None = None
    """What the capture recorded while the code was generated: exact, and preferred."""
    sources: dict[str, str] = field(default_factory=dict)
