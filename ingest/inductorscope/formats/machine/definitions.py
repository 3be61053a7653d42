"""Reconstructs a kernel's definition, in the form of output code, from the files of Triton's
compiler."""

import re

from inductorscope.formats.machine.tritonparse import PythonSource

_FUNCTION = re.compile(r"tt\.func public @(\w{1,600})\(([^\n]{0,40000})")
_ARGUMENT = re.compile(r"%([A-Za-z_]\w{0,200}): ")
LAST_START = 100_000
"""Last line of its file on which a function may begin."""


def definition_of(ttir: str, source: str, python: PythonSource | None) -> tuple[str, bool]:
    """Returns the definition, and whether its lines are those of the kernel's own file. Without the
    source, the function's name and parameters come from TTIR; empty if TTIR lacks them."""
    function = _FUNCTION.search(ttir)
    if function is None:
        return "", False
    name = function.group(1)
    placed = python is not None and bool(python.code) and 1 < python.start_line < LAST_START
    if placed and python is not None:
        # The line with the quotes is the first.
        code = "\n" * (python.start_line - 1) + python.code.rstrip().replace("'''", "\\'\\'\\'")
    else:
        arguments = ", ".join(dict.fromkeys(_ARGUMENT.findall(function.group(2))))
        code = f"\n# Its source is unknown.\n@triton.jit\ndef {name}({arguments}):\n    ..."
    path = f"/{source}.py".replace("\n", " ")
    return (
        f"# kernel path: {path}\n{name} = async_compile.triton('{name}', '''{code}\n''')\n",
        placed,
    )
