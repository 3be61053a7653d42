"""Writes the minified program for the user: one file that needs only torch, and fails.

It is run here in a separate process, as proof.
"""

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

from inductorscope.capturing.builtin import BUILT_IN
from inductorscope.capturing.inside.diagnose.minify import parts
from inductorscope.capturing.inside.diagnose.minify.text import input_text
from inductorscope.capturing.spec import CaptureSpec

SHOWN_OUTPUT = 12_000
SECONDS = 300.0
"""Seconds; a run that takes longer counts as hanging."""
DIFFER = "Compiled and eager differ"
"""Start of the program's message when numbers are wrong."""
FAULTS = "inductorscope.capturing.faults"
CRASH, ACCURACY = "crash", "accuracy"
_MARKS = re.compile(r"  # (?:noqa: \w+|fmt: skip)(?=\s)")
_OURS = ("TORCH_COMPILE_DEBUG", "TORCH_TRACE", "TORCHDYNAMO_", "TORCHINDUCTOR_", "TRITON_")
_INSTRUCTIONS = "TORCHINDUCTOR_VEC_ISA_OK"
"""Which vector instructions this machine may use, if it says so: the graph failed with these."""


@dataclass(frozen=True)
class Wanted:
    """A program to write."""

    text: str
    """Text of the graph as the class `Program`."""
    inputs: Sequence[dict[str, Any]]
    level: str
    direct: bool
    """Pass the graph directly to Inductor, like AOTAutograd, instead of to torch.compile."""
    embed: bool
    """Include the values of inputs, if there are any, instead of drawing similar ones."""
    about: str
    """What the program shows, in a sentence."""


@dataclass(frozen=True)
class Ran:
    """A run of a program in a separate process."""

    status: int
    """Exit status of the process; negative for a signal."""
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
    makers = [input_text(value, n, embed=wanted.embed) for n, value in enumerate(wanted.inputs)]
    body = wanted.text + "".join(makers)
    used: list[Callable[..., Any]] = [parts.results]
    used += [helper for helper in (parts.drawn, parts.stored) if f"{helper.__name__}(" in body]
    used += [parts.laid_out] if len(used) > 1 else []
    used += [parts.exact_results, parts.difference] if wanted.level == ACCURACY else []
    pieces = [_head(wanted.about), *_setting(spec), wanted.text, _inputs(makers)]
    pieces += [_MARKS.sub("", inspect.getsource(function)) for function in used]
    pieces += [_main(wanted), 'if __name__ == "__main__":\n    main()\n']
    return "\n\n".join(piece.strip() + "\n" for piece in pieces)


def run_program(text: str, folder: Path) -> Ran:
    """Runs the program as a user would: in a separate process with empty caches and no settings."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "inductorscope-repro.py"
    file.write_text(text, encoding="utf-8")
    outside = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(_OURS) or name == _INSTRUCTIONS
    }
    outside |= {"TORCHINDUCTOR_CACHE_DIR": str(folder / "cache"), "PYTHONUNBUFFERED": "1"}
    start = time.monotonic()
    try:
        ended = subprocess.run(
            [sys.executable, file.name], cwd=folder, env=outside, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS, check=False,
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

Needs only torch (it failed with {torch.__version__}). It ends with an error as long as the fault
exists, and says so when the fault is gone.
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

# Compile again in every run.
torch._inductor.config.fx_graph_cache = False
torch._functorch.config.enable_autograd_cache = False'''.replace(
        "\nimport torch\nfrom",
        "\nimport torch\nimport torch._functorch.config\nimport torch._inductor.config\nfrom",
    )


def _setting(spec: CaptureSpec) -> list[str]:
    """Returns the options of the capture, and the deliberate fault that the model installs."""
    from torch._inductor import config

    now = config.get_config_copy()
    lines = [f"torch._inductor.config.{key} = {now[key]!r}" for key in spec.config if key in now]
    known = {f"{FAULTS}.{model.fault}" for model in BUILT_IN if model.fault}
    faults = sorted(known & sys.modules.keys())
    texts = []
    for name in faults:
        text = (resources.files(FAULTS) / f"{name.rpartition('.')[2]}.py").read_text("utf-8")
        texts += ["# The deliberate fault:", text.strip(), "", "", "install()"]
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
    actual = "    actual = results(compiled, inputs())\n"
    if wanted.level == CRASH:
        return (
            f"{start.replace('expected = ', '')}{compiling}{actual.replace('actual = ', '')}"
            '    print("It compiles and runs: the fault does not occur.")'
        )
    return (
        f"{start}{compiling}{actual}"
        "    problem = difference(expected, actual, exact_results(program, inputs()))\n"
        "    if problem:\n"
        f'        raise SystemExit("{DIFFER}: " + problem)\n'
        '    print("Compiled and eager agree: the fault does not occur.")'
    )
