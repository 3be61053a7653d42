"""Completes a story once all logs are read and records can refer to each other."""

from __future__ import annotations

from inductorscope.analyze.compile.model import Compile, Story
from inductorscope.analyze.compile.resumptions import place_breaks

_LIMIT = "Dynamo recompile limit exceeded"
"""From here on it runs the function uncompiled; with fullgraph it raises another exception."""


def settle(story: Story) -> None:
    _leave_out_breaks(story)
    for compile_ in story.compiles:
        _outcome(compile_)
        _place(story, compile_)
    place_breaks(story)
    _new_values(story)
    for number, facts in enumerate(story.logs):
        seconds = [
            value
            for compile_ in story.compiles
            if compile_.log == number
            for value in (compile_.seconds, compile_.backward_seconds)
            if value is not None
        ]
        facts.seconds = sum(seconds) if seconds else None


def _leave_out_breaks(story: Story) -> None:
    """Leaves out failures that are graph breaks: Dynamo ends the compile of a frame that it runs
    uncompiled with an exception, as it does a failed one."""
    broken = {each.compile for each in story.breaks}
    kept = []
    for failure in story.failures:
        if failure.kind.rpartition(".")[2] == "Unsupported" and (
            failure.compile in broken or failure.message.startswith(_LIMIT)
        ):
            story.compiles[failure.compile].outcome = "no code"
        else:
            kept.append(failure)
    story.failures = kept


def _outcome(compile_: Compile) -> None:
    if compile_.outcome in {"failed", "exported"}:
        return
    if compile_.codes or compile_.hits:
        compile_.outcome = "compiled"


def _place(story: Story, compile_: Compile) -> None:
    """Takes the function from the stack's last frame if the metrics lack it."""
    if compile_.function is None and compile_.stack:
        frame = story.frames[compile_.stack[-1]]
        compile_.function = frame.function
        compile_.file = compile_.file or frame.file
        compile_.first_line = compile_.first_line or frame.line


def _new_values(story: Story) -> None:
    """Adds old and new values: a guard on a value has the old one, a dynamic size the new one."""
    for recompile in story.recompiles:
        became = {item.subject: item.new for item in story.became.get(recompile.compile, ())}
        for failure in recompile.failures:
            if failure.new is None:
                failure.new = became.get(failure.subject)
