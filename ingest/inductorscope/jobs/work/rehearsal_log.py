"""A log of small graphs, as torch writes it: what an upload is rehearsed with."""

from __future__ import annotations

import hashlib
import json

Told = dict[str, object]

PREFIX = "V0101 00:00:00.000000 1 torch/_logging/structured.py:1]"
DYNAMO = """\
class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[8, 4][4, 1]cuda:0", L_w_: "f32[4, 4][4, 1]cuda:0"):
        l_x_ = L_x_
        l_w_ = L_w_

        # File: model.py:2 in step, code: y = (x + 1).relu()
        add: "f32[8, 4][4, 1]cuda:0" = l_x_ + 1;  l_x_ = None
        y: "f32[8, 4][4, 1]cuda:0" = add.relu();  add = None

        # File: model.py:3 in step, code: return y @ w
        matmul: "f32[8, 4][4, 1]cuda:0" = y @ l_w_;  y = l_w_ = None
        return (matmul,)
"""
FX = """\
class <lambda>(torch.nn.Module):
    def forward(self, arg0_1: "f32[8, 4][4, 1]cuda:0", arg1_1: "f32[4, 4][4, 1]cuda:0"):
        # File: model.py:2 in step, code: y = (x + 1).relu()
        add: "f32[8, 4][4, 1]cuda:0" = torch.ops.aten.add.Tensor(arg0_1, 1);  arg0_1 = None
        relu: "f32[8, 4][4, 1]cuda:0" = torch.ops.aten.relu.default(add);  add = None

        # File: model.py:3 in step, code: return y @ w
        mm: "f32[8, 4][4, 1]cuda:0" = torch.ops.aten.mm.default(relu, arg1_1);  relu = arg1_1 = None
        return (mm,)
"""
CODE = """\
# AOT ID: ['0_inference']
import torch
from torch._inductor.async_compile import AsyncCompile
async_compile = AsyncCompile()

# Topologically Sorted Source Nodes: [add, y], Original ATen: [aten.add, aten.relu]
# Source node to ATen node mapping:
#   add => add
#   y => relu
# Graph fragment:
#   %arg0_1 : Tensor "f32[8, 4][4, 1]cuda:0" = PlaceHolder[target=arg0_1]
#   %add : Tensor "f32[8, 4][4, 1]cuda:0"[num_users=1] = call_function\
[target=torch.ops.aten.add.Tensor](args = (%arg0_1, 1), kwargs = {})
#   %relu : Tensor "f32[8, 4][4, 1]cuda:0"[num_users=1] = call_function\
[target=torch.ops.aten.relu.default](args = (%add,), kwargs = {})
#   return %relu
triton_poi_fused_add_relu_0 = async_compile.triton('triton_poi_fused_add_relu_0', '''
import triton
import triton.language as tl

@triton_heuristics.pointwise(
    size_hints={'x': 32},
    filename=__file__,
    triton_meta={'signature': {'in_ptr0': '*fp32', 'out_ptr0': '*fp32', 'xnumel': 'i32'}},
    inductor_meta={'kernel_name': 'triton_poi_fused_add_relu_0', 'num_load': 1},
    min_elem_per_thread=0
)
@triton.jit
def triton_poi_fused_add_relu_0(in_ptr0, out_ptr0, xnumel, XBLOCK : tl.constexpr):
    xnumel = 32
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:]
    xmask = xindex < xnumel
    x0 = xindex
    tmp0 = tl.load(in_ptr0 + (x0), xmask)
    tmp1 = 1.0
    tmp2 = tmp0 + tmp1
    tmp3 = tl.full([1], 0, tl.int32)
    tmp4 = triton_helpers.maximum(tmp3, tmp2)
    tl.store(out_ptr0 + (x0), tmp4, xmask)
''', device_str='cuda')

async_compile.wait(globals())
del async_compile

class Runner:
    def call(self, args):
        arg0_1, arg1_1 = args
        args.clear()
        assert_size_stride(arg0_1, (8, 4), (4, 1))
        assert_size_stride(arg1_1, (4, 4), (4, 1))
        with torch.cuda._DeviceGuard(0):
            torch.cuda.set_device(0)
            buf0 = empty_strided_cuda((8, 4), (4, 1), torch.float32)
            # Topologically Sorted Source Nodes: [add, y], Original ATen: [aten.add, aten.relu]
            # [Provenance debug handles] triton_poi_fused_add_relu_0:1
            raw_stream0 = get_raw_stream(0)
            triton_poi_fused_add_relu_0.run(arg0_1, buf0, 32, stream=raw_stream0)
            del arg0_1
            buf1 = empty_strided_cuda((8, 4), (4, 1), torch.float32)
            # Topologically Sorted Source Nodes: [matmul], Original ATen: [aten.mm]
            # [Provenance debug handles] extern_kernels.mm:2
            extern_kernels.mm(buf0, arg1_1, out=buf1)
            del arg1_1, buf0
        return (buf1, )

runner = Runner()
call = runner.call
"""
MAPPING = {
    "preToPost": {"add": ["add"], "y": ["relu"], "matmul": ["mm"]},
    "postToPre": {"add": ["add"], "relu": ["y"], "mm": ["matmul"]},
    "cppCodeToPost": {
        "triton_poi_fused_add_relu_0:1": ["relu", "add"],
        "extern_kernels.mm:2": ["mm"],
    },
    "postToCppCode": {
        "relu": ["triton_poi_fused_add_relu_0:1"],
        "add": ["triton_poi_fused_add_relu_0:1"],
        "mm": ["extern_kernels.mm:2"],
    },
    "version": 2.0,
}
STACKS = {"triton_poi_fused_add_relu_0:1": ['  File "model.py", line 2, in step\n    y = …\n']}
METRICS = {"co_name": "step", "co_filename": "model.py", "start_time": 0.0,
           "entire_frame_compile_time_s": 0.5, "backend_compile_time_s": 0.4}  # fmt: skip
