"""What a log of vLLM or SGLang says of the server's start: phases with their seconds, and the
factors of vLLM's own cache of compiled code.

    (EngineCore pid=42) INFO 06-20 14:45:37 [backends.py:69] Dynamo bytecode transform time: 7.3 s
    [2026-06-20 14:45:37 TP0] Capture cuda graph end. Time elapsed: 8.1 s. mem usage=0.54 GB.
"""

import re
from collections.abc import Iterable

import msgspec

MOST_PHASES = 5_000
LONGEST = 2_000
"""Most characters read of a line."""

_VLLM = re.compile(
    r"^(?:.{0,80}?\((?P<process>[\w-]{1,60})[^)\n]{0,40}\) )?.{0,80}?\b"
    r"(?:DEBUG|INFO|WARNING|ERROR) \d\d-\d\d \d\d:\d\d:\d\d \[?[\w/.]{1,200}:\d+\] ?"
    r"(?:\[\w{1,40}=[^\]\n]{1,300}\] )?(?P<text>.*)$"
)
_SGLANG = re.compile(
    r"^.{0,300}?\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?: (?P<process>[A-Z]\w{0,40}))*\] (?P<text>.*)$"
)
_SECONDS = r"(?P<s>\d+(?:\.\d+)?)"
_PHASES = tuple(
    (re.compile(pattern), title)
    for pattern, title in (
        (rf"^Loading weights took {_SECONDS} s", "loading weights"),
        (rf"^Load weight end\. elapsed={_SECONDS} s", "loading weights"),
        (rf"^Model loading took .{{1,80}}? and {_SECONDS} s", "loading the model"),
        (rf"^Dynamo bytecode transform time: {_SECONDS} s", "Dynamo"),
        (rf"^Directly load the compiled graph\(s\) for (?P<of>.{{1,80}}?) from the cache, took "
         rf"{_SECONDS} s", "loading compiled graphs"),
        (rf"^Compiling a graph for (?P<of>.{{1,80}}?) takes {_SECONDS} s", "compiling graphs"),
        (rf"^(?:torch\.compile|graph compilation) (?:takes|took) {_SECONDS} s in total",
         "torch.compile in all"),
        (rf"^(?:Initial profiling/warmup run took|Memory profiling takes) {_SECONDS} s",
         "profiling run"),
        (rf"^Graph capturing finished in {_SECONDS} s", "capturing CUDA graphs"),
        (rf"^Capture (?P<of>[\w ]{{0,40}}?) ?(?:cuda|CUDA) graph end\. Time elapsed: {_SECONDS} s",
         "capturing CUDA graphs"),
        (rf"^init engine .{{1,120}}? took {_SECONDS} s", "starting the engine in all"),
    )
)  # fmt: skip
_FOLDER = re.compile(r"^Using cache directory: (\S{1,1000}) for vLLM's torch\.compile")
_FACTORS = re.compile(r"^torch\.compile cache factors: (.+)$")
_FACTOR = re.compile(r"\b(env|cfg|comp|code)=(\S{1,200})")
_RAW = re.compile(r"^Compile (\w{1,40}) factors \(raw\):")
_VARIABLE = re.compile(r"^[{ ]'(\w{1,200})': (.{1,1000}?)[,}]?$")


class ServerPhase(msgspec.Struct, frozen=True):
    """A phase of the start in one process."""

    title: str
    of: str
    """What was compiled, loaded or captured: `shape None`; empty if the log does not say."""
    seconds: float
    process: str


class ServerStart(msgspec.Struct):
    """What a server's log says of its start."""

    phases: list[ServerPhase] = msgspec.field(default_factory=list)
    folder: str = ""
    """vLLM's cache folder, named by a digest of the factors."""
    factors: dict[str, str] = msgspec.field(default_factory=dict)
    """`env`, `cfg`, `comp` and `code` with their digests; below them `env[NAME]` with values."""


def looks_like_server_log(text: str) -> bool:
    start = read_server_log(text.split("\n"))
    return bool(start.phases or start.folder)


def read_server_log(lines: Iterable[str]) -> ServerStart:
    start, raw = ServerStart(), ""
    for line in lines:
        match = _VLLM.match(line[:LONGEST]) or _SGLANG.match(line[:LONGEST])
        if match is None:
            continue
        text = match["text"].rstrip()
        if raw and (variable := _VARIABLE.match(text)):
            start.factors[f"{raw}[{variable[1]}]"] = variable[2]
        elif found := _RAW.match(text):
            raw = found[1]
        elif found := _FOLDER.match(text):
            start.folder = start.folder or found[1]
        elif found := _FACTORS.match(text):
            start.factors |= dict(_FACTOR.findall(found[1]))
        elif len(start.phases) < MOST_PHASES:
            start.phases += _phases(text, match["process"] or "")
    return start


def _phases(text: str, process: str) -> list[ServerPhase]:
    for pattern, title in _PHASES:
        if found := pattern.match(text):
            of = found["of"] if "of" in pattern.groupindex else ""
            return [ServerPhase(title, of, float(found["s"]), process)]
    return []
