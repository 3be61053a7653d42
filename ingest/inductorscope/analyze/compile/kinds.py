"""What kind of work a phase of compiling is, by its name."""

from __future__ import annotations

import re
from functools import lru_cache

DYNAMO, AOT, PASSES, LOWERING, CODEGEN, CPP, TRITON, TUNING, CACHES, OTHER = (
    "dynamo", "aot", "passes", "lowering", "codegen", "cpp", "triton", "tuning", "caches", "other",
)  # fmt: skip

SPOKEN = {
    DYNAMO: "Dynamo",
    AOT: "AOTAutograd",
    PASSES: "graph passes",
    LOWERING: "lowering and scheduling",
    CODEGEN: "code generation",
    CPP: "C++ compilation",
    TRITON: "Triton compilation",
    TUNING: "autotuning",
    CACHES: "caches",
    OTHER: "other",
}
"""In the order of the work."""

MEANING = {
    DYNAMO: "Tracing Python bytecode into a graph, and building guards.",
    AOT: "Tracing through autograd and functionalisation: the joint graph, its two halves.",
    PASSES: "Passes over FX graphs: pre-grad, joint and post-grad, pattern matching.",
    LOWERING: "FX nodes to loops, fusing them, deciding their order.",
    CODEGEN: "Writing kernels and the wrapper that calls them, loading it.",
    CPP: "The C++ compiler, on kernels and wrapper.",
    TRITON: "Triton's compiler, on kernels; waiting for its workers.",
    TUNING: "Running candidates to choose the fastest.",
    CACHES: "Computing keys, asking caches, storing.",
    OTHER: "Phases of names that are not known here.",
}

# The first that is found in the name decides.
_RULES = tuple(
    (re.compile(pattern), kind)
    for pattern, kind in (
        (r"autotun|benchmark|precompiling|Benchmarker|pad_mm", TUNING),
        (r"compile_file|CppCodeCache|AotCodeCompiler|cpp_compile|precompile_header", CPP),
        (r"async_compile|triton|Triton(?!Bundler)|CachingAutotuner|CUDACodeCache", TRITON),
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
