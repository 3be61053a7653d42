"""What was compiled of each kernel, joined by the hash of the kernel's source."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from inductorscope.formats.machine.cubin import CubinFacts, read_cubin
from inductorscope.formats.machine.metadata import (
    COMPILED,
    SOURCE_HASH,
    CompiledFacts,
    hash_of,
    kernel_of_library,
    library_source,
    read_best,
    read_metadata,
    source_named,
)
from inductorscope.formats.sizes import KIB, MIB
from inductorscope.formats.vocabulary import (
    ASSEMBLY,
    BEST_CONFIG,
    LLIR,
    OF_KERNELS,
    SASS,
    TRITON_METADATA,
    TTIR,
)
from inductorscope.intake.files import File
from inductorscope.reading.notes import Notes
from inductorscope.reading.texts import read_text
from inductorscope.store.runs.draft import KernelDraft
from inductorscope.store.tables.models import JsonObject

HEAD = 256 * KIB
"""Where a text names its source: MLIR at its beginning, LLVM's IR at its end."""
MOST_CONFIGURATIONS = 100
LARGEST_LIBRARY = 16 * MIB
EMPTY: JsonObject = {"key": "", "arch": 0, "options": {}, "ran": False, "files": {}}
"""A configuration of which nothing is known."""


@dataclass(slots=True)
class CompiledKernels:
    """The configurations of an upload's kernels."""

    by_source: dict[str, list[JsonObject]] = field(default_factory=dict)

    def give(self, kernels: list[KernelDraft]) -> bool:
        """Adds its configurations to the facts of each kernel; whether there are any."""
        given = False
        for kernel in kernels:
            found = self.by_source.get(str(kernel.facts.get(SOURCE_HASH)))
            if found:
                kernel.facts = kernel.facts | {COMPILED: found[:MOST_CONFIGURATIONS]}
                given = True
        return given


def read_compiled(files: list[File], notes: Notes) -> CompiledKernels:
    """Files of one configuration lie in one folder and share a stem."""
    groups: dict[tuple[str, str], dict[str, File]] = {}
    chosen: dict[str, JsonObject] = {}
    result = CompiledKernels()
    for file in files:
        if file.role == ASSEMBLY:
            source, library = notes.attempt(
                file.path, "Reading it", partial(_library, file), ("", EMPTY)
            )
            result.by_source.setdefault(source, []).append(library)
        elif file.role in OF_KERNELS or file.role == TRITON_METADATA:
            folder, _, name = file.path.rpartition("/")
            groups.setdefault((folder, name.rpartition(".")[0]), {})[file.role] = file
        elif file.role == BEST_CONFIG:
            text = notes.attempt(file.path, "Reading it", partial(read_text, file.absolute), "")
            key, sizes = read_best(text)
            chosen[key] = sizes
    for group in groups.values():
        source = next(filter(None, (_source(group.get(role)) for role in (TTIR, LLIR))), "")
        if source:
            result.by_source.setdefault(source, []).append(_configuration(group, chosen, notes))
    for configurations in result.by_source.values():
        if len(configurations) == 1:
            configurations[0]["ran"] = True
        configurations.sort(key=lambda each: (not each["ran"], str(each["key"])))
    return result


def _library(file: File) -> tuple[str, JsonObject]:
    """The hash of a C++ kernel's source, and its library. The cache has the source beside it; a
    capture names the library by that hash."""
    beside = file.absolute.with_suffix(".cpp")
    stem = file.path.rpartition("/")[2].partition(".")[0]
    source = hash_of(kernel_of_library(read_text(beside))) if beside.is_file() else stem
    named = library_source(file.absolute.read_bytes()[:LARGEST_LIBRARY])
    return source, EMPTY | {"files": {ASSEMBLY: file.path}, "source": named}


def _source(file: File | None) -> str:
    if file is None:
        return ""
    with file.absolute.open("rb") as stream:
        if file.role == LLIR and file.size > HEAD:
            stream.seek(file.size - HEAD)
        return source_named(stream.read(HEAD).decode("utf-8", "replace"))


def _configuration(
    group: dict[str, File], chosen: dict[str, JsonObject], notes: Notes
) -> JsonObject:
    file = group.get(TRITON_METADATA)
    text = ""
    if file is not None:
        text = notes.attempt(file.path, "Reading it", partial(read_text, file.absolute), "")
    facts = read_metadata(text) or CompiledFacts("")
    cubin = group.get(SASS)
    taken = CubinFacts()
    if cubin is not None:
        taken = notes.attempt(
            cubin.path, "Reading it", lambda: read_cubin(cubin.absolute.read_bytes()), taken
        )
    return {
        "key": facts.key,
        "arch": facts.arch,
        "options": chosen.get(facts.key, {}) | facts.options,
        "ran": facts.key in chosen,
        "registers": taken.registers,
        "local": taken.local,
        "files": {role: each.path for role, each in group.items() if role in OF_KERNELS},
    }
