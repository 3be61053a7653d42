"""Functions that a minified program includes; they need only torch.

The search uses them too, so that the search and the program test the same.
"""

import base64
import copy
import zlib

import torch
from torch import fx

from inductorscope.capturing.inside.untyped import Untyped


def drawn(
    number: int, shape: Untyped, stride: Untyped, dtype: Untyped, device: str = "cpu",
    mean: float = 0.0, std: float = 1.0, low: int = 0, high: int = 1,
) -> Untyped:  # fmt: skip
    """Returns a tensor with these strides and random values, the same in every run."""
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
    """Returns a tensor with these strides and the values encoded in the text."""
    data = bytearray(zlib.decompress(base64.b85decode(text)))
    values = torch.frombuffer(data, dtype=dtype) if data else torch.empty(0, dtype=dtype)
    return laid_out(values.reshape(shape), stride, device)


def laid_out(values: Untyped, stride: Untyped, device: str) -> Untyped:
    """Lays the values out with these strides, on the device."""
    if 0 in stride or values.numel() == 0:
        return values.to(device)
    made = torch.empty_strided(values.shape, stride, dtype=values.dtype, device=device)
    return made.copy_(values)


def results(program: Untyped, inputs: Untyped) -> Untyped:
    """Returns the program's outputs, and the gradients of inputs that require them."""
    torch.manual_seed(0)
    wanted = [value for value in inputs if isinstance(value, torch.Tensor) and value.requires_grad]
    with torch.set_grad_enabled(bool(wanted)):
        outputs = program(*inputs)
    outputs = list(outputs) if isinstance(outputs, tuple | list) else [outputs]
    means = [
        output.double().mean() for output in outputs if isinstance(output, torch.Tensor)
        and output.requires_grad
    ]  # fmt: skip
    if means:
        torch.stack(means).sum().backward()
    return outputs + [value.grad for value in wanted]


def exact_results(program: Untyped, inputs: Untyped) -> Untyped:
    """Returns the results in float64, to distinguish rounding from errors; None if impossible."""
    from torch._dynamo.debug_utils import cast_to_fp64

    try:
        graph = program if isinstance(program, fx.GraphModule) else fx.symbolic_trace(program)
        wide, values = cast_to_fp64(copy.deepcopy(graph), list(inputs))
        values = [
            new.detach().requires_grad_(old.requires_grad) if isinstance(new, torch.Tensor) else new
            for new, old in zip(values, inputs, strict=True)
        ]
        return results(wide, values)
    except Exception:  # noqa: BLE001  # an operation without float64: compare with eager only
        return None


def difference(expected: Untyped, actual: Untyped, exact: Untyped) -> str:
    """Describes how two results differ; empty if they agree by the rule of torch's minifier."""
    from torch._dynamo.utils import same

    if same(expected, actual, exact, tol=1e-3, equal_nan=True):
        return ""
    for number, (eager, compiled) in enumerate(zip(expected, actual, strict=False)):
        if (
            not isinstance(eager, torch.Tensor)
            or eager.numel() == 0
            or torch.equal(eager, compiled)
        ):
            continue
        apart = (eager.double() - compiled.double()).abs().nan_to_num(nan=float("inf")).reshape(-1)
        place = int(apart.argmax())
        left, right = eager.reshape(-1)[place].item(), compiled.reshape(-1)[place].item()
        unequal = f"{int((apart > 0).sum()):,} of {eager.numel():,} elements"
        return (
            f"result {number} is {right:.6g} where eager gives {left:.6g} (element {place} of the "
            f"flattened result, the largest difference; {unequal} are not equal)."
        )
    return "the results differ in shape, type or kind."
