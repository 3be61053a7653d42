"""Compares what pages show of AOTInductor's intermediate values with values computed by eager.

Usage: printed_values.py. A small model is compiled with the printer at 1 (tensors as files), 2
(printed) and 3 (names alone), run, and what it left is read as an upload. Exit status 1 where a
figure is another.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from inductorscope.answers.failures.values import ValuesPage, values_page
from inductorscope.cli.local import read_paths
from inductorscope.settings import Settings
from inductorscope.store.database.engine import make_engine, sessions

PRINTER = "AOT_INDUCTOR_DEBUG_INTERMEDIATE_VALUE_PRINTER"
DIGITS = 1e-5
"""Relative: the printer writes six digits."""
Figures = dict[str, tuple[int, str, float, float, float]]
"""Argument → elements, size, mean, least, largest; of arguments that eager has."""


def program() -> tuple[Any, tuple[Any, ...]]:
    import torch

    class Program(torch.nn.Module):  # type: ignore[misc, unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(8, 16)

        def forward(self, x: torch.Tensor, count: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return self.linear(x.sin() * 2).relu().sum(-1), count + 1

    torch.manual_seed(0)
    return Program(), (torch.randn(4, 8), torch.arange(12).reshape(3, 4))


def compile_and_run(folder: Path) -> None:
    """In a process of its own: torch reads the printer's level when it is imported."""
    import torch

    model, inputs = program()
    with torch.no_grad():
        exported = torch.export.export(model, inputs)
        package = torch._inductor.aoti_compile_and_package(
            exported, package_path=str(folder / "model.pt2")
        )
        run = torch._inductor.aoti_load_package(package)
        os.chdir(folder)
        run(*inputs)


def expected() -> Figures:
    """By eager, of what the launches of this program leave."""
    import torch

    model, (x, count) = program()
    with torch.no_grad():
        sine = x.sin() * 2
        product = model.linear(sine)
        values = {"arg2_1": x, "arg3_1": count, "buf0": sine, "buf1": product,
                  "buf2": product.relu().sum(-1), "buf3": count + 1}  # fmt: skip
    return {
        name: (value.numel(), str([*map(str, value.shape)]), float(value.double().mean()),
               float(value.min()), float(value.max()))
        for name, value in values.items()
    }  # fmt: skip


def page_of(folder: Path, files: list[Path]) -> ValuesPage:
    settings = Settings(data=folder / "data", database_url="")
    run = read_paths(
        settings, files, name="printed", tags=[], origin="upload", progress=lambda *_: None
    )
    engine = make_engine(settings)
    try:
        with sessions(engine)() as session:
            page = values_page(session, run.run_id)
    finally:
        engine.dispose()
    assert page is not None
    return page


def wrong_figures(page: ValuesPage, figures: Figures) -> list[str]:
    """In sentences; buffers before they are filled are left out."""
    wrong = []
    seen = set()
    for row in page.rows:
        value = row.after or row.before
        if value is None or (row.after is None and not row.argument.startswith("arg")):
            continue
        seen.add(row.argument)
        elements, size, *numbers = figures[row.argument]
        if (value.elements, str([*(value.size or ())])) != (elements, size):
            wrong.append(f"{row.kernel} {row.argument}: {value.elements} elements, {value.size}")
        for name, right in zip(("mean", "least", "largest"), numbers, strict=True):
            got = getattr(value, name)
            if got is None or abs(got - right) > DIGITS * max(1.0, abs(right)):
                wrong.append(f"{row.kernel} {row.argument}: {name} is {got}, eager has {right:.6g}")
    return wrong + [f"{name} is missing" for name in figures.keys() - seen]


def main() -> int:
    if len(sys.argv) > 1:
        compile_and_run(Path(sys.argv[1]))
        return 0
    failed = 0
    for level in (1, 2, 3):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            printed = folder / "printed.txt"
            with printed.open("wb") as output:
                subprocess.run(
                    [sys.executable, __file__, name], stdout=output, stderr=subprocess.PIPE,
                    env=os.environ | {PRINTER: str(level)}, check=True,
                )  # fmt: skip
            page = page_of(folder, [folder / "tmp"] if level == 1 else [printed])
            wrong = [] if page.names_only else wrong_figures(page, expected())
            if page.names_only != (level == 3) or len(page.kernels) < 3:
                wrong.append(f"{page.launches} launches of {page.kernels}")
        failed += bool(wrong)
        said = f"{page.total} values, {page.launches} launches of {len(page.kernels)} kernels"
        print(f"{'WRONG' if wrong else 'ok   '} level {level}: {said}. {page.sentence}", flush=True)
        print("".join(f"      {sentence}\n" for sentence in wrong), end="", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
