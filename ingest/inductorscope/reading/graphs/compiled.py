"""Compiled forms of each kernel, joined by the hash of the kernel's source."""

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec

from inductorscope.formats.machine.cubin import CubinFacts, read_cubin
from inductorscope.formats.machine.definitions import definition_of
from inductorscope.formats.machine.metadata import (
    COMPILED,
    SOURCE_HASH,
    CompiledKernel,
    hash_of,
    kernel_of_library,
    library_source,
    read_best,
    read_metadata,
    source_named,
)
from inductorscope.formats.machine.tritonparse import Compilation, PythonSource, compilations
from inductorscope.formats.sizes import KIB, MIB
from inductorscope.formats.unpacking import DamagedError, open_plain
from inductorscope.formats.vocabulary import (
    ASSEMBLY,
    BEST_CONFIG,
    LLIR,
    OF_KERNELS,
    SASS,
    TRITON_METADATA,
    TRITONPARSE_LOG,
    TTIR,
)
from inductorscope.intake.files import File
from inductorscope.reading.notes import Notes
from inductorscope.reading.texts import check_length, count_lines, read_text
from inductorscope.store.contents.content import content_of_bytes
from inductorscope.store.database.storable import JsonObject
from inductorscope.store.runs.draft import ArtifactDraft, KernelDraft, artifact_of

T = TypeVar("T")

NAMING: tuple[str, ...] = (TTIR, LLIR)
"""Stages whose texts name their source."""
TEXTS = {role: ending for role, ending in OF_KERNELS.items() if role not in (SASS, ASSEMBLY)}
HEAD = 256 * KIB
"""Bytes of a text that are read to find its source: MLIR names it at the beginning, LLVM's IR at
the end."""
MOST_CONFIGURATIONS = 100
MOST_SOURCES = 10_000
LARGEST_LIBRARY = 16 * MIB
UNKNOWN = CubinFacts()


class CompiledKernels(msgspec.Struct):
    """The configurations of an upload's kernels."""

    by_source: dict[str, list[CompiledKernel]] = msgspec.field(default_factory=dict)
    definitions: dict[str, tuple[str, bool]] = msgspec.field(default_factory=dict)
    """Source → its kernel's definition, and whether lines refer to it, for uploads without output
    code."""
    texts: dict[str, ArtifactDraft] = msgspec.field(default_factory=dict)
    """Path → a compiled text from a log."""
    chosen: dict[str, JsonObject] = msgspec.field(default_factory=dict)
    """Key of a configuration that autotuning chose → its block sizes."""
    known: set[str] = msgspec.field(default_factory=set)
    """Keys of the configurations found so far."""
    left_out: Counter[str] = msgspec.field(default_factory=Counter)
    """What did not pass the border, until it is noted."""

    def give(self, kernels: list[KernelDraft]) -> bool:
        """Adds its configurations to the facts of each kernel; returns whether it found any."""
        given = False
        for kernel in kernels:
            source = source_named('"{}":0'.format(kernel.facts.get("kernel_path", "")))
            keys = str(kernel.facts.get(SOURCE_HASH)), _key(source, kernel.name)
            if found := next(filter(None, map(self.by_source.get, keys)), None):
                kernel.facts = kernel.facts | {COMPILED: found[:MOST_CONFIGURATIONS]}
                given = True
        return given

    def code(self) -> bytes:
        """Returns a text that defines the kernels, to stand in for the output code; empty if none
        is known."""
        head = "# Put together from what Triton compiled: the upload has no output code.\n"
        for key, (_, placed) in self.definitions.items():
            for configuration in () if placed else self.by_source.get(key, ()):
                configuration.source = ""
        texts = [definition for definition, _ in self.definitions.values()]
        return "\n".join([head, *texts]).encode("utf-8", "replace") if texts else b""

    def add(
        self,
        metadata: str,
        files: dict[str, str],
        texts: Mapping[str, str],
        cubin: CubinFacts = UNKNOWN,
        python: PythonSource | None = None,
    ) -> bool:
        """Adds a configuration; returns whether its source is known and it is new. `texts`: TTIR
        and LLVM's IR, or the part of each that names its source."""
        source = next(filter(None, (source_named(texts.get(role, "")) for role in NAMING)), "")
        if not source:
            return False
        compiled = read_metadata(metadata, self.left_out) or CompiledKernel()
        key = _key(source, compiled.name)
        if not self.definitions.get(key, ("", False))[1] and len(self.definitions) < MOST_SOURCES:
            definition = definition_of(texts.get(TTIR, ""), source, python)
            if definition[0]:
                self.definitions[key] = definition
        if compiled.key in self.known:
            return False  # a log repeats what is in a cache
        self.known |= {compiled.key} - {""}
        compiled.options = self.chosen.get(compiled.key, {}) | compiled.options
        compiled.ran = compiled.key in self.chosen
        compiled.registers, compiled.local = cubin.registers, cubin.local
        compiled.files, compiled.source = files, source
        self.by_source.setdefault(key, []).append(compiled)
        return True

    def add_library(self, file: File) -> None:
        """Adds a C++ kernel's library, by the hash of its source. In a cache the source is next to
        the library; a capture names the library by that hash."""
        beside = file.absolute.with_suffix(".cpp")
        stem = file.path.rpartition("/")[2].partition(".")[0]
        source = hash_of(kernel_of_library(read_text(beside))) if beside.is_file() else stem
        named = library_source(file.head(LARGEST_LIBRARY))
        library = CompiledKernel(files={ASSEMBLY: file.path}, source=named)
        self.by_source.setdefault(source, []).append(library)


