"""Groups files by compiled graph, and names the graphs."""

import hashlib
import re
from pathlib import Path

import msgspec

from inductorscope.formats.sizes import KIB, MIB
from inductorscope.formats.vocabulary import CODE, KERNEL_FILE, ROLES_OF_GRAPHS, WRAPPER_PART
from inductorscope.intake.files import File
from inductorscope.intake.names import stored_text

MAX_SLUG = 100
LONGEST_CODE = 64 * MIB

# model__0_forward_1.0, model___20.0, aot_graph_3, c2hx….debug
_GRAPH_FOLDER = re.compile(r"^model_|_(?:forward|backward|inference|joint)(?:_|$)|\.debug$")
# run_2026_11_21_01_25_55_681313-pid_419
_RUN_FOLDER = re.compile(r"^run_\d{4}_.*pid_\d+$")
# # AOT ID: ['0_forward']
_AOT_ID = re.compile(r"^# AOT ID: \['([\w.]{1,80})'", re.M)
# What AOTInductor writes for a C++ wrapper, and for the kernels it calls.
_WRAPPER = re.compile(r"inductor_entry_impl|AOTInductorModel")
_KERNELS = re.compile(r'^[ \t]*extern "C"\s+(?:__declspec\(dllexport\)\s+)?void\s+cpp_\w+\(', re.M)
_ENTRY_STARTS, _ENTRY_ENDS = b"void inductor_entry_impl(", b"} // inductor_entry_impl"
# The Triton kernels that AOTInductor loads, and their definitions in files of their own.
_LOADED = re.compile(rb"\bkernels_?\.(\w{1,600}) = loadKernel\(")
_JITTED = re.compile(rb"^@triton\.jit[ \t\r]*\ndef (\w{1,600})\(", re.M)
_LAST_NUMBER = re.compile(r"(?<!\d)(\d+)\D*$")


class GraphFolder(msgspec.Struct):
    """A compiled graph: a folder of the debug directory, or a single file."""

    name: str
    slug: str
    """Unique in the upload and safe in a URL."""
    process: str | None
    """Folder of the process that compiled it, if the upload contains it."""
    files: dict[str, Path] = msgspec.field(default_factory=dict)
    """One file for each role."""
    kernels: list[Path] = msgspec.field(default_factory=list)
    """Files with the kernels of a C++ wrapper, read together with it."""


def set_copies_apart(files: list[File]) -> None:
    """Sets aside the `.cpp` of a C++ wrapper if the upload has its `.py`, which contains it."""
    codes = [file for file in files if file.role == CODE]
    if not any(file.absolute.suffix == ".cpp" for file in codes):
        return
    modules = {_entry(file) for file in codes if file.absolute.suffix == ".py"} - {None}
    for file in codes:
        if file.absolute.suffix == ".cpp" and _entry(file) in modules:
            file.role = KERNEL_FILE


def _entry(file: File) -> bytes | None:
    """Returns a digest of a C++ wrapper's function, with the names of the kernels in it."""
    text = file.head(LONGEST_CODE)
    start = text.find(_ENTRY_STARTS)
    end = text.find(_ENTRY_ENDS, start)
    if start < 0 or end < 0:
        return None
    return hashlib.sha256(text[start:end].replace(b"\r", b"")).digest()


def keep_lone_kernels(files: list[File]) -> None:
    """Makes files of kernels graphs of their own if no code contains them."""
    if all(file.role != CODE for file in files):
        for file in files:
            if file.role == KERNEL_FILE:
                file.role = CODE


def find_graphs(files: list[File], base: Path, named: dict[str, str]) -> list[GraphFolder]:
    """Returns the graphs in the order they were compiled; marks the files of each with its slug.

    `named`: path of a file → name of its graph, where the folder holds several.
    """
    groups: list[tuple[GraphFolder, list[File]]] = []
    for folder, members in _by_folder(files, named).items():
        groups += _graphs_of_folder(folder, members, base)
    _attach_kernels(groups, files)
    groups.sort(key=lambda group: _order(group[0]))
    taken: set[str] = set()
    for graph, members in groups:
        graph.slug = unique_slug(graph.name, taken)
        for file in members:
            file.graph = graph.slug
    _adopt(files)
    return [graph for graph, _ in groups]


def _attach_kernels(groups: list[tuple[GraphFolder, list[File]]], files: list[File]) -> None:
    """Adds the files of Triton kernels to the C++ wrappers that load the compiled kernels."""
    defined: dict[bytes, File] = {}
    for file in files:
        if file.role == KERNEL_FILE and file.absolute.suffix == ".py":
            for name in _JITTED.findall(file.head(LONGEST_CODE)):
                defined.setdefault(name, file)
    if not defined:
        return
    for graph, members in groups:
        code = next((file for file in members if file.role == CODE), None)
        if code is None or code.absolute.suffix != ".cpp":
            continue
        names = dict.fromkeys(_LOADED.findall(code.head(LONGEST_CODE)))
        kernels = {id(defined[name]): defined[name] for name in names if name in defined}
        for file in kernels.values():
            graph.kernels.append(file.absolute)
            members.append(file)
        if kernels:
            for file in (code, *kernels.values()):
                file.role = WRAPPER_PART  # together they are the code


