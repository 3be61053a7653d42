"""Which role a file plays, told by its content first and its name second."""

from __future__ import annotations

import re
import zlib

from inductorscope.intake import magic
from inductorscope.settings import KIB

HEAD = 64 * KIB
"""Bytes of a file that are looked at."""

NESTED = "nested archive"
"""What `role_of` says of an archive; no role."""

# Files of PyTorch and Python that happen to be zips; not meant as archives of text.
_ZIP_ENDINGS = (".pt", ".pt2", ".pth", ".npz", ".whl", ".jar", ".xlsx")

# V1121 01:25:55.678000 419 torch/_dynamo/utils.py:2126] {"chromium_event": {}, …
_TRACE_LOG = re.compile(
    rb"^(?:\[rank\d+\]:)?[VDIWEC]\d{4} \d\d:\d\d:\d\d\.\d+ \d+ [^\n]{1,400}?:\d+\] \{", re.M
)
# op0: SchedulerNode(ComputedBuffer)
_IR = re.compile(rb"^(?:op|buf)\d[\w]*: \w*SchedulerNode\(|^\w+: \w+SchedulerNode\(", re.M)
_FUSED = re.compile(rb"^\w+: FusedSchedulerNode\(", re.M)
# class GraphModule(torch.nn.Module):
#     def forward(self, arg0_1: "u8[1, 8]"):
_FX = re.compile(
    rb"^class [^\n(]{1,200}\(torch\.nn\.Module\):[ \t\r]*\n[ \t]+def forward\(self", re.M
)
#     def forward(self, L_x_: "f32[4]"):
_DYNAMO = re.compile(
    rb"def forward\(self,[^\n]{0,4000}?\bL_[A-Za-z]|= torch\._dynamo|\bl_[a-z]\w*_ = L_"
)
_CPP_WRAPPER = re.compile(rb"inductor_entry_impl|AOTInductorModel")
_TABLE = re.compile(rb"^-{10}[- ]*\r?\n *Name .*# of Calls", re.M)
_BENCHMARK = re.compile(
    rb"Peak GPU memory usage|^[ \t]*== \w+ category kernels ==|KERNELS BANDWIDTH INFO"
    rb"|GB/s\s+\d+ regs",
    re.M,
)
_PROVENANCE = re.compile(
    rb'"(?:preToPost|postToPre|cppCodeToPost|postToCppCode|inductor_post_to_pre_grad_nodes'
    rb'|inductor_triton_kernel_to_post_grad_nodes)"\s*:'
)
_TRACE = re.compile(rb'"(?:traceEvents|schemaVersion|deviceProperties)"\s*:|"ph"\s*:\s*"')
_RESULT = re.compile(rb'"(?:eager_ms|compiled_ms)"\s*:')
_ROWS = re.compile(rb'"self_cpu_us"\s*:')
_GENERATED = re.compile(rb"@triton_heuristics\.|\bimport triton_heuristics\b")


def role_of(name: str, head: bytes) -> str:
    """The role of a file by the first `HEAD` bytes and its name, `NESTED` for an archive."""
    kind = magic.kind_of(head)
    if kind == "gzip":
        inner = inflated_head(head)
        if magic.kind_of(inner) is None:
            return _role_of_text(_without_packing(name), inner)
        return NESTED
    if kind == "zip" and name.lower().endswith(_ZIP_ENDINGS):
        return "other"
    if kind is not None or magic.is_tar(head):
        return NESTED
    return _role_of_text(name, head)


def inflated_head(head: bytes) -> bytes:
    """The beginning of what a gzip file holds; what can be read of a damaged one."""
    try:
        return zlib.decompressobj(wbits=31).decompress(head, HEAD)
    except zlib.error:
        return b""


def _without_packing(name: str) -> str:
    return name[:-3] if name.lower().endswith(".gz") else name


def _role_of_text(name: str, head: bytes) -> str:
    lower = name.lower()
    text = head.removeprefix(b"\xef\xbb\xbf")
    start = text.lstrip()[:1]
    if start in {b"{", b"["}:
        role = _role_of_json(lower, text)
        if role is not None:
            return role
    if b"\0" in text[:4096]:
        return "other"
    return _role_of_lines(lower, text) or _role_by_name(lower)


def _role_of_json(name: str, text: bytes) -> str | None:
    if name == "capture.json":
        return "capture"
    if name == "line_record.json":
        return "line_record"
    if _PROVENANCE.search(text):
        return "provenance"
    if _ROWS.search(text) or name.endswith(".key_averages.json"):
        return "key_averages"
    if _TRACE.search(text):
        return "chrome_trace"
    if _RESULT.search(text):
        return "result"
    return None


def _role_of_lines(name: str, text: bytes) -> str | None:
    if _TRACE_LOG.search(text):
        return "trace_log"
    if _IR.search(text):
        return _ir_role(name, text)
    if b"run_repro" in text or b"class Repro(torch.nn.Module)" in text:
        return "fx_runnable"
    if (b"AsyncCompile" in text and b"async_compile" in text) or _CPP_WRAPPER.search(text):
        return "output_code"
    if _FX.search(text):
        return _fx_role(name, text)
    if _BENCHMARK.search(text):
        return "benchmark_log"
    if _TABLE.search(text):
        return "key_averages"
    if text.lstrip()[:4096].startswith((b"<svg", b"<?xml", b"digraph", b"strict digraph")):
        return "diagram"
    if _GENERATED.search(text):
        return "other"
    return None


def _ir_role(name: str, text: bytes) -> str:
    if "pre_fusion" in name:
        return "ir_pre_fusion"
    if "post_fusion" in name or _FUSED.search(text):
        return "ir_post_fusion"
    return "ir_post_fusion" if "post" in name else "ir_pre_fusion"


def _fx_role(name: str, text: bytes) -> str:
    for word, role in (
        ("readable", "fx_readable"),
        ("transformed", "fx_transformed"),
        ("post_grad", "fx_transformed"),
        ("pre_grad", "pre_grad"),
        ("joint", "joint_graph"),
        ("dynamo", "dynamo_graph"),
    ):
        if word in name:
            return role
    return "dynamo_graph" if _DYNAMO.search(text) else "fx_transformed"


_NAMES = {
    "output_code.py": "output_code",
    "output_code.cpp": "output_code",
    "fx_graph_readable.py": "fx_readable",
    "fx_graph_runnable.py": "fx_runnable",
    "fx_graph_transformed.py": "fx_transformed",
    "ir_pre_fusion.txt": "ir_pre_fusion",
    "ir_post_fusion.txt": "ir_post_fusion",
    "debug.log": "debug_log",
    "wrapper_benchmark.log": "benchmark_log",
    "kernel_benchmark.log": "benchmark_log",
    "inductor_provenance_tracking_node_mappings.json": "provenance",
    "line_record.json": "line_record",
}
# aot_model___0_debug.log, dedicated_log_torch_trace_rank_0_x.log
_NAME_PATTERNS = (
    (re.compile(r"^aot_.*_debug\.log$"), "debug_log"),
    (re.compile(r"^dedicated_log_torch_trace_.*\.log$"), "trace_log"),
    (re.compile(r"\.(?:svg|dot)$"), "diagram"),
    (re.compile(r"\.py$"), "source"),
)


def _role_by_name(name: str) -> str:
    """For text that says nothing: empty logs, a file of which the beginning is missing."""
    if name in _NAMES:
        return _NAMES[name]
    for pattern, role in _NAME_PATTERNS:
        if pattern.search(name):
            return role
    return "other"
