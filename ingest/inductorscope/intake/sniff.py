"""Recognises the role of a file: by the exact name that torch gives it, else by its content.

A file that torch named is what its name says. Any other file, such as a renamed one or an excerpt,
is recognised by its content; its name decides only between kinds whose content looks the same.
"""

import io
import re
from itertools import pairwise

from inductorscope.formats.log.server_log import looks_like_server_log
from inductorscope.formats.log.torch_logs import looks_like_torch_logs
from inductorscope.formats.machine import ncu
from inductorscope.formats.sizes import KIB
from inductorscope.formats.unpacking import DamagedError, open_plain
from inductorscope.formats.vocabulary import (
    BENCHMARK_LOG,
    BEST_CONFIG,
    CHROME_TRACE,
    CODE,
    COMPILED_KERNEL,
    DEBUG_LOG,
    DIAGRAM,
    DYNAMO,
    EXECUTION_TRACE,
    FX_RUNNABLE,
    INTERMEDIATE_VALUES,
    IR_POST,
    IR_PRE,
    JOINT,
    KERNEL_FILE,
    KERNEL_INFORMATION,
    KERNEL_STACKS,
    KEY_AVERAGES,
    MEMORY_SNAPSHOT,
    NCU_REPORT,
    OF_KERNELS,
    OTHER,
    POST_GRAD,
    PRE_GRAD,
    PROVENANCE,
    PROVENANCE_KERNELS,
    READABLE,
    RESULT,
    ROLES,
    SERVER_LOG,
    SOURCE,
    STAGES,
    TORCH_LOGS,
    TRACE_LOG,
    TRITON_METADATA,
    TRITONPARSE_LOG,
)
from inductorscope.intake import magic

HEAD = 64 * KIB
"""Bytes that are read to recognise a file."""

NESTED = "nested archive"
"""Returned by `role_of` for an archive; not a role."""

# Files of PyTorch and Python that are technically zips, but not archives of text.
_ZIP_ENDINGS = (".pt", ".pt2", ".pth", ".npz", ".whl", ".jar", ".xlsx")

_READ_PACKED = {TRACE_LOG, CHROME_TRACE}
"""Roles whose readers unpack zstd themselves."""

