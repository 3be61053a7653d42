"""The front end's modules: no circles, no crowded folders, nothing that no page loads."""

import re
from collections.abc import Iterator
from pathlib import Path

FRONT = Path(__file__).resolve().parent.parent / "frontend"
SRC = FRONT / "src"
GENERATED_TYPES = SRC / "shared" / "api.ts"
MOST_FILES = 20
IMPORT = re.compile(r"""(?:\bfrom|\bimport)\s*\(?\s*["'](\.{1,2}/[^"']+)["']""")
ENTRY = re.compile(r'"(src/[^"]+\.ts)"')
ROOMS = ["state", "code", "kernels", "panes", "views"]
"""Rooms of the explorer; each may import those before it."""


def modules() -> list[Path]:
    return [file for file in sorted(SRC.rglob("*.ts")) if not file.name.endswith(".d.ts")]


def imports(file: Path) -> Iterator[Path]:
    """The modules of ours that a module imports, as values, as types or when it needs them.

    Generated types are left out: a clone has them only after `make check`.
    """
    for name in IMPORT.findall(file.read_text()):
        module = (file.parent / f"{name}.ts").resolve()
        if module != GENERATED_TYPES:
            yield module


def circle(graph: dict[Path, list[Path]]) -> list[Path]:
    """Some modules that import each other in a circle; none where there is no circle."""
    done: set[Path] = set()

    def walk(file: Path, way: list[Path]) -> list[Path]:
        if file in way:
            return way[way.index(file) :]
        if file in done:
            return []
        for path in graph[file]:
            if found := walk(path, [*way, file]):
                return found
        done.add(file)
        return []

    return next((found for file in graph if (found := walk(file, []))), [])


def test_every_import_is_a_module() -> None:
    missing = [
        (file.name, path.name) for file in modules() for path in imports(file) if not path.is_file()
    ]
    assert not missing


def test_no_modules_import_each_other_in_a_circle() -> None:
    found = circle({file: list(imports(file)) for file in modules()})
    assert not found, " -> ".join(str(file.relative_to(SRC)) for file in found)


def test_no_folder_holds_more_than_twenty_source_files() -> None:
    folders = [SRC, *(folder for folder in SRC.rglob("*") if folder.is_dir())]
    sizes = {folder: len(list(folder.glob("*.ts"))) for folder in folders}
    assert not {folder.name: size for folder, size in sizes.items() if size > MOST_FILES}


def test_every_module_is_loaded_by_a_page() -> None:
    waiting = [FRONT / name for name in ENTRY.findall((FRONT / "build.mjs").read_text())]
    assert waiting
    reached: set[Path] = set()
    while waiting:
        file = waiting.pop()
        if file not in reached:
            reached.add(file)
            waiting += imports(file)
    assert not [str(file.relative_to(SRC)) for file in modules() if file not in reached]


def test_rooms_of_the_explorer_import_only_the_rooms_before_them() -> None:
    explorer = SRC / "explorer"
    wrong = [
        f"{file.relative_to(SRC)} imports {path.relative_to(SRC)}"
        for at, room in enumerate(ROOMS)
        for file in (explorer / room).glob("*.ts")
        for path in imports(file)
        if path.parent.name in ROOMS[at + 1 :] or path == explorer / "explorer.ts"
    ]
    assert not wrong


def test_the_check_sees_a_circle() -> None:
    one, other = Path("one"), Path("other")
    assert circle({one: [other], other: [one]}) == [one, other]
    assert not circle({one: [other], other: []})
    assert SRC / "explorer" / "explorer.ts" in set(imports(SRC / "explorer" / "start.ts"))
