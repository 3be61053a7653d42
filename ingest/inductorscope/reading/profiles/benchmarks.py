"""What modules and kernels printed when benchmarking themselves, joined to their kernels."""

from functools import partial
from pathlib import PurePosixPath

import msgspec

from inductorscope.formats.printed.benchmark_log import (
    BenchmarkLog,
    KernelBandwidth,
    parse_benchmark_log,
)
from inductorscope.formats.vocabulary import BENCHMARK_LOG
from inductorscope.intake.files import File
from inductorscope.reading.notes import Notes
from inductorscope.reading.texts import read_text
from inductorscope.store.database.storable import JsonObject
from inductorscope.store.runs.draft import KernelDraft


class Benchmarks(msgspec.Struct):
    """Measurements of single kernels, by the file and by the name in the report."""

    by_key: dict[str, KernelBandwidth] = msgspec.field(default_factory=dict)
    """Beginning of a kernel's file in the code cache → its measurement."""
    by_name: dict[str, KernelBandwidth] = msgspec.field(default_factory=dict)
    wall_ms: dict[str, float] = msgspec.field(default_factory=dict)
    """Graph → milliseconds of one call of its module, without the profiler."""
    became: dict[str, str] = msgspec.field(default_factory=dict)
    """Path of a report → a description of its contents."""

    def give(self, kernels: list[KernelDraft]) -> bool:
        """Adds the measurements to each kernel's facts; returns whether it found any."""
        if not self.by_key and not self.by_name:
            return False
        given = False
        for kernel in kernels:
            found = self._of(kernel)
            if found is not None:
                kernel.facts = kernel.facts | _facts(found)
                given = True
        return given

    def _of(self, kernel: KernelDraft) -> KernelBandwidth | None:
        path = kernel.facts.get("kernel_path")
        if isinstance(path, str):
            name = PurePosixPath(path).name
            for length in (10, 12):
                found = self.by_key.get(name[:length])
                if found is not None:
                    return found
        return self.by_name.get(kernel.name)


def read_benchmarks(files: list[File], notes: Notes) -> Benchmarks:
    """Reads the reports. The first measurement of a kernel counts."""
    result = Benchmarks()
    for file in files:
        if file.role != BENCHMARK_LOG:
            continue
        read = partial(_parse, file)
        log = notes.attempt(file.path, "Reading the report", read, BenchmarkLog())
        notes.problems(file.path, log.problems)
        for kernel in log.kernels:
            if kernel.key:
                result.by_key.setdefault(kernel.key, kernel)
            if kernel.name:
                result.by_name.setdefault(kernel.name, kernel)
        if file.graph is not None and log.wall_ms is not None:
            result.wall_ms.setdefault(file.graph, log.wall_ms)
        result.became[file.path] = _words(log)
    return result


def _parse(file: File) -> BenchmarkLog:
    return parse_benchmark_log(read_text(file.absolute))


def _facts(kernel: KernelBandwidth) -> JsonObject:
    facts: JsonObject = {
        "benchmark_ms": kernel.ms,
        "benchmark_gb": kernel.gigabytes,
        "benchmark_gb_per_s": kernel.gb_per_s,
        "registers": kernel.registers,
        "spills": kernel.spills,
        "shared_memory_bytes": kernel.shared_bytes,
    }
    return {name: value for name, value in facts.items() if value is not None}


def _words(log: BenchmarkLog) -> str:
    parts = []
    if log.wall_ms is not None:
        parts.append(f"{log.wall_ms:g} ms a call")
    if log.kernels:
        parts.append(f"{len(log.kernels):,} kernels measured alone")
    return "benchmark report: " + (", ".join(parts) if parts else "no figures in it")
