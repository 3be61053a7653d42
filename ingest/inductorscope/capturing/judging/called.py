"""The code around a judged kernel, in the process that runs it. The judge trusts nothing here: it
has its own clock, and reads results from memory that both share while this process is stopped."""

import gc
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import Any, BinaryIO

import torch
from torch._inductor import config
from torch._inductor.cpu_vec_isa import pick_vec_isa

from inductorscope.capturing.inside.untyped import Untyped
from inductorscope.capturing.judging import arena
from inductorscope.capturing.judging.order import Order, Shape

MOST_INSTRUCTIONS = 1500
_SIMD = re.compile(r"\bcpp\.simdlen = (\d+)")
_WATCHED: tuple[Any, ...] = (
    torch, torch.Tensor, torch.cuda, torch.cuda.Event, torch.cuda.Stream, torch.cuda.CUDAGraph,
    torch.testing, time, os, json, gc, threading, sys,
)  # fmt: skip


def marks() -> dict[str, int]:
    """Returns what identifies the functions that judges rely on. They must not change."""
    return {f"{owner.__name__}.{name}": mark for owner in _WATCHED for name, mark in _marks(owner)}


def _marks(owner: Untyped) -> Iterator[tuple[str, int]]:
    for name, value in list(vars(owner).items()):
        function = getattr(value, "__func__", value)
        if isinstance(function, FunctionType):
            code = function.__code__
            yield name, hash((id(function), id(code), code.co_code, repr(function.__defaults__)))
        elif callable(function):
            yield name, id(function)


BEFORE = marks()


class Called:
    """A text whose kernel is called."""

    def __init__(self, order: Order, memory: arena.Arena) -> None:
        self.order, self.memory = order, memory
        self.on_gpu = order.device != "cpu"
        self.module: dict[str, Any] = {"__name__": "case", "__file__": "kernel.py"}
        self.calls: list[arena.Tensors] = []
        self.graph: Untyped = None
        self.held: list[torch.Tensor] = []
        """Memory of a GPU that was used before, so that other memory is used."""
        if self.on_gpu:
            memory.pin()

    def load(self, text: str) -> None:
        pinned = _SIMD.search(text)
        if pinned and int(pinned.group(1)) != pick_vec_isa().bit_width():
            config.cpp_cache_precompile_headers = False  # those here are of other vectors
        exec(compile(text, "kernel.py", "exec"), self.module)  # noqa: S102  # judging is running it

    def answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        match asked["do"]:
            case "shape":
                self._shape(self.order.shapes[asked["shape"]], asked["calls"], asked["shift"])
            case "prepare":
                self._prepare(asked["record"])
            case "run":
                for _ in range(asked["times"]):
                    self._run()
                if self.on_gpu:
                    torch._C._cuda_synchronize()
            case "collect":
                self.host.copy_(self.regions)
            case "marks":
                now = marks()
                changed = [name for name, _ in now.items() ^ BEFORE.items()]
                return {"changed": changed, "threads": len(sys._current_frames())}
            case "resources" if not self.on_gpu:
                return {"instructions": _instructions()}
            case "resources" if "resources" in self.module:
                return dict(self.module["resources"](self.module.get("KERNEL")))
        return {}

    def _shape(self, shape: Shape, calls: int, shift: int) -> None:
        self.graph = None
        self.module.update(shape.numbers)
        self.host = self.regions = self.memory.regions(shape, calls)
        if self.on_gpu:
            self.regions = torch.empty_like(self.host, device=self.order.device)
            self.held.append(self.regions)
        self.calls = arena.operands(self.regions, shape, shift)

    def _prepare(self, record: bool) -> None:
        """`record`: into a CUDA graph, which later calls replay without running any Python."""
        torch.full((len(self.calls) * 1009,), float("nan"), device=self.order.device)
        if not self.on_gpu:
            return
        self.regions.copy_(self.host)
        if record and self.graph is None:
            graph: Untyped = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self._run()
            self.graph = graph
            self.regions.copy_(self.host)
        torch._C._cuda_synchronize()

    def _run(self) -> None:
        if self.graph is not None:
            self.graph.replay()
        else:
            for given in self.calls:
                self.module["kernel"](given)


def _instructions() -> list[str]:
    """Returns the machine code of the C++ kernel that was compiled last; empty without objdump."""
    compiled = Path(os.environ["TORCHINDUCTOR_CACHE_DIR"]).rglob("*.main.so")
    newest = max(compiled, key=os.path.getmtime, default=None)
    if newest is None or shutil.which("objdump") is None:
        return []
    command = ["objdump", "-d", "--no-show-raw-insn", "--no-addresses", str(newest)]
    printed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    found, ours = [], False
    for line in printed.splitlines():
        if line.startswith("<"):
            ours = line.startswith("<kernel") and "@plt" not in line
        elif ours and line.startswith("\t"):
            found.append(line.strip().replace("\t", " "))
    return found[:MOST_INSTRUCTIONS]


def serve(order: Order, memory: arena.Arena, asked: BinaryIO, answers: int) -> None:
    """Loads the text that is asked first, then answers until the pipe closes or something fails."""
    try:
        with torch.no_grad():
            called = Called(order, memory)
            called.load(json.loads(asked.readline()))
            os.write(answers, b"{}\n")
            for line in asked:
                os.write(answers, json.dumps(called.answer(json.loads(line))).encode() + b"\n")
    except BaseException as error:  # noqa: BLE001  # the kernel may raise anything
        said = {"error": f"{type(error).__name__}: {error}"[:8000]}
        os.write(answers, json.dumps(said).encode() + b"\n")
