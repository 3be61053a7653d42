"""A run with thousands of kernels, made of the one kernel of a test fixture: each copy has a name,
a call, nodes of its own in the graph, and launches in a trace."""

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path

from tests.support.places import FIXTURES

FIXTURE = FIXTURES / "cuda-foo1"
KERNEL = "triton_poi_fused_maximum_neg_0"
FOLDER = "torch_compile_debug/run_2026_11_21_01_25_55_680737-pid_420/torchinductor"
GRAPH = "model__0_inference_0.0"
LAUNCHES = 20
STEP_US = 1e6


def make_run(target: Path, kernels: int, launches: int = LAUNCHES) -> None:
    """A folder as `torch.compile` and the profiler write it. `launches`: of each kernel."""
    graph = target / FOLDER / GRAPH
    graph.mkdir(parents=True)
    (graph / "output_code.py").write_text(_code(kernels))
    text = _graph(kernels)
    for name in ("fx_graph_readable.py", "fx_graph_transformed.py"):
        (graph / name).write_text(text)
    events = list(_events(kernels, launches))
    (target / "compiled.trace.json").write_text(json.dumps({"traceEvents": events}))


def _name(number: int) -> str:
    return KERNEL.removesuffix("0") + str(number)


def _code(kernels: int) -> str:
    """The fixture's code with its kernel, and its call, as often as asked."""
    (path,) = FIXTURE.rglob("output_code.py")
    code = path.read_text()
    start, end = code.index("# kernel path:"), code.index("\nasync_compile.wait")
    call = code.index("            # Topologically Sorted", end)
    called = code.index("            del arg0_1", call)
    kernel = re.sub(
        r"\n\ndef get_args\(\):.*?(?=\n''', device_str)", "", code[start:end], flags=re.S
    )

    def copy(text: str, number: int) -> str:
        text = text.replace(KERNEL, _name(number))
        text = re.sub(r"\bneg\b(?=[^_(.]|$)", f"neg_{number}", text, flags=re.M)
        return re.sub(r"%maximum\b|=> maximum\b", rf"\g<0>_{number}", text)

    kernel_texts = "".join(copy(kernel, number) for number in range(kernels))
    calls = "".join(copy(code[call:called], number) for number in range(kernels))
    return code[:start] + kernel_texts + code[end:call] + calls + code[called:]


def _graph(kernels: int) -> str:
    """The same two lines of the program, in a loop."""
    lines = [
        "class <lambda>(torch.nn.Module):",
        '    def forward(self, arg0_1: "u8[1, 8]", arg1_1: "u8[8390, 8]"):',
    ]
    for number in range(kernels):
        neg, maximum = f"neg_{number}", f"maximum_{number}"
        lines += [
            f"        # File: /home/user/models/models.py:{9 + 2 * number} in foo1, code: a = "
            "torch.neg(x1)",
            f'        {neg}: "u8[1, 8]" = torch.ops.aten.neg.default(arg0_1)',
            "",
            f"        # File: /home/user/models/models.py:{10 + 2 * number} in foo1, code: b = "
            "torch.maximum(x2, a)",
            f'        {maximum}: "u8[8390, 8]" = torch.ops.aten.maximum.default(arg1_1, {neg});  '
            f"{neg} = None",
            "",
        ]
    return "\n".join([*lines, f"        return (maximum_{kernels - 1},)", ""])


def _events(kernels: int, launches: int) -> Iterator[dict[str, object]]:
    chance = random.Random(5)
    identity, moment = 0, 1e9
    for launch in range(launches):
        for number in range(kernels):
            identity += 1
            moment += 20.0
            name, us = _name(number), round(chance.lognormvariate(1.5, 1.2), 3)
            path = f"/tmp/runs/cache/{number % 100:02}/{number:052}.py"
            told = {
                "External id": identity, "kernel_backend": "triton", "kernel_file": path,
                "kernel_hash": f"{number:052}", "kernel_num_gb": 0.000134248,
            }  # fmt: skip
            event = {"ph": "X", "name": name, "ts": moment + launch * STEP_US}
            yield event | {"cat": "cpu_op", "pid": 420, "tid": 420, "dur": 15.0, "args": told}
            ids = {"External id": identity, "correlation": identity, "device": 0, "stream": 7}
            begin = moment + launch * STEP_US + 10
            yield event | {
                "cat": "kernel", "pid": 0, "tid": 7, "ts": begin, "dur": min(us, 19.0), "args": ids
            }  # fmt: skip
