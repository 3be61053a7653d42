"""Options of `capture` and `lock` that say how to compile a model."""

from enum import Enum
from typing import Annotated

import typer

from inductorscope.capturing.spec import DTYPES
from inductorscope.cli.app import fail
from inductorscope.errors import USAGE
from inductorscope.formats.change import MODES

# The names come from capturing.spec; mypy expects the members of an enum written out.
_Dtype = Enum("_Dtype", {name: name for name in DTYPES}, type=str)  # type: ignore[misc]
_Mode = Enum("_Mode", {name: name for name in MODES}, type=str)  # type: ignore[misc]

Device = Annotated[str, typer.Option(help="cpu, cuda or cuda:N.")]
Pretend = Annotated[
    str | None,
    typer.Option(
        help="Compile for this GPU, such as 'NVIDIA H100', without one; needs the extra pretend."
    ),
]
Dtype = Annotated[
    _Dtype | None,
    typer.Option(help="Convert parameters and floating-point inputs to this type."),
]
Train = Annotated[
    bool,
    typer.Option("--train/--infer", help="Record training (forward and backward) or inference."),
]
Dynamic = Annotated[
    bool | None,
    typer.Option(
        "--dynamic/--static", help="Dynamic or static shapes. Default: torch.compile decides."
    ),
]
Mode = Annotated[_Mode | None, typer.Option(help="Mode of torch.compile.")]
Config = Annotated[
    list[str] | None,
    typer.Option(
        "--config",
        metavar="KEY=VALUE",
        help="Any torch._inductor.config key, such as max_fusion_size=8 or cpp.simdlen=256; "
        "may be repeated.",
    ),
]


def pairs(texts: list[str] | None) -> dict[str, str]:
    """Returns the keys and values of `--config`."""
    found = {}
    for text in texts or []:
        key, equals, value = text.partition("=")
        if not equals:
            fail(f"--config takes KEY=VALUE, but {text!r} has no '='.", USAGE)
        found[key.strip()] = value.strip()
    return found
