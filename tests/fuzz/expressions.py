"""Every regular expression of the product, with texts made to be expensive for it.

The texts are made from the expression itself: each of its parts is repeated, alone and after what
must stand before it, so that a new expression is attacked without an entry anywhere.
"""

import ast
import importlib
import inspect
import pkgutil
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import inductorscope
import inductorscope_server

from tests.fuzz.growth import Pump

# The parser of `re`, which has no public name.
codes: Any = importlib.import_module("re._constants")
parser: Any = importlib.import_module("re._parser")

TRUSTED = (
    "inductorscope.capturing", "inductorscope.processes", "inductorscope.store.migrations",
    "inductorscope.testing.compiled",
)  # fmt: skip
"""Packages that see the output of programs started here, never an upload."""
ANCHORED = {"match", "fullmatch"}
ALPHABET = " \n\ta0_Z.,:;=#/\\-+*<>()[]{}|&'\"%!"
REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)
MANY = 20
"""A quantifier that allows fewer repetitions costs too little to matter."""


def modules() -> Iterator[ModuleType]:
    """The modules that may see an upload."""
    for package in (inductorscope, inductorscope_server):
        for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            if not module.name.startswith(TRUSTED) and not module.name.endswith("__main__"):
                yield importlib.import_module(module.name)


@dataclass(frozen=True)
class Expression:
    """A regular expression and how it is used."""

    where: str
    pattern: re.Pattern[Any]
    anchored: bool
    """Whether it is only tried at a given position."""

    def __str__(self) -> str:
        return f"{self.where}: {self.pattern.pattern!r}"


@cache
def calls(module: ModuleType) -> list[ast.Call]:
    """The calls of functions of `re` in a module's source."""
    source = Path(inspect.getfile(module)).read_text()
    return [
        node
        for node in (ast.walk(ast.parse(source)) if re.search(r"\bre\.", source) else ())
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
        and node.func.attr != "escape"
    ]


def written(module: ModuleType, call: ast.Call) -> str | bytes | None:
    """The expression that a call gives as a literal or a constant of its module."""
    first = call.args[0]
    value = vars(module).get(first.id) if isinstance(first, ast.Name) else None
    value = first.value if isinstance(first, ast.Constant) else value
    return value if isinstance(value, str | bytes) else None


def _held(value: object, depth: int = 0) -> Iterator[re.Pattern[Any]]:
    """The compiled expressions in a value of a module: itself, or within a table."""
    if isinstance(value, re.Pattern):
        yield value
    elif depth < 4 and isinstance(value, dict):
        for item in value.items():
            yield from _held(item, depth + 1)
    elif depth < 4 and isinstance(value, tuple | list | set | frozenset):
        for item in value:
            yield from _held(item, depth + 1)
    elif depth < 4 and hasattr(value, "__struct_fields__") and not isinstance(value, type):
        for name in value.__struct_fields__:
            yield from _held(getattr(value, name), depth + 1)


def _uses(source: str) -> dict[str, set[str]]:
    """The attributes that a source takes of each name."""
    found: dict[str, set[str]] = defaultdict(set)
    for name, attribute in re.findall(r"\b(?=(\w+)\.(\w+))", source):
        found[name].add(attribute)
    if "first_read(" in source:  # which matches the patterns of a table
        for name in re.findall(r"\((_\w+), self\.\w+\)", source):
            found[name].add("match")
    return found


