"""Every kind of input with a sample, and what becomes of it. `make docs` writes docs/reading.md.

A new kind of input is one entry here: `tests/reading/test_inputs.py` reads its sample.
"""

from dataclasses import dataclass, field
from typing import Literal

Result = Literal["read", "partly", "refused"]


@dataclass(frozen=True)
class Input:
    """One kind of input."""

    section: str
    kind: str
    sample: str
    """A file, folder or archive in `tests/fixtures`."""
    result: Result
    becomes: str
    """What it becomes. If partly read, what is missing; if refused, what to do instead."""
    graphs: int = 0
    kernels: int = 0
    """Generated kernels of all graphs."""
    profile: bool = False
    """Whether a profile is read."""
    breaks: int | None = None
    recompiles: int | None = None
    says: str = ""
    """Words of *What was read*, or of the message that refuses the upload."""
    instead: dict[str, str] = field(default_factory=dict)
    """Words of the sample that are others in this kind."""

    def text(self, sample: str) -> str:
        for word, other in self.instead.items():
            sample = sample.replace(word, other)
        return sample


CODE = "Code and graphs"
LOGS = "Logs"
PROFILES = "Profiles"
OTHERS = "Other files"
CUTLASS = "inputs/cutlass.py"
CK = {"cuda_fused": "rocm_fused", "compile.cuda": "compile.rocm", "cutlass/cutlass.h": "ck/ck.hpp"}
"""The words of a CK template where CUTLASS has its own."""

