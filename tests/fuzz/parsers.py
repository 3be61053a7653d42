"""Every reader of files that come from outside, as a function of bytes that checks what must hold
whatever the bytes are, with real files of the kind it reads."""

import gzip
import io
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from inductorscope.formats.capture_facts import parse_facts
from inductorscope.formats.code.output_code import parse_output_code
from inductorscope.formats.code.runnable import read_settings
from inductorscope.formats.graph.fx import parse_fx
from inductorscope.formats.graph.ir import parse_ir
from inductorscope.formats.graph.provenance import parse_provenance
from inductorscope.formats.log.graph_breaks import read_graph_break
from inductorscope.formats.log.guard_failures import read_guard_failures
from inductorscope.formats.log.guard_tree import read_guard_tree
from inductorscope.formats.log.summary import Summariser
from inductorscope.formats.log.text_log import TextLog
from inductorscope.formats.log.tlparse_folder import plain_code
from inductorscope.formats.log.torch_logs import TorchLogs, looks_like_torch_logs
from inductorscope.formats.log.trace_log import TraceLog, read_trace_log
from inductorscope.formats.machine.cubin import read_cubin, read_functions
from inductorscope.formats.machine.ncu import read_report
from inductorscope.formats.machine.tritonparse import compilations
from inductorscope.formats.printed.benchmark_log import parse_benchmark_log
from inductorscope.formats.printed.key_averages import parse_key_averages, parse_rows
from inductorscope.formats.text import Problem
from inductorscope.formats.trace.kineto import read_chrome_stream
from inductorscope.formats.unpacking import DamagedError, open_plain
from inductorscope.intake.sniff import role_of

from tests.support.benchmark_texts import BANDWIDTH, CONFIGS, KERNELS, PROFILE

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"
SMALL_PACKS = [b"", b"x" * 5000, PROFILE.encode()]
CAPTURE = (
    b'{"state": "complete", "name": "foo1", "device": "cpu", "torch_version": "2.13.0",'
    b' "timings": {"eager": {"median_ms": 1.5, "samples": [1.5]}}, "missing": []}'
)
CAPTURE_ROWS = b"""{"schema": 1, "steps": 3, "rows": [{"name": "aten::mm", "calls": 2,
 "self_cpu_us": 1.5, "cpu_us": 2, "device": "cpu", "user_annotation": false}]}"""


def files(pattern: str) -> list[bytes]:
    found = [path.read_bytes() for path in sorted(FIXTURES.rglob(pattern))]
    assert found, pattern
    return found


def text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def check_lines(data: str, problems: Iterable[Problem]) -> None:
    """Problems are told of lines that there are."""
    last = data.count("\n") + 1
    assert all(problem.line is None or 1 <= problem.line <= last for problem in problems)


def fx(data: bytes) -> None:
    check_lines(text(data), parse_fx(text(data)).problems)


def ir(data: bytes) -> None:
    check_lines(text(data), parse_ir(text(data)).problems)


def output_code(data: bytes) -> None:
    check_lines(text(data), parse_output_code(text(data)).problems)


def runnable(data: bytes) -> None:
    read_settings(text(data))


def provenance(data: bytes) -> None:
    parse_provenance(data)


def trace_log(data: bytes) -> None:
    log = TraceLog(io.BytesIO(data))
    summariser = Summariser()
    joined = []
    for piece in log.pieces():
        joined.append(piece.raw)
        if piece.record is not None:
            summariser.add(piece.record)
            assert isinstance(piece.record.metadata, dict)
    summariser.finish(log)
    assert b"".join(joined) == data
    assert log.number == data.count(b"\n") + (data[-1:] not in {b"", b"\n"})
    assert all(1 <= lost.line <= max(1, log.number) for lost in log.dropped.values())


def packed_log(data: bytes) -> None:
    for _ in read_trace_log(io.BytesIO(data)).pieces():
        pass


def unpacked(data: bytes) -> None:
    plain = open_plain(io.BytesIO(data))
    try:
        while plain.read(10_000):
            pass
    except DamagedError:
        pass


def compile_texts(data: bytes) -> None:
    read_graph_break(text(data))
    read_guard_failures(text(data))
    last = data.count(b"\n") + 1
    assert all(1 <= node.line <= last for node in read_guard_tree(text(data)).nodes)


def torch_logs(data: bytes) -> None:
    looks_like_torch_logs(text(data))
    log = TorchLogs()
    for line in text(data).split("\n"):
        log.add(line)
    assert log.lines == data.count(b"\n") + 1