@cache
def expressions() -> list[Expression]:
    """Compiled ones of all modules, and those that calls like `re.sub` name."""
    found = {}
    every = list(modules())
    sources = {module: Path(inspect.getfile(module)).read_text() for module in every}
    everywhere = _uses("\n".join(sources.values()))
    for module in every:
        here = _uses(sources[module])
        for call in calls(module):
            function, text = ast.unparse(call.func)[3:], written(module, call)
            if function != "compile" and text is not None:
                where = f"{module.__name__}:{call.lineno}"
                pattern = re.compile(text)
                found[where, pattern] = Expression(where, pattern, function in ANCHORED)
        for name, value in vars(module).items():
            if name.startswith("__"):
                continue
            for pattern in _held(value):
                seen_in = here if name.startswith("_") else everywhere
                uses = seen_in.get(name, set()) - {"pattern", "flags"}
                anchored = bool(uses) and uses <= ANCHORED and isinstance(value, re.Pattern)
                where = f"{module.__name__}.{name}"
                found[where, pattern] = Expression(where, pattern, anchored)
    return list(found.values())


# Texts -------------------------------------------------------------------------------------------


class _Texts:
    """Short texts that match parts of one expression."""

    def __init__(self, expression: re.Pattern[Any]) -> None:
        source = expression.pattern
        self.tree = parser.parse(source, expression.flags & ~re.UNICODE & ~re.DEBUG)
        self.groups: dict[int, str] = {}
        literals = "".join(sorted(set(self._literals(self.tree))))
        self.alphabet = "".join(dict.fromkeys(literals + ALPHABET))
        self.prefixes: list[str] = []
        self.pumps: list[tuple[str, str]] = []
        self.repeats = False
        """Whether a quantifier takes many repetitions. Without one, each place of a text costs at
        most the expression's own length."""
        self.walk(self.tree, "")

    def _literals(self, tree: Any) -> Iterator[str]:
        if isinstance(tree, tuple | list | parser.SubPattern):
            items = list(tree)
            if len(items) == 2 and items[0] in (codes.LITERAL, codes.NOT_LITERAL):
                yield chr(items[1])
            else:
                for item in items:
                    yield from self._literals(item)

    def members(self, operation: Any, argument: Any) -> list[str]:
        """Characters that a class matches, those which tell it from other classes first."""
        if operation is codes.LITERAL:
            return [chr(argument)]
        if operation is codes.ANY:
            return [char for char in self.alphabet if char != "\n"]
        if operation is codes.NOT_LITERAL:
            return [char for char in self.alphabet if char != chr(argument)]
        items = list(argument)
        negated = bool(items) and items[0][0] is codes.NEGATE
        return [
            char
            for char in self.alphabet
            if negated != any(_within(char, *item) for item in items if item[0] is not codes.NEGATE)
        ]

    def sample(self, tree: Any) -> str:
        """A short text that the expression matches."""
        return "".join(self.one(operation, argument) for operation, argument in tree)

    def one(self, operation: Any, argument: Any) -> str:
        if operation in REPEATS:
            least, most, body = argument
            return self.sample(body) * int(least or min(most, 1))
        if operation is codes.SUBPATTERN:
            text = self.sample(argument[-1])
            if argument[0] is not None:
                self.groups[argument[0]] = text
            return text
        if operation is codes.ATOMIC_GROUP:
            return self.sample(argument)
        if operation is codes.BRANCH:
            return self.sample(argument[1][0])
        if operation is codes.GROUPREF:
            return str(self.groups.get(argument, ""))
        if operation in (codes.LITERAL, codes.ANY, codes.NOT_LITERAL, codes.IN):
            members = self.members(operation, argument)
            return str(next((char for char in members if char in "a0 "), (members or [""])[0]))
        return ""

    def walk(self, tree: Any, before: str) -> None:
        """Notes what stands before each part, and what may be repeated there."""
        parts: list[tuple[str, str]] = []
        """The text before a part, and that of the part; adjacent literals are one."""
        literal = False
        for operation, argument in tree:
            if operation in REPEATS:
                _, most, body = argument
                if most == codes.MAXREPEAT or most >= MANY:
                    self.repeats = True
                    self.pumps += [(before, inner) for inner in self.bodies(body)]
            for nested in _nested(operation, argument):
                self.walk(nested, before)
            text = self.one(operation, argument)
            if literal and operation is codes.LITERAL:
                parts[-1] = (parts[-1][0], parts[-1][1] + text)
            elif text:
                parts.append((before, text))
            literal = operation is codes.LITERAL
            before += text
            self.prefixes.append(before)
        for count in (1, 2, 3):
            for first in range(len(parts) - count + 1):
                repeated = "".join(text for _, text in parts[first : first + count])
                if len(repeated) > 1:
                    self.pumps.append((parts[first][0], repeated))

    def bodies(self, body: Any) -> list[str]:
        """What a quantifier may repeat; for a class, its telling characters."""
        items = list(body)
        if len(items) == 1 and items[0][0] in (codes.IN, codes.ANY, codes.NOT_LITERAL):
            return self.members(*items[0])[:60]
        if len(items) == 1 and items[0][0] is codes.BRANCH:
            return [self.sample(branch) for branch in items[0][1][1]]
        if len(items) == 1 and items[0][0] is codes.SUBPATTERN:
            return self.bodies(items[0][1][-1])
        return [self.sample(body)]


