"""What was compiled of each kernel, joined by the hash of the kernel's source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from inductorscope.formats.machine.cubin import CubinFacts, read_cubin
from inductorscope.formats.machine.definitions import definition_of
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
    source_of,
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
from inductorscope.reading.texts import count_lines, read_text
from inductorscope.store.contents.blobs import content_of_bytes
from inductorscope.store.runs.draft import ArtifactDraft, KernelDraft, artifact_of
from inductorscope.store.tables.models import JsonObject

NAMING: tuple[str, ...] = (TTIR, LLIR)
"""Stages that name their source."""
HEAD = 256 * KIB
"""Where a text names its source: MLIR at its beginning, LLVM's IR at its end."""
MOST_CONFIGURATIONS = 100
MOST_SOURCES = 10_000
LARGEST_LIBRARY = 16 * MIB
EMPTY: JsonObject = {"key": "", "arch": 0, "options": {}, "ran": False, "files": {}}
"""A configuration of which nothing is known."""


@dataclass(slots=True)
class CompiledKernels:
    """The configurations of an upload's kernels."""

    by_source: dict[str, list[JsonObject]] = field(default_factory=dict)
    definitions: dict[str, tuple[str, bool]] = field(default_factory=dict)
    """Source → its kernel's definition, for uploads without code, and whether its lines are
    known."""
    texts: dict[str, ArtifactDraft] = field(default_factory=dict)
    """Path → a compiled text that lies in a log."""
    known: set[str] = field(default_factory=set)
    """Keys of the configurations."""

    def give(self, kernels: list[KernelDraft]) -> bool:
        """Adds its configurations to the facts of each kernel; whether there are any."""
        given = False
        for kernel in kernels:
            source = source_of(str(kernel.facts.get("kernel_path", "")))
            for key in (str(kernel.facts.get(SOURCE_HASH)), _key(source, kernel.name)):
                found = self.by_source.get(key)
                if found:
                    kernel.facts = kernel.facts | {COMPILED: found[:MOST_CONFIGURATIONS]}
                    given = True
                    break
        return given

    def code(self) -> bytes:
        """A code that defines the kernels; empty without any."""
        head = "# Put together from what Triton compiled: the upload has no output code.\n"
        for key, (_, placed) in self.definitions.items():
            for configuration in () if placed else self.by_source.get(key, ()):
                configuration["source"] = ""
        texts = [definition for definition, _ in self.definitions.values()]
        return "\n".join([head, *texts]).encode("utf-8", "replace") if texts else b""

    def add(
        self,
        texts: Mapping[str, str],
        configuration: JsonObject,
        python: PythonSource | None = None,
    ) -> bool:
        """Whether the configuration is new. `texts`: beginnings or ends of TTIR and LLVM's IR."""
        source = next(filter(None, map(source_named, texts.values())), "")
        if not source:
            return False
        key = _key(source, configuration["name"])
        if not self.definitions.get(key, ("", False))[1] and len(self.definitions) < MOST_SOURCES:
            definition = definition_of(texts.get(TTIR, ""), source, python)
            if definition[0]:
                self.definitions[key] = definition
        if configuration["key"] in self.known:
            return False  # a log repeats what a cache holds
        self.known |= {configuration["key"]} - {""}
        self.by_source.setdefault(key, []).append(configuration | {"source": source})
        return True


def _key(source: str, name: str) -> str:
    """Inductor's files have one kernel each; others, named by their path, may have several."""
    return f"{source}:{name}" if "/" in source else source


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
        named = {role: _end(group[role]) for role in NAMING if role in group}
        result.add(named, _of_files(group, chosen, notes))
    for file in files:
        if file.role == TRITONPARSE_LOG:
            _read_log(file, result, chosen, notes)
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


def _end(file: File) -> str:
    """The end of a text that names its source."""
    with file.absolute.open("rb") as stream:
        if file.role == LLIR and file.size > HEAD:
            stream.seek(file.size - HEAD)
        return stream.read(HEAD).decode("utf-8", "replace")


def _of_files(group: dict[str, File], chosen: dict[str, JsonObject], notes: Notes) -> JsonObject:
    file, cubin = group.get(TRITON_METADATA), group.get(SASS)
    text, taken = "", CubinFacts()
    if file is not None:
        text = notes.attempt(file.path, "Reading it", partial(read_text, file.absolute), "")
    if cubin is not None:
        taken = notes.attempt(
            cubin.path, "Reading it", lambda: read_cubin(cubin.absolute.read_bytes()), taken
        )
    files = {role: each.path for role, each in group.items() if role in OF_KERNELS}
    return _configuration(text, taken, files, chosen)


def _configuration(
    metadata: str, taken: CubinFacts, files: dict[str, str], chosen: dict[str, JsonObject]
) -> JsonObject:
    facts = read_metadata(metadata) or CompiledFacts("")
    return {
        "key": facts.key,
        "name": facts.name,
        "arch": facts.arch,
        "options": chosen.get(facts.key, {}) | facts.options,
        "ran": facts.key in chosen,
        "registers": taken.registers,
        "local": taken.local,
        "files": files,
    }


def _read_log(
    file: File, result: CompiledKernels, chosen: dict[str, JsonObject], notes: Notes
) -> None:
    """A log of tritonparse: what it holds of a kernel is kept as Triton's cache has it."""
    with file.absolute.open("rb") as stream:
        try:
            for number, each in enumerate(compilations(open_plain(stream))):
                if each is None:
                    notes.add(file.path, "a compilation that could not be read")
                else:
                    _add_logged(f"{file.path}/{number}", each, result, chosen)
        except DamagedError as error:
            notes.add(file.path, f"its end is damaged: {error}")


def _add_logged(
    folder: str, found: Compilation, result: CompiledKernels, chosen: dict[str, JsonObject]
) -> None:
    texts = {
        role: text
        for name, text in found.texts.items()
        for role, ending in OF_KERNELS.items()
        if name.endswith(ending) and role not in (SASS, ASSEMBLY)
    }
    files = {role: f"{folder}{OF_KERNELS[role]}" for role in texts}
    configuration = _configuration(found.metadata, CubinFacts(), files, chosen)
    named = {role: texts[role] for role in NAMING if role in texts}
    if not result.add(named, configuration, found.source):
        return
    for role, text in texts.items():
        plain = text.encode("utf-8", "replace")
        result.texts[files[role]] = artifact_of(
            role, files[role], content_of_bytes(plain), count_lines(plain), derived=True
        )
