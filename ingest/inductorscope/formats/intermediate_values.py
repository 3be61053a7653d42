"""What AOTInductor prints, or saves, of tensors before and after each kernel's launch.

    [  before_launch - cpp_fused_0 - buf0  ]:
     0.1719
    [ CPUFloatType{1} ]
    Number of elements: 1
    Dtype: float32
    Mean value: 0.1719
    …
    Size: [1]

`AOT_INDUCTOR_DEBUG_INTERMEDIATE_VALUE_PRINTER` is 1 to save files, 2 to print, 3 for names alone:
`[ before_launch: cpp_fused_0 ]`. Older versions print the mean as `Dtype`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from inductorscope.formats.layouts import sizes
from inductorscope.formats.scan import lines_of

_WHEN = "before_launch|after_launch|aoti_model_inputs"
# `[  before_launch - triton_poi_fused_mul_1 - 4096L: 4096  ]` is a number, others are tensors.
_HEAD = re.compile(rf"\[ +({_WHEN}) - (?:(\S+) - )?([^\s:]+)(?:: (\S+))? +\]")
_NAMES_ALONE = re.compile(rf"\[ +({_WHEN}): (\S+) +\]")
_FACT = re.compile(r"(Number of elements|Dtype|Mean value|Min value|Max value|Device|Size): *(.+)")
_SAVED = re.compile(
    r"(before|after)_launch_(\w+?)_((?:buf|arg|primals_|tangents_)\d\w*?)(?:_(cpu|cuda|xpu))?\.pt$"
)


@dataclass(slots=True)
class IntermediateValue:
    """One value at one time; of names alone, the kernel without an argument."""

    when: str
    """`before_launch`, `after_launch` or `aoti_model_inputs`."""
    kernel: str
    """Empty for the model's inputs."""
    argument: str
    line: int
    value: str = ""
    """Of a number, itself."""
    elements: int | None = None
    dtype: str = ""
    mean: float | None = None
    least: float | None = None
    largest: float | None = None
    device: str = ""
    size: tuple[str, ...] | None = None


@dataclass(slots=True)
class IntermediateValues:
    values: list[IntermediateValue] = field(default_factory=list)

    def launches(self) -> list[str]:
        """Kernels in the order of their launches."""
        order: list[str] = []
        for value in self.values:
            if value.when == "before_launch" and value.kernel != (order[-1] if order else ""):
                order.append(value.kernel)
        return order


def parse_intermediate_values(text: str) -> IntermediateValues:
    """Every value that was printed; all other lines are somebody else's."""
    found = IntermediateValues()
    for number, line in enumerate(lines_of(text), 1):
        if line[:1] == "[":
            head = _HEAD.match(line)
            if head is not None:
                when, kernel, argument, value = head.groups()
                found.values.append(
                    IntermediateValue(when, kernel or "", argument, number, value or "")
                )
                continue
            alone = _NAMES_ALONE.match(line)
            if alone is not None:
                when, kernel = alone.groups()
                found.values.append(IntermediateValue(when, kernel, "", number))
            continue
        fact = _FACT.match(line) if found.values and ": " in line else None
        if fact is not None:
            _note(found.values[-1], *fact.groups())
    return found


def _note(value: IntermediateValue, name: str, written: str) -> None:
    written = written.strip()
    if name == "Number of elements":
        value.elements = int(written) if written.isdecimal() and len(written) < 19 else None
    elif name == "Dtype" and _number(written) is None:
        value.dtype = written
    elif name in {"Dtype", "Mean value"}:
        value.mean = _number(written)
    elif name == "Min value":
        value.least = _number(written)
    elif name == "Max value":
        value.largest = _number(written)
    elif name == "Device":
        value.device = written
    elif name == "Size":
        value.size = sizes(written)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def saved_value(name: str) -> tuple[str, str, str] | None:
    """(when, kernel, argument) of a saved file: `…before_launch_cpp_fused_0_buf0_cpu.pt`."""
    found = _SAVED.search(name) if len(name) < 1000 else None
    return (f"{found.group(1)}_launch", found.group(2), found.group(3)) if found else None
