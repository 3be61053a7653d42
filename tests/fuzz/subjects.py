"""What runs on uploaded text, each as a function of one text, with real texts that it reads.

Readers that need nothing but a text are found in the packages; only others are listed.
"""

import ast
import contextlib
import gzip
import importlib
import inspect
import io
import json
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import inductorscope.analyze
import inductorscope.correlate
import inductorscope.formats
from inductorscope.analyze.benchmark.case import NoCase, case_texts, kernel_case
from inductorscope.analyze.bytes.graph import read_graph
from inductorscope.analyze.compare.graphs import Graph, match_graphs
from inductorscope.analyze.compare.kernels import Call, match_calls
from inductorscope.analyze.compare.lines import moved_lines, same_files
from inductorscope.analyze.compare.nodes import Node
from inductorscope.analyze.compile.branches import without_branch
from inductorscope.analyze.compile.difference import difference
from inductorscope.analyze.compile.gather import StoryGatherer
from inductorscope.analyze.compile.resumptions import resumed
from inductorscope.analyze.compile.start import predictions, start_of
from inductorscope.analyze.failures.known import KernelSpan, known_graph
from inductorscope.analyze.failures.shown import show
from inductorscope.analyze.failures.text import explain
from inductorscope.analyze.fusing.facts import facts_of
from inductorscope.analyze.guards.conditions import conditions
from inductorscope.analyze.guards.forecast import forecast
from inductorscope.analyze.judging.configurations import configurations
from inductorscope.analyze.judging.shapes import allowed
from inductorscope.analyze.machine.figures import mix_of, widths_of
from inductorscope.analyze.machine.loops import loops_of
from inductorscope.analyze.machine.samples import sampled
from inductorscope.analyze.machine.serving import serving
from inductorscope.analyze.machine.threads import shared_loops
from inductorscope.analyze.memory.graph import memory_plan
from inductorscope.analyze.ranks.overlap import planned
from inductorscope.analyze.trial.patch import patch
from inductorscope.correlate.annotate.code import annotate, node_texts
from inductorscope.correlate.explain import Explainer
from inductorscope.correlate.graph import graph_links
from inductorscope.correlate.links.texts import GraphTexts
from inductorscope.formats.change import Change
from inductorscope.formats.code.fork import program
from inductorscope.formats.code.output_code import parse_output_code
from inductorscope.formats.code.wrapper_lines import parse_wrapper
from inductorscope.formats.graph.fx import parse_fx
from inductorscope.formats.log.cache_records import read_cache_answer
from inductorscope.formats.log.guard_tree import read_guard_tree
from inductorscope.formats.log.kinds import OVERLAP as OVERLAP_RECORDS
from inductorscope.formats.log.trace_log import read_trace_log
from inductorscope.formats.machine.assembly import read_assembly
from inductorscope.formats.machine.definitions import definition_of
from inductorscope.formats.machine.mca import loop_text, read_mca
from inductorscope.formats.machine.ncu import EXECUTED, ProfiledLaunch
from inductorscope.formats.machine.sass import read_sass
from inductorscope.formats.printed.intermediate_values import parse_intermediate_values
from inductorscope.formats.vocabulary import CODE, IR_POST, POST_GRAD
from msgspec.structs import replace

from tests.formats.errors.test_error_texts import CHAINED, CLANG, GCC, LOWERING, TOOLS, TRITON
from tests.fuzz.growth import Pump
from tests.fuzz.parsers import FIXTURES, PARSERS

PACKAGES = (inductorscope.formats, inductorscope.correlate, inductorscope.analyze)
GIVEN: dict[str, Callable[[str], object]] = {
    "str": lambda text: text,
    "str | None": lambda text: text,
    "bytes": lambda text: text.encode("utf-8", "replace"),
    "bytes | None": lambda text: text.encode("utf-8", "replace"),
    "list[str]": lambda text: text.split("\n"),
    "IntermediateValues": parse_intermediate_values,
}
"""How a parameter of a type is given a text."""


@dataclass(frozen=True)
class Subject:
    name: str
    work: Callable[[str], object]
    seeds: tuple[str, ...] = ("",)
    """Real texts, to be made expensive in each of their parts."""
    about: tuple[ModuleType, ...] = ()
    """Modules whose literals are delimiters for it."""

    def __str__(self) -> str:
        return self.name


