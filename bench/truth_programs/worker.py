"""Records programs named on standard input, one a line, and says on standard output how it went.

Reply: `name TAB lines recorded TAB problem`. Runs alone in its process; a program that brings the
process down costs only itself (see record.py).
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import shutil
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from bench.truth_programs.program import Case

if TYPE_CHECKING:
    from inductorscope.capturing.record.placing import GraphLines

_STAGES = (
    "output_code.py", "fx_graph_transformed.py", "fx_graph_readable.py", "fx_graph_runnable.py",
    "ir_pre_fusion.txt", "ir_post_fusion.txt", "inductor_provenance_tracking_node_mappings.json",
)  # fmt: skip


def main() -> None:
    out, device = Path(sys.argv[1]), sys.argv[2]
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what programs print is no reply
    prepare_process()
    recorder = Programs(out, device)
    for line in sys.stdin:
        name = line.strip()
        lines, problem = recorder.record(name)
        replies.write(f"{name}\t{lines}\t{problem}\n")


def prepare_process() -> None:
    """Before torch is imported."""
    os.environ.update(
        TORCH_COMPILE_DEBUG="1",
        TORCHINDUCTOR_FX_GRAPH_CACHE="0",
        TORCHINDUCTOR_AUTOGRAD_CACHE="0",
        TORCHINDUCTOR_COMPILE_THREADS="1",
        HF_HUB_OFFLINE="1",
    )
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "ingest"))
    warnings.simplefilter("ignore")


class Programs:
    """The catalogue on one device, with the recording in place."""

    def __init__(self, out: Path, device: str) -> None:
        from bench.truth_programs.older_torch import prepare

        prepare()
        from inductorscope.capturing.record.install import Recording

        from bench.truth_programs.catalogue import all_programs
        from bench.truth_programs.compile_only import compile_no_kernels, generate_only

        self.out, self.device = out, device
        compile_no_kernels()
        self.backend = generate_only
        self.recording = Recording()
        self.programs = {program.name: program for program in all_programs()}

    def record(self, name: str) -> tuple[int, str]:
        """Compile one program's cases; returns how many lines were recorded, and what failed."""
        import torch

        folder = self.out / f"{self.device}-{name}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        _reset(folder, name)
        self.recording.forget()
        torch.manual_seed(0)
        problem = ""
        try:
            for case in self.programs[name].make(self.device):
                torch._dynamo.reset()
                self._run(case)
        except Exception as error:  # noqa: BLE001  # some operators and models do not compile
            problem = f"{type(error).__name__}: {error}".replace("\n", " ")[:300]
        lines = self._keep(folder)
        if not lines:
            shutil.rmtree(folder)
        return lines, self.recording.recorder.failure or problem

    def _run(self, case: Case) -> None:
        import torch

        compiled = torch.compile(case.function, backend=self.backend, dynamic=case.dynamic)
        if not case.train:
            with torch.no_grad():
                compiled(*case.args, **case.kwargs)
            return
        output = compiled(*case.args, **case.kwargs)
        leaves = [
            leaf
            for leaf in torch.utils._pytree.tree_flatten(output)[0]
            if isinstance(leaf, torch.Tensor) and leaf.requires_grad
        ]
        if leaves:
            torch.autograd.backward(leaves, [torch.ones_like(leaf) for leaf in leaves])

    def _keep(self, folder: Path) -> int:
        """Write the truth; keep of the debug folder what a user would upload."""
        from inductorscope.capturing.record.placing import place_lines

        record, lost = place_lines(self.recording.definitions)
        if lost:
            print(f"{folder.name}: {lost} recorded lines not found", file=sys.stderr)
        truth = {name: _truth(graph) for name, graph in record.graphs.items() if graph.lines}
        for graph in folder.glob("torch_compile_debug/*/torchinductor/*"):
            if graph.is_dir() and graph.name in truth:
                for file in graph.iterdir():
                    if file.name not in _STAGES:
                        file.unlink()
            elif graph.is_dir():
                shutil.rmtree(graph)
            else:
                graph.unlink()
        for other in folder.glob("torch_compile_debug/*/torchdynamo"):
            shutil.rmtree(other)
        (folder / "truth.json").write_text(json.dumps(truth))
        return sum(len(lines) for lines in truth.values())


def _truth(graph: GraphLines) -> dict[str, list[list[str | None]]]:
    """Line → [operation, loop-body node, FX node] of each operation that the capture recorded."""
    truth: dict[str, list[list[str | None]]] = {}
    for call in graph.calls:
        for line, entries in call.lines.items():
            found = truth.setdefault(line, [])
            for op, place, node, _ in entries:
                entry = [op, (place or "").rpartition(".")[2], node]
                if node is not None and entry not in found:
                    found.append(entry)
    return {line: entries for line, entries in truth.items() if entries}


def _reset(folder: Path, name: str) -> None:
    """Graphs are numbered anew, and machines with few and many cores are both met."""
    import torch
    from torch._functorch import aot_autograd
    from torch._inductor import config
    from torch._inductor.debug import DebugContext

    torch._dynamo.config.debug_dir_root = str(folder / "torch_compile_debug")
    aot_autograd.AOT_COUNTER = itertools.count()
    DebugContext._counter = itertools.count()
    number = hashlib.sha256(name.encode()).digest()[2]
    config.cpp.threads = (1, 1, 8)[number % 3]
    config.cpp.simdlen = (256, 512)[number % 5 == 0]


if __name__ == "__main__":
    main()
