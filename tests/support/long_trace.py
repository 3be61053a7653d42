"""A long trace as the profiler writes it: Python functions, operators and launches on two threads,
kernels on two streams. Always the same for the same number of events."""

import json
import random
from collections.abc import Generator, Iterator
from pathlib import Path

PROCESS, MAIN, BACKWARD, DEVICE = 4242, 4242, 4243, 0
OPERATORS = ("mm", "add_", "convolution", "native_layer_norm", "gelu", "_softmax", "mul", "copy_")
KERNELS = (
    "triton_poi_fused_add_gelu_0", "triton_red_fused_native_layer_norm_1",
    "triton_per_fused__softmax_2", "nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNT",
    "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>",
    "sm90_xmma_fprop_implicit_gemm_bf16bf16_tilesize128x128x64",
)  # fmt: skip
LAYERS = 24
PER_OPERATOR = 5
"""A Python function, an operator inside another, a launch, a kernel."""


def write(target: Path, events: int) -> None:
    """Writes a trace of about so many events that have a duration."""
    with target.open("w") as file:
        file.write(
            '{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H200"}],'
            ' "traceEvents": [\n'
        )
        file.writelines(f"{json.dumps(event)},\n" for event in _names())
        for event in _steps(events):
            file.write(f"{json.dumps(event)},\n")
        file.write('{"ph": "i", "name": "Record Window End", "pid": "", "tid": "", "ts": 0}\n]}\n')


def _names() -> Iterator[dict[str, object]]:
    def named(what: str, process: int, thread: int, **arguments: str) -> dict[str, object]:
        return {"ph": "M", "name": what, "pid": process, "tid": thread, "ts": 0, "args": arguments}

    yield named("process_name", PROCESS, 0, name="python")
    yield named("process_labels", PROCESS, 0, labels="CPU")
    yield named("process_labels", DEVICE, 0, labels="GPU 0")
    for thread, name in ((MAIN, "python"), (BACKWARD, "pt_autograd_0")):
        yield named("thread_name", PROCESS, thread, name=f"thread {thread} ({name})")
    for stream in (7, 20):
        yield named("thread_name", DEVICE, stream, name=f"stream {stream}")


def _steps(events: int) -> Iterator[dict[str, object]]:
    chance = random.Random(7)  # the same trace each time
    now, device, number, step = 1e9, 1e9, 0, 0
    while number < events // PER_OPERATOR:
        begin = now
        for layer in range(LAYERS):
            first = now
            thread = MAIN if layer < LAYERS / 2 else BACKWARD
            for _ in range(8):
                number += 1
                now, device = yield from _operator(chance, number, thread, now, device)
            yield _event(
                "python_function", f"model.py({40 + layer}): layer_{layer}", PROCESS, thread,
                first, now - first,
            )  # fmt: skip
            now += chance.expovariate(1 / 4)
        yield _event(
            "user_annotation", f"ProfilerStep#{step}", PROCESS, MAIN, begin - 1, now - begin + 2
        )
        step += 1
        now += chance.expovariate(1 / 300)


def _operator(
    chance: random.Random, number: int, thread: int, now: float, device: float
) -> Generator[dict[str, object], None, tuple[float, float]]:
    """Yields an operator and what it launches; returns when thread and device are free."""
    which = chance.randrange(len(OPERATORS))
    inside, launch = 6 + chance.expovariate(1 / 6), 3 + chance.expovariate(1)
    whole = inside + launch + 4
    name = f"aten::{OPERATORS[which]}"
    ids = {"External id": number}
    yield _event("python_function", f"torch/ops.py(12): {name}", PROCESS, thread, now, whole)
    yield _event("cpu_op", name, PROCESS, thread, now + 0.5, whole - 1, ids)
    yield _event("cpu_op", f"{name}_impl", PROCESS, thread, now + 1, whole - 2)
    called = now + 2 + inside
    yield _event(
        "cuda_runtime", "cudaLaunchKernel", PROCESS, thread, called, launch,
        ids | {"correlation": number},
    )  # fmt: skip
    length = chance.lognormvariate(2, 1)
    begin = max(device, called + launch + 2)
    yield _event(
        "kernel", chance.choice(KERNELS), DEVICE, 7 if which else 20, begin, length,
        ids | {"correlation": number},
    )  # fmt: skip
    return now + whole + chance.expovariate(1 / 2), begin + length + 1


def _event(
    category: str, name: str, process: int, thread: int, begin: float, length: float,
    arguments: dict[str, int] | None = None,
) -> dict[str, object]:  # fmt: skip
    return {
        "ph": "X", "cat": category, "name": name, "pid": process, "tid": thread,
        "ts": round(begin, 3), "dur": round(length, 3), "args": arguments or {},
    }  # fmt: skip
