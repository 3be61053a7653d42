"""The program that a person takes home: one file, torch alone, and it fails.

It is run here in a process of its own, which is the proof, and the way to test graphs that take
their process with them.
"""

from __future__ import annotations

import inspect
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import torch

from inductorscope.capture.builtin import BUILT_IN
from inductorscope.capture.inside.diagnose.minify import parts
from inductorscope.capture.inside.diagnose.minify.text import input_text
from inductorscope.capture.spec import CaptureSpec

SHOWN_OUTPUT = 12_000
SECONDS = 300.0
"""A run that takes longer counts as hanging."""
DIFFER = "Compiled and eager differ"
"""How the program's message begins when numbers are wrong."""
FAULTS = "inductorscope.capture.faults"
CRASH, ACCURACY = "crash", "accuracy"
_MARKS = re.compile(r"  # (?:noqa: \w+|fmt: skip)(?=\s)")
_OURS = ("TORCH_COMPILE_DEBUG", "TORCH_TRACE", "TORCHDYNAMO_", "TORCHINDUCTOR_", "TRITON_")


@dataclass(frozen=True)
class Wanted:
    """A program to be written."""

    text: str
    """The graph as the class `Program`."""
    inputs: Sequence[dict[str, Any]]
    level: str
    direct: bool
    """Hand the graph to Inductor itself, as AOTAutograd does, instead of to torch.compile."""
    embed: bool
    """Carry the values of inputs instead of drawing them alike, where there are any."""
    about: str
    """What it shows, in a sentence."""


@dataclass(frozen=True)
class Ran:
    """A run of a program in a process of its own."""

    status: int
    """Of the process; a signal that ended it is negative."""
    output: str
    seconds: float
    hung: bool = False

    @property
    def sentence(self) -> str:
        if self.hung:
            return f"did not end within {SECONDS:g} s"
        if self.status < 0:
            return f"was ended by {signal.Signals(-self.status).name}"
        return f"ended with exit status {self.status}"


def program_text(wanted: Wanted, spec: CaptureSpec) -> str:
    """The whole file."""
    makers = [input_text(one, n, embed=wanted.embed) for n, one in enumerate(wanted.inputs)]
    body = wanted.text + "".join(makers)
    used: list[Callable[..., Any]] = [parts.results]
    used += [each for each in (parts.drawn, parts.stored) if f"{each.__name__}(" in body]
    used += [parts.laid_out] if len(used) > 1 else []
    used += [parts.exact_results, parts.difference] if wanted.level == ACCURACY else []
    pieces = [_head(wanted.about), *_setting(spec), wanted.text, _inputs(makers)]
    pieces += [_MARKS.sub("", inspect.getsource(each)) for each in used]
    pieces += [_main(wanted), 'if __name__ == "__main__":\n    main()\n']
    return "\n\n".join(piece.strip() + "\n" for piece in pieces)


def run_program(text: str, folder: Path, *, seconds: float = SECONDS) -> Ran:
    """Run it as a person would: its own process, caches of its own, nothing of ours set."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "inductorscope-repro.py"
    file.write_text(text, encoding="utf-8")
    outside = {k: v for k, v in os.environ.items() if not k.startswith(_OURS)}
    outside |= {"TORCHINDUCTOR_CACHE_DIR": str(folder / "cache"), "PYTHONUNBUFFERED": "1"}
    start = time.monotonic()
    try:
        ended = subprocess.run(
            [sys.executable, file.name], cwd=folder, env=outside, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as slow:
        return Ran(-signal.SIGKILL, _shown(slow.output or b""), time.monotonic() - start, hung=True)
    return Ran(ended.returncode, _shown(ended.stdout), time.monotonic() - start)


def _shown(output: bytes) -> str:
    text = output.decode(errors="replace")
    if len(text) <= SHOWN_OUTPUT:
        return text
    half = SHOWN_OUTPUT // 2
    return f"{text[:half]}\n… {len(text) - 2 * half:,} characters left out …\n{text[-half:]}"


def _head(about: str) -> str:
    comment = textwrap.fill(about, 98, break_long_words=False)
    return f'''"""{comment}

Needs torch alone (it failed with {torch.__version__}). It ends with an error while the fault is
there, and says so when it is gone.
"""

import base64
import copy
import operator
import zlib
from math import inf, nan
from typing import Any

import torch
from torch import device, fx

Untyped = Any

# Compile anew in every run.
torch._inductor.config.fx_graph_cache = False
torch._functorch.config.enable_autograd_cache = False'''.replace(
        "\nimport torch\nfrom",
        "\nimport torch\nimport torch._functorch.config\nimport torch._inductor.config\nfrom",
    )


def _setting(spec: CaptureSpec) -> list[str]:
    """The options of the capture, and the fault that a model wrong on purpose has put in."""
    from torch._inductor import config

    now = config.get_config_copy()
    lines = [f"torch._inductor.config.{key} = {now[key]!r}" for key in spec.config if key in now]
    known = {f"{FAULTS}.{model.fault}" for model in BUILT_IN if model.fault}
    faults = sorted(known & sys.modules.keys())
    texts = []
    for name in faults:
        text = (resources.files(FAULTS) / f"{name.rpartition('.')[2]}.py").read_text("utf-8")
        texts += ["# The fault, put in on purpose:", text.strip(), "", "", "install()"]
    return ["\n".join([*texts, *lines])] if texts or lines else []


def _inputs(makers: Sequence[str]) -> str:
    lines = "".join(f"        {maker},\n" for maker in makers)
    return f"def inputs():\n    return [\n{lines}    ]"


def _main(wanted: Wanted) -> str:
    if wanted.direct:
        compiling = (
            "    from torch._inductor.compile_fx import compile_fx_inner\n\n"
            "    graph = fx.symbolic_trace(program)\n"
            "    with torch.no_grad():\n"
            "        inner = compile_fx_inner(graph, inputs())\n"
            "    compiled = lambda *values: inner(list(values))\n"
        )
    else:
        compiling = "    compiled = torch.compile(program, fullgraph=True, dynamic=False)\n"
    start = "def main():\n    program = Program()\n    expected = results(program, inputs())\n"
    found = "    found = results(compiled, inputs())\n"
    if wanted.level == CRASH:
        return (
            f"{start.replace('expected = ', '')}{compiling}{found.replace('found = ', '')}"
            '    print("It compiles and runs: the fault is not here.")'
        )
    return (
        f"{start}{compiling}{found}"
        "    told = difference(expected, found, exact_results(program, inputs()))\n"
        "    if told:\n"
        f'        raise SystemExit("{DIFFER}: " + told)\n'
        '    print("Compiled and eager agree: the fault is not here.")'
    )
