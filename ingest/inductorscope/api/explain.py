"""`inductorscope.explain`, and the cell magic: show line by line what torch.compile makes of
code."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ParamSpec

from inductorscope.api.capture import Capture
from inductorscope.settings import load
from inductorscope.units import plural

if TYPE_CHECKING:
    from inductorscope.answers.compile.rows import BreakRow
    from inductorscope.answers.explorer.graph_texts import KernelLine
    from inductorscope.answers.parts import GraphRow, KernelRow

Arguments = ParamSpec("Arguments")


@dataclass(frozen=True, repr=False)
class Explanation:
    """What torch.compile made of some code. It prints a summary; a notebook shows it as a page."""

    name: str
    run: str
    url: str
    graphs: list[GraphRow]
    kernels: list[KernelRow]
    breaks: list[BreakRow]
    all_lines: list[KernelLine]
    """Each line of a kernel with each line of your source that it computes."""

    def lines(self, place: str) -> list[KernelLine]:
        """Lines of kernels that compute a line of your source, such as "model.py:29"."""
        if (parts := re.fullmatch(r"(.+):(\d+)", place)) is None:
            raise ValueError(f'{place!r} is no line of a file, such as "model.py:29".')
        path, line = parts.groups()
        return [
            row
            for row in self.all_lines
            if row.source_line == int(line) and f"/{row.path}".endswith(f"/{path}")
        ]

    @property
    def title(self) -> str:
        """The name, and how many graphs, kernels and graph breaks there are."""
        parts = (self.graphs, "graph"), (self.kernels, "kernel"), (self.breaks, "graph break")
        return f"{self.name}: {', '.join(plural(len(rows), word) for rows, word in parts)}"

    def __repr__(self) -> str:
        words = [self.title]
        for kernel in self.kernels:
            rows = [row for row in self.all_lines if row.kernel == kernel.name]
            places = dict.fromkeys(
                f"{row.path.rpartition('/')[2]}:{row.source_line}"
                for row in sorted(rows, key=lambda row: (row.path, row.source_line))
                if row.graph == kernel.graph
            )
            words.append(f"  {kernel.name} computes {', '.join(places) or 'unknown lines'}")
        words += [f"  graph break at {cut.name} ({cut.short}): {cut.title}" for cut in self.breaks]
        return "\n".join([*words, self.url])

    def _repr_html_(self) -> str:
        from inductorscope.api.page import page

        return page(self.title, self.run, self.url, self.breaks, self.all_lines)


def explain(
    function: Callable[Arguments, object], *args: Arguments.args, **kwargs: Arguments.kwargs
) -> Explanation:
    """Compiles a function, calls it once, and explains what torch.compile made of it.

    Like torch._dynamo.explain, it discards all code compiled before.
    """
    import torch

    original = getattr(function, "_orig_mod", function)
    if original is function and not hasattr(function, "_torchdynamo_orig_callable"):
        function = torch.compile(function)
    name = getattr(original, "__qualname__", type(original).__name__)
    with explained(name) as explanations:
        function(*args, **kwargs)
    return explanations[0]


def load_ipython_extension(shell: Any) -> None:  # noqa: ANN401  # IPython's class
    """Adds the cell magic `%%inductorscope`; `%load_ext inductorscope` calls this."""

    def inductorscope(line: str, cell: str) -> Explanation:
        """Runs a cell, and shows which of its lines became which lines of kernels."""
        with explained(line.strip() or "cell") as explanations:
            shell.run_cell(cell).raise_error()
        return explanations[0]

    shell.register_magic_function(inductorscope, "cell")


@contextmanager
def explained(name: str) -> Iterator[list[Explanation]]:
    """Compiles again all code that runs in the context; adds its explanation to the list at the
    end."""
    from inductorscope.capturing.script.records import forget_compiled

    forget_compiled()
    explanations: list[Explanation] = []
    with Capture(name) as captured:
        yield explanations
    if captured.run is None or captured.url is None:
        raise RuntimeError(f"There is no explanation of {name}: its capture was not read.")
    explanations.append(_read(name, captured.run, captured.url))


def _read(name: str, run: str, url: str) -> Explanation:
    from inductorscope.analyze.compile.breaks import break_places
    from inductorscope.answers.compile.parts import read_run_story
    from inductorscope.answers.compile.rows import break_rows
    from inductorscope.answers.explorer.graph_texts import kernel_lines
    from inductorscope.answers.parts import graph_rows, kernel_rows
    from inductorscope.store.database.engine import engine_of, sessions

    with engine_of(load()) as engine, sessions(engine)() as session:
        story = read_run_story(session, run)
        return Explanation(
            name=name,
            run=run,
            url=url,
            graphs=graph_rows(session, run),
            kernels=kernel_rows(session, run, sys.maxsize),
            breaks=break_rows(story, break_places(story.story_or_empty)),
            all_lines=kernel_lines(session, run),
        )
