"""Four times the input is four times the work, also for texts made to be expensive.

What is counted are the lines of Python that run, so what one call of a regular expression does is
not seen here; the lists of slowest cases that `test_any_input.py` prints show that.
"""

from collections.abc import Callable
from functools import partial

import pytest

from tests.fuzz.parsers import PARSERS, Parser
from tests.fuzz.work import lines

SMALL, LARGE = 150, 600
GROWTH = 2 * LARGE / SMALL
"""Twice as much as linear, for readers that look ahead a bounded way; squared would be 16."""
HEAD = b'V1121 01:25:55.678000 419 torch/a.py:1] {"artifact": {"name": "x"}, "has_payload": "0"'
RULE = b"-----------  ----------  ----------\n"


def repeated(token: bytes) -> Callable[[int], bytes]:
    return lambda count: token * count


FAMILIES: dict[str, Callable[[int], bytes]] = {
    **{
        repr(token)[2:-1]: repeated(token)
        for token in (
            b"(", b"[", b"{", b"([{", b")", b"]", b"}", b"[]", b'{"a":', b'"', b"'", b"'''",
            b'"""', b"\\", b'\\"', b"\t", b"\n", b"\r", b"\n\t", b"\r\n\t", b"\n\n\t", b"\0",
            b" ", b" \n", b"a", b"a ", b"a, ", b"a = ", b"#", b"# ", b"/*", b"//", b"9", b"-",
            b"- ", b"\xff", b"\x85", b"x = f(", b"    x = (\n",
            b"class G(M):\n    def forward(self):\n", b"# File: a:1 in f\n", b"# File: a:1 in ",
            b"op0.outputs = [\n", b"op0: SchedulerNode(ComputedBuffer)\n",
            b"class op0_loop_body:\n", b"    def body(self, ops):\n", b"var_ranges = {p0: 8}\n",
            b"k = async_compile.triton('k', \n", b"k = async_compile.triton('k', '''\n",
            b"    k.run(a)\n", b"        tmp0 = tl.load(in_ptr0 + (", b"def call(args):\n",
            b'extern "C" void k(float* a)\n{\n',
            b"# Topologically Sorted Source Nodes: [a], Original ATen: [b]\n",
            b"# %a : [x] = call_f(\n", HEAD + b"}\n", HEAD + b"}\n\tx\n", HEAD, b"\tx\n",
            b'{"ph": "X"},\n', b'},{"ph": "X", "args": {', b'"traceEvents": [', b"\\q",
            b"  == unknown category kernels == \n", b"a 1 2 3%\n", RULE,
            RULE + b"Name  Self CPU  # of Calls\n", b"TRITON KERNELS BANDWIDTH INFO (a)\n",
            b" 0.014ms \t0.005 GB \t 345.56GB/s", b"0.000001\n", b"\x1b[31m", b"SUMMARY (a)\n",
        )
    },
    "a graph of open brackets": lambda count: b"class G(M):\n" + b"    x = (\n" * count,
    "a method of open brackets": lambda count: (
        b"class G(M):\n    def forward(self):\n" + b"        x = f(\n" * count
    ),
    "files of one comment": lambda count: b"# File: " + b"a:1 in " * count,
    "devices": lambda count: b'{"deviceProperties": [' * count,
    "an event of open objects": lambda count: b'{"traceEvents": [' + b'{"ph": ' * count,
    "events within a text": lambda count: b'{"traceEvents": [' + b'{"name": "x}, {' * count,
    "nested lists": lambda count: b"[" * count + b"]" * count,
    "nested objects": lambda count: b'{"a":' * count + b"1" + b"}" * count,
    "deep metadata": lambda count: HEAD + b', "x": ' + b"[" * count + b"]" * count + b"}\n",
    "a large payload": lambda count: HEAD + b"}\n" + b"\tline\n" * count,
    "interned strings": lambda count: b"".join(
        b'V1121 01:25:55.678000 419 torch/a.py:1] {"str": ["%d.py", %d]}\n' % (at, at)
        for at in range(count)
    ),
    "events": lambda count: b'{"traceEvents": [' + b'{"ph": "X", "dur": 1},\n' * count + b"{}]}",
    "broken events": lambda count: b'{"traceEvents": [' + b'{"ph": "X" "\\q": 1},\n' * count,
}  # fmt: skip


@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.name)
def test_work_grows_with_the_input(parser: Parser) -> None:
    worst: dict[str, float] = {}
    for name, family in FAMILIES.items():
        small, large = family(SMALL), family(LARGE)
        least = lines(partial(parser.read, small))
        most = lines(partial(parser.read, large))
        if most > GROWTH * least + 300:  # garbage that was collected meanwhile ran lines too
            most = lines(partial(parser.read, large))
        if most > GROWTH * least + 300:
            worst[name] = most / least
    assert worst == {}
