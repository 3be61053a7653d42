"""Compiles programs and keeps what torch's provenance says of each call, and what is true of it.

    python -m bench.provenance.record OUT cpu|GPU NAME…     # a GPU such as "NVIDIA H100", pretended

Beside what `bench.truth_programs` keeps of a program, each of its graphs has a `GRAPH.calls.json`:

    {"torch": {"cpp_fused_add_0:1": ["add", "mul"]}, "library": {"extern_kernels.mm:2": "mm"},
     "kernels": [["cpp_fused_add_0", 1, ["add"], ["mul"]]]}

`torch` is the map as torch holds it when the graph is compiled, also where it writes none.
`library` has the node that was being lowered when the kernel of a library's call was made, and
`kernels` the nodes whose operations wrote the lines of a kernel for its nth call, and those whose
operations found their value computed already.
"""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from functools import partial, wraps
from pathlib import Path
from typing import Any

from bench.truth_programs.program import Case, Program
from bench.truth_programs.worker import Programs, prepare_process

LOWERED = "_bench_lowered"


def main() -> None:
    out, device, names = Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3:]
    if device == "cpu":
        prepare_process()
        mode: Any = nullcontext()
    else:
        # Imported first: with torch's debugging on, it would keep torch's own functions of GPUs.
        from inductorscope.capturing.inside.pretending import pretend

        prepare_process()
        mode, device = pretend(device), "cuda:0"
    with mode:
        programs = WithProvenance(out, device)
        for name in names:
            print(f"{programs.device}-{name}", *programs.record(name), flush=True)


class WithProvenance(Programs):
    """The catalogue, with torch's own record beside the truth."""

    def __init__(self, out: Path, device: str) -> None:
        super().__init__(out, device.partition(":")[0])
        self.programs = {
            name: Program(name, partial(_made_on, program, device))
            for name, program in self.programs.items()
        }
        self.held: dict[Path, dict[str, list[str]]] = {}
        self.library: dict[Path, dict[str, str]] = {}
        self._follow_torch()

    def record(self, name: str) -> tuple[int, str]:
        from torch._inductor import debug

        # Torch adds to one map all backward graphs of a process.
        debug._inductor_triton_kernel_to_post_grad_node_info.clear()
        return super().record(name)

    def _follow_torch(self) -> None:
        from torch._inductor import debug
        from torch._inductor.graph import GraphLowering
        from torch._inductor.virtualized import V

        register, trace = (
            GraphLowering.register_operation,
            debug.set_kernel_post_grad_provenance_tracing,
        )
        dump = debug.dump_inductor_provenance_info

        @wraps(register)
        def registering(graph: Any, operation: Any) -> Any:  # noqa: ANN401  # torch is untyped
            node = getattr(graph, "current_node", None)
            if node is not None and not hasattr(operation, LOWERED):
                object.__setattr__(operation, LOWERED, node.name)
            return register(graph, operation)

        @wraps(trace)
        def tracing(made: Any, kernel: str, is_extern: bool = False) -> Any:  # noqa: ANN401  # torch is untyped
            handle = trace(made, kernel, is_extern)
            node = getattr(made, LOWERED, None)
            if is_extern and node is not None:
                self.library.setdefault(Path(V.debug._path), {})[f"{kernel}:{handle}"] = node
            return handle

        @wraps(dump)
        def dumping() -> Any:  # noqa: ANN401  # torch is untyped
            held = debug._inductor_triton_kernel_to_post_grad_node_info
            self.held[Path(V.debug._path)] = {key: list(nodes) for key, nodes in held.items()}
            return dump()

        GraphLowering.register_operation = registering
        debug.set_kernel_post_grad_provenance_tracing = tracing
        debug.dump_inductor_provenance_info = dumping

    def _keep(self, folder: Path) -> int:
        defined = self.recording.definitions.by_folder
        for graph in {*self.held, *self.library, *defined}:
            if graph.is_relative_to(folder):
                found = {
                    "torch": self.held.get(graph, {}),
                    "library": self.library.get(graph, {}),
                    "kernels": [_of_call(call) for call in defined.get(graph, [])],
                }
                (folder / f"{graph.name}.calls.json").write_text(json.dumps(found))
        return super()._keep(folder)


def _made_on(program: Program, device: str, _: str) -> list[Case]:
    return program.make(device)


def _of_call(defined: Any) -> list[Any]:  # noqa: ANN401  # needs torch
    origins = [origin for origin in defined.origins if origin is not None]
    wrote = {origin.fx for origin in origins if origin.fx}
    reused = {later.fx for origin in origins for later in origin.also if later.fx}
    return [defined.kernel, defined.nth, sorted(wrote), sorted(reused - wrote)]


if __name__ == "__main__":
    main()
