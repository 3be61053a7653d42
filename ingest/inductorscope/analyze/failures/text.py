"""Explains a failure's text: which component failed, in words, with the parsed evidence.

Pure: captured runs and uploaded logs are treated alike; nothing is executed.
"""

import re
from collections.abc import Collection
from typing import Literal

import msgspec

from inductorscope.analyze.failures.environment import Fix, fix_for
from inductorscope.analyze.failures.fold import Folded, fold, users_frame
from inductorscope.fields import Prose
from inductorscope.formats.errors.compilers import CompilerOutput, read_compiler_output
from inductorscope.formats.errors.lowering import LoweringError, read_lowering_error
from inductorscope.formats.errors.tracebacks import Raised, quoted_frames, read_traceback
from inductorscope.formats.errors.triton import TritonError, read_triton_error
from inductorscope.formats.log.record import Frame

COMPONENTS = {
    "environment": "The machine",
    "cpp": "Inductor, C++ code",
    "triton": "Inductor, Triton code",
    "lowering": "Inductor, lowering",
    "inductor": "Inductor",
    "aot": "AOTAutograd",
    "dynamo": "Dynamo",
    "export": "Export",
    "backend": "Another backend",
    "memory": "Memory",
    "program": "The program itself",
    "unknown": "Unknown",
}

Fault = Literal["machine", "program", "torch", "unsupported", "unknown"]
"""Whose fault a failure is; `unsupported`: torch says that it cannot compile the program."""

_BACKEND = re.compile(r"backend='([^'\n]{1,200})' raised:\s*(?:([\w.]{1,200})(?::\s*(.*))?)?")
_WRAPPED = re.compile(
    r"^([A-Za-z_][\w.]*(?:Error|Exception|Unsupported|Failed|Interrupt|Missing)\b)"
)
_MEMORY = re.compile(r"CUDA out of memory|OutOfMemoryError|DefaultCPUAllocator: can't allocate"
                     r"|\bMemoryError\b|std::bad_alloc")  # fmt: skip
_LOWERED = re.compile(r"lowerings\[target\]\(")
LONGEST_MESSAGE = 20_000


class FailureFacts(msgspec.Struct):
    """What the text of a failure says."""

    component: str
    """A key of `COMPONENTS`."""
    title: str
    sentences: list[Prose]
    kinds: list[str]
    """Types of exceptions, outermost first."""
    message: str
    fix: Fix | None = None
    fault: Fault = "unknown"
    lowering: LoweringError | None = None
    triton: TritonError | None = None
    chain: list[Folded] = msgspec.field(default_factory=list)
    """In order of occurrence."""
    user: Frame | None = None
    """The frame of the user's program."""


class Explained(FailureFacts):
    """One failure, with its parsed parts."""

    compiler: CompilerOutput | None = None


def explain(
    message: str, trace: str = "", kind: str = "", sources: Collection[str] = ()
) -> Explained:
    """Explains a failure; `kind` is the outermost exception's type; `sources` are files of the
    user's program."""
    chain = read_traceback(trace) or read_traceback(message)
    text = message if not trace or message in trace else f"{message}\n{trace}"
    text = trace if trace and message in trace else text
    if chain:
        kind = kind or chain[-1].kind
        message = message if message and not message.startswith("Traceback") else chain[-1].message
    explained = Explained(
        "unknown", "", [], _kinds(kind, message), message[:LONGEST_MESSAGE],
        chain=[fold(error, sources) for error in chain],
        user=users_frame(chain or [Raised(message=message)], sources),
    )  # fmt: skip
    if explained.user is None:
        explained.user = users_frame([Raised(user=quoted_frames(text))], sources)
    explained.triton = read_triton_error(text)
    explained.compiler = read_compiler_output(text)
    explained.lowering = read_lowering_error(text) or _lowering_of_frames(chain)
    explained.fix = fix_for(text)
    _name(explained, chain)
    return explained


def unexplained(message: str, kind: str, why: str) -> Explained:
    """A failure whose text is not analysed; `why` is a sentence."""
    kinds = [kind] if kind else []
    return Explained("unknown", "Not analysed", [why], kinds, message[:LONGEST_MESSAGE])


def _kinds(kind: str, message: str) -> list[str]:
    """The type, and those at the start of the message: `CppCompileError: C++ compile error`."""
    kinds = [kind] if kind else []
    backend = _BACKEND.search(message[:2000])
    rest = message[backend.start(2) :] if backend and backend.group(2) else message
    while len(kinds) < 6:
        wrapped = _WRAPPED.match(rest)
        if wrapped is None:
            break
        kinds.append(wrapped.group(1))
        rest = rest[wrapped.end() :].lstrip(": \n")
    return kinds


