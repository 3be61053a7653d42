"""Forty questions on shared traces, with answers taken from the raw files, without our reader."""

from __future__ import annotations

import gzip
import json
import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.places import FIXTURES, SHARED

TRACES = SHARED / "traces"
GPT, MAX, CPU = "cuda-gpt-train", "cuda-gpt-max-autotune", "cpu-gpt-train"
DYN, FOO, ZOO = "cuda-dynamic", "cuda-foo1", "cuda-ops-zoo"
COMP, CACHE, RANKS = "logs/comp_failure.log", "logs/cache_hit_miss.log", "logs/multi_rank_logs"
BERT, NEG = "profiles/h100-bert-small-eager.json.gz", "neg-does-not-compile"
RUNS = (GPT, MAX, CPU, DYN, FOO, ZOO, COMP, CACHE, RANKS, BERT, NEG)

LOG, TRACE, RESULT = "torch_trace/*.log", "compiled.trace.json.gz", "result.json"
CODE, FX = "**/*{}*/output_code.py", "**/*{}*/fx_graph_transformed.py"


@dataclass(frozen=True)
class Question:
    """A question, the tool that one would take first, and where the raw files say the answer."""

    text: str
    run: str
    tool: str
    files: tuple[str, ...]
    """Globs in the run's folder of the files that one must read; none for a single file."""
    answer: Callable[[], list[str]]
    """Takes the facts from the raw files, written as a person would."""
    arguments: dict[str, object] = field(default_factory=dict)


def place(run: str) -> Path:
    return FIXTURES / run if run == NEG else TRACES / run


def raw_files(run: str, globs: tuple[str, ...]) -> list[Path]:
    top = place(run)
    if top.is_file():
        return [top]
    return sorted(file for glob in globs for file in top.glob(glob))


@cache
def text(file: Path) -> str:
    data = file.read_bytes()
    return (gzip.decompress(data) if file.suffix == ".gz" else data).decode(errors="replace")


def joined(run: str, *globs: str) -> str:
    return "\n".join(text(file) for file in raw_files(run, globs) if file.is_file())


def code(run: str, part: str = "") -> str:
    return joined(run, CODE.format(part))


def result(run: str) -> dict[str, Any]:
    return dict(json.loads(joined(run, RESULT)))


@cache
def events(run: str) -> dict[str, list[float]]:
    """Name of a kernel → its durations in µs."""
    times: dict[str, list[float]] = defaultdict(list)
    for event in json.loads(joined(run, TRACE))["traceEvents"]:
        if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            times[event["name"]].append(event["dur"])
    return times


def steps(run: str) -> int:
    """Steps of a trace: kernels of the code that it calls once ran once a step."""
    once = re.findall(r"^        (triton_\w+)\.run\(", code(run), re.M)
    single = next(name for name in once if once.count(name) == 1 and name in events(run))
    return len(events(run)[single])


def three(value: float) -> str:
    """Three significant digits."""
    return f"{value:.{max(0, 2 - len(str(int(abs(value)))) + 1)}f}"


def ms(value: float) -> str:
    return f"{three(value)} ms" if value >= 1 else f"{three(value * 1000)} µs"


def kernels(run: str) -> list[str]:
    return re.findall(r"^(\w+) = async_compile\.\w+\(", code(run), re.M)


def line_of(content: str, what: str) -> str:
    return str(next(n for n, line in enumerate(content.split("\n"), 1) if what in line))


def slowest_triton(run: str) -> tuple[str, float]:
    return max(
        ((name, sum(times)) for name, times in events(run).items() if name.startswith("triton_")),
        key=lambda found: found[1],
    )


def dearest_line(run: str) -> str:
    """The line of models.py whose nodes have most of the generated kernels' time."""
    lines: dict[str, str] = {}
    for graph in raw_files(run, (FX.format(""),)):
        line = ""
        for row in text(graph).split("\n"):
            if found := re.search(r"# File: \S+models\.py:(\d+)", row):
                line = found[1]
            elif found := re.match(r"\s+(\w+): ", row):
                lines[found[1]] = line
    spent: dict[str, float] = defaultdict(float)
    pattern = r"# Source node to ATen node mapping:\n((?:#   .*\n)+)(?:#.*\n)*(triton_\w+) = async"
    for mapping, kernel in re.findall(pattern, code(run)):
        nodes = [node for node in re.findall(r"\w+", mapping) if node in lines]
        for node in nodes:
            spent[lines[node]] += sum(events(run).get(kernel, ())) / len(nodes)
    return max(spent, key=lambda line: spent[line])


def size_of_gelu() -> str:
    kernel = code(GPT, "forward").partition("def triton_poi_fused_gelu_view_10(")[2]
    elements = int(re.findall(r"xnumel = (\d+)", kernel)[0])
    return f"{elements * (2 + 2) / 2**20:.2f} MiB"  # bf16 in and out


