"""Tracebacks folded to the frames that matter: the user's, and the last of torch."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field

from inductorscope.formats.errors.tracebacks import Raised
from inductorscope.formats.log.record import Frame

LAST_OF_LIBRARY = 3
"""So many frames at the end stay, whoever they belong to: there it was raised."""

_LIBRARY = re.compile(
    r"(?:^|[/\\])(?:site-packages|dist-packages|lib[/\\]python3(?:\.\d+)?)[/\\]|^<|"
    r"[/\\]torch(?:dynamo|inductor)?[/\\](?:_|fx|nn|utils|torch)|torchinductor_\w+[/\\]|"
    r"[/\\]inductorscope[/\\](?!capture[/\\]models[/\\])|[/\\]cache[/\\]\w\w[/\\]c\w{20,}\.py$"
)


@dataclass(frozen=True, slots=True)
class Fold:
    """Frames next to each other that are shown or folded together."""

    shown: bool
    frames: list[Frame]


@dataclass(frozen=True, slots=True)
class Folded:
    """One exception of the chain."""

    kind: str
    message: str
    relation: str
    folds: list[Fold] = field(default_factory=list)
    left_out: int = 0


def is_users(frame: Frame, sources: Collection[str] = ()) -> bool:
    """Whether a frame is of the user's program; `sources` are files that certainly are."""
    return frame.file in sources or _LIBRARY.search(frame.file) is None


def fold(raised: Raised, sources: Collection[str] = ()) -> Folded:
    frames = raised.frames
    last = len(frames) - LAST_OF_LIBRARY
    folds: list[Fold] = []
    for number, frame in enumerate(frames):
        shown = number >= last or is_users(frame, sources)
        if folds and folds[-1].shown == shown:
            folds[-1].frames.append(frame)
        else:
            folds.append(Fold(shown, [frame]))
    return Folded(raised.kind, raised.message, raised.relation, folds, raised.left_out)


def users_frame(chain: list[Raised], sources: Collection[str] = ()) -> Frame | None:
    """The innermost frame of the user's program: what a message quotes says more than the stack."""
    for raised in reversed(chain):
        if raised.user:
            return raised.user[-1]
    for raised in reversed(chain):
        for frame in reversed(raised.frames):
            if is_users(frame, sources):
                return frame
    return None
