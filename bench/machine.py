"""How much of compiled kernels is explained: instructions at a line, and at an FX node.

    python bench/machine.py FOLDER…

Each folder is one program's debug folder with its compile cache, or a capture:

    TORCH_COMPILE_DEBUG=1 TORCH_COMPILE_DEBUG_DIR=out TORCHINDUCTOR_CACHE_DIR=out/cache python my.py
"""

import os
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path

from inductorscope.answers.machine.compiled import configurations
from inductorscope.answers.machine.text import machine_text
from inductorscope.disassembling.tools import LINES, sass_of
from inductorscope.formats.machine.sass import read_sass
from inductorscope.formats.vocabulary import OF_KERNELS, SASS
from inductorscope.reading.run import read_run
from inductorscope.settings import load
from inductorscope.store.contents.texts import read_blob
from inductorscope.store.database.engine import Sessions, make_engine, sessions
from inductorscope.store.database.migrate import migrate
from inductorscope.store.tables.models import Graph
from sqlalchemy import select

_PLACE = re.compile(r'//## File "([^"]*)", line (\d+)')
_ADDRESS = re.compile(r"\s+/\*[0-9a-f]{4,}\*/")


def measured(factory: Sessions, run: str) -> Counter[str]:
    counts: Counter[str] = Counter()
    with factory() as session:
        for graph in session.scalars(select(Graph).where(Graph.run_id == run)):
            for kernel, known in configurations(session, graph).items():
                for stage in known[0].files:
                    text = machine_text(session, run, graph.slug, kernel, stage)
                    counts[f"{stage} instructions"] += text.instructions
                    counts[f"{stage} at a line"] += text.placed
                    counts[f"{stage} at a node"] += text.with_nodes
                    counts[f"{stage} of the whole"] += text.whole
                file = known[0].files.get(SASS)
                if file is None:
                    continue
                sass = sass_of(read_blob(session, file.digest) or b"", file.digest, LINES)
                read = read_sass(sass)
                mine = [
                    read.places[at][0]
                    for at, op in zip(read.at, read.operations, strict=True)
                    if op
                ]
                counts["line tables alike"] += mine == _plainly(sass)
                counts["kernels"] += 1
    return counts


def _plainly(text: str) -> list[tuple[str, int]]:
    """The line of each instruction, as nvdisasm's text has it."""
    lines, place = [], ("", 0)
    for line in text.split("\n"):
        found = _PLACE.search(line)
        if found is not None:
            place = found.group(1), int(found.group(2))
        elif _ADDRESS.match(line):
            lines.append(place)
    return lines


def main() -> None:
    for folder in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as data:
            os.environ["INDUCTORSCOPE_DATA"] = data
            settings = load()
            migrate(settings)
            engine = make_engine(settings)
            factory = sessions(engine)
            run = read_run(Path(folder), session_factory=factory, origin="ingest").run_id
            counts = measured(factory, run)
            engine.dispose()
        alike = f"line tables alike in {counts['line tables alike']} of {counts['kernels']}"
        print(f"{folder}: {alike if counts['kernels'] else 'no SASS'}")
        for stage in OF_KERNELS:
            every = counts[f"{stage} instructions"]
            if not every:
                continue
            at_line, at_node = counts[f"{stage} at a line"], counts[f"{stage} at a node"]
            whole = counts[f"{stage} of the whole"]
            print(
                f"  {stage:8} {every:8,} instructions, {at_line / every:.2%} at a line, "
                f"{at_node / every:.2%} at a node, {whole / every:.2%} of the whole kernel"
            )


if __name__ == "__main__":
    main()
