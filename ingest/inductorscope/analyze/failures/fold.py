"""Folds tracebacks to the frames that matter: the user's, and torch's last."""

import re
from collections.abc import Collection
from itertools import groupby
from operator import itemgetter

import msgspec

from inductorscope.formats.errors.tracebacks import Raised
from inductorscope.formats.log.record import Frame

LAST_OF_LIBRARY = 3
"""Number of frames at the end that are always kept: the exception was raised there."""

_LIBRARY = re.compile(
    r"(?:^|[/\\])(?:site-packages|dist-packages|lib[/\\]python3(?:\.\d+)?)[/\\]|^<|"
    r"[/\\]torch(?:dynamo|inductor)?[/\\](?:_|fx|nn|utils|torch)|torchinductor_\w{1,200}[/\\]|"
    r"[/\\]inductorscope[/\\](?!captur(?:e|ing)[/\\]models[/\\])|[/\\]cache[/\\]\w\w[/\\]c\w{20,}\.py$"
)


class Fold(msgspec.Struct, frozen=True):
    """Adjacent frames that are shown or folded together."""

    shown: bool
    frames: list[Frame]


class Folded(msgspec.Struct, frozen=True):
    """One exception of the chain."""

    kind: str
    message: str
    relation: str
    folds: list[Fold] = msgspec.field(default_factory=list)
    left_out: int = 0


def is_library(path: str) -> bool:
    """Whether a file belongs to an installed package, the standard library or torch's caches."""
    return _LIBRARY.search(path) is not None


def is_users(frame: Frame, sources: Collection[str] = ()) -> bool:
    """Whether a frame is in the user's program; files in `sources` certainly are."""
    return frame.file in sources or not is_library(frame.file)


def fold(raised: Raised, sources: Collection[str] = ()) -> Folded:
    frames = raised.frames
    last = len(frames) - LAST_OF_LIBRARY
    shown = (number >= last or is_users(frame, sources) for number, frame in enumerate(frames))
    groups = groupby(zip(shown, frames, strict=True), key=itemgetter(0))
    folds = [Fold(is_shown, [frame for _, frame in group]) for is_shown, group in groups]
    return Folded(raised.kind, raised.message, raised.relation, folds, raised.left_out)


def users_frame(chain: list[Raised], sources: Collection[str] = ()) -> Frame | None:
    """The innermost frame in the user's program; frames quoted in a message come first, and a
    library's last."""
    quoted = [frame for raised in chain for frame in raised.user]
    raised = [frame for raised in chain for frame in raised.frames]
    for frame in (*reversed(quoted), *reversed(raised)):
        if is_users(frame, sources):
            return frame
    return quoted[-1] if quoted else None
