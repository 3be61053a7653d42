"""Where in the user's program compiles start: all stacks as one tree."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlalchemy.orm import Session

from inductorscope.analyze.compile.model import Compile, Story
from inductorscope.answers.compile.parts import CompileRef, FrameRow, RunStory, ref_of, run_story
from inductorscope.answers.parts import RunName

MOST_NODES = 5000


@dataclass(slots=True)
class StackCompile:
    """A compile, at the end of its stack."""

    ref: CompileRef
    outcome: str
    seconds: float | None
    breaks: int
    recompile: bool


@dataclass(slots=True)
class StackNode:
    """A frame, and what it calls; frames with one callee only stand together."""

    frames: list[FrameRow]
    seconds: float
    count: int
    """Compiles that start below."""
    failed: int
    compiles: list[StackCompile] = field(default_factory=list)
    children: list[StackNode] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class StacksPage:
    run: RunName
    known: bool
    roots: list[StackNode]
    without: list[StackCompile]
    """Compiles whose stack the log does not tell."""
    cut: bool


@dataclass(slots=True)
class _Node:
    frame: int
    compiles: list[Compile] = field(default_factory=list)
    children: dict[int, _Node] = field(default_factory=dict)


def stacks_page(session: Session, run_id: str) -> StacksPage:
    found = run_story(session, run_id)
    story = found.story or Story()
    root = _Node(-1)
    same = _same_frames(story)
    nodes, cut = 0, False
    for one in story.compiles:
        node = root
        for number in one.stack:
            key = same[number]
            known = node.children.get(key)
            if known is None:
                if nodes >= MOST_NODES:
                    cut = True
                    break
                known = node.children[key] = _Node(number)
                nodes += 1
            node = known
        if node is not root:
            node.compiles.append(one)
    return StacksPage(
        run=found.name,
        known=found.story is not None,
        roots=[_shown(found, node) for node in root.children.values()],
        without=[_compile(one) for one in story.compiles if not one.stack],
        cut=cut,
    )


def _same_frames(story: Story) -> list[int]:
    """The last frame of a stack says no code; it is the same place all the same."""
    known: dict[tuple[str, int, str], int] = {}
    return [
        known.setdefault((frame.file, frame.line, frame.function), number)
        for number, frame in enumerate(story.frames)
    ]


def _shown(found: RunStory, node: _Node) -> StackNode:
    """Without recursion: stacks are as deep as programs are."""
    order: list[tuple[_Node, StackNode]] = []
    top = _begin(found, node, order)
    at = 0
    while at < len(order):
        last, shown = order[at]
        at += 1
        shown.children = [_begin(found, child, order) for child in last.children.values()]
    for last, shown in reversed(order):
        shown.compiles = [_compile(one) for one in last.compiles]
        shown.count = len(last.compiles) + sum(child.count for child in shown.children)
        shown.failed = sum(one.outcome == "failed" for one in last.compiles) + sum(
            child.failed for child in shown.children
        )
        shown.seconds = sum(_seconds(one) or 0.0 for one in last.compiles) + sum(
            child.seconds for child in shown.children
        )
    return top


def _begin(found: RunStory, node: _Node, order: list[tuple[_Node, StackNode]]) -> StackNode:
    numbers = [node.frame]
    while len(node.children) == 1 and not node.compiles:
        node = next(iter(node.children.values()))
        numbers.append(node.frame)
    shown = StackNode(found.frames(numbers), 0.0, 0, 0)
    order.append((node, shown))
    return shown


def _compile(one: Compile) -> StackCompile:
    return StackCompile(ref_of(one), one.outcome, _seconds(one), one.breaks, one.recompile)


def _seconds(one: Compile) -> float | None:
    known = [value for value in (one.seconds, one.backward_seconds) if value is not None]
    return sum(known) if known else None
