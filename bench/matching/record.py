"""Compile the truth programs with markers, so that two compiles of one can be matched by them.

    PYTHON -m bench.matching.record OUT --variant base [--only PATTERN] [--seconds 300]

Every float value of a program is multiplied by its own constant, which both the FX graphs
and the kernels repeat. Where each constant is written is the truth, `truth.json`; then all of them
are replaced by one, so that nothing that is matched can read them. PYTHON is that of any torch from
2.9 on: its versions are compared with each other, and with the variants below of one version.
"""

import argparse
import ast
import json
import random
import re
import shutil
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FAMILIES = ("blocks", "recurrent", "convolutional", "compositions", "family_models")
VARIANTS = ("base", "split", "dynamic", "bf16", "edited")
STEP = 2.0**-18
MARKER = re.compile(r"\b1\.0[0-9]{6,}\b")
PLAIN = "1.5"
ASSIGNED = re.compile(r"^\s*(\w+)(?::[^=]+)? = ")
FX = "fx_graph_transformed.py"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--variant", choices=VARIANTS, default="base")
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no program after these")
    options = parser.parse_args()
    end = time.time() + options.seconds
    with tempfile.TemporaryDirectory() as edited:
        if options.variant == "edited":
            edit(ROOT / "bench" / "truth_programs", Path(edited) / "bench" / "truth_programs")
            sys.modules["bench"].__path__ = [str(Path(edited) / "bench"), str(ROOT / "bench")]
        recorder = Recorder(options.out, options.variant)
        for program in programs():
            if re.search(options.only, program.name) and time.time() < end:
                print(program.name, recorder.record(program), flush=True)


def programs() -> list[Any]:
    from importlib import import_module

    return [
        program
        for family in FAMILIES
        for program in import_module(f"bench.truth_programs.{family}").programs()
    ]


def edit(source: Path, target: Path) -> None:
    """Copies the programs with comments and unused statements before every fifth statement."""
    shutil.copytree(source, target)
    for file in target.glob("*.py"):
        lines = file.read_text().split("\n")
        chance = random.Random(file.name)  # the same edits each time
        functions = [node for node in ast.walk(ast.parse("\n".join(lines)))
                     if isinstance(node, ast.FunctionDef)]  # fmt: skip
        starts = {statement.lineno for node in functions for statement in node.body[1:]}
        for line in sorted(starts, reverse=True):
            if chance.random() < 0.2:
                indent = lines[line - 1][: len(lines[line - 1]) - len(lines[line - 1].lstrip())]
                lines[line - 1 : line - 1] = [f"{indent}# edited", f"{indent}edited = {line}"]
        file.write_text("\n".join(lines))


