"""The shared vocabulary: stages, roles of files, categories of kernels, and more.

Each idea has one id, which is stored, sent and shown unchanged. Code that needs one id imports its
constant; everything else (panes, links, search, downloads, charts, legends) loops over the
descriptors. `frontend/vocabulary.py` writes them out when the front end is built.

A new stage is one entry in `STAGES`, in the order of lists, and a reader in `correlate` if its
lines name entities.
"""

from dataclasses import dataclass
from typing import Final, Literal

from inductorscope.plugins import added

# Stages. The role of a stage's file is the stage's id.
SOURCE: Final = "source"
DYNAMO: Final = "dynamo"
PRE_GRAD: Final = "pre_grad"
PRE_GRAD_AFTER: Final = "pre_grad_after"
JOINT: Final = "joint"
AOT: Final = "aot"
JOINT_BEFORE: Final = "joint_before"
JOINT_AFTER: Final = "joint_after"
READABLE: Final = "readable"
POST_GRAD: Final = "post_grad"
IR_PRE: Final = "ir_pre"
IR_POST: Final = "ir_post"
KERNEL: Final = "kernel"
WRAPPER: Final = "wrapper"
CODE: Final = "code"
TTIR: Final = "ttir"
TTGIR: Final = "ttgir"
LLIR: Final = "llir"
PTX: Final = "ptx"
SASS: Final = "sass"
AMDGCN: Final = "amdgcn"
ASSEMBLY: Final = "assembly"

# Roles of files that belong to no stage.
FX_RUNNABLE: Final = "fx_runnable"
WRAPPER_PART: Final = "wrapper_part"
PROVENANCE: Final = "provenance"
PROVENANCE_KERNELS: Final = "provenance_kernels"
PROVENANCE_NODES: Final = "provenance_nodes"
KERNEL_STACKS: Final = "kernel_stacks"
KERNEL_INFORMATION: Final = "kernel_information"
KERNEL_COMPILES: Final = "kernel_compiles"
TRACE_LOG: Final = "trace_log"
LOG_ARTIFACT: Final = "log_artifact"
TORCH_LOGS: Final = "torch_logs"
SERVER_LOG: Final = "server_log"
TLPARSE_RECORD: Final = "tlparse_record"
TLPARSE_PAGE: Final = "tlparse_page"
DEBUG_LOG: Final = "debug_log"
BENCHMARK_LOG: Final = "benchmark_log"
CHROME_TRACE: Final = "chrome_trace"
KEY_AVERAGES: Final = "key_averages"
RESULT: Final = "result"
CAPTURE: Final = "capture"
CAPTURE_LOG: Final = "capture_log"
SOURCE_LIST: Final = "source_list"
LINE_RECORD: Final = "line_record"
INTERMEDIATE_VALUES: Final = "intermediate_values"
KERNEL_FILE: Final = "kernel_file"
COMPILED_KERNEL: Final = "compiled_kernel"
MEMORY_SNAPSHOT: Final = "memory_snapshot"
EXECUTION_TRACE: Final = "execution_trace"
TRITONPARSE_LOG: Final = "tritonparse_log"
NCU_REPORT: Final = "ncu_report"
BEST_CONFIG: Final = "best_config"
TRITON_METADATA: Final = "triton_metadata"
DIAGRAM: Final = "diagram"
OTHER: Final = "other"

# Categories of kernels.
TRITON_TEMPLATE: Final = "triton_template"
TRITON_FOREACH: Final = "triton_foreach"
TRITON_OTHER: Final = "triton_other"
USER_TRITON: Final = "user_triton"
CPP_FUSED: Final = "cpp_fused"
NATIVE_TEMPLATE: Final = "native_template"
OTHER_FUSED: Final = "other_fused"
EXTERN: Final = "extern"
COMMUNICATION: Final = "communication"
MEMCPY: Final = "memcpy"
MEMSET: Final = "memset"
EAGER: Final = "eager"
OVERHEAD: Final = "overhead"

# Work of compiling, in addition to Dynamo and AOTAutograd.
PASSES: Final = "passes"
LOWERING: Final = "lowering"
CODEGEN: Final = "codegen"
CPP: Final = "cpp"
TRITON: Final = "triton"
TUNING: Final = "tuning"
CACHES: Final = "caches"
RECORDING: Final = "recording"

