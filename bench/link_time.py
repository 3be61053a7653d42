"""How long the links of each graph of a folder take, in processor time of one core.

    python -m bench.link_time FOLDER… [--times 3]

FOLDER: a debug folder or what holds some. Printed for each graph: the size of its texts, the
seconds of reading them into records, and of linking: as they lie there, and without the IR, as in a
log. The least of some times, since other work on the machine
takes caches away.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from inductorscope.correlate.directory import read_texts
from inductorscope.correlate.graph import graph_links
from inductorscope.correlate.links.texts import GraphTexts, parse_texts


def seconds(work: Callable[[], object], times: int) -> float:
    """The least processor time of some runs."""
    found = []
    for _ in range(times):
        gc.collect()
        begun = time.process_time()
        work()
        found.append(time.process_time() - begun)
    return min(found)


def size(texts: GraphTexts) -> int:
    held = (texts.fx_transformed, texts.fx_readable, texts.ir_pre, texts.ir_post, texts.output_code)
    return sum(len(text) for text in held if text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--times", type=int, default=3)
    options = parser.parse_args()
    print(f"{'graph':32} {'texts':>8}  {'reading':>8} {'linking':>8}   without IR {'linking':>8}")
    for code in sorted(found for root in options.folders for found in root.rglob("output_code.py")):
        texts = read_texts(code)
        bare = replace(texts, ir_pre=None, ir_post=None)
        parsed, parsed_bare = parse_texts(texts), parse_texts(bare)
        read = seconds(partial(parse_texts, texts), options.times)
        whole = seconds(partial(graph_links, texts, parsed), options.times)
        less = seconds(partial(graph_links, bare, parsed_bare), options.times)
        print(
            f"{code.parent.name:32} {size(texts) / 1e6:5.1f} MB  {read:6.2f} s {whole:6.2f} s"
            f" {'':13} {less:6.2f} s"
        )


if __name__ == "__main__":
    main()
