"""Tests one graph in a separate process: `python -m … FOLDER` reads a query, writes an answer."""

import os
import sys
from pathlib import Path

import msgspec

from inductorscope.capturing.permission import Loading
from inductorscope.capturing.spec import from_builtins
from inductorscope.processes.dying import die_with
from inductorscope.processes.importing import without_collection

with without_collection():
    import torch

    from inductorscope.capturing.inside.diagnose.minify.fails import (
        ANSWER,
        INPUTS,
        QUERY,
        Tester,
        be_quiet,
    )
    from inductorscope.capturing.inside.diagnose.minify.text import graph_of
    from inductorscope.capturing.inside.instructions import try_instructions
    from inductorscope.capturing.inside.leaving import leave
    from inductorscope.capturing.inside.loading import load
    from inductorscope.capturing.inside.options import apply_options


def main(folder: Path) -> None:
    die_with(os.getppid())
    query = msgspec.json.decode((folder / QUERY).read_bytes())
    spec, loading = from_builtins(query["spec"]), msgspec.convert(query["loading"], Loading)
    apply_options(spec, trusted=loading.trusted)
    try_instructions(spec.device)
    be_quiet()
    load(spec, loading)
    inputs = torch.load(folder / INPUTS, weights_only=True)
    tester = Tester(spec, loading, query["after"], folder, isolated=False)
    failure = tester.in_this_process(graph_of(query["text"]), inputs, query["level"])
    (folder / ANSWER).write_bytes(msgspec.json.encode(failure))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
    leave(0)
