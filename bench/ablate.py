"""What each rule of the link engine is worth: the lines that are wrong without it.

    python -m bench.ablate [FOLDER…] [--only PATTERN] [--jobs 2]

A rule is a function that answers whether something holds, what it costs, or which node it is.
Without it the answer is always False, 0.0 or None. A weight is a named number; without it, it is 0.
Programs are those of the corpus, and of each FOLDER that bench.truth_programs.record wrote. A rule
that is worth nothing on them and on large sets is deleted, unless it serves a torch that they lack.
"""

import argparse
import importlib
import inspect
import pkgutil
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any, get_args, get_type_hints

import inductorscope.correlate
import msgspec

from bench.corpus import programs, unpack
from bench.link_measure import lines_of_program, program_folders

_PACKAGES = ("buffers", "nodes", "replay", "without_ir")
_BREAKS = 10**6
"""Counts as wrong lines where the engine fails without a rule."""
_WEIGHT = re.compile(r"_?[A-Z][A-Z_]+")


class Rule(msgspec.Struct, frozen=True):
    """A function or weight of the engine."""

    module: str
    name: str
    """`Costs._stored`, `_PLACED`"""
    says: str = ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("roots", nargs="*", type=Path)
    parser.add_argument("--only", default="", help="regular expression over rules")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    wanted = re.compile(options.only)
    found = [rule for rule in rules() if wanted.search(f"{rule.module}.{rule.name}")]
    with tempfile.TemporaryDirectory() as unpacked, ProcessPoolExecutor(options.jobs) as pool:
        folders = [unpack(program, Path(unpacked)) for program in programs()]
        folders += program_folders(options.roots, None)
        plain = {}
        used: dict[Rule, list[Path]] = {rule: [] for rule in found}
        for folder, (wrong, deciding) in zip(
            folders, pool.map(_observe, folders, [found] * len(folders)), strict=True
        ):
            plain[folder] = wrong
            for rule in deciding:
                used[rule].append(folder)
        print(f"{len(found)} rules, {sum(plain.values())} lines wrong with all of them\n")
        worth = pool.map(_without, found, [used[rule] for rule in found])
        for rule, wrong in sorted(zip(found, worth, strict=True), key=lambda pair: pair[1]):
            more = wrong - sum(plain[folder] for folder in used[rule])
            where = f"{rule.module.removeprefix('inductorscope.correlate.')}.{rule.name}"
            print(f"{more:6} lines  {len(used[rule]):4} programs  {where}  {rule.says}", flush=True)


def rules() -> list[Rule]:
    """All functions with such an answer, and all weights."""
    found: list[Rule] = []
    for module in _modules():
        for name, value in vars(module).items():
            if isinstance(value, float) and _WEIGHT.fullmatch(name) and _is_own(module, name):
                found.append(Rule(module.__name__, name))
        for name, function in _functions(module):
            if _neutral(function) is not None:
                says = (inspect.getdoc(function) or "").partition("\n")[0]
                found.append(Rule(module.__name__, name, says))
    return found


def _modules() -> Iterator[ModuleType]:
    root = inductorscope.correlate
    for package in _PACKAGES:
        for info in pkgutil.iter_modules([str(Path(root.__path__[0]) / package)]):
            yield importlib.import_module(f"{root.__name__}.{package}.{info.name}")


def _functions(module: ModuleType) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name, value in vars(module).items():
        if getattr(value, "__module__", None) != module.__name__:
            continue
        if inspect.isfunction(value):
            yield name, value
        elif inspect.isclass(value):
            for method, function in vars(value).items():
                if inspect.isfunction(function) and not method.startswith("__"):
                    yield f"{name}.{method}", function


def _is_own(module: ModuleType, name: str) -> bool:
    return re.search(rf"^{name} = ", inspect.getsource(module), re.M) is not None


def _neutral(function: Callable[..., Any]) -> tuple[object] | None:
    """What the function answers without its rule; None if it is none."""
    returns = get_type_hints(function).get("return")
    if returns is bool:
        return (False,)
    if returns is float:
        return (0.0,)
    return (None,) if type(None) in get_args(returns) else None


def _observe(folder: Path, found: list[Rule]) -> tuple[int, list[Rule]]:
    """The program's wrong lines, and the rules that answered anything."""
    deciding: dict[Rule, None] = {}
    undo: list[Callable[[], None]] = []
    for rule in found:
        if _WEIGHT.fullmatch(rule.name):
            deciding[rule] = None
            continue
        undo += _replace(rule, _observed(rule, deciding))
    try:
        wrong = sum(not line.right for line in lines_of_program(folder))
    finally:
        for step in reversed(undo):
            step()
    return wrong, list(deciding)


def _observed(rule: Rule, deciding: dict[Rule, None]) -> Callable[..., object]:
    """The rule's function, which notes when it answers anything."""
    function, neutral = _function(rule)

    def observed(*args: object, **kwargs: object) -> object:
        answer = function(*args, **kwargs)
        if answer != neutral:
            deciding[rule] = None
        return answer

    return observed


def _without(rule: Rule, folders: list[Path]) -> int:
    """The wrong lines of some programs without a rule."""
    if _WEIGHT.fullmatch(rule.name):
        undo = _replace(rule, 0.0)
    else:
        neutral = _function(rule)[1]
        undo = _replace(rule, lambda *_, **__: neutral)
    try:
        return sum(sum(not line.right for line in lines_of_program(folder)) for folder in folders)
    except Exception:  # noqa: BLE001  # the engine cannot do without it
        return _BREAKS
    finally:
        for step in reversed(undo):
            step()


def _function(rule: Rule) -> tuple[Callable[..., Any], object]:
    found = dict(_functions(sys.modules[rule.module]))[rule.name]
    neutral = _neutral(found)
    assert neutral is not None
    return found, neutral[0]


def _replace(rule: Rule, by: object) -> list[Callable[[], None]]:
    """Replaces a rule wherever it was imported; returns the steps that undo it."""
    owner, _, name = rule.name.rpartition(".")
    module = importlib.import_module(rule.module)
    if owner:
        places: list[object] = [getattr(module, owner)]
    else:
        own = getattr(module, name)
        loaded = [m for key, m in sys.modules.items() if key.startswith("inductorscope.correlate")]
        places = [m for m in loaded if getattr(m, name, None) is own]
    undo: list[Callable[[], None]] = []

    def put(place: object, name: str, value: object) -> None:
        before = inspect.getattr_static(place, name)
        setattr(place, name, value)
        undo.append(lambda: setattr(place, name, before))

    own = inspect.getattr_static(places[0], name)
    for place in places:
        put(place, name, by)
    for listed, value in list(vars(module).items()):  # rules that are tried one after another
        if isinstance(value, tuple) and any(item is own for item in value):
            put(module, listed, tuple(by if item is own else item for item in value))
    return undo


if __name__ == "__main__":
    main()
