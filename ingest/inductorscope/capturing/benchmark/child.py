"""The process that runs a kernel's test case: `python -m inductorscope.capturing.benchmark.child`.

It dies with its parent, compiles into a separate folder, and on a CPU bounds its memory. The test
case does the rest. On request, the kernel is only compiled, or launched once.
"""

import argparse
import json
import os
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from inductorscope.capturing.inside import environment
from inductorscope.capturing.inside.instructions import try_instructions
from inductorscope.capturing.inside.leaving import leave
from inductorscope.capturing.inside.untyped import Untyped
from inductorscope.processes.dying import die_with
from inductorscope.processes.importing import without_collection


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m inductorscope.capturing.benchmark.child")
    parser.add_argument("case", type=Path, help="the test case")
    parser.add_argument("result", type=Path, help="file for the results")
    parser.add_argument("--cache", type=Path, required=True, help="folder for compiled kernels")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--max-autotune", action="store_true")
    parser.add_argument("--compile-only", action="store_true")
    parser.add_argument("--launch", action="store_true", help="launch it once, and nothing else")
    parser.add_argument("--configuration", type=json.loads, help="options of what is launched")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--memory", type=int, help="memory limit in bytes")
    parser.add_argument("--parent", type=int, help="process to die with")
    parsed = parser.parse_args(arguments)
    die_with(parsed.parent)
    environment.forget_settings()
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(parsed.cache)
    os.environ["TRITON_CACHE_DIR"] = str(parsed.cache / "triton")
    with without_collection():
        from inductorscope.capturing.inside.machine import cpu_name

        try_instructions(parsed.device)
    environment.limit_memory(parsed.memory, parsed.device)
    sys.argv = [str(parsed.case), "--seconds", str(parsed.seconds), "--json", str(parsed.result)]
    sys.argv += ["--max-autotune"] if parsed.max_autotune else []
    status = 0
    try:
        if parsed.compile_only or parsed.launch:
            made = runpy.run_path(str(parsed.case), run_name="case")
            compiled = _configured(made.get("KERNEL"), parsed.configuration or {})
            if parsed.launch:
                made["kernel"](made["inputs"]())
                made["torch"].cuda.synchronize()
            parsed.result.write_text(json.dumps(compiled))
        else:
            runpy.run_path(str(parsed.case), run_name="__main__")
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
        if isinstance(end.code, str):
            print(end.code)
    if parsed.result.is_file() and parsed.device == "cpu":
        result = json.loads(parsed.result.read_text())
        parsed.result.write_text(json.dumps(result | {"device_name": cpu_name()}))
    return status


def _configured(kernel: Untyped, options: dict[str, Any]) -> dict[str, str]:
    """Reduces a Triton kernel to the configuration with these options, or else to its first;
    returns the configuration and the name of its folder in Triton's cache."""
    launchers = getattr(kernel, "launchers", None)
    if not launchers:
        return {"configuration": "", "key": ""}

    def has_options(launcher: Untyped) -> bool:
        config = launcher.config
        known = config.kwargs | {"num_warps": config.num_warps, "num_stages": config.num_stages}
        return all(known[name] == options[name] for name in known.keys() & options.keys())

    chosen = next(filter(has_options, launchers), launchers[0])
    kernel.launchers = [chosen]
    return {"configuration": str(chosen.config), "key": str(getattr(chosen, "cache_hash", ""))}


if __name__ == "__main__":
    leave(main())