def _key(source: str, name: str) -> str:
    """Returns the key of a kernel. Inductor's files have one kernel each; other sources, named by
    their path, may have several."""
    return f"{source}:{name}" if "/" in source else source


def read_compiled(files: list[File], notes: Notes) -> CompiledKernels:
    """Reads the files that kernels were compiled to. Files of one configuration share a folder and
    a stem."""
    groups: dict[tuple[str, str], dict[str, File]] = {}
    result = CompiledKernels()
    for file in files:
        if file.role == ASSEMBLY:
            notes.attempt(file.path, "Reading it", partial(result.add_library, file), None)
        elif file.role in OF_KERNELS or file.role == TRITON_METADATA:
            folder, _, name = file.path.rpartition("/")
            groups.setdefault((folder, name.rpartition(".")[0]), {})[file.role] = file
        elif file.role == BEST_CONFIG:
            result.chosen |= read_best(_read(file, read_text, "", notes), result.left_out)
            _note(file, result, notes)
    for group in groups.values():
        result.add(
            _read(group.get(TRITON_METADATA), read_text, "", notes),
            {role: file.path for role, file in group.items() if role in OF_KERNELS},
            {role: _end(group[role]) for role in NAMING if role in group},
            _read(group.get(SASS), _read_cubin, UNKNOWN, notes),
        )
        _note(next(iter(group.values())), result, notes)
    for file in files:
        if file.role == TRITONPARSE_LOG:
            _read_log(file, result, notes)
            _note(file, result, notes)
    for configurations in result.by_source.values():
        if len(configurations) == 1:
            configurations[0].ran = True
        configurations.sort(key=lambda compiled: (not compiled.ran, compiled.key))
    return result


def _note(file: File, result: CompiledKernels, notes: Notes) -> None:
    notes.left_out(file.path, result.left_out)
    result.left_out.clear()


def _read(file: File | None, read: Callable[[Path], T], otherwise: T, notes: Notes) -> T:
    if file is None:
        return otherwise
    return notes.attempt(file.path, "Reading it", partial(read, file.absolute), otherwise)


def _read_cubin(path: Path) -> CubinFacts:
    return read_cubin(check_length(path.read_bytes, path.stat().st_size))


def _end(file: File) -> str:
    """Returns the part of a text that names its source."""
    with file.absolute.open("rb") as stream:
        if file.role == LLIR and file.size > HEAD:
            stream.seek(file.size - HEAD)
        return stream.read(HEAD).decode("utf-8", "replace")


def _read_log(file: File, result: CompiledKernels, notes: Notes) -> None:
    """Reads a log of tritonparse. Its texts are stored as if they came from Triton's cache."""
    with file.absolute.open("rb") as stream:
        try:
            for number, compilation in enumerate(compilations(open_plain(stream))):
                if compilation is None:
                    notes.add(file.path, "a compilation that could not be read")
                else:
                    _add_logged(f"{file.path}/{number}", compilation, result)
        except DamagedError as error:
            notes.add(file.path, f"its end is damaged: {error}")


def _add_logged(folder: str, found: Compilation, result: CompiledKernels) -> None:
    texts = {
        role: text
        for name, text in found.file_content.items()
        for role, ending in TEXTS.items()
        if name.endswith(ending)
    }
    files = {role: f"{folder}{TEXTS[role]}" for role in texts}
    metadata = bytes(found.metadata).decode("utf-8", "replace")
    if result.add(metadata, files, texts, python=found.python_source):
        for role, text in texts.items():
            plain = text.encode("utf-8", "replace")
            result.texts[files[role]] = artifact_of(
                role, files[role], content_of_bytes(plain), count_lines(plain), derived=True
            )
