"""What the exact line record costs: time to generate code with and without it, in pairs.

    python -m bench.record_cost [MODEL …] [--pairs 7] [--whole] [--device cuda]

Each run is a process of its own that traces, lowers and generates code, forward and backward, but
hands nothing to a C++ compiler: that is the part the record slows down. `--whole` compiles the
kernels too, with empty caches, and so tells the share of a whole compilation. Processor seconds are
counted, compilers' included, which other programs disturb least.
"""

from __future__ import annotations

import argparse
import importlib
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(_ROOT / "ingest"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=["gpt_small", "conv_small", "mobilebert_qa"])
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--whole", action="store_true", help="compile the kernels too")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--once", choices=["with", "without"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.once:
        print(_generate(options, record=options.once == "with"))
        return
    for model in options.models:
        times: dict[str, list[float]] = {"with": [], "without": []}
        for pair in range(options.pairs):
            for which in ("with", "without") if pair % 2 else ("without", "with"):
                times[which].append(_once(model, which, options))
            _tell(model, options.device, times)


def _tell(model: str, device: str, times: dict[str, list[float]]) -> None:
    """After each pair, so that a run that is cut short has said something."""
    ratios = [a / b for a, b in zip(times["with"], times["without"], strict=True)]
    print(
        f"{model} on {device}, {len(ratios)} pairs: {statistics.median(times['with']):.2f} s with "
        f"the record, {statistics.median(times['without']):.2f} s without; ratio of a pair: median "
        f"{statistics.median(ratios):.3f}, from {min(ratios):.3f} to {max(ratios):.3f}",
        flush=True,
    )


def _once(model: str, which: str, options: argparse.Namespace) -> float:
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [
                sys.executable, "-W", "ignore", "-m", "bench.record_cost", model, "--once", which,
                "--device", options.device, *(["--whole"] if options.whole else []),
            ],
            cwd=_ROOT, capture_output=True, text=True, check=True,
            env=os.environ | {
                "TORCH_COMPILE_DEBUG": "1",
                "TORCH_COMPILE_DEBUG_DIR": folder,
                "TORCHINDUCTOR_FX_GRAPH_CACHE": "0",
                "TORCHINDUCTOR_AUTOGRAD_CACHE": "0",
                "TORCHINDUCTOR_COMPILE_THREADS": "1",
                "TORCHINDUCTOR_CACHE_DIR": str(Path(folder) / "cache"),
            },
        )  # fmt: skip
    return float(done.stdout.split()[-1])


def _generate(options: argparse.Namespace, *, record: bool) -> float:
    """Processor seconds of compiling the model once, training it if it can be trained."""
    import torch
    from inductorscope.capture.record.recording import Recording

    from bench.truth_programs.compile_only import compile_no_kernels, generate_only

    if not options.whole:
        compile_no_kernels()
    backend = "inductor" if options.whole else generate_only
    name = options.models[0]
    made = importlib.import_module(f"inductorscope.capture.models.{name}").make()
    model, args, kwargs = torch.utils._pytree.tree_map_only(
        (torch.Tensor, torch.nn.Module), lambda part: part.to(options.device), (*made, {})[:3]
    )
    recording = Recording() if record else None
    torch.compile(torch.sin, backend=backend)(torch.rand(8))  # what happens only once
    start = _processor_seconds()
    output = torch.compile(model, backend=backend)(*args, **kwargs)
    leaves = [leaf for leaf in torch.utils._pytree.tree_leaves(output)
              if isinstance(leaf, torch.Tensor) and leaf.requires_grad]  # fmt: skip
    if leaves:
        torch.autograd.backward(leaves, [torch.ones_like(leaf) for leaf in leaves])
    spent = _processor_seconds() - start
    if recording is not None and recording.failure is not None:
        raise SystemExit(recording.failure)
    return spent


def _processor_seconds() -> float:
    """Of this process and of the compilers that it ran."""
    own, others = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime


if __name__ == "__main__":
    main()