# V1121 01:25:55.678000 419 torch/_dynamo/utils.py:2126] {"chromium_event": {}, …
_TRACE_LOG = re.compile(
    rb"^(?:\[[^\]\s]{1,40}\]: ?){0,4}[A-Z]?(?:\d{4}|\d{8}) \d\d:\d\d:\d\d(?:[.,]\d+)? +\d+ "
    rb"[^\n]{1,400}?:\d+\] \{",
    re.M,
)
# A message of TORCH_LOGS that becomes a record, or is about fusing
_LATE = re.compile(
    rb"\] \[__(?:output_code|graph_code|aot_\w{1,20}|p\w{1,5}_grad_graphs|graph_breaks|recompiles"
    rb"|guards|bytecode|ir_p\w{1,4}_fusion|fusion|perf_hints)\] "
)
# A line such as `op0: SchedulerNode(ComputedBuffer)`.
_IR = re.compile(
    rb"^(?:\w{1,99}_)?(?:op|buf)\d{1,9}: \w{0,99}SchedulerNode\(|^\w+: \w+SchedulerNode\(", re.M
)
_FUSED = re.compile(rb"^\w+: FusedSchedulerNode\(", re.M)
# Scheduling numbers nodes in order; fusion moves them, so their numbers are no longer sorted.
_NUMBERED = re.compile(rb"^(?:\w*_)?(?:op|buf)(\d{1,9}): \w*SchedulerNode\(", re.M)
# V1121 07:03:54.123000 69 torch/_dynamo/x.py:7] [0/0] [__graph_code] …, before each line
_LOGGED = re.compile(
    rb"^(?:\[rank\d+\]:)?[VDIWEC]\d{4} [\d:.]+ \d+ [^\]\n]{1,400}:\d+\] (?:\[[^\]\n]{1,80}\] ?)+",
    re.M,
)
# class GraphModule(torch.nn.Module):
#     def forward(self, arg0_1: "u8[1, 8]"):
_FX = re.compile(
    rb"^class [^\n(]{1,200}\(torch\.nn\.Module\):[ \t\r]*\n[ \t]+def forward\(self", re.M
)
#     def forward(self, L_x_: "f32[4]"):
_DYNAMO = re.compile(
    rb"def forward\(self,[^\n]{0,400}?\bL_[A-Za-z]|= torch\._dynamo|\bl_[a-z]\w*_ = L_"
)
# A graph without its class, as people paste it: lines such as
# `neg = torch.ops.aten.neg.default(arg0_1);  arg0_1 = None`; and as `print(graph)` shows it.
_FX_LINES = re.compile(
    rb"^[ \t]*\w+(?:: \"[^\"\n]*\")? = [\w.]+\([^\n]{0,4000}\);  (?:\w+ = )+None[ \t\r]*$"
    rb"|^[ \t]*graph\(\):[ \t\r]*\n[ \t]+%\w+ : [^\n]{0,400}\[target=",
    re.M,
)
_JOINT = re.compile(rb"class (?:joint_helper|joint_fn|inner_f)\(|tree_flatten_spec\(\[primals, tan")
_CPP_WRAPPER = re.compile(rb"inductor_entry_impl|AOTInductorModel")
# cpp_fused_neg_0 = async_compile.cpp_pybinding([…], and pieces of a wrapper
_CODE_LINES = re.compile(
    rb"^[ \t]*\w+ = async_compile\.\w+\(|^[ \t]+buf\d+ = empty_strided\w*\("
    rb"|^[ \t]+extern_kernels\.\w+\(",
    re.M,
)
# extern "C" void cpp_fused_neg_0(const float* in_ptr0, …
# @triton.jit
# def triton_poi_fused_neg_0(in_ptr0, …
_BARE_KERNEL = re.compile(
    rb'^[ \t]*extern "C"\s{1,9}(?:__declspec\(dllexport\)\s)?void\s{1,9}(?:kernel|cpp_\w+)\('
    rb"|^[ \t]*@triton\.jit[ \t\r]*\n[ \t]*def triton_\w*\(|^[ \t]*@triton_heuristics\.\w+\(",
    re.M,
)
# cfqn54ec6ehs2nkfza4ngx5yorsokicv3iwkxz7ktkbzvqmlxi7c.py: a kernel in Inductor's own cache
_CACHED = re.compile(r"^c[a-z2-7]{40,60}(?:\.main)?\.\w{1,20}$")
# [  before_launch - aoti_torch_cpu_addmm_out - buf0  ]:
_PRINTED = re.compile(
    rb"^\[ +(?:before_launch|after_launch|aoti_model_inputs)(?: - |: )|"
    rb"^aoti_torch_save_tensor_handle: Saved|^inductor: (?:before|after)_launch - ",
    re.M,
)
_SAVED = re.compile(r"(?<!\w)(?>\w*?(?:before|after)_launch_)\w++\.pt$")
_TABLE = re.compile(rb"^-{10}[- ]*\r?\n *Name .*# of Calls", re.M)
_BENCHMARK = re.compile(
    rb"Peak GPU memory usage|^[ \t]*== \w+ category kernels ==|KERNELS BANDWIDTH INFO"
    rb"|GB/s\s+\d+ regs",
    re.M,
)
# What other compilers make of a kernel
_COMPILED = (".fatbin", ".hsaco", ".spv", ".metallib")
_PICKLE = re.compile(rb"\x80[\x02-\x05]")
# The first pattern decides what a JSON is.
_JSON = (
    # {"segments": [{"device": 0, "address": …, "total_size": …, "blocks": […]}], "device_traces": …
    (
        re.compile(rb'"segments"\s*:\s*\[[^\]]{0,400}?"(?:total_size|blocks)"'
                   rb'|^\{\s*"device_traces"\s*:'),
        MEMORY_SNAPSHOT,
    ),
    # {"schema": "1.1.1-chakra.0.0.4", "pid": 7, "time": …, "nodes": […]}
    (
        re.compile(rb'^\{\s*"schema"\s*:\s*"[\d.]{1,20}(?:-chakra[\w.-]{0,20})?"[^\[]{0,4000}"nodes"'),
        EXECUTION_TRACE,
    ),
    # {"event_type":"compilation","pid":7,"stack":[…],"payload":{…}}
    (re.compile(rb'^\{[^\[]{0,400}"event_type"\s*:\s*"(?:compilation|launch)'), TRITONPARSE_LOG),
    (
        re.compile(rb'"(?:preToPost|postToPre|cppCodeToPost|postToCppCode|'
                   rb'inductor_post_to_pre_grad_nodes|inductor_triton_kernel_to_post_grad_nodes)"'
                   rb'\s*:|"pass_name"\s*:[^\n]{0,400}"from_node"\s*:'),
        PROVENANCE,
    ),
    (re.compile(rb'"self_cpu_us"\s*:'), KEY_AVERAGES),
    (re.compile(rb'"(?:traceEvents|schemaVersion|deviceProperties)"\s*:'), CHROME_TRACE),
    (re.compile(rb'"ph"\s*:\s*"'), CHROME_TRACE),
    # {"triton_poi_fused_mul_1:2": {"stack_traces": […], "post_grad_nodes": […], …}, …}
    (re.compile(rb'"post_grad_nodes"\s*:|"stack_traces"\s*:'), KERNEL_INFORMATION),
    # {"triton_poi_fused_mul_1:2": ["  File \\"/a.py\\", line 8, …"], …}
    (re.compile(rb'^\{\s*"[^"\n]{1,400}:\d+"\s*:\s*\[\s*" *File \\"'), KERNEL_STACKS),
    (re.compile(rb'"(?:configs_hash|found_by_coordesc)"\s*:'), BEST_CONFIG),
    # {"hash": "e1f44a97…", "target": {…}, "num_warps": 16, …
    (re.compile(rb'^\{\s*"hash"\s*:\s*"[0-9a-f]{64}"\s*,\s*"target"\s*:'), TRITON_METADATA),
    (re.compile(rb'"(?:eager_ms|compiled_ms)"\s*:'), RESULT),
)  # fmt: skip
_OF_ENDINGS = {KEY_AVERAGES: ".key_averages.json", BEST_CONFIG: ".best_config"}
"""Roles that the end of a name shows too."""
_GENERATED = re.compile(rb"@triton_heuristics\.|\bimport triton_heuristics\b")
_DRAWN = re.compile(rb"<svg[\s>]|<!DOCTYPE svg|^(?:strict )?(?:di)?graph\b[^\n{]{0,200}\{", re.M)


