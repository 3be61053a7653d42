"""Do predicted times rank kernels as measured times do?

    python -m bench.contract.predicted DATA GPU

Captures models on this machine's GPU, and the same for GPU as if it were not here. Prints each
kernel's prediction beside its profiled time, and Spearman's rank correlation.
"""

import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import torch
from inductorscope.analyze.roofline.roofline import predicted_us
from inductorscope.answers.time.kernel_work import KernelWork
from inductorscope.answers.time.roofline import roofline_page
from inductorscope.settings import Settings
from inductorscope.store.database.engine import make_engine, sessions
from inductorscope.store.tables.models import Run
from scipy.stats import spearmanr
from sqlalchemy import select

MODELS = ("gpt-small", "conv-small", f"{Path(__file__).resolve()}:sizes")
Key = tuple[str, str]
"""A graph and its kernel."""


class Sizes(torch.nn.Module):  # type: ignore[misc]  # torch is untyped here
    """Pointwise operations, reductions and products of small to large tensors."""

    def forward(self, *tensors: torch.Tensor) -> list[torch.Tensor]:
        results = []
        for x in tensors:
            results += [x.relu() + 1, torch.softmax(x, -1), x.sum(0), x.t().contiguous(), x @ x.t()]
        return results


def sizes() -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    return Sizes(), tuple(torch.randn(rows, 1024) for rows in (64, 512, 2048, 8192, 16384))


def capture(data: Path, model: str, name: str, *options: str) -> None:
    command = [sys.executable, "-m", "inductorscope", "capture", model, "--data", str(data)]
    command += ["--name", name, "--seconds", "2", *options]
    # The kernels of one are not taken from the other's cache.
    env = os.environ | {"TORCHINDUCTOR_CACHE_DIR": str(data / f"cache-{name}")}
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=env)


def kernels(data: Path) -> dict[str, dict[Key, list[KernelWork]]]:
    """Of each run, by its name. Where calls were measured, those of other shapes are rows apart."""
    found: dict[str, dict[Key, list[KernelWork]]] = defaultdict(lambda: defaultdict(list))
    with sessions(make_engine(Settings(data=data, database_url="")))() as session:
        for run in session.scalars(select(Run)):
            for row in roofline_page(session, run.id).kernels:
                found[run.name][row.graph, row.name].append(row)
    return found


def main(data: Path, gpu: str) -> None:
    for at, model in enumerate(MODELS):
        capture(data, model, f"measured {at}", "--device", "cuda")
        capture(data, model, f"predicted {at}", "--device", "cuda", "--pretend", gpu)
    found = kernels(data)
    every: list[tuple[float, float]] = []
    for at, model in enumerate(MODELS):
        predicted, pairs = found[f"predicted {at}"], []
        print(model.rpartition("/")[2])
        for key, rows in found[f"measured {at}"].items():
            took = sum(row.time_us or 0.0 for row in rows)
            guess = sum(predicted_us(row.standing.roof_us, row.calls) for row in predicted[key])
            if not took or not guess:
                print(f"  {key[1]}: not in both")
                continue
            pairs.append((guess, took))
            print(f"  {key[1]}: predicted {guess:.1f} µs, measured {took:.1f} µs")
        every += pairs
        print(f"  {said(pairs)}", flush=True)
    print(f"all: {said(every)}")


def said(pairs: list[tuple[float, float]]) -> str:
    if len(pairs) < 3:
        return f"{len(pairs)} kernels are too few to rank"
    rank = spearmanr(*zip(*pairs, strict=True)).statistic
    predicted, measured = (sum(side) for side in zip(*pairs, strict=True))
    return (
        f"{len(pairs)} kernels, Spearman {rank:.2f}; together predicted {predicted:.0f} µs, "
        f"measured {measured:.0f} µs"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
