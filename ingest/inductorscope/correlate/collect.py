"""Gathering references: entities interned once, columns sorted by line, the surest kept."""

from __future__ import annotations

from inductorscope.correlate.model import Confidence, GraphLinks, StageLinks


class Collector:
    """Builds `GraphLinks`; the order in which references arrive does not matter."""

    def __init__(self) -> None:
        self.links = GraphLinks()
        self._ids: dict[str, int] = {}
        self._references: dict[str, dict[tuple[int, int, int], int]] = {}

    def entity(self, name: str) -> int:
        number = self._ids.get(name)
        if number is None:
            number = self._ids[name] = len(self.links.entities)
            self.links.entities.append(name)
        return number

    def stage(self, stage: str) -> None:
        """Make sure the stage is there, even if nothing in it is linked."""
        self._references.setdefault(stage, {})

    def add(
        self, stage: str, line: int, entity: str, confidence: Confidence, call: str | None = None
    ) -> None:
        key = (line, self.entity(entity), -1 if call is None else self.entity(call))
        references = self._references.setdefault(stage, {})
        references[key] = max(references.get(key, 0), int(confidence))

    def finish(self) -> GraphLinks:
        for stage, references in self._references.items():
            columns = StageLinks(stage)
            for line, entity, call in sorted(references):
                columns.lines.append(line)
                columns.entities.append(entity)
                columns.confidence.append(references[line, entity, call])
                columns.call.append(call)
            self.links.stages[stage] = columns
        return self.links