# Rows of a profiler's table that are not kernels.
CPU_OP: Final = "cpu_op"
ANNOTATION: Final = "annotation"
ROW_TITLES = {KERNEL: "kernel", CPU_OP: "operator", ANNOTATION: "annotation"}

# Work of threads that is not an operator.
DRIVER: Final = "driver"
PYTHON: Final = "python"
OTHER_EVENT: Final = "other_event"

# Families of library kernels, parts of categories: `extern_gemm` in compiled code, `eager_gemm`
# elsewhere.
GEMM: Final = "gemm"
CONVOLUTION: Final = "convolution"
ATTENTION: Final = "attention"
CACHE: Final = "cache"

# Directions of a graph.
FORWARD: Final = "forward"
BACKWARD: Final = "backward"
INFERENCE: Final = "inference"
UNKNOWN: Final = "unknown"
DIRECTIONS = (FORWARD, BACKWARD, INFERENCE)
"""Directions that a graph's name or code can have."""

Language = Literal["python", "cpp", "ir", "text"]
Names = Literal["", "source", "dynamo", "fx", "ir", "code"]


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing of a stage's nodes."""

    id: str
    title: str


@dataclass(frozen=True, slots=True)
class Stage:
    """One view of a graph: where its text comes from and how its lines are read."""

    id: str
    """Lower-case letters and underscores, as in `post_grad`."""
    title: str
    language: Language
    missing: str
    """Shown when a graph has no such text: where it comes from."""
    file: str = ""
    """The file's exact name in a debug folder, by which it is recognised."""
    names: Names = ""
    """The entities that its lines name: lines of the user's program, Dynamo's nodes, nodes of FX
    graphs, operations of the IR, or kernels and calls. Empty when the text is only shown."""
    nodes: bool = False
    """Whether its lines are the nodes of an FX graph, with types that can be folded."""
    opens: bool = False
    """Whether the explorer shows it by default."""
    picture: Picture | None = None
    made_from: str = ""
    """The default stage to compare it with."""
    part_of: str = ""
    """The stage that it shows a part of."""
    ending: str = ""
    """The ending of its files in a compile cache. Such a text belongs to one kernel; its lines
    refer to the kernel's lines, and through these to nodes and to the user's lines."""

    @property
    def role(self) -> str:
        """The role of the file with its text."""
        return self.part_of or self.id


_NO_CODE = (
    "TORCH_COMPILE_DEBUG writes it as output_code.py; none came with this graph. "
    "The compile may have failed before code was written, or come from a cache."
)


def _debug_file(name: str) -> str:
    return f"TORCH_COMPILE_DEBUG writes it as {name}; none came with this graph."


_NOT_TRACED = (
    "Only a TORCH_TRACE log holds this graph. Set TORCH_TRACE when you run, and upload its folder "
    "too."
)

_NOT_COMPILED = (
    "Triton's cache holds it, and none came with this kernel. Upload the debug folder together "
    "with the compile cache (TORCHINDUCTOR_CACHE_DIR, which contains the folder triton)."
)


