"""What a failure's text says: which component failed, in words, with the evidence taken apart.

Pure: of a captured run and of an uploaded log alike, nothing is run for it.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field

from inductorscope.analyze.failures.environment import Fix, fix_for
from inductorscope.analyze.failures.fold import Folded, fold, users_frame
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
    "backend": "A backend of somebody else",
    "memory": "Memory",
    "program": "The program itself",
    "unknown": "Not told",
}

_BACKEND = re.compile(r"backend='([^'\n]{1,200})' raised:\s*(?:([\w.]{1,200})(?::\s*(.*))?)?")
_WRAPPED = re.compile(
    r"^([A-Za-z_][\w.]*(?:Error|Exception|Unsupported|Failed|Interrupt|Missing)\b)"
)
_MEMORY = re.compile(r"CUDA out of memory|OutOfMemoryError|DefaultCPUAllocator: can't allocate"
                     r"|\bMemoryError\b|std::bad_alloc")  # fmt: skip
_LOWERED = re.compile(r"lowerings\[target\]\(")
LONGEST_MESSAGE = 20_000


@dataclass(slots=True)
class Explained:
    """One failure, taken apart."""

    component: str
    """A key of `COMPONENTS`."""
    title: str
    sentences: list[str]
    kinds: list[str]
    """Types of exceptions, outermost first."""
    message: str
    fix: Fix | None = None
    compiler: CompilerOutput | None = None
    lowering: LoweringError | None = None
    triton: TritonError | None = None
    chain: list[Folded] = field(default_factory=list)
    """In the order in which it happened."""
    user: Frame | None = None
    """Where in the user's program it happened."""


def explain(
    message: str, trace: str = "", kind: str = "", sources: Collection[str] = ()
) -> Explained:
    """`kind` is the outermost exception's type; `sources` are files of the user's program."""
    chain = read_traceback(trace) or read_traceback(message)
    text = message if not trace or message in trace else f"{message}\n{trace}"
    text = trace if trace and message in trace else text
    if chain:
        kind = kind or chain[-1].kind
        message = message if message and not message.startswith("Traceback") else chain[-1].message
    found = Explained(
        "unknown", "", [], _kinds(kind, message), message[:LONGEST_MESSAGE],
        chain=[fold(each, sources) for each in chain],
        user=users_frame(chain or [Raised(message=message)], sources),
    )  # fmt: skip
    if found.user is None:
        found.user = users_frame([Raised(user=quoted_frames(text))], sources)
    found.triton = read_triton_error(text)
    found.compiler = read_compiler_output(text)
    found.lowering = read_lowering_error(text) or _lowering_of_frames(chain)
    found.fix = fix_for(text)
    _name(found, chain)
    return found


def _kinds(kind: str, message: str) -> list[str]:
    """The type, and those that the message begins with: `CppCompileError: C++ compile error`."""
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
    """Old torch names the operator only by the function of `lowering.py` it was in."""
    for raised in reversed(chain):
        inside = False
        for number, frame in enumerate(raised.frames):
            inside = inside or _LOWERED.search(frame.code or "") is not None
            last = number == len(raised.frames) - 1
            if inside and last and frame.file.endswith("lowering.py"):
                return LoweringError(f"aten.{frame.function}", raised.kind, raised.message)
    return None


def _name(found: Explained, chain: list[Raised]) -> None:
    """Component, title and sentences, by what is surest."""
    if found.fix is not None:
        found.component, found.title = "environment", found.fix.what
        found.sentences = ["The program is not to blame, the machine is.", found.fix.do]
    elif found.triton is not None:
        _triton(found, found.triton)
    elif found.compiler is not None and found.compiler.errors():
        _compiler(found, found.compiler)
    elif found.lowering is not None:
        _lowering(found, found.lowering)
    else:
        _others(found, chain)


def _compiler(found: Explained, said: CompilerOutput) -> None:
    errors = said.errors()
    found.component = "cpp"
    if errors[0].tool:
        found.title = f"{errors[0].tool} could not make a library of the kernel"
        found.sentences = [f"It says: {errors[0].message}."]
        return
    found.title = "The C++ compiler refused a kernel that Inductor generated"
    more = f", and {len(errors) - 1} more" if len(errors) > 1 else ""
    found.sentences = [
        f"It says: {errors[0].message}{more}.",
        "Such an error is introduced where Inductor turns operations of its IR into C++.",
    ]


def _lowering(found: Explained, error: LoweringError) -> None:
    found.component = "lowering"
    if error.kind.startswith("missing"):
        found.title = f"Inductor has no {error.kind.removeprefix('missing ')} for {error.target}"
        found.sentences = [
            "An operator needs a lowering, a decomposition or a fallback before Inductor can "
            "generate code for it."
        ]
        return
    found.title = f"Inductor's lowering of {error.target} failed"
    said = f"{error.kind}: {_first_line(error.message)}".rstrip(": ")
    found.sentences = [
        f"The function that turns {error.operator} of the FX graph into Inductor's IR raised "
        f"{said or 'an exception'}; no code was generated."
    ]


def _triton(found: Explained, error: TritonError) -> None:
    found.component = "triton"
    kernel = error.kernel or "a kernel"
    if error.what == "resources":
        found.title = f"{kernel} needs more {error.resource} than the GPU has"
        found.sentences = [
            f"It needs {error.required:,}, the GPU has {error.limit:,}.",
            "Smaller blocks or fewer stages need less; max-autotune tries several.",
        ]
    elif error.what == "ptxas":
        found.title = f"NVIDIA's assembler refused {kernel}"
        found.sentences = [f"It says: {error.message}."]
    else:
        found.title = f"Triton refused {kernel}, line {error.line} of its function"
        found.sentences = [f"It says: {error.message}."] if error.message else []


def _others(found: Explained, chain: list[Raised]) -> None:
    kinds = " ".join(found.kinds)
    head = _first_line(found.message)
    backend = _BACKEND.search(found.message)
    files = " ".join(frame.file for raised in chain for frame in raised.frames[-3:])
    said = f"{found.kinds[-1].rpartition('.')[2]}: {head}" if found.kinds else head
    if backend is not None and backend.group(1) != "inductor":
        found.component = "backend"
        found.title = f"The backend {backend.group(1)} failed"
        found.sentences = [
            f"Dynamo handed it a graph, and it raised {backend.group(2) or 'an exception'}"
            + (f": {backend.group(3)}." if backend.group(3) else ".")
        ]
        return
    if _MEMORY.search(found.message):
        found.component, found.title = "memory", "There was not enough memory"
    elif "_functorch" in files or "aot_autograd" in files:
        found.component, found.title = "aot", "AOTAutograd failed"
    elif backend is not None or "_inductor" in files or "_inductor" in kinds:
        found.component, found.title = "inductor", "Inductor failed"
    elif "_dynamo" in kinds or "Unsupported" in kinds or "torch/_dynamo" in files:
        found.component, found.title = "dynamo", "Dynamo failed"
    elif chain:
        found.component, found.title = "program", "The program failed"
    else:
        found.title = "It failed"
    found.sentences = [said] if said else []


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.split("\n") if line.strip()), "")[:1000]
