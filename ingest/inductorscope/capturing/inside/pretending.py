"""Compiles for a GPU that this machine does not have.

Tensors have shapes but no data. Triton compiles the kernels for the GPU's architecture; the graph
then runs on shapes instead of launching them.
"""

import copy
import ctypes
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import torch

from inductorscope.analyze.machine.figures import LIMITS, REGISTERS, WARP
from inductorscope.analyze.roofline.devices import device_peaks
from inductorscope.capturing.inside.untyped import Untyped
from inductorscope.capturing.spec import SpecError
from inductorscope.formats.machine.cubin import read_cubin

aten = torch.ops.aten
IMPLEMENTED = torch.library.Library("aten", "IMPL")
CUDA, META = 1, 14
"""Values of `c10::DeviceType`."""
GUARDS = "_ZN3c104impl26device_guard_impl_registryE"


def pretend(name: str) -> torch._subclasses.FakeTensorMode:
    """Makes torch see this GPU; nothing may have asked for a GPU before. Returns the mode in which
    the model is made and called. Raises SpecError if Triton is missing."""
    if find_spec("triton") is None:
        raise SpecError(
            "Compiling for a GPU that is not here takes Triton's compiler: "
            "pip install 'inductorscope[pretend]'."
        )
    peaks = device_peaks(name)
    assert peaks is not None
    assert peaks.chip is not None
    capability, multiprocessors = peaks.chip
    _show(name, capability, multiprocessors)
    mode = torch._subclasses.FakeTensorMode(allow_non_fake_inputs=True)
    _compile_only(capability, mode)
    return mode


def _show(name: str, capability: int, multiprocessors: int) -> None:
    """Replaces the functions with which torch queries a GPU."""
    major, minor = divmod(capability, 10)
    properties = SimpleNamespace(
        name=name, gcnArchName=name, major=major, minor=minor, warp_size=WARP,
        multi_processor_count=multiprocessors, regs_per_multiprocessor=REGISTERS,
        max_threads_per_multi_processor=LIMITS[capability].warps * WARP, max_threads_per_block=1024,
    )  # fmt: skip
    answers: dict[str, Untyped] = {
        "_lazy_init": lambda: None,
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "get_device_properties": lambda device=None: properties,
        "get_device_capability": lambda device=None: (major, minor),
        "get_device_name": lambda device=None: name,
        "is_bf16_supported": lambda including_emulation=True: major >= 8,
        "get_rng_state": lambda device="cuda": torch.zeros(16, dtype=torch.uint8),
        "set_rng_state": lambda state, device="cuda": None,
        "synchronize": lambda device=None: None,
        "is_current_stream_capturing": lambda: False,
        "set_device": lambda device: None,
        "_exchange_device": lambda device: 0,
        "_maybe_exchange_device": lambda device: 0,
    }
    for function, answer in answers.items():
        setattr(torch.cuda, function, answer)
    for function, answer in (
        ("_cuda_getCurrentRawStream", 0), ("_cuda_cudaCachingAllocator_is_enabled", True),
    ):  # fmt: skip
        setattr(torch._C, function, lambda *_, answer=answer: answer)
    torch.accelerator.is_available = lambda: False  # Dynamo would ask for its streams
    torch._subclasses.FakeTensorMode.avoid_device_init = True
    torch._subclasses.fake_tensor.init_gpu_context = lambda device: None  # for torch 2.11
    _guard_nothing()
    IMPLEMENTED.impl("empty.memory_format", _on_cpu, "CUDA")
    # Converts modules even though the mode refers to their parameters.
    torch.utils.weakref = SimpleNamespace(getweakrefs=lambda tensor: [])
    composite = torch._C.DispatchKey.CompositeImplicitAutograd
    aten.scaled_dot_product_attention.default.py_impl(composite)(partial(_attention, major))


def _guard_nothing() -> None:
    """Makes switching to the GPU do nothing, as for a device without data."""
    c10 = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libc10.so"))
    guards = (ctypes.c_void_p * (META + 1)).in_dll(c10, GUARDS)
    guards[CUDA] = guards[META]


def _on_cpu(*args: Untyped, device: Untyped = None, **options: Untyped) -> Untyped:
    """Allocates a constant on the CPU: Inductor computes those that have one value everywhere."""
    return torch.empty(*args, device="cpu", **options)


def _attention(
    major: int, query: Untyped, key: Untyped, value: Untyped, attn_mask: Untyped = None,
    dropout_p: float = 0.0, is_causal: bool = False, *, scale: float | None = None,
    enable_gqa: bool = False,
) -> Untyped:  # fmt: skip
    """Uses the attention kernel that torch chooses on a GPU with cuDNN 9.15.1 or later."""
    size, half = query.shape[-1], query.element_size() == 2
    alike = size == key.shape[-1] == value.shape[-1]
    backward = torch.is_grad_enabled() and any(part.requires_grad for part in (query, key, value))
    last = (dropout_p, is_causal)
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        zero = torch.zeros((), dtype=query.dtype, device=query.device)
        attn_mask = torch.where(attn_mask, zero, float("-inf"))
    if half and alike and major in (9, 10) and size % 8 == 0 and size <= 128:
        return aten._scaled_dot_product_cudnn_attention(
            query, key, value, attn_mask, backward, *last, scale=scale
        )[0]
    if half and alike and major >= 8 and size <= 256 and attn_mask is None:
        return aten._scaled_dot_product_flash_attention(query, key, value, *last, scale=scale)[0]
    if alike and size % (8 if half else 4) == 0 and not enable_gqa:
        if attn_mask is not None:
            attn_mask = attn_mask.expand(*query.shape[:-1], key.shape[-2])
        return aten._scaled_dot_product_efficient_attention(
            query, key, value, attn_mask, backward, *last, scale=scale
        )[0]
    return aten._scaled_dot_product_attention_math(
        query, key, value, attn_mask, *last, scale=scale, enable_gqa=enable_gqa
    )[0]


def _compile_only(capability: int, mode: torch._subclasses.FakeTensorMode) -> None:
    """Makes Inductor compile kernels without loading them, and run graphs on shapes."""
    from torch._inductor import compile_fx, config
    from torch._inductor.runtime import triton_helpers, triton_heuristics
    from triton.backends.compiler import GPUTarget
    from triton.runtime.driver import driver

    target = GPUTarget("cuda", capability, WARP)
    driver.set_active(SimpleNamespace(get_current_target=lambda: target))
    triton_helpers.set_driver_to_gpu = lambda: None
    triton_heuristics.CachingAutotuner._make_launchers = _count_registers
    config.compile_threads = 1
    config.use_static_cuda_launcher = False
    config.shape_padding = False  # torch would time products to decide
    compile_fx.compile_fx = partial(
        compile_fx.compile_fx, inner_compile=partial(_compiled, compile_fx.compile_fx_inner, mode)
    )


def _count_registers(autotuner: Untyped) -> None:
    """Reads each kernel's number of registers, which loading would do: torch adds smaller
    configurations to a reduction that takes many."""
    for result in autotuner.compile_results:
        result.kernel.n_regs = read_cubin(result.kernel.asm["cubin"]).registers


def _compiled(
    compile_inner: Untyped, mode: Untyped, graph: torch.fx.GraphModule, inputs: Untyped,
    **options: Untyped,
) -> Untyped:  # fmt: skip
    shapes = torch.fx.GraphModule(graph, copy.deepcopy(graph.graph))  # Inductor changes its inputs
    code = compile_inner(graph, inputs, **options)

    def run(given: Untyped) -> Untyped:
        with mode:
            return shapes(*given)

    code.current_callable = run
    return code
