"""Prepares the phases of compiling for drawing."""

from collections.abc import Sequence

import msgspec

from inductorscope.analyze.compile.model import Story
from inductorscope.analyze.compile.phases import Chunk, work_of
from inductorscope.fields import Hidden
from inductorscope.formats.vocabulary import CPP, TRITON

LONGEST_GAP = 0.02
"""Longest pause that is drawn to scale, as a share of the busy time."""


class SpanRow(msgspec.Struct, frozen=True):
    """A phase in the drawing."""

    name: str
    kind: str
    start_us: float
    """Since the start of the first phase."""
    duration_us: float
    self_us: float
    x_us: Hidden[float]
    """Its position in the drawing, with long pauses cut short."""
    lane: Hidden[int]
    """Its log; each log has its own row."""
    depth: Hidden[int]
    compile: int
    id: str
    label: str


def span_rows(story: Story, spans: Chunk) -> list[SpanRow]:
    """Rows of the drawing, with times since the first phase of each log."""
    # What a compile waits for while its workers compile kernels.
    waiting = CPP if any(row.name == "compile_file" for row in story.phases) else TRITON
    ids = [compile_.id or "no id" for compile_ in story.compiles]
    lanes: dict[int, Chunk] = {}
    for span in spans:
        owned = 0 <= span.owner < len(story.compiles)
        lanes.setdefault(story.compiles[span.owner].log if owned else 0, []).append(span)
    rows = []
    for number, lane in enumerate(lanes[key] for key in sorted(lanes)):
        begin = min(span.start_us for span in lane)
        places = squeezed([(span.start_us - begin, span.duration_us) for span in lane])
        rows += [
            SpanRow(
                name=span.name, kind=work_of(span.name, waiting), start_us=span.start_us - begin,
                duration_us=span.duration_us, self_us=span.self_us, x_us=x, lane=number,
                depth=span.depth, compile=span.owner,
                id=ids[span.owner] if 0 <= span.owner < len(ids) else "", label=span.label,
            )
            for span, x in zip(lane, places, strict=True)
        ]  # fmt: skip
    return rows


def squeezed(spans: Sequence[tuple[float, float]]) -> list[float]:
    """Returns where to draw spans (start, duration) so that long pauses are cut short.

    Between two compiles the program runs, perhaps for hours.
    """
    busy = end = 0.0
    order = sorted(range(len(spans)), key=lambda number: spans[number][0])
    for number in order:
        start, duration = spans[number]
        busy += max(0.0, start + duration - max(end, start))
        end = max(end, start + duration)
    most = busy * LONGEST_GAP
    places = [0.0] * len(spans)
    end = cut = 0.0
    for number in order:
        start, duration = spans[number]
        cut += max(0.0, start - end - most)
        places[number] = start - cut
        end = max(end, start + duration)
    return places