def _lowering_of_frames(chain: list[Raised]) -> LoweringError | None:
    """The failed lowering; old torch only names the function of `lowering.py`."""
    for raised in reversed(chain):
        inside = False
        for number, frame in enumerate(raised.frames):
            inside = inside or _LOWERED.search(frame.code or "") is not None
            last = number == len(raised.frames) - 1
            if inside and last and frame.file.endswith("lowering.py"):
                return LoweringError(f"aten.{frame.function}", raised.kind, raised.message)
    return None


def _name(explained: Explained, chain: list[Raised]) -> None:
    """Sets component, title and sentences from the most certain evidence."""
    if explained.fix is not None:
        explained.component, explained.title = "environment", explained.fix.what
        explained.sentences = ["The cause is the machine, not the program."]
    elif explained.triton is not None:
        _triton(explained, explained.triton)
    elif explained.compiler is not None and explained.compiler.errors():
        _compiler(explained, explained.compiler)
    elif explained.lowering is not None:
        _lowering(explained, explained.lowering)
    else:
        _others(explained, chain)


def _compiler(explained: Explained, output: CompilerOutput) -> None:
    errors = output.errors()
    explained.component = "cpp"
    if errors[0].tool:
        explained.title = f"{errors[0].tool} could not build a library from the kernel"
        explained.sentences = [f"The message is: {errors[0].message}."]
        return
    explained.title = "The C++ compiler rejected a kernel that Inductor generated"
    more = f", and {len(errors) - 1} more" if len(errors) > 1 else ""
    explained.sentences = [
        f"The message is: {errors[0].message}{more}.",
        "The fault is in the C++ that Inductor writes for an operation of its IR.",
    ]


def _lowering(explained: Explained, error: LoweringError) -> None:
    explained.component = "lowering"
    if error.kind.startswith("missing"):
        explained.title = (
            f"Inductor has no {error.kind.removeprefix('missing ')} for {error.target}"
        )
        explained.sentences = [
            "An operator needs a lowering, a decomposition or a fallback before Inductor can "
            "generate code for it."
        ]
        return
    explained.title = f"Inductor's lowering of {error.target} failed"
    exception = f"{error.kind}: {_first_line(error.message)}".rstrip(": ")
    explained.sentences = [
        f"The function that turns {error.operator} of the FX graph into Inductor's IR raised "
        f"{exception or 'an exception'}; no code was generated."
    ]


def _triton(explained: Explained, error: TritonError) -> None:
    explained.component = "triton"
    kernel = error.kernel or "a kernel"
    if error.kind == "resources":
        explained.title = f"{kernel} needs more {error.resource} than the GPU has"
        explained.sentences = [
            f"It needs {error.required:,}, the GPU has {error.limit:,}.",
            "Smaller blocks or fewer stages need less; max-autotune tries several configurations.",
        ]
    elif error.kind == "ptxas":
        explained.title = f"NVIDIA's assembler rejected {kernel}"
        explained.sentences = [f"The message is: {error.message}."]
    else:
        explained.title = f"Triton rejected {kernel}, line {error.line} of its function"
        explained.sentences = [f"The message is: {error.message}."] if error.message else []


def _others(explained: Explained, chain: list[Raised]) -> None:
    kinds = " ".join(explained.kinds)
    head = _first_line(explained.message)
    backend = _BACKEND.search(explained.message)
    files = " ".join(frame.file for raised in chain for frame in raised.frames[-3:])
    sentence = f"{explained.kinds[-1].rpartition('.')[2]}: {head}" if explained.kinds else head
    if backend is not None and backend.group(1) != "inductor":
        explained.component = "backend"
        explained.title = f"The backend {backend.group(1)} failed"
        explained.sentences = [
            f"Dynamo passed it a graph, and it raised {backend.group(2) or 'an exception'}"
            + (f": {backend.group(3)}." if backend.group(3) else ".")
        ]
        return
    if _MEMORY.search(explained.message):
        explained.component, explained.title = "memory", "Out of memory"
    elif "_functorch" in files or "aot_autograd" in files:
        explained.component, explained.title = "aot", "AOTAutograd failed"
    elif backend is not None or "_inductor" in files or "_inductor" in kinds:
        explained.component, explained.title = "inductor", "Inductor failed"
    elif "_dynamo" in kinds or "Unsupported" in kinds or "torch/_dynamo" in files:
        explained.component, explained.title = "dynamo", "Dynamo failed"
    elif chain:
        explained.component, explained.title = "program", "The program failed"
    else:
        explained.title = sentence.partition(". ")[0].rstrip(".") or "It failed"
        return
    explained.sentences = [sentence] if sentence else []


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.split("\n") if line.strip()), "")[:1000]
