"""Has torch do once, before tries, what each of them would have to do again."""

from __future__ import annotations

import itertools
import logging
import os
import tempfile
from pathlib import Path

import torch
from torch._inductor import config
from torch._inductor.debug import DebugContext

from inductorscope.capturing.inside.compiling import recording
from inductorscope.capturing.inside.instructions import try_instructions
from inductorscope.capturing.playground.order import MODEL
from inductorscope.capturing.script import records
from inductorscope.capturing.spec import CaptureSpec


def warm_up() -> None:
    """Compiles a function, which loads the compiler, tries instructions and precompiles headers.

    Its tensors are small: threads of a parallel loop would be missing in forks.
    """
    with tempfile.TemporaryDirectory(prefix="isc-play-") as folder:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
        config.compile_threads = 1  # forks have no threads, and would wait for them
        try_instructions("cpu")
        recording(CaptureSpec(model=MODEL))
        with records.recording(Path(folder)):
            x = torch.arange(64.0).reshape(8, 8)
            torch.compile(lambda a: torch.relu(a @ a * 2).sum(1).softmax(0))(x)
        torch._dynamo.reset()
        logging.getLogger("torch._inductor.debug").setLevel(logging.ERROR)  # it prints folders
        DebugContext._counter = itertools.count()
