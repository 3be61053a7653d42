"""Where in the user's program compiles start: all stacks as one tree."""

from __future__ import annotations

import msgspec
from sqlalchemy.orm import Session

from inductorscope.analyze.compile.model import Compile
from inductorscope.answers.compile.parts import (
    CompileRef,
    CompilesPage,
    FrameRow,
    RunStory,
    read_run_story,
    ref_of,
)
from inductorscope.fields import view

MOST_NODES = 5000


class StackCompile(msgspec.Struct):
    """A compile, at the end of its stack."""

    ref: CompileRef
    outcome: str
    seconds: float | None
    breaks: int
    recompile: bool


class StackNode(msgspec.Struct):
    """A frame and the frames it calls; a chain of frames with one callee each is one node."""

    frames: list[FrameRow]
    seconds: float
    count: int
    """Compiles that start below this node."""
    failed: int
    compiles: list[StackCompile] = msgspec.field(default_factory=list)
    children: list[StackNode] = msgspec.field(default_factory=list)


class StacksPage(CompilesPage, frozen=True):
    """All stacks that led to compiles, as one tree."""

    roots: list[StackNode]
    without: list[StackCompile]
    """Compiles without a stack in the log."""
    cut: bool


class _Node(msgspec.Struct):
    frame: int
    compiles: list[Compile] = msgspec.field(default_factory=list)
    children: dict[int, _Node] = msgspec.field(default_factory=dict)


def stacks_page(session: Session, run_id: str) -> StacksPage:
    run_story = read_run_story(session, run_id)
    story = run_story.story_or_empty
    root = _Node(-1)
    # The last frame of a stack lacks its code, so code is ignored.
    known_frames: dict[tuple[str, int, str], int] = {}
    same = [
        known_frames.setdefault((frame.file, frame.line, frame.function), number)
        for number, frame in enumerate(story.frames)
    ]
    nodes, cut = 0, False
    for compile_ in story.compiles:
        node = root
        for number in compile_.stack:
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
            node.compiles.append(compile_)
    return view(
        StacksPage,
        run_story.page,
        roots=[_shown(run_story, node) for node in root.children.values()],
        without=[_compile(compile_) for compile_ in story.compiles if not compile_.stack],
        cut=cut,
    )


def _shown(run_story: RunStory, node: _Node) -> StackNode:
    """Builds the rows without recursion: stacks can be deeper than Python's recursion limit."""
    order: list[tuple[_Node, StackNode]] = []
    top = _begin(run_story, node, order)
    at = 0
    while at < len(order):
        last, shown = order[at]
        at += 1
        shown.children = [_begin(run_story, child, order) for child in last.children.values()]
    for last, shown in reversed(order):
        shown.compiles = [_compile(compile_) for compile_ in last.compiles]
        shown.count = len(last.compiles) + sum(child.count for child in shown.children)
        shown.failed = sum(compile_.outcome == "failed" for compile_ in last.compiles) + sum(
            child.failed for child in shown.children
        )
        shown.seconds = sum(compile_.took_s for compile_ in last.compiles) + sum(
            child.seconds for child in shown.children
        )
    return top


def _begin(run_story: RunStory, node: _Node, order: list[tuple[_Node, StackNode]]) -> StackNode:
    numbers = [node.frame]
    while len(node.children) == 1 and not node.compiles:
        node = next(iter(node.children.values()))
        numbers.append(node.frame)
    shown = StackNode(run_story.frames(numbers), 0.0, 0, 0)
    order.append((node, shown))
    return shown


def _compile(compile_: Compile) -> StackCompile:
    return view(StackCompile, compile_, ref=ref_of(compile_), seconds=compile_.known_s)