def role_of(name: str, head: bytes) -> str:
    """Returns a file's role from its first `HEAD` bytes and its name; `NESTED` for an archive."""
    kind = magic.kind_of(head)
    if kind in ("gzip", "zstd"):
        inner = inflated_head(head)
        if magic.kind_of(inner) is not None:
            return NESTED
        role = _role_of_text(name.removesuffix(".gz").removesuffix(".zst"), inner)
        return role if kind == "gzip" or role in _READ_PACKED else NESTED
    if kind == "zip" and name.lower().endswith(_ZIP_ENDINGS):
        return INTERMEDIATE_VALUES if _SAVED.search(name) else OTHER
    if kind is not None or magic.is_tar(head):
        return NESTED
    return _role_of_text(name, head)


def role_of_rest(piece: bytes) -> str:
    """Returns the role of a text whose head shows none, from a later piece: programs and CI systems
    print much before torch logs anything."""
    logged = _LATE.search(piece)
    if logged is None:
        return OTHER
    text = piece[piece.rfind(b"\n", 0, logged.start()) + 1 :][:HEAD].decode("utf-8", "replace")
    return TORCH_LOGS if looks_like_torch_logs(text) else OTHER


def inflated_head(head: bytes) -> bytes:
    """Decompresses the beginning of a file; of a damaged one, as much as can be read."""
    plain = open_plain(io.BytesIO(head))
    inner = b""
    try:
        while len(inner) < HEAD and (piece := plain.read(HEAD - len(inner))):
            inner += piece
    except DamagedError:  # also raised at the end of the head
        pass
    return inner


def _role_of_text(name: str, head: bytes) -> str:
    lower = name.lower()
    for stage, ending in OF_KERNELS.items():
        if lower.endswith(ending):
            return stage
    if head.startswith(ncu.MAGIC):
        return NCU_REPORT
    if lower.endswith(_COMPILED):
        return COMPILED_KERNEL
    if _PICKLE.match(head) and b"segments" in head and b"device_traces" in head:
        return MEMORY_SNAPSHOT
    text = head.removeprefix(b"\xef\xbb\xbf")
    if _TRACE_LOG.search(text):  # also with a run of NULs, which a crash may leave
        return TRACE_LOG
    if _named(lower, text):
        return _FILES[lower]
    start = text.lstrip()[:1]
    if start in {b"{", b"["}:
        role = _role_of_json(lower, text)
        if role is not None:
            return role
    if b"\0" in text[:4096]:
        return OTHER
    if looks_like_server_log(text.decode("utf-8", "replace")):
        return SERVER_LOG
    role = _role_of_lines(lower, text)
    # Empty logs, and files without their beginning, show it by their name alone.
    named = (role for pattern, role in _NAME_PATTERNS if pattern.search(lower))
    return role or _FILES.get(lower) or next(named, OTHER)