def _by_folder(files: list[File], named: dict[str, str]) -> dict[Path, list[File]]:
    folders: dict[Path, list[File]] = {}
    for file in files:
        if file.role in ROLES_OF_GRAPHS:
            folder = file.absolute.parent
            if file.path in named:
                folder /= named[file.path]
            folders.setdefault(folder, []).append(file)
    return folders


def _graphs_of_folder(
    folder: Path, members: list[File], base: Path
) -> list[tuple[GraphFolder, list[File]]]:
    codes = [file for file in members if file.role == CODE]
    if len(codes) <= 1:
        return [_graph(folder, members, base, alone=False)]
    kernels = _kernels_of_wrapper(codes)
    if kernels:
        inside = {file.path for file in kernels}
        rest = [file for file in members if file.path not in inside]
        graph, _ = _graph(folder, rest, base, alone=False)
        graph.kernels = [file.absolute for file in kernels]
        for file in rest + kernels:
            if file.role == CODE:
                file.role = WRAPPER_PART  # together they are the code
        return [(graph, members)]
    # A folder of separate files of kernels, such as the compile cache: each becomes a graph. The
    # other texts belong to the file with Inductor's usual name, if there is one.
    groups = []
    for code in codes:
        texts = [code]
        if code.absolute.name == "output_code.py":
            texts += [file for file in members if file.role != CODE]
        groups.append(_graph(folder, texts, base, alone=True))
    return groups


def _kernels_of_wrapper(codes: list[File]) -> list[File]:
    """Returns the files next to a C++ wrapper if all of them hold its kernels, else none."""
    wrappers = [file for file in codes if _WRAPPER.search(_head_text(file.absolute))]
    others = [file for file in codes if len(wrappers) == 1 and file is not wrappers[0]]
    alike = all(
        file.absolute.suffix == ".cpp" and _KERNELS.search(_head_text(file.absolute))
        for file in others
    )
    return others if alike else []


def _graph(
    folder: Path, members: list[File], base: Path, *, alone: bool
) -> tuple[GraphFolder, list[File]]:
    files: dict[str, Path] = {}
    usual = ("output_code.", "fx_graph_", "ir_", "inductor_")
    for file in sorted(members, key=lambda f: (not f.absolute.name.startswith(usual), f.path)):
        files.setdefault(file.role, file.absolute)
    name = _graph_name(folder, files, base, alone=alone)
    return GraphFolder(name, "", _process(folder, base), files), members


def _graph_name(folder: Path, files: dict[str, Path], base: Path, *, alone: bool) -> str:
    if not alone and _GRAPH_FOLDER.search(folder.name):
        return stored_text(folder.name)
    code = files.get(CODE)
    if code is not None:
        match = _AOT_ID.search(_head_text(code))
        if match:
            return f"model__{match.group(1)}"
    first = next(iter(files.values()))
    if not alone and folder != base and len(files) > 1:
        return stored_text(folder.name)
    return stored_text(first.stem)


def _head_text(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(64 * KIB).decode("utf-8", "replace")


def _process(folder: Path, base: Path) -> str | None:
    """Returns the run folder above a graph, within the upload."""
    parts = (base.name, *folder.relative_to(base).parts)
    return next(filter(_RUN_FOLDER.match, parts), None)


def _order(graph: GraphFolder) -> tuple[str, int, str]:
    """Sorts by the last number in the name: Inductor numbers graphs as it compiles them."""
    number = _LAST_NUMBER.search(graph.name.rpartition(".")[0] or graph.name)
    return graph.process or "", int(number.group(1)) if number else 0, graph.name


def unique_slug(name: str, taken: set[str]) -> str:
    """Makes a name safe in a URL and different from those in `taken` (lower case)."""
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", name)[:MAX_SLUG].strip(".-") or "graph"
    unique, count = slug, 1
    while unique.lower() in taken:
        count += 1
        unique = f"{slug}~{count}"
    taken.add(unique.lower())
    return unique


def _adopt(files: list[File]) -> None:
    """Assigns the other files in or below a graph's folder to the graph."""
    homes: dict[Path, set[str]] = {}
    for file in files:
        if file.graph is not None:
            homes.setdefault(file.absolute.parent, set()).add(file.graph)
    for file in files:
        if file.graph is not None:
            continue
        for folder in file.absolute.parents:
            slugs = homes.get(folder)
            if slugs is not None:
                if len(slugs) == 1 and _GRAPH_FOLDER.search(folder.name):
                    file.graph = next(iter(slugs))
                break
