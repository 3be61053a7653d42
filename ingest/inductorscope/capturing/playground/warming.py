"""Does once, before any try, the work that every try would otherwise repeat."""

import importlib
import itertools
import logging
import os
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path

import torch
from torch._inductor import codecache, config
from torch._inductor.debug import DebugContext

from inductorscope.capturing.inside.compiling import recording
from inductorscope.capturing.inside.instructions import try_instructions
from inductorscope.capturing.playground.order import MODEL
from inductorscope.capturing.script import records
from inductorscope.capturing.spec import CaptureSpec


def warm_up(room: Path) -> None:
    """Loads the compiler, tests vector instructions and precompiles headers."""
    with tempfile.TemporaryDirectory(dir=room) as folder:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
        config.compile_threads = 1  # forks have no threads and would wait for them
        try_instructions("cpu")
        if torch.cuda.is_available():
            # Compiling would query a GPU's properties, after which forks could not use it.
            with ProcessPoolExecutor(1, get_context("fork")) as fork:
                names = fork.submit(_compile, folder).result()
            for name in names:
                with suppress(ImportError):
                    importlib.import_module(name)
        else:
            _compile(folder)
        logging.getLogger("torch._inductor.debug").setLevel(logging.ERROR)  # it prints paths
    if os.getuid() == 0:  # forks then run as nobody
        for path in (headers := Path(codecache._HEADER_DIR), *headers.iterdir()):
            path.chmod(path.stat().st_mode | (0o055 if path.is_dir() else 0o044))


def names_of_torch() -> dict[str, list[str]]:
    """Returns the public names of torch's modules and classes that people use in functions."""
    owners: dict[str, object] = {
        "torch": torch, "torch.nn": torch.nn, "torch.nn.functional": torch.nn.functional,
        "torch.linalg": torch.linalg, "torch.fft": torch.fft, "torch.special": torch.special,
        "torch.Tensor": torch.Tensor,
    }  # fmt: skip
    return {
        owner: [name for name in dir(value) if not name.startswith("_")]
        for owner, value in owners.items()
    }


def _compile(folder: str) -> list[str]:
    """Compiles a function, and returns the names of all modules loaded by then.

    Its tensors are small, because forks would lack the threads of a parallel loop.
    """
    recording(CaptureSpec(model=MODEL))
    with records.recording(Path(folder)):
        x = torch.arange(64.0).reshape(8, 8)
        torch.compile(lambda a: torch.relu(a @ a * 2).sum(1).softmax(0))(x)
    torch._dynamo.reset()
    DebugContext._counter = itertools.count()
    return list(sys.modules)