def _named(name: str, text: bytes) -> bool:
    """Returns whether the name alone decides. Logs do not count, nor program output saved under the
    name of a text, since these hold anything."""
    if name not in _FILES or name.endswith(".log") or b"\0" in text[:4096]:
        return False
    return not looks_like_torch_logs(text.decode("utf-8", "replace"))


def _role_of_json(name: str, text: bytes) -> str | None:
    for pattern, role in _JSON:
        if pattern.search(text) or name.endswith(_OF_ENDINGS.get(role, "\n")):
            return role
    return None


def _role_of_lines(name: str, text: bytes) -> str | None:
    if looks_like_torch_logs(text.decode("utf-8", "replace")):
        return TORCH_LOGS
    text = _without_surroundings(text)
    if _IR.search(text):
        return _ir_role(name, text)
    if b"run_repro" in text or b"class Repro(torch.nn.Module)" in text:
        return FX_RUNNABLE
    if (b"AsyncCompile" in text and b"async_compile" in text) or _CPP_WRAPPER.search(text):
        return CODE
    if _FX.search(text):
        return _fx_role(name, text)
    if _PRINTED.search(text):
        return INTERMEDIATE_VALUES
    if _BENCHMARK.search(text):
        return BENCHMARK_LOG
    if _TABLE.search(text):
        return KEY_AVERAGES
    return _role_of_piece(name, text)


def _without_surroundings(text: bytes) -> bytes:
    """Strips what a logger or an issue's table adds around each line of a listing."""
    if b"] [__" in text:
        text = _LOGGED.sub(b"", text)
    if b"\n| " in text:
        lines = text.split(b"\n")
        text = b"\n".join(line.strip(b"| \t\r") if line[:1] == b"|" else line for line in lines)
    return text


def _role_of_piece(name: str, text: bytes) -> str | None:
    """Recognises pictures, and excerpts that people cut from a longer text."""
    if _DRAWN.search(text[:4096]):
        return DIAGRAM
    if _CACHED.match(name):
        return KERNEL_FILE if _GENERATED.search(text) or _BARE_KERNEL.search(text) else None
    if _CODE_LINES.search(text) or _BARE_KERNEL.search(text):
        return CODE
    if _FX_LINES.search(text):
        return _fx_role(name, text)
    return OTHER if _GENERATED.search(text) else None


def _ir_role(name: str, text: bytes) -> str:
    if "pre_fusion" in name:
        return IR_PRE
    if "post_fusion" in name or _FUSED.search(text):
        return IR_POST
    numbers = [int(number) for number in _NUMBERED.findall(text)]
    moved = any(later < earlier for earlier, later in pairwise(numbers))
    return IR_POST if moved or "post" in name else IR_PRE


def _fx_role(name: str, text: bytes) -> str:
    if "transformed" in name:
        return POST_GRAD
    for role in (READABLE, POST_GRAD, PRE_GRAD, JOINT, DYNAMO):
        if role in name:
            return role
    if _JOINT.search(text):
        return JOINT
    return DYNAMO if _DYNAMO.search(text) else POST_GRAD


_FILES = {
    **{stage.file.lower(): stage.id for stage in STAGES if stage.file},
    **{role.file.lower(): role.id for role in ROLES if role.file},
    "output_code.cpp": CODE,
    "kernel_benchmark.log": BENCHMARK_LOG,
    "inductor_generated_kernel_to_post_grad_nodes.json": PROVENANCE_KERNELS,
    "inductor_post_to_pre_grad_nodes.json": PROVENANCE,
}
"""Exact names of files, in lower case → their roles."""
# aot_model___0_debug.log, dedicated_log_torch_trace_rank_0_x.log
_NAME_PATTERNS = (
    (re.compile(r"^aot_.*_debug\.log$"), DEBUG_LOG),
    (re.compile(r"^dedicated_log_torch_trace_.*\.log$"), TRACE_LOG),
    (re.compile(r"\.(?:svg|dot)$"), DIAGRAM),
    (re.compile(r"\.py$"), SOURCE),
)