class Recorder:
    """Programs of one variant, compiled without running a compiler."""

    def __init__(self, out: Path, variant: str) -> None:
        import torch
        from torch._inductor import config

        from bench.truth_programs import compile_only

        warnings.simplefilter("ignore")
        compile_only.compile_no_kernels()
        config.trace.enabled = True
        config.fx_graph_cache = False
        config.compile_threads = 1
        config.cpp.threads = 8
        if variant == "split":
            config.cpp.max_horizontal_fusion_size = 1
        self.out = out / f"{variant}-{torch.__version__.partition('+')[0]}"
        self.variant = variant
        self.generate = compile_only.generate_only

    def record(self, program: Any) -> str:  # noqa: ANN401  # of an edited copy of the module
        import torch

        from bench.truth_programs.worker import _reset

        folder = self.out / program.name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        _reset(folder, program.name)
        torch.manual_seed(0)
        self.seen: Counter[str] = Counter()
        self.numbers: dict[str, int] = {}
        try:
            for case in program.make("cpu"):
                torch._dynamo.reset()
                self._run(case)
        except Exception as error:  # noqa: BLE001  # some do not compile in a data type or version
            shutil.rmtree(folder)
            return f"{type(error).__name__}: {error}".replace("\n", " ")[:200]
        operators = {f"{1 + number * STEP!r}": key for key, number in self.numbers.items()}
        return keep(folder, operators, dict(self.seen))

    def _run(self, case: Any) -> None:  # noqa: ANN401
        import torch

        function, args, kwargs = case.function, case.args, case.kwargs
        if self.variant == "bf16":
            function, args, kwargs = lower(function), lower(args), lower(kwargs)
        dynamic = True if self.variant == "dynamic" else case.dynamic
        compiled = torch.compile(function, backend=self._backend, dynamic=dynamic)
        with torch.set_grad_enabled(case.train):
            output = compiled(*args, **kwargs)
        leaves = [
            leaf
            for leaf in torch.utils._pytree.tree_leaves(output)
            if isinstance(leaf, torch.Tensor) and leaf.requires_grad
        ]
        if case.train and leaves:
            torch.autograd.backward(leaves, [torch.ones_like(leaf) for leaf in leaves])

    def _backend(self, graph: Any, inputs: Any) -> Any:  # noqa: ANN401
        self._mark(graph)
        return self.generate(graph, inputs)

    def _mark(self, graph: Any) -> None:  # noqa: ANN401
        """A marker stands for an operator and how often that came before: the same in every compile
        of a program whose Dynamo graphs have the same number of that operator."""
        import operator

        import torch

        for node in list(graph.graph.nodes):
            value = node.meta.get("example_value")
            if node.op not in ("call_function", "call_method", "call_module") or not node.users:
                continue
            if not isinstance(value, torch.Tensor) or not value.is_floating_point():
                continue
            name = str(getattr(node.target, "__name__", node.target)).rstrip("_")
            self.seen[name] += 1
            if name == "getitem":
                continue
            number = len(self.numbers) + 1
            self.numbers[f"{name} {self.seen[name]}"] = number
            with graph.graph.inserting_after(node):
                marked = graph.graph.call_function(operator.mul, (node, 1.0 + number * STEP))
            marked.meta = dict(node.meta)
            node.replace_all_uses_with(
                marked, delete_user_cb=lambda user, own=marked: user is not own
            )
        graph.recompile()


def lower(value: Any) -> Any:  # noqa: ANN401
    import torch

    if isinstance(value, torch.nn.Module):
        return value.bfloat16()
    return torch.utils._pytree.tree_map_only(
        torch.Tensor,
        lambda tensor: tensor.bfloat16() if tensor.is_floating_point() else tensor,
        value,
    )


def keep(folder: Path, operators: dict[str, str], seen: dict[str, int]) -> str:
    """Writes where each marker is, then takes them out of all texts."""
    truth: dict[str, dict[str, dict[str, list[str]]]] = {}

    def named(found: dict[str, list[str]]) -> dict[str, list[str]]:
        return {
            name: [operators[marker] for marker in markers if marker in operators]
            for name, markers in found.items()
        }

    for graph in folder.glob("torch_compile_debug/*/torchinductor/*"):
        code = graph / "output_code.py"
        if not graph.is_dir() or not code.exists():
            continue
        truth[graph.name] = {
            "nodes": named(nodes_of((graph / FX).read_text())),
            "kernels": named(kernels_of(code.read_text())),
        }
        for file in graph.iterdir():
            if file.is_file():
                text = file.read_text(errors="replace")
                file.write_text(MARKER.sub(PLAIN, text))
    (folder / "truth.json").write_text(json.dumps({"graphs": truth, "seen": seen}))
    return f"{sum(len(graph['kernels']) for graph in truth.values())} marked kernels"


def nodes_of(text: str) -> dict[str, list[str]]:
    """Name of a node → markers in its arguments."""
    found = {}
    for line in text.split("\n"):
        named, markers = ASSIGNED.match(line), MARKER.findall(line)
        if named and markers:
            found[named.group(1)] = markers
    return found


def kernels_of(text: str) -> dict[str, list[str]]:
    """Name of a kernel → markers in its code."""
    pattern = re.compile(r"^(\w+) = async_compile\.\w+\(.*?^'''", re.M | re.S)
    return {
        match.group(1): sorted(set(MARKER.findall(match.group(0))))
        for match in pattern.finditer(text)
        if MARKER.search(match.group(0))
    }


if __name__ == "__main__":
    main()