def modules() -> Iterator[ModuleType]:
    for package in PACKAGES:
        for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            if not module.ispkg and not module.name.endswith("__main__"):
                yield importlib.import_module(module.name)


def plain_readers() -> list[Subject]:
    """Every public function that needs one text and nothing else."""
    found = []
    for module in modules():
        for name, function in vars(module).items():
            if name.startswith("_") or name == "main" or not inspect.isfunction(function):
                continue
            if function.__module__ != module.__name__:
                continue
            parameters = inspect.signature(function).parameters.values()
            needed = [need for need in parameters if need.default is need.empty]
            given = GIVEN.get(_name_of_type(needed[0].annotation)) if len(needed) == 1 else None
            if given is not None:
                found.append(
                    Subject(
                        f"{module.__name__.partition('.')[2]}.{name}",
                        _given(function, given),
                        about=(module,),
                    )
                )
    return found


def _name_of_type(annotation: object) -> str:
    """Annotations are types, or texts where a module keeps them so."""
    if isinstance(annotation, str):
        return annotation
    return inspect.formatannotation(annotation).rpartition(".")[2]


def _given(function: Callable[..., object], made: Callable[[str], object]) -> Callable[[str], None]:
    def work(text: str) -> None:
        result = function(made(text))
        if inspect.isgenerator(result):
            for _ in result:
                pass

    return work


def _texts(pattern: str) -> GraphTexts:
    (folder,) = FIXTURES.glob(pattern)
    readable = (folder / "fx_graph_readable.py").read_text()
    return GraphTexts(
        dynamo=readable,
        post_grad=(folder / "fx_graph_transformed.py").read_text(),
        readable=readable,
        ir_pre=(folder / "ir_pre_fusion.txt").read_text(),
        ir_post=(folder / "ir_post_fusion.txt").read_text(),
        code=(folder / "output_code.py").read_text(),
    )


ZOO = _texts("cpu-ops-zoo/torch_compile_debug/*/torchinductor/model__0*")
CPU = _texts("neg-does-not-compile/torch_compile_debug/*/torchinductor/model__0*")
CUDA = _texts("cuda-foo1/torch_compile_debug/*/torchinductor/model__0*")
FAILED = json.loads((FIXTURES / "neg-does-not-compile/capture.json").read_text())["error"]


def _each(changed: str, work: Callable[[GraphTexts], object]) -> Iterator[Subject]:
    """Work on a whole graph, one of whose texts is changed."""
    for device, texts in (("cpu", CPU), ("cuda", CUDA)):
        seed = getattr(texts, changed)
        name = f"{work.__name__.strip('_')} of {device}'s {changed}"
        yield Subject(name, partial(_changed, work, texts, changed), (seed,))


def _changed(
    work: Callable[[GraphTexts], object], texts: GraphTexts, changed: str, text: str
) -> None:
    given: dict[str, Any] = {changed: text}
    work(replace(texts, **given))


def _links(texts: GraphTexts) -> None:
    """What is stored of every graph, and what `/annotated.py` and `/failures` do with it."""
    links = graph_links(texts)
    nodes = node_texts(texts.post_grad or "", parse_fx(texts.post_grad or ""))
    annotate(texts.code or "", links, nodes)


def _links_without_ir(texts: GraphTexts) -> None:
    _links(replace(texts, ir_pre=None, ir_post=None))


def _reasons_without_ir(texts: GraphTexts) -> None:
    _reasons(replace(texts, ir_pre=None, ir_post=None))


def _reasons(texts: GraphTexts) -> None:
    """`/reason`."""
    explainer = Explainer(texts)
    for stage in (CODE, IR_POST):
        explainer.reasons(stage, 10)


def _fusing(texts: GraphTexts) -> None:
    """`/compile/fusing`, `/roofline` and a kernel's page."""
    read = read_graph(texts.code or "", texts.ir_post, texts.post_grad)
    facts_of(read, ir=texts.ir_post is not None)


def _memory(texts: GraphTexts) -> None:
    """`/memory`."""
    memory_plan(texts.code or "", texts.ir_post, texts.post_grad)


def _wrapper(texts: GraphTexts) -> None:
    parse_wrapper(texts.code or "", parse_output_code(texts.code or ""))


