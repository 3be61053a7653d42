"""Messages of Triton and its assembler when a kernel does not compile or does not fit.

triton.compiler.errors.CompilationError: at 12:11:
    tmp0 = tl.load(in_ptr0 + (x0), xmask)
    tmp1 = tl.maximum(tmp0)
           ^
TypeError("maximum() missing 1 required positional argument: 'y'")

triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 327680,
Hardware limit: 232448. Reducing block sizes or `num_stages` may help.

PTXASError: PTXAS error: Internal Triton PTX codegen error
`ptxas` stderr:
ptxas /tmp/tmpa.ptx, line 120; error   : Feature '.bf16' requires .target sm_80 or higher
"""

import re

import msgspec

LONGEST = 1_000_000
MOST_LINES = 400

_AT = re.compile(r"(?:^|[\s:])at (\d{1,7}):(\d{1,7}):\s*$")
_CARET = re.compile(r"^\s*\^\s*$")
_RESOURCE = re.compile(
    r"out of resource: ([\w ]{1,60}), Required: (\d{1,15}), Hardware limit: (\d{1,15})"
)
_PTXAS = re.compile(r"^\s*ptxas (?:(\S+), line (\d{1,9}); )?(error|fatal|warning|info)\s*: ?(.*)$")
_KERNEL = re.compile(r"\b(triton_[a-z]{2,4}_(?:fused_)?\w{1,300})\b")
_ENDS = re.compile(r"^(?:\s*$|Traceback |The above exception|During handling|Set TORCH)")


class TritonError(msgspec.Struct):
    """One rejected kernel."""

    kind: str
    """`compile`, `resources` or `ptxas`."""
    message: str = ""
    kernel: str = ""
    """The kernel's name, if the text has it."""
    line: int | None = None
    """Line within the kernel's function."""
    column: int | None = None
    excerpt: list[str] = msgspec.field(default_factory=list)
    """The quoted lines of the kernel; the last one is the rejected one."""
    resource: str = ""
    required: int | None = None
    limit: int | None = None


def read_triton_error(text: str) -> TritonError | None:
    """The first Triton error in the text, or None."""
    text = text[:LONGEST]
    if "CompilationError" not in text and "out of resource" not in text and "ptxas" not in text:
        return None
    lines = text.split("\n")
    error = _resources(text) or _compilation(lines) or _assembler(lines)
    if error is not None:
        named = _KERNEL.search(text)
        error.kernel = named.group(1) if named else ""
    return error


def _resources(text: str) -> TritonError | None:
    match = _RESOURCE.search(text)
    if match is None:
        return None
    end = text.find("\n", match.start())
    sentence = text[match.start() : end if end >= 0 else len(text)]
    return TritonError(
        "resources", sentence.strip()[:500], resource=match.group(1).strip(),
        required=int(match.group(2)), limit=int(match.group(3)),
    )  # fmt: skip


def _compilation(lines: list[str]) -> TritonError | None:
    """The innermost place, which is the last: Triton quotes callers first."""
    error: TritonError | None = None
    reading = False
    for number, line in enumerate(lines):
        at = _AT.search(line)
        if at is not None and ("Error" in line or error is not None or line.startswith("at ")):
            error = TritonError("compile", line=int(at.group(1)), column=int(at.group(2)))
            reading = True
        elif error is not None and reading:
            if _CARET.match(line):
                reading = False
                rest = (text.strip() for text in lines[number + 1 : number + 6])
                error.message = next((text for text in rest if text), "")[:1000]
                if _ENDS.match(error.message):
                    error.message = ""
            elif len(error.excerpt) < MOST_LINES:
                error.excerpt.append(line)
    return error


def _assembler(lines: list[str]) -> TritonError | None:
    for line in lines:
        match = _PTXAS.match(line)
        if match is not None and match.group(3) in ("error", "fatal"):
            return TritonError("ptxas", match.group(4).strip()[:1000])
    return None
