"""Subgraphs as functions of the wrapper: nested regions, branches and loops, and who calls them.

    def repeated_subgraph0(args):
        repeated_subgraph0_arg0_1, repeated_subgraph0_arg1_1 = args
        …
    # subgraph: repeated_subgraph0
    repeated_subgraph0_args = [arg0_1, arg1_1]
    buf0 = repeated_subgraph0(repeated_subgraph0_args)

Names inside have the function's name as a prefix, and so does a function that it calls.
"""

import re

from inductorscope.formats.code.records import CodeCall, CodeFunction, Invocation, OutputCode
from inductorscope.formats.text import split_top

_DEFINED = re.compile(r"def (?!call\b|partition_\d)(\w+)\(args\):")
_GIVEN = re.compile(r"\s*(\w+)_args = \[(.*)\]")
_INVOKED = re.compile(r"(\s*)(?:(\S.*?) = )?(\w+)\(\3_args\)")
MOST_STEPS = 100_000
"""The most calls that are followed; functions that call each other multiply them."""


def read_subgraphs(code: OutputCode, lines: list[str]) -> None:
    """Adds the functions, and which calls they have."""
    if code.cpp:
        return
    inside = ""
    given: dict[str, list[str]] = {}
    for number in range(max(code.wrapper_first, 1), code.wrapper_last + 1):
        line = lines[number - 1]
        if line[:1].strip():
            defined = _DEFINED.match(line)
            inside = defined.group(1) if defined is not None else ""
            if inside:
                code.functions[inside] = CodeFunction(inside, number)
        elif inside and line.strip():
            code.functions[inside].last_line = number
        if "_args = [" in line and (passed := _GIVEN.match(line)) is not None:
            given[passed.group(1)] = split_top(passed.group(2))
        elif "_args)" in line and (invoked := _INVOKED.match(line)) is not None:
            results, name = (invoked.group(2) or "").strip("()"), invoked.group(3)
            if name in code.functions:
                made = [part for part in split_top(results) if part]
                arguments = given.get(name, [])
                code.functions[name].invoked.append(Invocation(number, inside, arguments, made))
    for call in code.calls if code.functions else ():
        call.inside = next(
            (f.name for f in code.functions.values() if f.first_line < call.line <= f.last_line), ""
        )


def calls_as_run(code: OutputCode) -> list[CodeCall]:
    """The calls in the order in which one run of the wrapper makes them, those of a subgraph each
    time that it is called. All branches are listed, and one turn of a loop."""
    if not code.functions:
        return sorted(code.calls, key=lambda call: call.line)
    steps: dict[str, list[tuple[int, CodeCall | str]]] = {}
    for call in code.calls:
        steps.setdefault(call.inside, []).append((call.line, call))
    for function in code.functions.values():
        for invoked in function.invoked:
            steps.setdefault(invoked.inside, []).append((invoked.line, function.name))
    made: list[CodeCall] = []
    waiting: list[CodeCall | str] = [""]
    for _ in range(MOST_STEPS):
        if not waiting:
            break
        step = waiting.pop()
        if isinstance(step, CodeCall):
            made.append(step)
            continue
        inside = sorted(steps.get(step, ()), key=lambda pair: pair[0])
        waiting += [part for _, part in reversed(inside)]
    return made
