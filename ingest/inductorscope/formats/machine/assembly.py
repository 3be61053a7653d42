"""Machine code of a processor, as `objdump -d -l --inlines` prints it.

    00000000000026d0 <kernel._omp_fn.0>:
    _mm512_loadu_ps():
    /usr/lib/gcc/…/avx512fintrin.h:6333
    inlined by /cache/c2….main.cpp:20 (kernel._omp_fn.0)
        2749:	vmovups (%r14,%rbx,4),%zmm1

The innermost file and line are printed only where they change, the frames around them always.
"""

import re

import msgspec

from inductorscope.formats.machine.places import Frames, Located, Places
from inductorscope.formats.text import lines_of

_FUNCTION = re.compile(r"([0-9a-f]{4,16}) <([^>]{1,400})>:$")
_OWN = re.compile(r"kernel(?:\._omp_fn\.\d{1,6})?(?:\.cold)?$")
_INLINED = re.compile(r"inlined by (.+):(\d{1,9})(?: \(|$)")
_PLACE = re.compile(r"(/.+):(\d{1,9})(?: \(discriminator \d{1,9}\))?$")
MOST_STEPS = 20
"""Most steps for each instruction when looking for loops, which may overlap in damaged files."""
_INSTRUCTION = re.compile(r" +([0-9a-f]{1,16}):\t(\S+) *([^#\n]*)")
_TARGET = re.compile(r"([0-9a-f]{1,16}) <([^>+]{1,400})")


class Loop(msgspec.Struct, frozen=True):
    """Instructions that run repeatedly, as lines of the text."""

    first: int
    """The line that jumps go back to."""
    lines: list[int]
    depth: int
    """1 for a loop that is not inside another."""
    innermost: bool


class Assembly(Located):
    """The instructions of a kernel, one per line. Functions with the deepest loops come first."""

    operations: list[str] = msgspec.field(default_factory=list)
    """`vmovups`; empty for a label."""
    operands: list[str] = msgspec.field(default_factory=list)
    loops: list[Loop] = msgspec.field(default_factory=list)


class _Function(msgspec.Struct):
    name: str
    rows: list[tuple[int, str, str, int]] = msgspec.field(default_factory=list)
    """Address, operation, operands and place of each instruction."""
    loops: list[Loop] = msgspec.field(default_factory=list)


def read_assembly(text: str) -> Assembly:
    """Reads the kernel's functions, without the library's other ones, which call it from Python."""
    places, functions = Places(), list[_Function]()
    function: _Function | None = None
    inner: Frames = ()
    around: list[tuple[str, int]] = []
    for line in lines_of(text):
        instruction = _INSTRUCTION.match(line)
        if instruction is None:
            begins = _FUNCTION.match(line)
            if begins is not None:
                function, inner, around = None, (), []
                if _OWN.match(begins.group(2)):
                    function = _Function(begins.group(2))
                    functions.append(function)
            elif function is not None:
                caller = _INLINED.match(line)
                place = _PLACE.match(line)
                if caller is not None:
                    around.append((caller.group(1), int(caller.group(2))))
                elif place is not None:
                    inner = ((place.group(1), int(place.group(2))),)
        elif function is not None:
            address, operation, operands = instruction.groups()
            place_number = places.number((*inner, *around) if inner else ())
            function.rows.append((int(address, 16), operation, operands.strip(), place_number))
            around = []
    return _laid_out(functions, places)


def _laid_out(functions: list[_Function], places: Places) -> Assembly:
    result = Assembly(places=places.all)
    for function in functions:
        if not function.name.endswith(".cold"):  # errors only
            function.loops = _loops(function)
    functions.sort(key=lambda own: -max((loop.depth for loop in own.loops), default=0))
    for function in functions:
        heads = {loop.first: loop for loop in function.loops}
        position: list[int] = []
        _add(result, f"{function.name}:")
        for number, (address, operation, operands, place) in enumerate(function.rows):
            if number in heads:
                inside = "innermost loop" if heads[number].innermost else "loop"
                _add(result, f"{address:x}: # {inside}, depth {heads[number].depth}")
            position.append(len(result.lines))
            _add(result, f"  {address:x}  {operation} {operands}".rstrip(), place, operation)
            result.operands[-1] = operands
        result.loops += [
            Loop(
                position[loop.first],
                [position[at] for at in loop.lines],
                loop.depth,
                loop.innermost,
            )
            for loop in function.loops
        ]
    result.counted = [bool(operation) for operation in result.operations]
    return result


def _add(result: Assembly, line: str, place: int = -1, operation: str = "") -> None:
    result.lines.append(line)
    result.at.append(place)
    result.operations.append(operation)
    result.operands.append("")


def _loops(function: _Function) -> list[Loop]:
    """Returns for each instruction that jumps go back to, the instructions that run in between."""
    following = _following(function)
    before: list[list[int]] = [[] for _ in following]
    for number, targets in enumerate(following):
        for to in targets:
            before[to].append(number)
    ends = _going_back(following)
    bodies: dict[int, list[int]] = {}
    depths = [0] * len(following)
    steps = MOST_STEPS * len(following)
    for head, waiting in ends.items():
        body = {head}
        while waiting and steps > 0:
            at = waiting.pop()
            if at not in body:
                body.add(at)
                waiting += before[at]
                steps -= 1
        bodies[head] = sorted(body)
        for at in body:
            depths[at] += 1
    return [
        Loop(head, body, depths[head], all(at == head or at not in ends for at in body))
        for head, body in sorted(bodies.items())
    ]


def _following(function: _Function) -> list[list[int]]:
    """Returns for each instruction those that may run next."""
    index = {row[0]: number for number, row in enumerate(function.rows)}
    following = []
    for number, (_, operation, operands, _) in enumerate(function.rows):
        target = _TARGET.match(operands) if operation.startswith("j") else None
        to = index.get(int(target.group(1), 16)) if target is not None else None
        goes_on = operation not in ("jmp", "ret", "ud2") and number + 1 < len(function.rows)
        following.append(([number + 1] if goes_on else []) + ([] if to is None else [to]))
    return following


def _going_back(following: list[list[int]]) -> dict[int, list[int]]:
    """Yields heads of loops, each with the instructions from which a path goes back to it."""
    ends: dict[int, list[int]] = {}
    new, open_, done = 0, 1, 2
    states = [new] * len(following)
    for root in range(len(following)):
        path = [(root, iter(following[root]))] if states[root] == new else []
        states[root] = states[root] or open_
        while path:
            at, rest = path[-1]
            to = next(rest, None)
            if to is None:
                states[at] = done
                path.pop()
            elif states[to] == open_:
                ends.setdefault(to, []).append(at)
            elif states[to] == new:
                states[to] = open_
                path.append((to, iter(following[to])))
    return ends