def _nested(operation: Any, argument: Any) -> list[Any]:
    """The expressions in a part that begin where it begins."""
    if operation in REPEATS:
        return [argument[2]]
    if operation is codes.SUBPATTERN:
        return [argument[-1]]
    if operation is codes.ATOMIC_GROUP:
        return [argument]
    if operation is codes.BRANCH:
        return list(argument[1])
    if operation in (codes.ASSERT, codes.ASSERT_NOT) and argument[0] > 0:
        return [argument[1]]
    return []


def _within(character: str, kind: Any, value: Any) -> bool:
    if kind is codes.LITERAL:
        return bool(ord(character) == value)
    if kind is codes.RANGE:
        return bool(value[0] <= ord(character) <= value[1])
    if kind is codes.CATEGORY:
        name = str(value).rpartition("_")[2]
        kinds: dict[str, Callable[[str], bool]] = {
            "DIGIT": str.isdigit, "SPACE": str.isspace,
            "WORD": lambda text: text.isalnum() or text == "_",
        }  # fmt: skip
        return kinds[name](character) != ("_NOT_" in str(value))
    return False


def pumps(expression: re.Pattern[Any]) -> list[Pump]:
    """Texts that may be expensive for this expression."""
    texts = _Texts(expression)
    if not texts.repeats:
        return []
    classes: dict[tuple[str, ...], tuple[str, str]] = {}
    for before, body in texts.pumps:
        # Characters that the same quantifiers repeat behave alike: one of them is enough.
        kin = tuple(sorted({other for other, pumped in texts.pumps if pumped == body}))
        classes.setdefault((before, *kin, "" if len(body) == 1 else body), (before, body))
    found: dict[tuple[str, str, str], None] = {}
    for before, body in classes.values():
        for end in ("\x00", "a"):  # a class that takes the first comes to the end of the text
            found[before, body, end] = None
        found["", body, "\x00"] = None
        found["", before + body, "\x00"] = None
        for _, other in classes.values():
            if len(body) == len(other) == 1 and body < other:
                found[before, body + other, "\x00"] = None
    of_lines = re.search(r"[\^$\n]|\\n|\\s", str(expression.pattern)) is not None
    for prefix in texts.prefixes:
        if prefix:
            found["", prefix, "\x00"] = None
            if of_lines:
                found["", prefix + "\n", "\x00"] = None
    return [Pump(*parts) for parts in found if parts[1]]


# Cost --------------------------------------------------------------------------------------------


def work(expression: Expression) -> Callable[[str], object]:
    """Uses an expression on a text as its module does, at worst."""
    pattern = expression.pattern

    def run(text: str) -> None:
        data = text.encode() if isinstance(pattern.pattern, bytes) else text
        if expression.anchored:
            pattern.match(data)
            pattern.fullmatch(data)
        else:
            for _ in pattern.finditer(data):
                pass

    return run
