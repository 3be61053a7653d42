"""The shape of the house: which room may import which, and how its modules hold together.

Imports inside functions and those for type checkers count like any other.
"""

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MOST_FILES = 20
MOST_POSITIONAL = 5
# A record for each line of the longest texts: with names, reading takes a twentieth longer.
POSITIONAL = {"FxTextNode"}
FOLDERS = ("ingest", "server", "bench", "tests")

_ROWS = re.findall(
    r"^\| `([a-z_]+)/?` \| .* \| ([^|]*) \|$", (ROOT / "docs" / "architecture.md").read_text(), re.M
)
# What each room may import of the product, besides itself.
ARROW = {
    room.removeprefix("inductorscope_"): set(re.findall(r"`(\w+)`", allowed))
    for room, allowed in _ROWS
} | {"": {"api", "cli"}}

# Modules that something outside the product loads: Python at its start, Alembic and pytest.
LOADED_FROM_OUTSIDE = (
    "inductorscope.capturing.script.startup.sitecustomize",
    "inductorscope.store.migrations",
    "inductorscope.testing.plugin",
)


def module_of(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {
    module_of(file): file
    for folder in ("ingest", "server")
    for file in sorted((ROOT / folder).rglob("*.py"))
}


def room_of(module: str) -> str:
    """The first folder below `inductorscope`; empty for the package itself."""
    top, _, below = module.partition(".")
    if top == "inductorscope_server":
        return "server"
    return "" if below == "__main__" else below.partition(".")[0]


@cache
def tree_of(module: str) -> ast.Module:
    return ast.parse(FILES[module].read_bytes())


@cache
def imports_of(module: str) -> dict[str, str]:
    """The product's modules that a module imports, with the name that it uses for each."""
    found: dict[str, str] = {}
    for node in ast.walk(tree_of(module)):
        if isinstance(node, ast.Import):
            found |= {item.name: item.asname or item.name for item in node.names}
        elif isinstance(node, ast.ImportFrom):
            for item in node.names:
                name = f"{node.module}.{item.name}"
                found[name if name in FILES else str(node.module)] = item.asname or item.name
    return {name: alias for name, alias in found.items() if name in FILES and name != module}


def loaded_by_name(module: str) -> Iterator[str]:
    """Modules that a string names: started with `-m`, imported by name, or read as `runner.py`."""
    for node in ast.walk(tree_of(module)):
        if isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
            # such as f"inductorscope.capturing.models.{name}"
            folder = str(node.values[0].value)
            if folder.removesuffix(".") in FILES:
                yield from (name for name in FILES if name.startswith(folder))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            beside = f"{module.rpartition('.')[0]}.{node.value.removesuffix('.py')}"
            yield from {node.value, f"{node.value}.__main__", beside} & FILES.keys()


def circles() -> list[list[str]]:
    """Modules that import each other, by way of others too (Tarjan's components)."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    open_modules: list[str] = []
    found: list[list[str]] = []

    def visit(module: str) -> None:
        number[module] = lowest[module] = len(number)
        open_modules.append(module)
        for other in imports_of(module):
            if other not in number:
                visit(other)
            if other in open_modules:
                lowest[module] = min(lowest[module], lowest[other])
        if lowest[module] == number[module]:
            at = open_modules.index(module)
            found.append(sorted(open_modules[at:]))
            del open_modules[at:]

    for module in FILES:
        if module not in number:
            visit(module)
    return [circle for circle in found if len(circle) > 1]


def against_the_arrow() -> Iterator[str]:
    for module in FILES:
        room = room_of(module)
        for other in imports_of(module).keys() - {"inductorscope"}:
            if room_of(other) not in ARROW[room] | {room}:
                yield f"{module} imports {other}"


def in_a_circle() -> Iterator[str]:
    for circle in circles():
        yield f"{', '.join(circle)} import each other"


def in_full_folders() -> Iterator[str]:
    count = Counter(file.parent for file in FILES.values() if file.name != "__init__.py")
    for folder, files in count.items():
        if files > MOST_FILES:
            yield f"{folder.relative_to(ROOT)} holds {files} files"


def private_names() -> Iterator[str]:
    """Names with a leading underscore that a module takes from another one."""
    for module in FILES:
        aliases = set(imports_of(module).values())
        for node in ast.walk(tree_of(module)):
            taken: list[str] = []
            if isinstance(node, ast.ImportFrom) and str(node.module) in FILES:
                taken = [item.name for item in node.names]
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                taken = [node.attr] if node.value.id in aliases else []
            for name in taken:
                if re.match(r"_(?!_)", name):
                    yield f"{module} takes {name}"


def unreachable() -> Iterator[str]:
    """Modules that nothing leads to from the commands on."""
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    reached: set[str] = set()
    left = [target.partition(":")[0] for target in scripts.values()]
    left += [name for name in FILES if name.startswith(LOADED_FROM_OUTSIDE)]
    left.append("inductorscope.__main__")
    while left:
        module = left.pop()
        if module in FILES and module not in reached:
            reached.add(module)
            left += [module.rpartition(".")[0], *imports_of(module), *loaded_by_name(module)]
    yield from (f"nothing imports {module}" for module in sorted(FILES.keys() - reached))


RULES = (against_the_arrow, in_a_circle, in_full_folders, private_names, unreachable)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule.__name__))
def test_no_room_breaks(rule: object) -> None:
    assert callable(rule)
    assert list(rule()) == []


def test_the_rules_see_imports() -> None:
    assert {room_of(name) for name in imports_of("inductorscope.cli.local")} >= {
        "intake",
        "reading",
        "store",
    }
    assert "inductorscope.capturing.child" in set(loaded_by_name("inductorscope.capturing.run"))


def test_loop_variables_are_named_for_what_they_are() -> None:
    """`one` stands beside `other` only."""
    nameless = []
    for file in (file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py")):
        text = file.read_text()
        if "fixtures" in file.parts or not re.search(r"\bfor .*\b(each|one)\b.* in\b", text):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
                names = {name.id for name in ast.walk(node.target) if isinstance(name, ast.Name)}
                if "each" in names or ("one" in names and "other" not in names):
                    nameless.append(f"{file.relative_to(ROOT)}:{node.target.lineno}")
    assert nameless == []


def test_records_are_made_with_at_most_five_positional_arguments() -> None:
    """An unpacked tuple does not count: its fields belong together."""
    nameless = []
    for module, file in FILES.items():
        for node in ast.walk(tree_of(module)):
            if not isinstance(node, ast.Call):
                continue
            name = ast.unparse(node.func).rpartition(".")[2].lstrip("_")
            given = [item for item in node.args if not isinstance(item, ast.Starred)]
            if name[:1].isupper() and name not in POSITIONAL and len(given) > MOST_POSITIONAL:
                nameless.append(f"{file.relative_to(ROOT)}:{node.lineno}")
    assert nameless == []