STAGES: tuple[Stage, ...] = (
    Stage(
        SOURCE, "Source", "python", names="source", opens=True,
        missing="No source file was uploaded with this run, and its graphs have no stack "
        "comments to rebuild one from. Upload the source with the debug folder, or capture with "
        "sources on.",
    ),
    Stage(
        DYNAMO, "Dynamo graph", "python", names="dynamo", nodes=True,
        missing="Only a TORCH_TRACE log holds the Dynamo graph. Set TORCH_TRACE when you run, and "
        "upload its folder too.",
    ),
    Stage(
        PRE_GRAD, "FX pre-grad", "python", names="dynamo", nodes=True,
        made_from=DYNAMO, missing="Only a TORCH_TRACE log or TORCH_LOGS=pre_grad_graphs holds this "
        "graph. Upload it too.",
    ),
    Stage(
        PRE_GRAD_AFTER, "FX after pre-grad", "python", nodes=True, made_from=PRE_GRAD,
        missing=_NOT_TRACED,
    ),
    Stage(
        JOINT, "FX joint", "python", nodes=True,
        missing="Only a TORCH_TRACE log holds the joint graph, and only training has one.",
    ),
    Stage(AOT, "FX from AOTAutograd", "python", nodes=True, missing=_NOT_TRACED),
    Stage(JOINT_BEFORE, "FX before joint", "python", nodes=True, missing=_NOT_TRACED),
    Stage(
        JOINT_AFTER, "FX after joint", "python", nodes=True, made_from=JOINT_BEFORE,
        missing=_NOT_TRACED,
    ),
    Stage(
        READABLE, "FX received", "python", file="fx_graph_readable.py", names="fx", nodes=True,
        made_from=JOINT, missing=_debug_file("fx_graph_readable.py"),
    ),
    Stage(
        POST_GRAD, "FX post-grad", "python", file="fx_graph_transformed.py", names="fx",
        nodes=True, opens=True, picture=Picture("picture", "Picture"),
        made_from=READABLE, missing=_debug_file("fx_graph_transformed.py"),
    ),
    Stage(
        IR_PRE, "IR pre-fusion", "ir", file="ir_pre_fusion.txt", names="ir",
        picture=Picture("picture_pre", "Picture, unfused"),
        missing=_debug_file("ir_pre_fusion.txt"),
    ),
    Stage(
        IR_POST, "IR post-fusion", "ir", file="ir_post_fusion.txt", names="ir",
        picture=Picture("picture_post", "Picture, fused"),
        made_from=IR_PRE, missing=_debug_file("ir_post_fusion.txt"),
    ),
    Stage(KERNEL, "Kernel", "python", names="code", opens=True, part_of=CODE, missing=_NO_CODE),
    Stage(WRAPPER, "Wrapper", "python", names="code", part_of=CODE, missing=_NO_CODE),
    Stage(
        CODE, "Output code", "python", file="output_code.py", names="code", missing=_NO_CODE,
    ),
    Stage(TTIR, "Triton IR", "text", ending=".ttir", missing=_NOT_COMPILED),
    Stage(TTGIR, "Triton GPU IR", "text", ending=".ttgir", made_from=TTIR, missing=_NOT_COMPILED),
    Stage(LLIR, "LLVM IR", "text", ending=".llir", missing=_NOT_COMPILED),
    Stage(PTX, "PTX", "text", ending=".ptx", missing=_NOT_COMPILED),
    Stage(SASS, "SASS", "text", ending=".cubin", missing=_NOT_COMPILED),
    Stage(AMDGCN, "AMDGCN", "text", ending=".amdgcn", missing=_NOT_COMPILED),
    Stage(
        ASSEMBLY, "Assembly", "text", ending=".main.so",
        missing="A C++ kernel has it: the instructions of the library that ran, which captures "
        "keep and Inductor's cache folder holds. None came with this kernel.",
    ),
    *added("stages", Stage),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Role:
    """The role of a stored file that is not a stage's text."""

    id: str
    title: str
    became: str = "kept as text"
    """The result of reading such a file."""
    of_graph: bool = False
    """Whether it belongs to the graph in whose folder it is."""
    file: str = ""
    """The file's name in Inductor's or a capture's folder."""
    refused: bool = False
    """Whether it is not read. `became` then says what to do."""


ROLES: tuple[Role, ...] = (
    Role(FX_RUNNABLE, "Runnable graph", of_graph=True, file="fx_graph_runnable.py"),
    Role(WRAPPER_PART, "Part of a wrapper"),
    Role(
        PROVENANCE, "Provenance of nodes", of_graph=True,
        file="inductor_provenance_tracking_node_mappings.json",
    ),
    Role(
        PROVENANCE_KERNELS, "Nodes of kernels", of_graph=True,
        file="inductor_triton_kernel_to_post_grad_nodes.json",
    ),
    Role(PROVENANCE_NODES, "Nodes before and after autograd"),
    Role(
        KERNEL_STACKS, "Stacks of kernels",
        file="inductor_provenance_tracking_kernel_stack_traces.json",
    ),
    Role(
        KERNEL_INFORMATION, "Kernel information", "kernels and their nodes", of_graph=True,
        file="kernel_information.json",
    ),
    Role(KERNEL_COMPILES, "Compiles of kernels"),
    Role(TRACE_LOG, "TORCH_TRACE log"),
    Role(LOG_ARTIFACT, "Record of a log"),
    Role(TORCH_LOGS, "TORCH_LOGS text", "fusions and hints, on the page of compiling"),
    Role(SERVER_LOG, "Log of vLLM or SGLang", "phases of the start, on Compiling → Start-up"),
    Role(TLPARSE_RECORD, "Record in tlparse's folder", "a record of the log"),
    Role(
        TLPARSE_PAGE, "Page of tlparse",
        "made by tlparse from the log, which has the same; kept to download",
    ),
    Role(DEBUG_LOG, "Debug log", file="debug.log"),
    Role(BENCHMARK_LOG, "Benchmark log", file="wrapper_benchmark.log"),
    Role(CHROME_TRACE, "Profiler trace", "profiler trace"),
    Role(KEY_AVERAGES, "Profiler table", "profiler table"),
    Role(RESULT, "Timings", "timings"),
    Role(CAPTURE, "Facts of the capture", "facts of the capture", file="capture.json"),
    Role(
        CAPTURE_LOG, "Output of the capture", "output of the capture, kept to download",
        file="capture.log",
    ),
    Role(SOURCE_LIST, "List of sources", "names of the captured sources", file="sources.json"),
    Role(
        LINE_RECORD, "Record of the code's lines", "exact record of the code's lines",
        file="line_record.json",
    ),
    Role(INTERMEDIATE_VALUES, "Values of buffers", "values of buffers, kept to download"),
    Role(
        KERNEL_FILE, "Code of another file",
        "code that another file of the upload contains too; kept as text",
    ),
    Role(
        COMPILED_KERNEL, "Compiled kernel",
        "not read: what a compiler made of a kernel. Upload output_code.py, Inductor's cache "
        "folder or a TORCH_TRACE log, which have the kernel's source",
        refused=True,
    ),
    Role(
        MEMORY_SNAPSHOT, "Memory snapshot",
        "not read: allocations over time, which docs.pytorch.org/memory_viz shows. The page Memory "
        "shows the plan of compiled graphs: upload their output_code.py or a TORCH_TRACE log",
        refused=True,
    ),
    Role(
        EXECUTION_TRACE, "Execution trace",
        "not read: operators without times. Upload the profiler's trace of the same run "
        "(export_chrome_trace)",
        refused=True,
    ),
    Role(
        TRITONPARSE_LOG, "Log of tritonparse",
        "what Triton compiled, shown with the kernels of the upload, or as a graph without them",
    ),
    Role(
        NCU_REPORT, "Report of Nsight Compute",
        "a report of Nsight Compute, read with the machine code of the kernels that it profiled",
    ),
    Role(BEST_CONFIG, "Autotuning result", "an autotuning result"),
    Role(TRITON_METADATA, "Facts of a compiled kernel", "facts of a compiled kernel"),
    Role(DIAGRAM, "Diagram", "kept as a picture to download"),
    Role(OTHER, "Other file", "not recognised; kept to download"),
)  # fmt: skip


HUES = {
    "pointwise": "kernels that compute element by element",
    "persistent": "persistent reductions",
    "reduction": "other reductions",
    "gemm": "matrix products",
    "convolution": "convolutions",
    "library": "other library calls",
    "attention": "attention",
    "moving": "copies and communication",
    "other": "other work of the device",
    "driver": "calls of the driver",
    "annotation": "annotations of a trace",
    "tracing": "compiling: tracing the program into graphs",
    "joining": "compiling: tracing through autograd",
    "passes": "compiling: changing graphs",
    "lowering": "compiling: lowering graphs",
    "writing": "compiling: writing code",
    "building": "compiling: C++ and Triton compilers",
    "tuning": "compiling: autotuning",
    "caching": "compiling: caches",
    "temporary": "memory of temporary buffers",
    "output": "memory of outputs",
    "constant": "memory of constants",
    "input": "memory of inputs",
    "busy": "the device computes",
    "idle": "the device waits",
    "accent": "compiled",
    "eager": "eager",
    "edge": "anything else",
}
"""Colours of charts and what each means; `styles/tokens.css` has their values for light and dark
pages."""


@dataclass(frozen=True, slots=True)
class Category:
    """A category of kernels."""

    id: str
    title: str
    hue: str = "other"
    """One of `HUES`."""
    fused: bool = False
    """Whether Inductor writes such a kernel in place of several operators."""
    short: str = ""
    """The part that Inductor puts into the names of such kernels."""
    heuristic: str = ""
    """The decorator of such kernels: `@triton_heuristics.pointwise`."""


CATEGORIES: tuple[Category, ...] = (
    Category(
        "triton_pointwise", "Triton pointwise", "pointwise", fused=True, short="poi",
        heuristic="pointwise",
    ),
    Category(
        "triton_reduction", "Triton reduction", "reduction", fused=True, short="red",
        heuristic="reduction",
    ),
    Category(
        "triton_persistent_reduction", "Triton persistent reduction", "persistent", fused=True,
        short="per", heuristic="persistent_reduction",
    ),
    Category(TRITON_TEMPLATE, "Triton template", "gemm", short="tem", heuristic="template"),
    Category(
        TRITON_FOREACH, "Triton foreach", "pointwise", fused=True, short="for",
        heuristic="foreach",
    ),
    Category(
        "triton_split_scan", "Triton split scan", fused=True, short="spl", heuristic="split_scan",
    ),
    Category(TRITON_OTHER, "Triton, other", fused=True, short="unk"),
    Category(USER_TRITON, "your own Triton"),
    Category(CPP_FUSED, "C++ fused", "pointwise", fused=True),
    Category(NATIVE_TEMPLATE, "CUTLASS or CK template", "gemm"),
    Category(OTHER_FUSED, "fused, in another language", "pointwise", fused=True),
    Category(EXTERN, "library", "library"),
    Category("extern_gemm", "library GEMM", "gemm"),
    Category("extern_convolution", "library convolution", "convolution"),
    Category("extern_attention", "library attention", "attention"),
    Category("extern_cache", "library KV cache", "attention"),
    Category("extern_other", "library, other", "library"),
    Category(COMMUNICATION, "communication", "moving"),
    Category(MEMCPY, "memcpy", "moving"),
    Category(MEMSET, "memset", "moving"),
    Category("eager_gemm", "eager GEMM", "gemm"),
    Category("eager_convolution", "eager convolution", "convolution"),
    Category("eager_attention", "eager attention", "attention"),
    Category("eager_cache", "eager KV cache", "attention"),
    Category(EAGER, "eager, other"),
    Category(OVERHEAD, "compiled code's overhead"),
)  # fmt: skip

HOST_WORK: tuple[Category, ...] = (
    Category(DRIVER, "driver call", "driver"),
    Category(ANNOTATION, "annotation", "annotation"),
    Category(PYTHON, "Python function", "edge"),
    Category(OTHER_EVENT, "other event", "edge"),
)
"""Categories of a trace's events that are neither kernels nor operators."""

KERNEL_KINDS = {"combo": "combo kernel", "multi": "multi-kernel"}
"""Titles of kernels that contain others; other kernels need only their category's title."""


@dataclass(frozen=True, slots=True)
class Work:
    """A kind of work of compiling."""

    id: str
    title: str
    hue: str
    meaning: str


WORKS: tuple[Work, ...] = (
    Work(DYNAMO, "Dynamo", "tracing", "Tracing Python bytecode into a graph, and building guards."),
    Work(
        AOT,
        "AOTAutograd",
        "joining",
        "Tracing through autograd and functionalisation: the joint graph and its two halves.",
    ),
    Work(
        PASSES,
        "graph passes",
        "passes",
        "Passes over FX graphs: pre-grad, joint and post-grad, pattern matching.",
    ),
    Work(
        LOWERING,
        "lowering and scheduling",
        "lowering",
        "Turning FX nodes into loops, fusing and ordering them.",
    ),
    Work(
        CODEGEN,
        "code generation",
        "writing",
        "Writing kernels and the wrapper that calls them, and loading it.",
    ),
    Work(
        CPP,
        "C++ compilation",
        "building",
        "Compiling kernels and the wrapper with the C++ compiler.",
    ),
    Work(
        TRITON,
        "Triton compilation",
        "building",
        "Compiling kernels with Triton; waiting for its workers.",
    ),
    Work(TUNING, "autotuning", "tuning", "Running candidates and choosing the fastest."),
    Work(CACHES, "caches", "caching", "Computing keys, reading caches, storing."),
    Work(RECORDING, "CUDA graphs", "edge", "Recording CUDA graphs."),
    Work(OTHER, "other", "edge", "Phases with unknown names."),
)
"""Sorted by the order of the work."""
STARTS: tuple[Work, ...] = (
    Work("imports", "Python and torch", "edge",
         "From the start of the process until torch was imported."),
    Work("program", "before the first compile", "moving",
         "The program's other imports, Dynamo's and Inductor's, its data and its model."),
    Work("waiting", "waiting for compile workers", "idle", "They compile kernels meanwhile."),
    Work("rest", "first calls and the program", "eager",
         "What else runs meanwhile: loading kernels, eager code, the first calls."),
)  # fmt: skip
"""What a program's start consists of, in its order."""


@dataclass(frozen=True, slots=True)
class Certainty:
    """How a reference is known."""

    level: int
    """Higher is more certain."""
    id: str
    title: str
    meaning: str
    tone: Literal["good", "warn", ""]
    """The colour of its chip."""


CERTAINTIES: tuple[Certainty, ...] = (
    Certainty(1, "kernel", "kernel only", "only the kernel is known, not the line", "warn"),
    Certainty(2, "inferred", "inferred", "aligned by operation and data flow", ""),
    Certainty(
        3, "exact", "exact",
        "recorded while the code was generated, or written in the text itself", "good",
    ),
)  # fmt: skip


STAGE_BY_ID = {stage.id: stage for stage in STAGES}
ROLE_TITLES = {stage.id: stage.title for stage in STAGES if not stage.part_of} | {
    role.id: role.title for role in ROLES
}
"""All roles of stored files, with titles."""
CATEGORY_BY_ID = {category.id: category for category in (*CATEGORIES, *HOST_WORK)}
WORK_BY_ID = {work.id: work for work in (*WORKS, *STARTS)}
FUSED = frozenset(category.id for category in CATEGORIES if category.fused)
REFUSED = frozenset(role.id for role in ROLES if role.refused)
"""Roles of files that are known but not read."""
OF_KERNELS = {stage.id: stage.ending for stage in STAGES if stage.ending}
"""Stages of texts that kernels were compiled to, with the endings of their files."""
SEARCHED = (
    *(stage.id for stage in STAGES if not stage.part_of and not stage.ending), KERNEL_STACKS,
)  # fmt: skip
"""Roles whose texts can be searched, in the order of the stages."""
ROLES_OF_GRAPHS = frozenset(
    [stage.id for stage in STAGES if not stage.part_of and not stage.ending and stage.id != SOURCE]
    + [role.id for role in ROLES if role.of_graph]
)
"""Roles of files that belong to the graph in whose folder they are."""
KEPT_GRAPHS = (POST_GRAD, READABLE)
"""Graphs whose nodes are stored in addition to their text."""
OPENED = tuple(stage.id for stage in STAGES if stage.opens)
"""Stages that the explorer shows by default."""


def category_title(category: str) -> str:
    """The title of a category, or of a kind of row in a profiler's table."""
    if category in ROW_TITLES:
        return ROW_TITLES[category]
    known = CATEGORY_BY_ID.get(category)
    return category.replace("_", " ") if known is None else known.title


def kernel_title(kind: str, category: str) -> str:
    """A kernel's title: "Triton pointwise", "combo kernel, Triton reduction"."""
    title = category_title(category)
    return f"{KERNEL_KINDS[kind]}, {title}" if kind in KERNEL_KINDS else title


def hue_of(category: str) -> str:
    known = CATEGORY_BY_ID.get(category)
    return "other" if known is None else known.hue
