"""The lock: facts of a compile that are the same each time it succeeds, and their TOML file."""

import json
import tomllib
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from inductorscope.errors import USAGE, InWords

FORMAT = 1


class LockError(InWords, ValueError):
    """The file is not a lock; the message is a sentence."""

    exit_code = USAGE


class Count(msgspec.Struct, frozen=True):
    """A fact of a compile that is counted."""

    id: str
    title: str
    fix: str = ""
    """What to do if the count grows."""
    unit: str = ""
    increase: str = "worse"
    """What an increase means: worse, better or changed."""
    made: tuple[str, ...] = ()
    """Keys of `Program.made` that change this count for reasons outside of the program; it is
    compared only if they are equal."""


TRITON = ("torch", "triton", "gpu")
"""What changes the counts of Triton's compiled kernels. Each count is the highest of a kernel's
configurations, whichever of them runs."""
WARM = ("warm",)
"""Marks the counts of a second start with filled caches, which only `lock --warm` makes."""
COUNTS = (
    Count("breaks", "graph breaks", "Keep what breaks out of the compiled function."),
    Count("recompiles", "recompiles", "Mark the size as dynamic: torch._dynamo.mark_dynamic."),
    Count("graphs", "graphs"),
    Count("guards", "guards that can fail", "Keep what they check out of the compiled function."),
    Count("kernels", "launches of generated kernels",
          "*Not fused* of the run says why kernels are not fused."),
    Count("bytes", "bytes moved", "See which kernel reads or writes more.", unit="bytes"),
    Count("peak", "bytes at the wrapper's peak", "See the page Memory of the run.", unit="bytes"),
    Count("copies", "kernels that only copy into another layout",
          "Create the tensor in the layout that its reader needs."),
    Count("casts", "conversions between dtypes", "Convert once, before the step."),
    Count("fallbacks", "calls of operators that Inductor does not compile",
          "Express them by operators that Inductor compiles."),
    Count("library_calls", "calls of libraries", increase="changed"),
    Count("collectives", "collectives", "Communicate once for several tensors."),
    Count("scalar_loops", "C++ loops that are not vectorised",
          "*Not fused* of the run says why."),
    Count("vector_loops", "vectorised C++ loops", increase="changed"),
    Count("cuda_graphs_skipped", "compiles without a CUDA graph", "Remove what the reason names."),
    Count("cache_bypasses", "compiles that a cache bypasses", "Remove what the reason names."),
    Count("registers", "registers of a thread, over all kernels",
          "The page of the kernel shows the lines where most are live.", made=TRITON),
    Count("local", "local memory of a thread, over all kernels",
          "The page of the kernel shows the lines that spill registers.", unit="bytes",
          made=TRITON),
    Count("shared", "shared memory of a block, over all kernels", unit="bytes", made=TRITON),
    Count("predicted_ns", "predicted time of the kernels", "See the page Roofline of the run.",
          unit="ns", made=("gpu",)),
    Count("unfinished", "compiles that failed or did not finish"),
    Count("warm_misses", "lookups that a filled cache misses",
          "`inductorscope startup` of two starts says what differs in the keys.", made=WARM),
    Count("warm_bypasses", "lookups that bypass a filled cache", "Remove what the reason names.",
          made=WARM),
    Count("warm_graphs", "graphs that Inductor compiles with a filled cache",
          "`inductorscope startup` of two starts says which cache lacks them.", made=WARM),
    Count("warm_tunings", "autotunings with a filled cache",
          "Keep the local cache of autotuning on.", made=WARM),
    Count("passes", "phases of compiling", made=("torch",)),
)  # fmt: skip
BY_ID = {count.id: count for count in COUNTS}


class Program(msgspec.Struct, forbid_unknown_fields=True):
    """One compiled program."""

    model: str
    options: dict[str, Any] = {}
    """Options of `inductorscope capture` that differ from its defaults, to compile it again."""
    made: dict[str, str] = {}
    """What it was compiled with: explains differences, and is not compared itself."""
    budgets: dict[str, str] = {}
    """Count → what it may be, if not exactly what was locked."""
    counts: dict[str, int] = {}
    details: dict[str, list[str]] = {}
    """Count → what was counted, with its lines."""
    source: dict[str, list[str]] = {}
    """File → the lines that the details name, so that edits elsewhere in the file change
    nothing."""

    @property
    def warm(self) -> bool:
        """Whether it has counts of a start with filled caches."""
        return any(BY_ID[name].made == WARM for name in self.counts if name in BY_ID)


class Lock(msgspec.Struct, forbid_unknown_fields=True):
    """The contents of a lock's file."""

    format: int
    program: list[Program]


def read_lock(text: str) -> Lock:
    """Reads a lock. Raises LockError."""
    try:
        lock = msgspec.convert(tomllib.loads(text), Lock)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise LockError(f"This is not a lock: {error}.") from None
    if lock.format != FORMAT:
        raise LockError(f"The lock's format is {lock.format}; this version reads {FORMAT}.")
    return lock


HEAD = """\
# Written by `inductorscope lock` and compared by `inductorscope check`, which also updates it.
# Budgets are yours to edit, such as kernels = "<= 14" or bytes = "<= 1.02x".
"""


def write_lock(programs: Iterable[Program]) -> str:
    """Formats a lock as TOML: one fact a line, sorted."""
    lines = [HEAD, f"format = {FORMAT}"]
    for program in programs:
        lines += ["", "[[program]]", f"model = {_value(program.model)}"]
        for name in ("options", "made", "budgets", "counts", "details", "source"):
            table = getattr(program, name)
            if table:
                lines += ["", f"[program.{name}]", *_table(table)]
    return "\n".join(lines) + "\n"


def _table(table: dict[str, Any]) -> Iterator[str]:
    for key, value in sorted(table.items()):
        name = key if key.isidentifier() and key.isascii() else _value(key)
        if isinstance(value, list):
            yield f"{name} = ["
            yield from (f"  {_value(item)}," for item in value)
            yield "]"
        else:
            yield f"{name} = {_value(value)}"


def _value(value: Any) -> str:  # noqa: ANN401  # any TOML
    """Formats a value: JSON's strings, numbers and truth values are TOML's; a table takes one
    line."""
    if isinstance(value, dict):
        return (
            "{" + ", ".join(f"{_value(key)} = {_value(item)}" for key, item in value.items()) + "}"
        )
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
