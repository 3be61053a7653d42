"""How a C++ kernel shares its loops among threads, read from its source."""

import re
from collections.abc import Iterable
from math import ceil

from inductorscope.analyze.bytes.cpp import LOOP
from inductorscope.analyze.machine.geometry import Geometry
from inductorscope.units import count, percent, plural

CODE = "the code"
_PARALLEL = re.compile(r"#pragma omp parallel(?: for)?(?: num_threads\((\d{1,6})\))?")
_SHARED = re.compile(r"#pragma omp (?:parallel )?for\b(?:.{0,80}\bcollapse\((\d)\))?")
_STEP = re.compile(r"\+= ?\(?(?:static_cast<[\w ]{1,20}>\()?(\d{1,9})")


def shared_loops(lines: Iterable[str]) -> Geometry:
    """Returns the threads, the iterations of the loop that gives them least to share, and the
    numbers in a vector."""
    threads, vector, is_vectorized, is_parallel = 0, 1, False, False
    waiting, iterations, loops = 0, 1, list[int]()
    for text in lines:
        line = text.strip()
        is_vectorized = is_vectorized or "at::vec::" in line
        if (parallel := _PARALLEL.match(line)) is not None:
            is_parallel, threads = True, max(threads, int(parallel[1] or 0))
        if (shared := _SHARED.match(line)) is not None:
            waiting, iterations = int(shared[1] or 1), 1
        elif line.startswith("for"):
            loop, found = LOOP.match(line), _STEP.search(line)
            step = int(found[1]) if found is not None else 1
            vector = max(vector, step)
            if waiting:
                iterations *= _iterations(loop, max(step, 1))
                waiting -= 1
                if waiting == 0 and iterations:
                    loops.append(iterations)
    vector = vector if is_vectorized else 1
    at_once = f"vectors of {vector}" if vector > 1 else "no vectors"
    text = plural(threads, "thread") if threads else "all threads" if is_parallel else "1 thread"
    short = text
    least = min(loops, default=0)
    balance = None
    if least:
        text += f" share {plural(least, 'iteration')}"
        text += f" in the smallest of {len(loops)} loops" if len(loops) > 1 else ""
    if least and threads:
        most = ceil(least / threads)
        balance = least / (most * threads)
        if least < threads:
            text += f": {count(threads - least)} of them get none"
            short = f"{least} of {short}"
        else:
            text += f", at most {count(most)} each"
            text += f": {percent(balance)} balanced" if balance < 1 else ""
    return Geometry(
        text=f"{text}; {at_once}", short=f"{short}, {at_once}", source=CODE,
        threads=threads or (None if is_parallel else 1), iterations=least or None,
        balance=balance, vector=vector,
    )  # fmt: skip


def _iterations(loop: re.Match[str] | None, step: int) -> int:
    """Returns 0 if a bound is not a number."""
    start, end = (loop[2], loop[3]) if loop is not None else ("", "")
    bounds = [bound.rstrip("L") for bound in (start, end)]
    if not all(bound.isdecimal() and len(bound) <= 18 for bound in bounds):
        return 0
    return max(ceil((int(bounds[1]) - int(bounds[0])) / step), 0)
