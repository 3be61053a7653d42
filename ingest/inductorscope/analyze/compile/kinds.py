"""The kind of work of a compile phase, by its name."""

import re
from functools import lru_cache

from inductorscope.formats.vocabulary import (
    AOT,
    CACHES,
    CODEGEN,
    CPP,
    DYNAMO,
    LOWERING,
    OTHER,
    PASSES,
    RECORDING,
    TRITON,
    TUNING,
)

# The first match decides.
_RULES = tuple(
    (re.compile(pattern), kind)
    for pattern, kind in (
        (r"(?i)cudagraph", RECORDING),
        (r"autotun|benchmark|precompiling|Benchmarker|pad_mm", TUNING),
        (r"compile_file|CppCodeCache|AotCodeCompiler|cpp_compile|precompile_header", CPP),
        (r"async_compile|triton(?!_key)|Triton(?!Bundler)|CachingAutotuner|CUDACodeCache", TRITON),
        (r"[Cc]ache|TritonBundler|torch_key|remote_fx|code_state|pgo\.", CACHES),
        (r"^pass\.|_passes$|_pass$|fake_tensor_prop|deferred_runtime|constant_fold", PASSES),
        (
            r"GraphLowering\.codegen|code_gen|Codegen|CppWrapper|compile_to_|Scheduler\.codegen",
            CODEGEN,
        ),
        (r"generate_kernel_code", CODEGEN),
        (r"GraphLowering|Scheduler|fx_codegen_and_compile|inductor_compile|compile_fx", LOWERING),
        (r"aot_|create_aot|min_cut|backend_compile|joint_graph|partition|AOTAutograd", AOT),
        (r"^(?:dynamo|entire_|bytecode_|build_guards|compile_attempt|gc$|_compile)", DYNAMO),
        (r"backward_impl|compiled_autograd", AOT),
    )
)


@lru_cache(4096)
def kind_of(name: str) -> str:
    if name.startswith("PyCodeCache"):
        return CODEGEN
    return next((kind for pattern, kind in _RULES if pattern.search(name)), OTHER)
