"""Maps each line of a compiled text to the line of the source that it comes from."""

from collections.abc import Callable, Iterable

import msgspec

MOST_FRAMES = 24
"""Most frames of one place, from functions inlined into functions."""

Frames = tuple[tuple[str, int], ...]
"""File and line of each frame, the innermost function first."""


class Located(msgspec.Struct):
    """A text whose lines are mapped to places."""

    lines: list[str] = msgspec.field(default_factory=list)
    at: list[int] = msgspec.field(default_factory=list)
    """For each line, an index into `places`, or -1."""
    places: list[Frames] = msgspec.field(default_factory=list)
    counted: list[bool] = msgspec.field(default_factory=list)
    """Whether each line is an instruction, so that it should have a place."""

    def instructions(self) -> tuple[int, int]:
        """Returns the number of instructions, and how many of them have a place."""
        placed = sum(at >= 0 for at, counted in zip(self.at, self.counted, strict=True) if counted)
        return sum(self.counted), placed


class Places:
    """The distinct places of a text."""

    def __init__(self) -> None:
        self.all: list[Frames] = []
        self._numbers: dict[Frames, int] = {}

    def number(self, frames: Frames) -> int:
        """Returns the number of a place; -1 for an unknown one."""
        if not frames:
            return -1
        number = self._numbers.setdefault(frames, len(self.all))
        if number == len(self.all):
            self.all.append(frames)
        return number


class Resolver:
    """Resolves places that are defined in terms of each other, as in `loc(callsite(#loc1 at
    #loc2))`.

    If a place is defined by itself or nests too deeply, the rest of it is unknown.
    """

    def __init__(self, parts: Callable[[str], Iterable[Frames | str]]) -> None:
        self._parts = parts
        """The frames and names that a name stands for, one after the other."""
        self._known: dict[str, Frames] = {}

    def frames(self, name: str, depth: int = 0) -> Frames:
        known = self._known.get(name)
        if known is not None or depth > MOST_FRAMES:
            return known or ()
        self._known[name] = ()
        found: list[tuple[str, int]] = []
        for part in self._parts(name):
            found += self.frames(part, depth + 1) if isinstance(part, str) else part
        self._known[name] = tuple(found[:MOST_FRAMES])
        return self._known[name]


def kernel_lines(frames: Frames, source: str) -> list[int]:
    """Returns the lines of the kernel's own file in a place, the outermost first. `source`: the
    stem of that file, which is the hash of its content."""
    return [line for file, line in reversed(frames) if is_own(file, source)]


def is_own(file: str, source: str) -> bool:
    """Whether a path is that of the kernel's own file."""
    return bool(source) and f"/{source}." in file


def completed(located: Located, callers: dict[tuple[str, int], set[Frames]]) -> None:
    """Adds the frames around inlined functions, for a text that has only the innermost lines.

    A function that is inlined in several places stands for all of them: its frames follow one
    another.
    """
    located.places = [
        frames
        if len(frames) != 1 or frames[0] not in callers
        else (frames[0], *sorted({frame for more in callers[frames[0]] for frame in more[1:]}))
        for frames in located.places
    ]


def callers_of(places: Iterable[Frames]) -> dict[tuple[str, int], set[Frames]]:
    """Returns innermost frame → the places that begin with it."""
    callers: dict[tuple[str, int], set[Frames]] = {}
    for frames in places:
        callers.setdefault(frames[0], set()).add(frames)
    return callers
