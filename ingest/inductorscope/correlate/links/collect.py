"""Collects references: interns entities, sorts by line, keeps the highest certainty."""

from collections.abc import Iterable

from inductorscope.correlate.links.model import Confidence, GraphLinks, StageLinks

# A reference as one number that sorts by its parts: line, entity, call site + 1. Graphs have
# hundreds of thousands of references; numbers are faster to store and sort than tuples.
_BITS = 24
_LINE = 1 << 2 * _BITS
_MASK = (1 << _BITS) - 1


class Collector:
    """Builds `GraphLinks`; the order in which references arrive does not matter."""

    def __init__(self) -> None:
        self.links = GraphLinks()
        self._ids: dict[str, int] = {}
        self._references: dict[str, dict[int, Confidence]] = {}

    def entity(self, name: str) -> int:
        number = self._ids.get(name)
        if number is None:
            number = self._ids[name] = len(self.links.entities)
            if number >= _MASK:
                raise OverflowError(f"A graph refers to more than {_MASK:,} entities.")
            self.links.entities.append(name)
        return number

    def stage(self, stage: str) -> dict[int, Confidence]:
        """The references of a stage; adds the stage, even if nothing in it is linked."""
        references = self._references.get(stage)
        if references is None:
            references = self._references[stage] = {}
        return references

    def add(
        self, stage: str, line: int, entity: str, confidence: Confidence, call: str | None = None
    ) -> None:
        references = self._references.get(stage)
        if references is None:
            references = self.stage(stage)
        number = self._ids.get(entity)
        if number is None:
            number = self.entity(entity)
        key = line * _LINE + (number << _BITS)
        if call is not None:
            key += self.entity(call) + 1
        if references.get(key, 0) < confidence:
            references[key] = confidence

    def add_lines(self, stage: str, references: Iterable[tuple[int, str]]) -> None:
        """Each line refers to its entity, as the text states."""
        known = self.stage(stage)
        ids = self._ids
        exact = Confidence.exact  # the highest certainty: no comparison needed
        for line, entity in references:
            number = ids.get(entity)
            if number is None:
                number = self.entity(entity)
            known[line * _LINE + (number << _BITS)] = exact

    def add_exact(self, stage: str, first: int, last: int, entity: str) -> None:
        """Each of the lines refers to the entity, as the text states."""
        keys = range(first * _LINE, (last + 1) * _LINE, _LINE)
        number = self.entity(entity) << _BITS
        exact = Confidence.exact  # the highest certainty: no comparison needed
        self.stage(stage).update({key + number: exact for key in keys})

    def finish(self) -> GraphLinks:
        for stage in list(self._references):
            references = self._references.pop(stage)  # of all stages, they take much memory
            keys = sorted(references)
            self.links.stages[stage] = StageLinks(
                lines=[key >> 2 * _BITS for key in keys],
                entities=[key >> _BITS & _MASK for key in keys],
                confidence=[int(references[key]) for key in keys],
                call=[(key & _MASK) - 1 for key in keys],
            )
        return self.links