def text_log(data: bytes) -> None:
    log = TextLog(io.BytesIO(data))
    for record in log:
        assert 1 <= record.line <= record.line + record.lines - 1 <= log.number


def kineto(data: bytes) -> None:
    trace = read_chrome_stream(io.BytesIO(data))
    assert all(kernel.total_us >= 0 for kernel in trace.kernels)


def key_averages(data: bytes) -> None:
    check_lines(text(data), parse_key_averages(data).problems)
    parse_rows(data)


def benchmark_log(data: bytes) -> None:
    check_lines(text(data), parse_benchmark_log(text(data)).problems)


def machine_code(data: bytes) -> None:
    facts = read_cubin(data)
    assert min(facts.registers, facts.local, facts.shared) >= 0
    assert sum(map(len, read_functions(data).values())) <= 2 * len(data)
    read_report(data)
    for found in compilations(io.BytesIO(data)):
        assert found is None or isinstance(found.file_content, dict)


def role(data: bytes) -> None:
    for name in ("", "a.py", "readable.txt", "result.json", "capture.json"):
        assert isinstance(role_of(name, data), str)


PAGE = b'<pre style="a">\n<span style="b">x </span><span>= &#39;&lt;a&gt;&#39;\n</span></pre>\n' * 9


@dataclass(frozen=True)
class Parser:
    name: str
    read: Callable[[bytes], object]
    seeds: list[bytes]
    share: int
    """How many of all cases it gets, by weight."""
    calls_per_byte: float
    """Calls that it may make for each byte, on top of some thousands."""


def _all() -> list[Parser]:
    fx_files = files("fx_graph_*able.py") + files("fx_graph_transformed.py")
    ir_files, codes = files("ir_p*_fusion.txt"), files("output_code.py")
    provenances, logs = files("inductor_provenance*.json"), files("*torch_trace*.log")
    traces = [gzip.decompress(data) for data in files("*.trace.json.gz")]
    tables = files("*.table.txt")
    benchmarks = [printed.encode() for printed in (PROFILE, KERNELS, CONFIGS, BANDWIDTH)]
    packs = [gzip.compress(packed) for packed in SMALL_PACKS]
    compile_seeds = [
        record.payload or b""
        for data in files("dedicated_log_torch_trace_*.log.gz")
        for record in read_trace_log(io.BytesIO(data))
        if record.name in ("dynamo_graph_break_reason", "recompile_reasons")
        or record.kind == "dynamo_cpp_guards_str"
    ]
    texts = [gzip.decompress(data)[:100_000] for data in files("ir.log.gz")]
    compiled = files("*.cubin") + files("*.ncu-rep") + files("*.ndjson")
    every = fx_files + ir_files + codes + provenances + logs + traces + tables + benchmarks
    return [
        Parser("fx", fx, fx_files, 12, 20),
        Parser("ir", ir, ir_files, 12, 20),
        Parser("output code", output_code, codes, 12, 20),
        Parser("provenance", provenance, provenances, 6, 4),
        Parser("trace log", trace_log, logs, 14, 16),
        Parser("packed log", packed_log, packs, 4, 16),
        Parser("unpacked", unpacked, packs, 4, 16),
        Parser("kineto", kineto, traces, 10, 4),
        Parser("key averages", key_averages, [*tables, CAPTURE_ROWS], 6, 12),
        Parser("benchmark log", benchmark_log, [*benchmarks, *tables], 8, 16),
        Parser("capture facts", parse_facts, [CAPTURE], 6, 4),
        Parser("compile texts", compile_texts, compile_seeds, 6, 16),
        Parser("torch logs", torch_logs, files("torch_logs.txt"), 6, 16),
        Parser("text log", text_log, texts, 6, 30),
        Parser("page of code", plain_code, [PAGE], 2, 16),
        Parser("runnable", runnable, files("fx_graph_runnable.py"), 2, 4),
        Parser("machine code", machine_code, compiled, 6, 4),
        Parser("role of", role, [*every, *packs], 6, 4),
    ]


PARSERS = _all()
TEXTS_OF_A_GRAPH = {
    name: [text(data) for data in files(pattern)]
    for name, pattern in (
        ("post_grad", "fx_graph_transformed.py"), ("readable", "fx_graph_readable.py"),
        ("ir_pre", "ir_pre_fusion.txt"), ("ir_post", "ir_post_fusion.txt"),
        ("code", "output_code.py"), ("provenance", "inductor_provenance*.json"),
    )
}  # fmt: skip
