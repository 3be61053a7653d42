"""Prints a tensor's figures in the format of Inductor's own printer, for the same parser.

Works on any object with a tensor's methods: this package does not import torch.
"""

from typing import Any, TypeAlias

Tensor: TypeAlias = Any


def printed(when: str, kernel: str, argument: str, value: Tensor) -> str:
    """All lines of one value, with counts of NaN and Inf; figures are computed in float64."""
    lines = [
        f"inductor: {when} - {kernel} - {argument}",
        f"Number of elements:  {value.numel()}", f"Size:  {list(value.shape)}",
        f"Dtype:  {value.dtype}", f"Device: {value.device}",
    ]  # fmt: skip
    if value.numel() and not value.is_complex():
        wide = value.detach().double()
        finite = wide - wide == 0
        nan = int((wide != wide).sum())
        lines.append(f"Mean:  {wide.mean().item()!r}")
        lines += [f"Min:  {wide.min().item()!r}", f"Max:  {wide.max().item()!r}"]
        if wide.numel() > 1:
            lines.append(f"Std:  {wide.std().item()!r}")
        lines += [f"NaN: {nan}", f"Inf: {int((~finite).sum()) - nan}"]
    return "".join(f"{line}\n" for line in lines)
