"""What Inductor notes of each kernel's call: the user's stack frames, and FX nodes.

AOTInductor packs `kernel_information.json`:
    {"triton_poi_fused_mul_1:2": {"stack_traces": ["  File …"], "post_grad_nodes": ["mul"],
                                  "pre_grad_nodes": ["mul"]}}
Logs hold `inductor_provenance_tracking_kernel_stack_traces`:
    {"triton_poi_fused_mul_1:2": ["  File \\"/home/user/model.py\\", line 82, in forward\\n    …"]}
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from inductorscope.formats.graph.provenance import split_handle
from inductorscope.formats.text import Problem

_FRAME = re.compile(r'\s*File "([^"\n]*)", line (\d{1,9})(?:, in ([^\n]*))?')
_MARKS = frozenset("~^ \t")


@dataclass(frozen=True, slots=True)
class StackFrame:
    """One frame of the user's, as Python prints it."""

    file: str
    line: int
    function: str = ""
    code: str = ""


@dataclass(slots=True)
class KernelInformation:
    """One kernel's call; of older versions, which knew no handles, all calls of a kernel."""

    kernel: str
    handle: int | None
    stacks: list[list[StackFrame]] = field(default_factory=list)
    """A stack for each line of the user's that it computes; frames outermost first."""
    post_grad_nodes: list[str] = field(default_factory=list)
    pre_grad_nodes: list[str] = field(default_factory=list)

    def frames(self) -> list[StackFrame]:
        """All frames, each once."""
        return list(dict.fromkeys(frame for stack in self.stacks for frame in stack))


@dataclass(slots=True)
class KernelInformations:
    kernels: list[KernelInformation] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def parse_kernel_information(data: bytes) -> KernelInformations:
    """Either of the two files above; what they hold is told from their values."""
    result = KernelInformations()
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        result.problems.append(Problem(None, f"not JSON: {error}"))
        return result
    if not isinstance(content, dict):
        result.problems.append(Problem(None, "not a JSON object"))
        return result
    for key, value in content.items():
        kernel, handle = split_handle(key)
        made = KernelInformation(kernel, handle)
        if isinstance(value, dict):
            made.post_grad_nodes = _names(value.get("post_grad_nodes"))
            made.pre_grad_nodes = _names(value.get("pre_grad_nodes"))
            value = value.get("stack_traces", [])
        elif key == "version":
            continue
        if not isinstance(value, list):
            result.problems.append(Problem(None, f"{key[:80]}: stack traces are no list"))
            continue
        for text in value:
            stack = parse_stack(text) if isinstance(text, str) else []
            if stack:
                made.stacks.append(stack)
            elif text:
                result.problems.append(Problem(None, f"{key[:80]}: a stack trace of no frames"))
        result.kernels.append(made)
    return result


def _names(value: object) -> list[str]:
    return [str(name) for name in value] if isinstance(value, list) else []


def parse_stack(text: str) -> list[StackFrame]:
    """Frames of one trace as Python prints it. Older logs escaped its line ends twice."""
    if "\n" not in text and "\\n" in text:
        text = text.replace("\\n", "\n").replace('\\"', '"')
    frames: list[StackFrame] = []
    for line in text.split("\n"):
        found = _FRAME.match(line)
        if found is not None:
            file, number, function = found.groups()
            frames.append(StackFrame(file, int(number), (function or "").strip()))
        elif frames and line.strip() and not frames[-1].code and not _MARKS.issuperset(line):
            last = frames[-1]
            frames[-1] = StackFrame(last.file, last.line, last.function, line.strip())
    return frames