INPUTS: tuple[Input, ...] = (
    Input(
        CODE, "`TORCH_COMPILE_DEBUG=1`: the folder, or any folder in it",
        "cuda-foo1/torch_compile_debug", "read", "graphs with all stages", graphs=1, kernels=1,
    ),
    Input(
        CODE, "code with nested regions, `torch.cond` or `while_loop`",
        "inputs/regions.py", "read",
        "a graph; subgraphs are linked and counted through their calls. Torch keeps the IR of the "
        "last one only: lines of the others have nodes, and no operations", graphs=1, kernels=5,
    ),
    Input(
        CODE, "a single `output_code.py`, also renamed", "output-code/cuda-user.py", "read",
        "a graph with its code; loop bodies are rebuilt from the kernels", graphs=1, kernels=4,
    ),
    Input(
        CODE, "a single FX graph, of torch 2.0 on; lines that are not understood are listed",
        "fx-unquoted", "read", "a graph with one stage", graphs=1,
    ),
    Input(
        CODE, "a C++ wrapper, `.py`", "output-code/cpu-cppwrap.py", "read",
        "a graph with its code", graphs=1, kernels=5,
    ),
    Input(
        CODE, "one kernel in a file of Inductor's cache folder",
        "inputs/aoti-gpu/cfqn54ec6ehs2nkfza4ngx5yorsokicv3iwkxz7ktkbzvqmlxi7c.py", "read",
        "a graph with this kernel; beside the code that calls it, it is kept as text",
        graphs=1, kernels=1,
    ),
    Input(
        CODE, "Triton's cache folder alone: `.ttir`, `.ptx`, `.cubin`, `.amdgcn`, …",
        "triton-cache/triton", "partly", "a graph of the kernels with their compiled texts; for "
        "lines and nodes upload `output_code.py`, Inductor's cache folder or a `TORCH_TRACE` log "
        "too", graphs=1, kernels=1, says="its lines and nodes are known if",
    ),
    Input(
        CODE, "machine code alone, or a report of Nsight Compute (`.ncu-rep`)", "ncu", "refused",
        "upload it with Triton's cache folder: a report then shows where warps stalled, on each "
        "instruction, line and node", says="read with the machine code of the kernels",
    ),
    Input(
        CODE, "depyf's folder", "inputs/depyf.tar.xz", "partly",
        "graphs with their stages and kernels; the decompiled bytecode is shown as source files, "
        "passes in between are kept as text", graphs=2, kernels=2, says="kept as text",
    ),
    Input(
        CODE, "Inductor's cache folder with a C++ wrapper: `.py` and `.cpp` of a module",
        "inputs/cpp-wrapper-cache.tar.xz", "read", "one graph for each module", graphs=2, kernels=2,
        says="code that another file of the upload contains too",
    ),
    Input(
        CODE, "code with CUTLASS templates", CUTLASS, "read",
        "a graph; lines of the template are not linked with nodes", graphs=1, kernels=2,
    ),
    Input(
        CODE, "code with CK templates (ROCm)", CUTLASS, "read", "the same", graphs=1, kernels=2,
        instead=CK,
    ),
    Input(
        CODE, "code for XPU", CUTLASS, "read", "the same", graphs=1, kernels=2,
        instead={"cuda_fused": "xpu_fused", ".cuda": ".xpu", "_cuda": "_xpu", "'cuda'": "'xpu'"},
    ),
    Input(
        CODE, "code for MPS (`compile_mps_shader`)", "inputs/mps.py", "read",
        "a graph; a library of shaders is one kernel", graphs=1, kernels=1,
    ),
    Input(
        CODE, "code with Halide kernels", "inputs/halide.py", "read",
        "a graph; lines of the kernels are not linked with nodes", graphs=1, kernels=1,
    ),
    Input(
        CODE, "AOTInductor for GPU: wrapper `.cpp` with the kernels' source in comments (2.7 on)",
        "output-code/cuda-aotidyn.cpp", "read", "a graph with its kernels", graphs=1, kernels=1,
    ),
    Input(
        CODE, "AOTInductor for GPU: wrapper `.cpp` that loads `.cubin` files (until 2.6)",
        "inputs/aoti-gpu/aoti-gpu.cpp", "partly",
        "calls and the names of kernels; upload `output_code.py` or a `TORCH_TRACE` log of the "
        "compile for the kernels' source", graphs=1,
        says="a kernel whose code is in another file, which is not in the upload",
    ),
    Input(
        CODE, "the same with the kernels' files of Inductor's cache folder",
        "inputs/aoti-gpu", "partly", "a graph with the kernels whose files are there; of "
        "others, calls and names", graphs=1, kernels=1,
        says="a kernel whose code is in another file, which is not in the upload",
    ),
    Input(
        CODE, "AOTInductor for CPU: wrapper and kernels, `.cpp`", "aoti-cpu", "read",
        "one graph with the code of both files", graphs=1, kernels=1,
    ),
    Input(
        LOGS, "`TORCH_TRACE`, also compressed, of many ranks, or damaged",
        "cuda-foo1/torch_trace", "read",
        "graphs, compiles, records; damaged lines are listed", graphs=1, kernels=1, breaks=0,
        recompiles=0,
    ),
    Input(
        LOGS, "`TORCH_LOGS=fusion,schedule,perf_hints`, autotuning tables",
        "torch-logs/torch_logs.txt", "read", "*Not fused*",
    ),
    Input(
        LOGS, "`TORCH_LOGS=output_code,graph_breaks,recompiles,+dynamo,aot_graphs,bytecode,guards,"
        "post_grad_graphs,…` in any mix, with what torchrun, CI or a server put before the lines",
        "torch-logs-mixed/mix.log.gz", "read",
        "graphs, kernels, graph breaks, recompiles, guards, as from `TORCH_TRACE`; what was not "
        "asked for is unknown", graphs=10, kernels=13, breaks=3, recompiles=3,
    ),
    Input(
        LOGS, "`TORCH_LOGS=ir_pre_fusion,ir_post_fusion`, with `output_code`",
        "torch-logs-mixed/ir.log.gz", "read", "stages of the graphs", graphs=2, kernels=2,
    ),
    Input(
        LOGS, "other topics of `TORCH_LOGS`: `kernel_code`, `trace_source`, `sym_node`, …",
        "torch-logs-mixed/others.txt", "partly", "no page shows them; the text is kept",
        graphs=2, says="lines of TORCH_LOGS=kernel_code: no page shows them",
    ),
    Input(
        LOGS, "output of a vLLM or SGLang server, in the forms of 2025 and 2026",
        "server-logs/vllm-cold.log", "read",
        "phases of the start, and the factors of vLLM's cache, on *Start-up*",
        says="phases of the start",
    ),
    Input(
        LOGS, "tritonparse's log, `.ndjson`", "inputs/dedicated_log_triton_trace_user_.ndjson",
        "read", "what Triton compiled of the kernels; alone, a graph of the kernels with their "
        "source", graphs=1, kernels=1,
    ),
    Input(
        LOGS, "tlparse's folder with `raw.log`", "tlparse-folder/with-log.tar.xz", "read",
        "the log is read; the other files repeat it", graphs=1, kernels=1, breaks=0, recompiles=0,
        says="made by tlparse from the log",
    ),
    Input(
        LOGS, "tlparse's folder without `raw.log`, of old versions or in part",
        "tlparse-folder/dynamic.tar.xz", "partly",
        "graphs, codes (also those in colours), graph breaks and recompiles; figures, phases and "
        "stacks are only in the log: upload `raw.log` or the log itself too",
        graphs=6, kernels=6, breaks=4, recompiles=3, says="a record of the log",
    ),
    Input(
        PROFILES, "the profiler's trace, `export_chrome_trace`, also compressed",
        "cuda-foo1/compiled.trace.json.gz", "read", "*Time*, *Roofline*", profile=True,
    ),
    Input(
        PROFILES, "traces of the profiler before Kineto (torch 1.x), "
        "`profiler.function_events.export_chrome_trace`", "traces/before-kineto.json", "read",
        "*Time*; they have no launches, so nothing says what the device waited for", profile=True,
    ),
    Input(
        PROFILES, "traces of MTIA devices", "traces/mtia.json", "read", "*Time*", profile=True,
    ),
    Input(
        PROFILES, "traces with hardware counters (CUPTI ranges)", "traces/hardware-counters.json",
        "partly", "*Time* of the processor; such traces have no durations of kernels",
        profile=True, says="hardware counters instead of a duration",
    ),
    Input(
        PROFILES, "traces of several ranks, with or without their `TORCH_TRACE` logs",
        "ranks/traces.tar.xz", "read",
        "*Time* of each; *Ranks*: who is late to collectives, and what torch expected of those "
        "that it moved", profile=True,
    ),
    Input(
        PROFILES, "the profiler's table, `key_averages().table()`", "cuda-foo1/compiled.table.txt",
        "read", "*Time*", profile=True,
    ),
    Input(
        OTHERS, "memory snapshot, pickled (never unpickled here)", "inputs/memory_snapshot.pickle",
        "refused", "docs.pytorch.org/memory_viz shows it; the page *Memory* shows the plan of "
        "compiled graphs, from `output_code.py` or a `TORCH_TRACE` log",
        says="not read: allocations over time, which docs.pytorch.org/memory_viz shows",
    ),
    Input(
        OTHERS, "memory snapshot, JSON", "inputs/memory_snapshot.json", "refused", "the same",
        says="not read: allocations over time, which docs.pytorch.org/memory_viz shows",
    ),
    Input(
        OTHERS, "PyTorch execution trace (`ExecutionTraceObserver`)", "inputs/execution_trace.json",
        "refused", "it has no times: upload the profiler's trace of the same run",
        says="Upload the profiler's trace of the same run",
    ),
)  # fmt: skip
