"""TORCH_LOGS texts as records: each message becomes the record that TORCH_TRACE writes for it.

    V1121 11:13:16 … torch/_inductor/graph.py:2722] [0/0] [__output_code] Output code:
    V1121 11:13:16 … torch/_inductor/graph.py:2722] [0/0] [__output_code] import torch

becomes the record of an output code, with the code as its payload. A text of several
processes is read once for each of them.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from inductorscope.formats.errors.tracebacks import stack_frames
from inductorscope.formats.log.kinds import (
    ARTIFACT,
    DYNAMO_START,
    GRAPH_BREAK,
    GRAPHS_OF_TOPICS,
    GUARD_TREE,
    GUARDS,
    IR_AFTER,
    IR_BEFORE,
    OUTPUT_CODE,
    RECOMPILED,
    is_artifact,
)
from inductorscope.formats.log.record import Frame, LogRecord
from inductorscope.formats.log.segments import LIMITS
from inductorscope.formats.log.torch_lines import LogLine, read_line
from inductorscope.formats.log.trace_log import Log, Piece
from inductorscope.formats.sizes import MIB
from inductorscope.formats.unpacking import DamagedError, Readable

MOST_FRAMES = 200
BLOCK = MIB

Process = tuple[int | None, int]
"""Rank and process id."""

READ_ELSEWHERE = frozenset({"", "fusion", "schedule", "perf_hints", "cudagraphs", "loop_ordering",
                            "autotuning"})  # fmt: skip
"""Topics that `torch_logs` reads, and messages of torch's modules."""

# ` ===== Forward graph 0 =====`, then `/path/to/file.py class GraphModule(torch.nn.Module):`
_TITLE = re.compile(r"^ ?={5} (.{1,200}?) ={5}\s*$")
_CLASS = re.compile(r"(?:^|\s)(class [^\s(]{1,300}\(torch\.nn\.Module\):.*)$")
_START = re.compile(r"^torchdynamo start compiling (.{1,300}?) (\S{1,1000}):(\d{1,9}), stack \(")
_STEP = re.compile(r"^Step 1: torchdynamo start tracing (.{1,300}?) (\S{1,1000}):(\d{1,9})\s*$")
_BYTECODE = re.compile(r"^(ORIGINAL|MODIFIED) BYTECODE (.{1,300}?) \S{1,1000} line \d{1,9}\s*$")
_FUNCTION = re.compile(r"^Recompiling function (.{1,300}?) in (.{1,1000}):(\d{1,9})\s*$")
_CODE = re.compile(r"^Output code: ?\s*$")
_HEADS: dict[str, re.Pattern[str]] = {
    "output_code": re.compile(r"^Output code\b"),
    "graph_breaks": re.compile(r"^Graph break\b"),
    "recompiles": re.compile(r"^Recompiling function "),
    "recompiles_verbose": re.compile(r"^Recompiling function "),
    "guards": re.compile(r"^(?:GUARDS:|Python shape guard function:|Guard eval latency)"),
    "bytecode": _BYTECODE,
    IR_BEFORE: re.compile(r"^BEFORE FUSION"),
    IR_AFTER: re.compile(r"^AFTER FUSION"),
    "": re.compile(r"^(?:torchdynamo start compiling |Step 1: torchdynamo start tracing )"),
    **dict.fromkeys(GRAPHS_OF_TOPICS, re.compile(r"^TRACED GRAPH\s*$")),
}
"""Topic → the first line of its messages."""


def starts_message(line: LogLine) -> bool:
    """Whether a line starts a message that becomes a record."""
    head = _HEADS.get(line.topic)
    return head is not None and head.search(line.text[:2000]) is not None


class _Message(msgspec.Struct):
    """A message whose lines are still coming."""

    line: LogLine
    """Its first line."""
    number: int
    last: int
    texts: list[str] = msgspec.field(default_factory=list)
    size: int = 0
    cut: bool = False

    def goes_on(self, line: LogLine) -> bool:
        first = self.line
        if first.topic == "guards" == line.topic:  # the logger is called once per guard
            return first.compile_id == line.compile_id and not line.text.startswith("Guard eval")
        return (
            (first.topic, first.place, first.compile_id)
            == (line.topic, line.place, line.compile_id)
            and first.attempt == line.attempt
            and first.time == line.time
        )

    def add(self, text: str, number: int) -> None:
        self.last = number
        self.size += len(text) + 1
        if self.size > LIMITS.payload:
            self.cut = True
        else:
            self.texts.append(text)