EVENT = {"name": "dynamo", "ts": 0.0, "cat": "dynamo_timed",
         "tid": 0, "pid": 0}  # fmt: skip


def rehearsal_log() -> bytes:
    """The whole log: a graph for each of two processes that help."""
    strings = _record({"str": ["model.py", 0]})
    return strings + b"".join(_compile(frame) for frame in range(2))


def _compile(frame: int) -> bytes:
    def record(told: Told, payload: str | None = None) -> bytes:
        return _record(told | {"frame_id": frame, "frame_compile_id": 0, "attempt": 0}, payload)

    stack = [{"line": 2, "name": "step", "filename": 0, "loc": "y = (x + 1).relu()"}]
    metrics = METRICS | {"compile_id": f"{frame}/0"}
    code = CODE.replace("0_inference", f"{frame}_inference")
    event = EVENT | {"args": {"compile_id": f"{frame}/0"}}
    return b"".join([
        record({"dynamo_start": {"stack": stack}}),
        record({"chromium_event": {}}, json.dumps(event | {"ph": "B"})),
        record({"dynamo_output_graph": {"sizes": {"add": [8, 4]}}}, DYNAMO),
        record({"aot_inference_graph": {}}, FX),
        record(_artifact("before_post_grad_graph"), FX),
        record(_artifact("inductor_post_grad_graph"), FX),
        record({"inductor_output_code": {"filename": "code.py"}}, code),
        record(_artifact("inductor_provenance_tracking_node_mappings"), json.dumps(MAPPING)),
        record(_artifact("inductor_provenance_tracking_kernel_stack_traces"), json.dumps(STACKS)),
        record({"chromium_event": {}}, json.dumps(event | {"ph": "E", "ts": 5e5})),
        record({"compilation_metrics": metrics}),
    ])  # fmt: skip


def _artifact(name: str) -> Told:
    return {"artifact": {"name": name, "encoding": "string"}}


def _record(told: Told, payload: str | None = None) -> bytes:
    if payload is None:
        return f"{PREFIX} {json.dumps(told)}\n".encode()
    told = told | {"has_payload": hashlib.md5(payload.encode(), usedforsecurity=False).hexdigest()}
    lines = "".join(f"\t{line}\n" for line in payload.split("\n"))
    return f"{PREFIX} {json.dumps(told)}\n{lines}".encode()