def _case(texts: GraphTexts) -> None:
    code = texts.code or ""
    call = next((call for call in parse_output_code(code).calls if not call.extern), None)
    if call is not None:
        written = {CODE: code, IR_POST: texts.ir_post or "", POST_GRAD: texts.post_grad or ""}
        with contextlib.suppress(NoCase):
            kernel_case(case_texts(written), call.kernel, call.handle)


def _failures(error: str, code: str) -> None:
    """`/failures`."""
    texts = {CODE: code, IR_POST: CPU.ir_post or "", POST_GRAD: CPU.post_grad or ""}
    spans = [
        KernelSpan(kernel.name, kernel.first_line, kernel.last_line, 1)
        for kernel in parse_output_code(code).kernels
    ]
    show(explain(error), [known_graph("g", texts, spans, [], [])], None)


def _log() -> str:
    """A log with graph breaks and recompiles."""
    (log,) = FIXTURES.glob("dynamic/torch_trace/*.log.gz")
    return gzip.decompress(log.read_bytes()).decode("utf-8", "replace")


def _reductions(code: str) -> None:
    _code_alone(code)
    graph_links(GraphTexts(post_grad="", ir_post=_read("ir/cuda-combo.post.txt"), code=code))


def _cache_record(text: str) -> None:
    read_cache_answer("fx_graph_cache_miss", text.encode("utf-8", "replace"))


def _compared(text: str) -> None:
    """A graph beside another, one kernel for two nodes of either."""
    other = ZOO.post_grad or ""
    lines = {"a.py": text.split("\n")}, {"b.py": other.split("\n")}
    same_files(*lines)
    moved_lines(lines[0]["a.py"], lines[1]["b.py"])
    graphs = [_graph_compared(text), _graph_compared(other)]
    match_graphs(graphs[:1], graphs[1:])
    match_calls(
        *(
            [
                Call(graph, "k", at, "cpp", "cpp", f"{at}", graph.nodes[at : at + 2])
                for at in range(0, len(graph.nodes), 2)
            ]
            for graph in graphs
        )
    )


def _graph_compared(text: str) -> Graph:
    nodes: dict[str, Node] = {}
    for read in parse_fx(text).nodes:
        node = Node(read.name, read.target, read.dtype, (read.stack_file, read.stack_line))
        node.inputs = [nodes[name] for name in read.inputs if name in nodes]
        for source in set(node.inputs):
            source.users.append(node)
        nodes[read.name] = node
    return Graph("graph", backward=False, nodes=list(nodes.values()))


def _difference(text: str, other: str) -> None:
    """Side by side."""
    difference(text.split("\n"), other.split("\n"))


ASSEMBLY = """0000000000001140 <kernel._omp_fn.0>:
_mm256_loadu_ps():
/usr/include/avxintrin.h:320 (discriminator 1)
inlined by /tmp/c222.main.cpp:9 (kernel._omp_fn.0)
    11a0:\tvmovups (%rcx,%rdx,4),%ymm1
    11a4:\tcall   2110 <Sleef_cosf8_u35@plt>
    11a9:\tvmovaps %ymm0,-0x70(%rbp)
    11b5:\tjg     11a0 <kernel._omp_fn.0+0x60>
"""
MCA = """Iterations:        100
Instructions:      900
Total Cycles:      3010

Throughput Bottlenecks:
  Resource Pressure       [ 33.22% ]
  Data Dependencies:      [ 99.67% ]
  - Register Dependencies [ 99.67% ]
  - Memory Dependencies   [ 0.00% ]
"""
LAUNCH = ProfiledLaunch("k", by_address={EXECUTED: dict.fromkeys(range(0, 4096, 16), 1)})
TTIR = "  tt.func public @k(%x: i32 loc(#loc), %y: i32 loc(#loc)) attributes {noinline = false} {"
GUARDS = """+- RootGuardManager
| +- TENSOR_MATCH: check_tensor(L['x'], Tensor, torch.float32, size=[4, None], stride=[8, 1])
+- LAMBDA_GUARD: Eq(Mod(8*L['x'].size()[0], 16), 0) and 2 <= L['x'].size()[1]  # m.py:3 in f
"""