class TextLog(Log):
    """The messages of one process in a TORCH_LOGS text."""

    def __init__(
        self, stream: Readable, process: Process | None = None, max_bytes: int | None = None
    ) -> None:
        """`process`: the process whose messages are read; None for all."""
        super().__init__()
        self._stream = stream
        self._process = process
        self._max_bytes = max_bytes
        self._others: Counter[str] = Counter()
        self._recompiles = False
        self._starts = False

    def pieces(self) -> Iterator[Piece]:
        """Yields the records. Their pieces have no bytes: the text is stored as a file."""
        message: _Message | None = None
        done = offset = 0
        for text, size in lines_of(self._stream, self.drop, self._max_bytes):
            self.number += 1
            offset += size
            line = read_line(text)
            if line is None:
                continue
            if self._process is not None and (line.rank, line.pid) != self._process:
                continue
            if starts_message(line) or message is None or not message.goes_on(line):
                if message is not None:
                    yield from self._piece(message, offset - done)
                    done = offset
                message = None
                if starts_message(line):
                    message = _Message(line, self.number, self.number)
                elif line.topic not in READ_ELSEWHERE and line.topic not in _HEADS:
                    self._others[line.topic] += 1
            if message is not None:
                message.add(line.text, self.number)
        if message is not None:
            yield from self._piece(message, offset - done)
        for topic, count in sorted(self._others.items()):
            reason = f"lines of TORCH_LOGS={topic}: no page shows them; the text is kept"
            self.drop(reason, count=count)

    def _piece(self, message: _Message, size: int) -> Iterator[Piece]:
        if message.cut:
            self.drop("a message of more than 64 MiB, read in part", line=message.number)
        record = self._record(message)
        if record is not None:
            yield Piece(b"", message.number, 0, 0, record, size=size)

    def _record(self, message: _Message) -> LogRecord | None:
        line = message.line
        made = self._made(line, message.texts)
        if made is None:
            return None
        metadata, payload = made
        attempt = line.attempt if line.attempt is not None else 0 if line.compile_id else None
        record = LogRecord(
            kind=next(iter(metadata)), line=message.number, pid=line.pid, rank=line.rank,
            compile_id=line.compile_id, attempt=attempt, digest=None,
            lines=message.last - message.number + 1, _metadata=metadata,
        )  # fmt: skip
        if payload is not None:
            record.payload = payload.encode("utf-8", "replace")
        return record

    def _made(self, line: LogLine, texts: list[str]) -> tuple[dict[str, Any], str | None] | None:
        """Returns the metadata and the payload of a message's record; None if it does not become
        one."""
        head, rest = texts[0], texts[1:]
        match line.topic:
            case "output_code":
                return ({OUTPUT_CODE: {}}, "\n".join(rest)) if _CODE.match(head) else None
            case "graph_breaks":
                return _artifact(GRAPH_BREAK), "\n".join(texts)
            case "recompiles":
                self._recompiles = True
                return _recompiled(head), _guards_failed(rest)
            case "recompiles_verbose":
                return None if self._recompiles else (_recompiled(head), _guards_failed(rest))
            case "guards":
                return _guards(rest) if head.startswith("GUARDS:") else None
            case "bytecode":
                named = _BYTECODE.match(head)
                if named is None:  # spaces hid that a long line continues
                    return None
                kind, function = named.groups()
                return _artifact(f"{function}_{kind}_BYTECODE"), "\n".join(texts)
            case "":
                return self._start(texts)
        if line.topic in (IR_BEFORE, IR_AFTER):
            return {line.topic: {}}, "\n".join(rest)
        return _graph(line.topic, rest)

    def _start(self, texts: list[str]) -> tuple[dict[str, Any], None] | None:
        """Starts a compile. `Step 1` marks it if the more detailed message is turned off."""
        start = _START.match(texts[0])
        match = start or (None if self._starts else _STEP.match(texts[0]))
        if match is None:
            return None
        self._starts = self._starts or start is not None
        function, file, at = match.groups()
        stack = [*stack_frames(texts[1:], MOST_FRAMES), Frame(file, int(at), function, None)]
        return {DYNAMO_START: {"stack": [frame.logged for frame in stack]}}, None


def _recompiled(head: str) -> dict[str, Any]:
    """The metadata of a recompile, with the function that only the text names."""
    metadata = _artifact(RECOMPILED)
    function = _FUNCTION.match(head)
    if function is not None:
        name, file, line = function.groups()
        metadata[ARTIFACT] |= {"co_name": name, "co_filename": file, "co_firstlineno": int(line)}
    return metadata


def _artifact(name: str) -> dict[str, Any]:
    return {ARTIFACT: {"name": name, "encoding": "string"}}


def _graph(topic: str, texts: list[str]) -> tuple[dict[str, Any], str] | None:
    """A graph, without the lines before its class."""
    title = ""
    for number, text in enumerate(texts[:10]):
        titled, classed = _TITLE.match(text), _CLASS.search(text[:2000])
        if titled is not None:
            title = titled.group(1).lower()
        if classed is not None:
            graph = "\n".join([classed.group(1), *texts[number + 1 :]])
            return _of_graph(topic, title), graph.rstrip("\n") + "\n"
    return None


def _of_graph(topic: str, title: str) -> dict[str, Any]:
    kinds = GRAPHS_OF_TOPICS[topic]
    name = next(name for word, name in kinds.items() if word in title)
    return _artifact(name) if is_artifact(name) else {name: {}}


def _guards_failed(texts: list[str]) -> str:
    return "\n".join(
        text.strip().removeprefix("- ")
        for text in texts
        if text.strip() and "triggered by the following" not in text
    )


def _guards(texts: list[str]) -> tuple[dict[str, Any], str]:
    """Reads a tree of guards, or in versions before 2.5 one guard per line."""
    tree = [number for number, text in enumerate(texts) if text.startswith("TREE_GUARD_MANAGER")]
    if tree:
        return {GUARD_TREE: {}}, "\n".join(texts[tree[0] :])
    return {GUARDS: {}}, "\n".join(texts)


def lines_of(
    stream: Readable, ended: Callable[[str], None], max_bytes: int | None = None
) -> Iterator[tuple[str, int]]:
    """The lines of a plain stream with their sizes; a line longer than a block is cut into several.
    `ended` gets the reason if it ends early, also after `max_bytes`."""
    rest = b""
    count = 0
    try:
        while block := stream.read(BLOCK):
            count += len(block)
            *lines, rest = (rest + block).split(b"\n")
            for line in lines:
                yield line.decode("utf-8", "replace").rstrip("\r"), len(line) + 1
            if len(rest) > BLOCK:
                yield rest.decode("utf-8", "replace"), len(rest)
                rest = b""
            if max_bytes is not None and count > max_bytes:
                ended(f"only the first {count:,} bytes were read")
                break
    except (DamagedError, OSError, EOFError) as error:
        ended(f"the log ends early: {error}")
    if rest:
        yield rest.decode("utf-8", "replace").rstrip("\r"), len(rest)
