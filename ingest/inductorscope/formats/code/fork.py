"""A graph as a program of the playground: its nodes as a function, its inputs as recorded.

def f(arg0_1: "f32[16, 128]"):
    # File: /home/ada/train.py:12 in forward, code: y = x.sin()
    sin: "f32[16, 128]" = torch.ops.aten.sin.default(arg0_1);  arg0_1 = None
    return (sin,)

inputs = (
    made((16, 128), (128, 1), torch.float32),  # arg0_1
)
"""

import re
import textwrap

from inductorscope.formats.code.layouts import contiguous

MADE = '''def made(shape, stride, dtype):
    """Makes a tensor with the layout that was recorded, of other numbers."""
    empty = torch.empty_strided(shape, stride, dtype=dtype)
    return empty.normal_() if dtype.is_floating_point else empty.random_(0, 2)
'''
_FORWARD = re.compile(r"^    def forward\(self(?:, ?)?(.*?)\)(?: -> [^\n]{1,200})?: *\n", re.M)
_ARGUMENT = re.compile(r"(?:^|[,(] ?)\s*(\w+)(?:: ?(\"[^\"\n]*\"|'[^'\n]*'))?(?=,|$)")
_REPRO = re.compile(r"^class Repro\(.*?(?=^def load_args|^mod = |\Z)", re.M | re.S)
_TENSOR = re.compile(
    r"^ +(\w+) = rand_strided\((\([\d, ]*\)), (\([\d, ]*\)), device='[\w:]+', dtype=(torch\.\w+)\)",
    re.M,
)
_COMMENT = re.compile(r"#.*")
_NUMBER = re.compile(r"^ +(\w+) = (-?\d{1,20})$", re.M)
_TYPED = re.compile(r"[\"'](\w{1,10})\[([\d, ]*)\]")
_DTYPES = {
    "f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "i64": "int64",
    "i32": "int32", "i16": "int16", "i8": "int8", "u8": "uint8", "b8": "bool",
}  # fmt: skip


def program(title: str, graph: str, runnable: str, code: str) -> str:
    """Returns the program; empty if no text has the graph's nodes. `graph`: the nodes as printed;
    `runnable`: fx_graph_runnable.py; `code`: output_code.py, whose inputs have their strides."""
    function = _FORWARD.search(graph)
    f = ""
    if function is not None:
        body = re.split(r"^(?! {8}|[^\S\n]*$)", graph[function.end() :], maxsplit=1, flags=re.M)[0]
        if "self." not in _COMMENT.sub("", body):
            f = f"def f({function[1]}):\n{textwrap.indent(textwrap.dedent(body), ' ' * 4).rstrip()}"
    if not f and (module := _REPRO.search(runnable)) is not None:
        function, f = _FORWARD.search(module[0]), f"{module[0].rstrip()}\n\n\nf = Repro()"
    if function is None or not f:
        return ""
    known = {name: f"made({', '.join(parts)})" for name, *parts in _TENSOR.findall(code)}
    known |= dict(_NUMBER.findall(code))
    lines = []
    for name, typed in _ARGUMENT.findall(function[1]):
        made = known.get(name) or _contiguous(typed)
        lines.append(f"    {made},  # {name}" if made else f"    None,  # {name}: not recorded")
    inputs = "\n".join(["inputs = (", *lines, ")"])
    head = f"# {' '.join(title.split())}\nimport torch\nfrom math import inf, nan\n"
    return "\n\n".join([f"{head}from torch import device, tensor\n", f"{f}\n", MADE, f"{inputs}\n"])


def line_of(program: str, node: str) -> int:
    """Returns the line of a node; the first line of the function if there is none."""
    lines = program.split("\n")
    for begin in (f"{node}: ", f"{node} = ", "def f(", "class Repro("):
        for number, line in enumerate(lines, 1):
            if node and line.lstrip().startswith(begin):
                return number
    return 1


def _contiguous(typed: str) -> str:
    """Returns an input of a printed type, such as `"f32[16, 128]"`; empty if it is no such type."""
    match = _TYPED.match(typed)
    if match is None or match[1] not in _DTYPES:
        return ""
    shape = [int(size) for size in match[2].replace(" ", "").split(",") if size]
    return f"made({tuple(shape)}, {contiguous(shape)}, torch.{_DTYPES[match[1]]})"
