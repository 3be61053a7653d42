"""What a run's logs say about changes that may help: calls that break graphs, sizes that differ."""

import re
from collections.abc import Iterator

from inductorscope.analyze.compile.breaks import break_places
from inductorscope.analyze.compile.model import Story
from inductorscope.analyze.compile.recompiles import histories
from inductorscope.formats.change import Mark

PRINTS = frozenset(("print", "warnings.warn"))
_CALLED = re.compile(
    r"\b(print|warnings\.warn)\(|\.(debug|info|warning|error|exception|critical)\("
)
LOGGER = "logging.Logger"
_SIZE = re.compile(r"([^\W\d]\w*)\.size\((\d{1,2})\)")
SIZES = ("size", "fixed size", "static", "size 1")


def functions_that_log(story: Story) -> tuple[str, ...]:
    """Returns the functions that only print or log and break a graph, by their full names."""
    found: dict[str, None] = {}
    for place in break_places(story):
        called = _CALLED.search(place.code or place.context)
        if called is None:
            continue
        if called[1]:
            found[called[1]] = None
        elif LOGGER in place.title:
            found[f"{LOGGER}.{called[2]}"] = None
    return tuple(found)


def sizes_that_differ(story: Story) -> tuple[Mark, ...]:
    """Returns sizes of arguments that made a function compile again."""
    return tuple(dict.fromkeys(_marks(story)))


def _marks(story: Story) -> Iterator[Mark]:
    for history in histories(story):
        if history.resumed_at is not None:
            continue
        for change in history.changes:
            size = _SIZE.fullmatch(change.subject)
            if size and change.kind in SIZES and history.function.isidentifier():
                yield Mark(history.function, size[1], int(size[2]))
