"""Makes lines of code buffers remember their origin.

A buffer stores its lines as strings; a line with an origin is an equal string that carries it. When
a buffer's text is taken, the origins of its lines are stored under that text.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import wraps
from typing import SupportsIndex

from torch._inductor.utils import DeferredLineBase, IndentedBuffer, LineContext

from inductorscope.capturing.inside.untyped import Untyped
from inductorscope.capturing.record.origins import Origin, Recorder, after
from inductorscope.capturing.record.owners import all_subclasses

_ATTRIBUTE = "_inductorscope_origin"
_TEXTS_KEPT = 512

Origins = list[Origin | None]


class OriginLine(str):
    """A line with its origin, which survives the ways in which Inductor copies lines."""

    origin: Origin | None

    def __new__(cls, text: str, origin: Origin | None = None) -> OriginLine:
        line = super().__new__(cls, text)
        line.origin = origin
        return line

    def __getitem__(self, key: SupportsIndex | slice) -> OriginLine:
        return OriginLine(super().__getitem__(key), self.origin)

    def replace(self, *args: Untyped) -> OriginLine:
        return OriginLine(super().replace(*args), self.origin)


class Texts:
    """Origins of the lines of texts recently taken from buffers."""

    def __init__(self) -> None:
        self._by_text: OrderedDict[str, Origins] = OrderedDict()
        self.since_last_kernel: list[tuple[str, Origins]] = []

    def keep(self, text: str, origins: Origins) -> None:
        self._by_text[text] = origins
        self._by_text.move_to_end(text)
        while len(self._by_text) > _TEXTS_KEPT:
            self._by_text.popitem(last=False)
        self.since_last_kernel.append((text, origins))
        del self.since_last_kernel[:-_TEXTS_KEPT]

    def of(self, text: str) -> Origins | None:
        return self._by_text.get(text)


def follow_lines(recorder: Recorder, texts: Texts) -> None:
    """Installs the hooks."""
    _mark_written(recorder)
    _mark_spliced_text(recorder, texts)
    _keep_taken(recorder, texts, "getvaluewithlinemap", lambda result: result.value, raw=False)
    _keep_taken(recorder, texts, "getrawvalue", lambda result: result, raw=True)
    for kind in all_subclasses(DeferredLineBase)[1:]:
        if "_new_line" in vars(kind):
            after(recorder, kind, "_new_line", _mark_copied)


def origin_of(line: Untyped) -> Origin | None:
    """Returns the origin that a buffer's line carries."""
    if isinstance(line, OriginLine):
        return line.origin
    origin: Origin | None = getattr(line, _ATTRIBUTE, None)
    return origin


def _mark_written(recorder: Recorder) -> None:
    def mark(_: None, buffer: Untyped, line: Untyped) -> None:
        origin = origin_of(line) or recorder.current()
        if origin is not None:
            mark_at(buffer._lines, len(buffer._lines) - 1, origin)

    after(recorder, IndentedBuffer, "writeline", mark)


def mark_at(lines: list[Untyped], place: int, origin: Origin) -> None:
    """Gives a buffer's line its origin."""
    line = lines[place]
    if isinstance(line, str):
        if line:
            lines[place] = OriginLine(line, origin)
    elif not isinstance(line, LineContext):
        setattr(line, _ATTRIBUTE, origin)


def _mark_spliced_text(recorder: Recorder, texts: Texts) -> None:
    """Keeps the origins of lines in text that is taken from one buffer and spliced into another."""
    original = IndentedBuffer.splice

    @wraps(original)
    def splice(self: Untyped, other_code: Untyped, strip: bool = False) -> None:
        first = len(self._lines)
        original(self, other_code, strip=strip)

        def mark() -> None:
            origins = texts.of(other_code) if isinstance(other_code, str) else None
            if origins is None:
                return
            text = other_code.split("\n")
            dropped = 0
            while strip and dropped < len(text) and not text[dropped].strip():
                dropped += 1
            for place in range(first, len(self._lines)):
                index = dropped + place - first
                origin = origins[index] if index < len(origins) else None
                if origin is not None and origin_of(self._lines[place]) is None:
                    mark_at(self._lines, place, origin)

        recorder.guarded(mark)

    IndentedBuffer.splice = splice


def _keep_taken(recorder: Recorder, texts: Texts, method: str, text_of: Untyped, raw: bool) -> None:
    def keep(result: Untyped, buffer: Untyped) -> None:
        if any(origin_of(line) is not None for line in buffer._lines):
            texts.keep(text_of(result), _origins_by_line(buffer._lines, raw))

    after(recorder, IndentedBuffer, method, keep)


def _origins_by_line(lines: list[Untyped], raw: bool) -> Origins:
    """Returns one origin for each line of a buffer's text."""
    origins: Origins = []
    continued = False
    for line in lines:
        if isinstance(line, LineContext):
            continue
        text = line() if isinstance(line, DeferredLineBase) else line
        if text is None:  # a deferred line that is no longer needed
            continue
        origin = origin_of(line)
        if continued:
            origins[-1] = origins[-1] or origin
        else:
            origins.append(origin)
        origins += [origin] * text.count("\n")
        continued = raw and text.endswith("\\")
    return origins


def _mark_copied(copy: Untyped, original: Untyped, _: str) -> None:
    origin = origin_of(original)
    if origin is not None:
        setattr(copy, _ATTRIBUTE, origin)