def _guards(text: str) -> None:
    """Guards evaluated for shapes."""
    forecast([("0/0", read_guard_tree(text))], [{"x": (4, 8)}, {"x": (6, 8)}])


CONDITIONS = """def f(x, n):
    y = x * 2 if x.shape[0] % 4 == 0 else x
    if n > 2:
        return y
"""


def _conditions(text: str) -> None:
    """Conditions of the program, on which new compiles would guard."""
    forecast([], [{"x": (4, 8), "n": 3}, {"x": (6, 8), "n": 3}], conditions=conditions(text, 1))


def _loops(text: str) -> None:
    code = read_assembly(text)
    for loop, _ in loops_of(code):
        loop_text(code, loop)


def _read(path: str) -> str:
    return (FIXTURES / path).read_text()


def _code_alone(code: str) -> None:
    """Everything that reads output code, without the other texts of its graph."""
    texts = GraphTexts(code=code)
    for work in (_wrapper, _memory, _fusing):
        work(texts)


OVERLAP = """class <lambda>(torch.nn.Module):
    def forward(self, a: "f32[4]"):
        all_reduce = torch.ops._c10d_functional.all_reduce.default(a, 'sum', '0')
        mm = torch.ops.aten.mm.default(a, a)
        wait_tensor = torch.ops._c10d_functional.wait_tensor.default(all_reduce)
        return (wait_tensor, mm)
Node,Benchmarked Est(us),Analytical Est(us),Diff(ratio),Diff(us),Flops
mm f32(4, 4) f32(4, 4),0.4369,0.4369,1.0000,0.0000,33554432
"""


def _planned(text: str) -> None:
    for collective in planned(dict.fromkeys(OVERLAP_RECORDS, text)):
        assert (collective.expected_hidden_us or 0.0) <= (collective.expected_us or 0.0)


def _story(text: str) -> None:
    """`/compile`, from a log."""
    log = read_trace_log(io.BytesIO(text.encode("utf-8", "replace")))
    gatherer = StoryGatherer()
    one = gatherer.log("log", None)
    for piece in log.pieces():
        if piece.record is not None:
            one.add(piece.record)
    one.finish(log.strings)
    story, _ = gatherer.finish()
    predictions(story, start_of(story))
    for compile_ in story.compiles:
        resumed(compile_.function or "")


BRANCH = """import torch
def f(x):
    if x.sum() > 0:
        x = x + 1
    else:
        x = x - 1
    return x
optimizer = torch.optim.Adam([])
g = torch.compile(f)
"""


