"""Tensor values that AOTInductor prints or saves before and after each kernel launch.

    [  before_launch - cpp_fused_0 - buf0  ]:
     0.1719
    [ CPUFloatType{1} ]
    Number of elements: 1
    Dtype: float32
    Mean value: 0.1719
    …
    Size: [1]

`AOT_INDUCTOR_DEBUG_INTERMEDIATE_VALUE_PRINTER` is 1 to save files, 2 to print, 3 for names alone:
`[ before_launch: cpp_fused_0 ]`. Python wrappers print
`inductor: before_launch - kernel - buf0` and a standard deviation as well; their older versions
print the mean as `Dtype`.
"""

import re

import msgspec

from inductorscope.formats.code.layouts import sizes
from inductorscope.formats.text import lines_of

_WHEN = "before_launch|after_launch|aoti_model_inputs"
# `[  before_launch - triton_poi_fused_mul_1 - 4096L: 4096  ]` is a number; others are tensors.
_HEAD = re.compile(rf"\[ +({_WHEN}) - (?:(\S+) - )?([^\s:]+)(?:: (\S+))? +\]")
_NAMES_ALONE = re.compile(rf"\[ +({_WHEN}): (\S+) +\]")
_OF_PYTHON = re.compile(rf"inductor: ({_WHEN}) - (?:(\S+) - )?(\S+) *$")
_FACT = re.compile(
    r"(Number of elements|Dtype|Mean|Min|Max|Std|NaN|Inf|Device|Size|Value)(?: value)?: *(.+)"
)
_NOT_FINITE = re.compile(r"(?<![\w.])[-+]?(nan|inf)\b", re.IGNORECASE)
LONGEST_BODY = 4000
"""Most characters read of a line of printed elements."""
_SAVED = re.compile(
    r"(?<!\w)(?>\w*?(before|after)_launch_)(?=\w+\.pt$)(\w+?)_((?:buf|arg|primals_|tangents_)\d\w*?)(?:_(cpu|cuda|xpu))?\.pt$"
)


class IntermediateValue(msgspec.Struct):
    """One value at one time; in a log of names only, the kernel without an argument."""

    when: str
    """`before_launch`, `after_launch` or `aoti_model_inputs`."""
    kernel: str
    """Empty for the model's inputs."""
    argument: str
    line: int
    value: str = ""
    """The number, if the value is one."""
    elements: int | None = None
    dtype: str = ""
    mean: float | None = None
    least: float | None = None
    largest: float | None = None
    std: float | None = None
    nan: int | None = None
    """Number of NaN elements, if all were printed or the printer counted them."""
    inf: int | None = None
    mean_as_dtype: bool = False
    """Whether the printer wrote the mean in place of the type."""
    device: str = ""
    size: tuple[str, ...] | None = None


class IntermediateValues(msgspec.Struct):
    values: list[IntermediateValue] = msgspec.field(default_factory=list)

    @property
    def mean_as_dtype(self) -> bool:
        return any(value.mean_as_dtype for value in self.values)


def parse_intermediate_values(text: str) -> IntermediateValues:
    """Returns every printed value; skips all other lines."""
    result = IntermediateValues()
    body = False
    for number, line in enumerate(lines_of(text), 1):
        value = _head(line, number)
        if value is not None:
            result.values.append(value)
            body = value.argument != "" and not value.value
            continue
        if not result.values:
            continue
        fact = _FACT.match(line) if ": " in line else None
        if fact is not None:
            body = False
            _note(result.values[-1], *fact.groups())
        elif body:
            _count(result.values[-1], line[:LONGEST_BODY])
    return result


def _head(line: str, number: int) -> IntermediateValue | None:
    """The value that a heading announces."""
    if line[:1] == "[":
        head = _HEAD.match(line)
        if head is not None:
            when, kernel, argument, value = head.groups()
            return IntermediateValue(when, kernel or "", argument, number, value or "")
        alone = _NAMES_ALONE.match(line)
        if alone is not None:
            return IntermediateValue(alone.group(1), alone.group(2), "", number)
    elif line.startswith("inductor: "):
        head = _OF_PYTHON.match(line[:LONGEST_BODY])
        if head is not None:
            return IntermediateValue(head.group(1), head.group(2) or "", head.group(3), number)
    return None


def _count(value: IntermediateValue, line: str) -> None:
    """Counts the printed elements that are not finite."""
    value.nan, value.inf = value.nan or 0, value.inf or 0
    for match in _NOT_FINITE.finditer(line):
        if match.group(1).lower() == "nan":
            value.nan += 1
        else:
            value.inf += 1


def _note(value: IntermediateValue, name: str, written: str) -> None:
    written = written.strip()
    if name in _COUNTS:
        whole = int(written) if written.isdecimal() and len(written) < 19 else None
        setattr(value, _COUNTS[name], whole)
    elif name == "Dtype" and _number(written) is None:
        value.dtype = written.removeprefix("torch.")
    elif name == "Dtype":
        value.mean, value.mean_as_dtype = _number(written), True
    elif name in _NUMBERS:
        setattr(value, _NUMBERS[name], _number(written))
    elif name == "Value":
        value.value = written[:200]
    elif name == "Device":
        value.device = written
    elif name == "Size":
        value.size = sizes(written.removeprefix("torch.Size(").removesuffix(")"))


_COUNTS = {"Number of elements": "elements", "NaN": "nan", "Inf": "inf"}
_NUMBERS = {"Mean": "mean", "Min": "least", "Max": "largest", "Std": "std"}


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def saved_value(name: str) -> tuple[str, str, str] | None:
    """(when, kernel, argument) of a saved file: `…before_launch_cpp_fused_0_buf0_cpu.pt`."""
    match = _SAVED.search(name) if len(name) < 1000 else None
    return (f"{match.group(1)}_launch", match.group(2), match.group(3)) if match else None
