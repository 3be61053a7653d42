"""Compiles the text of a program in this process, and returns it as in a lock."""

import ast
import importlib.util
import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from inductorscope.capturing.inside.loading import convert
from inductorscope.capturing.script import records
from inductorscope.capturing.spec import CaptureSpec
from inductorscope.contract.lock import Program
from inductorscope.testing.compiled import Inductor
from torch._inductor import config
from torch._inductor.async_compile import AsyncCompile

NO_VECTORS = {"cpp.simdlen": "1"}
"""Compiles in a tenth of the time."""


def compile_text(
    text: str,
    options: dict[str, Any],
    folder: Path,
    made_in: AbstractContextManager[object] | None = None,
    graph_cache: bool = False,
    built: bool = True,
) -> Program:
    """`options` are those of a capture. `folder` receives the program. `made_in`: the context in
    which tensors are made. `graph_cache`: whether torch looks for whole graphs in a cache, which is
    empty. `built`: whether C++ kernels are built and run, on which no lock depends."""
    folder.mkdir(parents=True)
    file = folder / "model.py"
    file.write_text(text)
    found = importlib.util.spec_from_file_location("model", file)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    own_cache = {"TORCHINDUCTOR_CACHE_DIR": str(folder / "cache")} if graph_cache else {}
    keys = NO_VECTORS | options.get("config", {})
    values = {key: ast.literal_eval(value) for key, value in keys.items()}
    with (
        patch.dict(os.environ, own_cache),
        patch.dict(records.SETTINGS, fx_graph_cache=graph_cache),
        config.patch({"post_grad_custom_post_pass": None, **values}),  # a program may set the pass
        nullcontext() if built else patch.object(AsyncCompile, "cpp_pybinding", _not_built),
        made_in or nullcontext(),
    ):
        found.loader.exec_module(module)
        spec = CaptureSpec(model="model.py:make", device=options.get("device", "cpu"))
        function, args = convert(module.make(), spec)
        function = torch.compile(function, mode=options.get("mode"))
        compiled = Inductor("model", folder / "none", folder, False).compile(function, *args)
        if "shapes" in options:
            with suppress(AssertionError):
                compiled.assert_no_recompiles(options["shapes"])
        return compiled.program


def _not_built(*_: object) -> Callable[..., None]:
    return lambda *_: None