def on_graphs() -> list[Subject]:
    """What needs more than one text."""
    work: dict[Callable[[GraphTexts], object], tuple[str, ...]] = {
        _links: ("code", "ir_post", "ir_pre", "post_grad", "readable", "dynamo"),
        _links_without_ir: ("code", "post_grad"),
        _reasons_without_ir: ("code", "post_grad"),
        _reasons: ("code", "ir_post", "post_grad"),
        _fusing: ("code", "ir_post", "post_grad"),
        _memory: ("code", "ir_post", "post_grad"),
        _wrapper: ("code",),
        _case: ("code",),
    }
    found = [
        subject
        for function, changed in work.items()
        for text in changed
        for subject in _each(text, function)
    ]
    found.append(Subject("links of many operations", partial(_changed, _links, ZOO, "ir_post"),
                         (ZOO.ir_post or "",)))  # fmt: skip
    message, code = FAILED["message"], CPU.code or ""
    errors = (GCC, CLANG, TOOLS, CHAINED, LOWERING, TRITON)
    return [
        *found,
        Subject("code in C++", _code_alone, (_read("output-code/cuda-aotidyn.cpp"),)),
        Subject(
            "program of a graph",
            lambda text: program("", text, text, text),
            (ZOO.post_grad or "", code),
        ),
        Subject(
            "threads of C++ code",
            lambda text: shared_loops(text.split("\n")),
            (_read("output-code/cpu-cond.py"),),
        ),
        Subject(
            "guards of a kernel's sizes",
            lambda text: allowed({"s0": 8}, {"s0": 4}, {"s0": text}, [text]),
            ("Eq(Mod(s0, 4), 0)", "[2, 1024]"),
        ),
        Subject("code of reductions", _reductions, (_read("output-code/cuda-combo.py"),)),
        Subject(
            "configurations of a kernel",
            configurations,
            (_read("judged-gpu/output_code.py").split("'''")[1], "omp parallel num_threads(2)"),
        ),
        Subject(
            "cache records",
            lambda text: read_cache_answer("fx_graph_cache_miss", text.encode()),
            ('{"key": "f", "components": ["[x] a: b", "[y] c: d"]}',),
        ),
        Subject("instructions", lambda text: mix_of(text.split())),
        Subject("widths of accesses", lambda text: widths_of(text.split())),
        Subject("loops of machine code", _loops, (ASSEMBLY,)),
        Subject("simulated loops", read_mca, (MCA,)),
        Subject("samples of machine code", lambda text: sampled(read_sass(text), LAUNCH)),
        Subject("definition of a kernel", lambda text: definition_of(text, "a", None), (TTIR,)),
        Subject("lines that serve others", lambda text: serving(text.split("\n"), {7, 70})),
        Subject("graph compared", _compared, (ZOO.post_grad or "",)),
        Subject("difference to a code", lambda text: _difference(text, code), (code,)),
        Subject("guards evaluated", _guards, (GUARDS,)),
        Subject("branches of a program", lambda text: without_branch(text, 3), (BRANCH,)),
        Subject(
            "program with a change",
            lambda text: patch("a.py", text, Change(mode="default", optimizer=True)),
            (BRANCH,),
        ),
        Subject("conditions of a program", _conditions, (CONDITIONS,)),
        Subject("story of a log", _story, (_log(),)),
        Subject("collectives that a pass moved", _planned, (OVERLAP,)),
        Subject("failures of an error", lambda text: _failures(text, code), (message, *errors)),
        Subject("failures of a code", lambda text: _failures(message, text), (code,)),
    ]


def readers() -> list[Subject]:
    """The readers of whole files."""
    return [
        Subject(
            f"reader of {parser.name}",
            _given(parser.read, GIVEN["bytes"]),
            tuple(sorted((seed.decode("utf-8", "replace") for seed in parser.seeds), key=len)[:1]),
        )
        for parser in PARSERS
    ]


SUBJECTS = [*readers(), *on_graphs(), *plain_readers()]


# Texts -------------------------------------------------------------------------------------------

_TOKEN = re.compile(r"\w+|[^\w\s]|\s+")
_SHAPE = re.compile(r"\d+")
LONGEST_LITERAL = 80
LONGEST_SEED = 20_000


def of_literals(about: Iterable[ModuleType]) -> Iterator[Pump]:
    """Repetitions of the literals of modules: a reader's own delimiters are among them."""
    words = dict.fromkeys(
        node.value if isinstance(node.value, str) else node.value.decode("latin-1")
        for module in about
        for node in ast.walk(ast.parse(Path(inspect.getfile(module)).read_text()))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str | bytes)
        and 0 < len(node.value) <= LONGEST_LITERAL
    )
    for word in words:
        yield Pump("", word)
        yield Pump("", word + "\n")


def of_seed(seed: str) -> Iterator[Pump]:
    """A real text with each of its lines, and each piece of a line, repeated in its place."""
    seen: set[object] = set()
    at = 0
    for line in seed.splitlines(keepends=True):
        start, after = seed[:at], seed[at + len(line) :]
        at += len(line)
        if _SHAPE.sub("0", line) in seen or not line.strip():
            continue
        seen.add(_SHAPE.sub("0", line))
        yield Pump(start, line, after)
        yield Pump(start, line, after, counts=True)
        tokens = [token.span() for token in _TOKEN.finditer(line[:400])]
        for count in (1, 2, 3, 4):
            for first, last in zip(tokens, tokens[count - 1 :], strict=False):
                piece = line[first[0] : last[1]]
                key = (count, _SHAPE.sub("0", piece), _SHAPE.sub("0", line[: first[0]])[-8:])
                if key not in seen:
                    seen.add(key)
                    yield Pump(start + line[: first[0]], piece, line[last[1] :] + after)


def pumps(subject: Subject) -> Iterator[Pump]:
    yield from of_literals(subject.about)
    for seed in subject.seeds:
        yield from of_seed(seed[:LONGEST_SEED])
