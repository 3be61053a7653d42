"""Functions that a minified program carries with it; they need torch alone.

The search uses them too, so that what it tests and what the program shows are the same.
"""

from __future__ import annotations

import base64
import copy
import zlib

import torch
from torch import fx

from inductorscope.capture.inside.untyped import Untyped


def drawn(
    number: int, shape: Untyped, stride: Untyped, dtype: Untyped, device: str = "cpu",
    mean: float = 0.0, std: float = 1.0, low: int = 0, high: int = 1,
) -> Untyped:  # fmt: skip
    """A tensor of these strides with random values, the same in every run."""
    generator = torch.Generator().manual_seed(number)
    if dtype is torch.bool:
        values = torch.rand(shape, generator=generator) < 0.5
    elif dtype.is_floating_point or dtype.is_complex:
        values = torch.randn(shape, generator=generator) * std + mean
    else:
        values = torch.randint(low, high + 1, shape, generator=generator)
    return laid_out(values.to(dtype), stride, device)


def stored(
    text: str, shape: Untyped, stride: Untyped, dtype: Untyped, device: str = "cpu"
) -> Untyped:
    """A tensor of these strides with the values in the text."""
    data = bytearray(zlib.decompress(base64.b85decode(text)))
    values = torch.frombuffer(data, dtype=dtype) if data else torch.empty(0, dtype=dtype)
    return laid_out(values.reshape(shape), stride, device)


def laid_out(values: Untyped, stride: Untyped, device: str) -> Untyped:
    """The values with these strides, on the device."""
    if 0 in stride or values.numel() == 0:
        return values.to(device)
    made = torch.empty_strided(values.shape, stride, dtype=values.dtype, device=device)
    return made.copy_(values)


def results(program: Untyped, inputs: Untyped) -> Untyped:
    """What the program returns; where inputs take gradients, those too."""
    torch.manual_seed(0)
    wanted = [each for each in inputs if isinstance(each, torch.Tensor) and each.requires_grad]
    with torch.set_grad_enabled(bool(wanted)):
        found = program(*inputs)
    found = list(found) if isinstance(found, tuple | list) else [found]
    means = [
        each.double().mean() for each in found if isinstance(each, torch.Tensor)
        and each.requires_grad
    ]  # fmt: skip
    if means:
        torch.stack(means).sum().backward()
    return found + [each.grad for each in wanted]


def exact_results(program: Untyped, inputs: Untyped) -> Untyped:
    """The results in float64, which tells rounding from wrong numbers; None where it has none."""
    from torch._dynamo.debug_utils import cast_to_fp64

    try:
        graph = program if isinstance(program, fx.GraphModule) else fx.symbolic_trace(program)
        wide, values = cast_to_fp64(copy.deepcopy(graph), list(inputs))
        values = [
            new.detach().requires_grad_(old.requires_grad) if isinstance(new, torch.Tensor) else new
            for new, old in zip(values, inputs, strict=True)
        ]
        return results(wide, values)
    except Exception:  # noqa: BLE001  # an operation without float64: eager alone is the measure then
        return None


def difference(expected: Untyped, found: Untyped, exact: Untyped) -> str:
    """In words how two results differ; empty where they agree as torch's own minifier has it."""
    from torch._dynamo.utils import same

    if same(expected, found, exact, tol=1e-3, equal_nan=True):
        return ""
    for number, (one, other) in enumerate(zip(expected, found, strict=False)):
        if not isinstance(one, torch.Tensor) or one.numel() == 0 or torch.equal(one, other):
            continue
        apart = (one.double() - other.double()).abs().nan_to_num(nan=float("inf")).reshape(-1)
        place = int(apart.argmax())
        left, right = one.reshape(-1)[place].item(), other.reshape(-1)[place].item()
        many = f"{int((apart > 0).sum()):,} of {one.numel():,} elements"
        return (
            f"result {number} is {right:.6g} where eager gives {left:.6g} (element {place} of the "
            f"flattened result, the one furthest apart; {many} are not equal)."
        )
    return "the results differ in shape, type or kind."