def line_of_gelu() -> str:
    graph = joined(GPT, FX.format("forward"))
    return first(r"models\.py:(\d+) in \w+, code: .*F\.gelu", graph)


def artifacts(run: str, name: str) -> list[str]:
    """Payloads of a kind of record in a TORCH_TRACE log."""
    pattern = rf'"name": "{name}".*\n((?:\t.*\n)+)'
    return re.findall(pattern, joined(run, LOG) or text(place(run)))


def first(pattern: str, content: str) -> str:
    found = re.search(pattern, content)
    assert found, pattern
    return found[1]


def _q(
    text: str, run: str, tool: str, files: tuple[str, ...], answer: Callable[[], list[str]],
    **arguments: object,
) -> Question:  # fmt: skip
    return Question(text, run, tool, files, answer, arguments)


SCAN = "tl.associative_scan"
GELU = "triton_poi_fused_gelu_view_10"
FORWARD, BACKWARD = "model__0_forward_1.0", "model__0_backward_3.1"
QUESTIONS = (
    _q("Is the compiled GPT faster than eager?", GPT, "diagnose", (RESULT,),
       lambda: [f"{result(GPT)['eager_ms'] / result(GPT)['compiled_ms']:.2f}×"]),
    _q("How long does a compiled step take?", GPT, "diagnose", (RESULT,),
       lambda: [ms(result(GPT)["compiled_ms"])]),
    _q("How many kernels were generated?", GPT, "diagnose", (CODE.format(""),),
       lambda: [f"- generated kernels: {len(kernels(GPT))}"]),
    _q("Which generated kernel takes longest?", GPT, "diagnose", (TRACE,),
       lambda: [slowest_triton(GPT)[0]]),
    _q("How long does it take per step?", GPT, "diagnose", (TRACE, CODE.format("")),
       lambda: [ms(slowest_triton(GPT)[1] / steps(GPT) / 1000)]),
    _q("Which line of the model is dearest?", GPT, "diagnose",
       (TRACE, CODE.format(""), FX.format("")), lambda: [f"|{dearest_line(GPT)}|"]),
    _q("Which GPU and torch was it?", GPT, "diagnose", (TRACE, LOG),
       lambda: [first(r'"name": "(NVIDIA [^"]+)"', joined(GPT, TRACE)), result(GPT)["torch"]]),
    _q("How long does one call of the GELU kernel take?", GPT, "kernel", (TRACE,),
       lambda: [ms(sum(events(GPT)[GELU]) / len(events(GPT)[GELU]) / 1000)], name=GELU),
    _q("How often is the GELU kernel called?", GPT, "kernel", (CODE.format("forward"),),
       lambda: [f"{code(GPT, 'forward').count(f'{GELU}.run(buf')} in the code"], name=GELU),
    _q("How many bytes does a call of it move?", GPT, "kernel", (CODE.format("forward"),),
       lambda: [size_of_gelu()], name=GELU),
    _q("Which FX nodes does it compute?", GPT, "kernel", (CODE.format("forward"),),
       lambda: [f"`{node}`" for node in
                first(rf"gelu => (.*)\n(?:#.*\n)*{GELU} = ", code(GPT, "forward")).split(", ")],
       name=GELU),
    _q("Which line of the model does it compute?", GPT, "kernel", (FX.format("forward"),),
       lambda: [f"stack line {line_of_gelu()}"],
       name=GELU),
    _q("How often is `mm` called in the backward graph?", GPT, "kernel", (CODE.format("backward"),),
       lambda: [f"{code(GPT, 'backward').count('extern_kernels.mm(')} in the code"],
       name="extern_kernels.mm", graph=BACKWARD),
    _q("Which line of the output code computes `erf`?", GPT, "explain_line",
       (FX.format("forward"), CODE.format("forward")),
       lambda: [f"|{line_of(code(GPT, 'forward'), 'libdevice.erf')}|`tmp"],
       line="post_grad:70", graph=FORWARD),
    _q("Which node does line 929 of the output code compute?", GPT, "explain_line",
       (CODE.format("forward"),),
       lambda: [f"`{first(r'%(erf) : ', code(GPT, 'forward'))}`"], line="code:929", graph=FORWARD),
    _q("What does the attention of models.py:27 become?", GPT, "explain_line",
       (FX.format("forward"), CODE.format("forward")),
       lambda: [first(r"(torch\.ops\.aten\._scaled_dot_\w+\.default)\(", code(GPT, "forward"))],
       line="models.py:27"),
    _q("Was 5.91 ms per compiled step right?", GPT, "verify", (RESULT,),
       lambda: [": confirmed, ", ms(result(GPT)["compiled_ms"])],
       sentence="A compiled step takes 5.91 ms."),
    _q("Does eager take 9 ms?", GPT, "verify", (RESULT,),
       lambda: [": not confirmed; ", ms(result(GPT)["eager_ms"])],
       sentence="An eager step takes 9 ms."),
    _q("What changed in a step with max-autotune?", GPT, "compare", (RESULT,),
       lambda: [ms(result(run)["compiled_ms"]) for run in (GPT, MAX)], other=MAX),
    _q("Which template kernels did max-autotune choose?", MAX, "search", (CODE.format(""),),
       lambda: [name for name in kernels(MAX) if name.startswith("triton_tem")][:1],
       words="triton_tem"),
    _q("Where is a scan, and in which kernel?", ZOO, "search", (CODE.format(""),),
       lambda: [line_of(code(ZOO), SCAN),
                re.findall(r"def (triton_\w+)\(", code(ZOO).partition(SCAN)[0])[-1]],
       words=SCAN),
    _q("How many kernels has the zoo of operators?", ZOO, "diagnose", (CODE.format(""),),
       lambda: [f"- generated kernels: {len(kernels(ZOO))}"]),
    _q("Which operation does the C++ compiler reject?", NEG, "diagnose",
       ("capture.json", CODE.format("")),
       lambda: [f"`{first(r'cpp_fused_maximum_(neg)_0', joined(NEG, '**/output_code.py'))}`",
                first(r"(CppCompileError)", joined(NEG, "capture.json"))]),
    _q("How many graph breaks are there?", DYN, "diagnose", (LOG,),
       lambda: [f"- graph breaks: {len(artifacts(DYN, 'dynamo_graph_break_reason'))}"]),
    _q("How often was it compiled again?", DYN, "diagnose", (LOG,),
       lambda: [f"- recompiles: {len(artifacts(DYN, 'recompile_reasons'))}"]),
    _q("At which lines does the graph break?", DYN, "why", (LOG,),
       lambda: sorted({first(r"user code at \S+/(models\.py:\d+)", artifact)
                       for artifact in artifacts(DYN, "dynamo_graph_break_reason")}),
       question="graph break"),
    _q("Which setting would avoid the break at `print`?", DYN, "why", (LOG,),
       lambda: [first(r"(reorderable_logging_functions)", joined(DYN, LOG))],
       question="graph break"),
    _q("Which guard failed first?", DYN, "why", (LOG,),
       lambda: [first(r"\d/\d: (.*)", artifacts(DYN, "recompile_reasons")[0])],
       question="recompiled"),
    _q("How many graphs did it compile?", DYN, "find_runs", (LOG,),
       lambda: [f"|{joined(DYN, LOG).count(chr(123) + chr(34) + 'inductor_output_code')}|"],
       query=DYN),
    _q("Which kernel came out?", FOO, "diagnose", (CODE.format(""),), lambda: kernels(FOO)),
    _q("Why is it one kernel and not two?", FOO, "explain_line", (CODE.format(""), FX.format("")),
       lambda: kernels(FOO), line="models.py:9"),
    _q("Which line computes `maximum`?", FOO, "explain_line", (CODE.format(""), FX.format("")),
       lambda: [f"|{line_of(code(FOO), 'triton_helpers.maximum')}|"], line="models.py:10"),
    _q("What became of `cat`?", FOO, "explain_line", (CODE.format(""), FX.format("")),
       lambda: ["Nothing of this run" if "cat" not in joined(FOO, FX.format("")) else "cat"],
       line="models.py:11"),
    _q("What does the first line of its graph compute?", FOO, "read_lines", (FX.format(""),),
       lambda: [first(r"(torch\.ops\.aten\.\w+\.default)\(", joined(FOO, FX.format("")))],
       stage="post_grad"),
    _q("How much faster is the compiled GPT on the CPU?", CPU, "diagnose", (RESULT,),
       lambda: [f"{result(CPU)['eager_ms'] / result(CPU)['compiled_ms']:.2f}×"]),
    _q("Which kernel computes its GELU?", CPU, "search", (CODE.format("forward"),),
       lambda: re.findall(
           r"^(cpp_\w+) = ", code(CPU, "forward").partition(".erf()")[0], re.M)[-1:],
       words=".erf()"),
    _q("Why did the compile fail?", COMP, "diagnose", (),
       lambda: [first(r"(BackendCompilerFailed)", text(place(COMP))),
                first(r"raise RuntimeError\(\\*\"(broken backend)", text(place(COMP)))]),
    _q("Why is the cache bypassed?", CACHE, "diagnose", (),
       lambda: [first(r"(Unsupported call_function target \w+)", text(place(CACHE)))]),
    _q("What failed on a rank?", RANKS, "diagnose", ("*.log",),
       lambda: [first(r"(BackendCompilerFailed: backend='\w+')", joined(RANKS, "*.log"))]),
    _q("For how long did the device work?", BERT, "diagnose", (),
       lambda: [ms(sum(map(sum, events(BERT).values())) / 1000)]),
)  # fmt: skip
