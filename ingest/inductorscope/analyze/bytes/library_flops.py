"""Floating-point operations of library calls and templates: a multiply and an add are two.

    extern_kernels.mm(a, b, out=c)              2·m·n·k
    extern_kernels.convolution(x, w, …)         2·|y|·|w| / output channels
    aten._scaled_dot_product_…(q, k, v, …)      2·batch·heads·rows of q·rows of k·(widths of k, v)

Attention counts all pairs, even where a causal mask makes half of them unnecessary.
"""

import re
from math import prod

from inductorscope.analyze.bytes.index import LARGEST
from inductorscope.formats.code.layouts import Layout

MOST_DIMENSIONS = 64
"""Most dimensions of a tensor in torch."""

_MASK = re.compile(r"^\[(True|False), ?(True|False), ?(True|False)\]$")
_ADDED = ("addmm", "baddbmm", "bias_addmm", "addmv", "addbmm")
_PRODUCTS = ("mm", "bmm", "_int_mm", "mm_dtype", "bmm_dtype", "matmul", "_scaled_mm", "mv", "dot")
_LINEAR = ("_mkl_linear", "_linear_pointwise", "linear", "linear_unary", "linear_binary",
           "qlinear_pointwise", "mkldnn_linear", "_linear_pointwise_binary")  # fmt: skip
# `    M = 1024` in a template's source
_SIZE = re.compile(r"\s+([MNK]) = (\d{1,12})$")
# Patterns for names of kernels; the first match counts.
_TEMPLATES = (
    ("attention", "attention"), ("flex", "attention"), ("convolution", "convolution"),
    ("baddbmm", "bmm"), ("bmm", "bmm"), ("addmm", "mm"), ("mm", "mm"),
)  # fmt: skip


def operation(kernel: str) -> str:
    """`extern_kernels.addmm`, `torch.ops.aten.mm.default`, `aoti_torch_cpu_addmm_out` → `addmm`."""
    name = kernel.removesuffix(".default").removesuffix(".out")
    if name.startswith("aoti_torch_"):
        name = name.removeprefix("aoti_torch_")
        for device in ("cpu_", "cuda_", "xpu_", "mps_"):
            name = name.removeprefix(device)
        return name.removesuffix("_out").removeprefix("mkldnn_")
    parts = name.split(".")
    known = {*_ADDED, *_PRODUCTS, *_LINEAR}
    # `mkldnn._linear_pointwise.binary`: the overload is not an operation.
    return next((part for part in reversed(parts) if part in known), parts[-1])


def library_flops(kernel: str, operands: list[Layout], arguments: list[str], results: list[Layout]
                  ) -> int | None:  # fmt: skip
    """Returns the operations of a call; `operands` are the layouts of its tensor arguments in
    order, without results.

    None for calls that are not counted: only products, convolutions and attention are.
    """
    shapes = [_numbers(layout) for layout in operands]
    name = operation(kernel)
    if name in _ADDED:
        return _product(shapes[1:3])
    if name in _PRODUCTS:
        return _product(shapes[:2])
    if name in _LINEAR:
        return _linear(shapes)
    if name.startswith(("convolution_backward", "mkldnn_convolution_backward")):
        return _convolution_backward(shapes, arguments)
    if "convolution" in name or name in {"conv1d", "conv2d", "conv3d", "_convolution_pointwise"}:
        made = [_numbers(layout) for layout in results]
        return _convolution(shapes, made[0] if made else None, arguments)
    if "scaled_dot_product" in name or name.startswith("_flash_attention"):
        return _attention(shapes, backward="backward" in name)
    return None


def template_flops(
    kernel: str, source: list[str], operands: dict[str, Layout], result: Layout | None
) -> int | None:
    """Operations of a Triton template; `operands` by the parameter's name (`arg_A`, `arg_B`,
    `arg_X`, …).

    A product's sizes are read from its source: the template may view its buffers in other shapes.
    """
    shapes = {name: _numbers(layout) for name, layout in operands.items()}
    kind = next((kind for word, kind in _TEMPLATES if word in kernel), "")
    if {"arg_Q", "arg_K", "arg_V"} <= shapes.keys():
        return _attention([shapes["arg_Q"], shapes["arg_K"], shapes["arg_V"]], backward=False)
    made = None if result is None else _numbers(result)
    if kind == "convolution" and made is not None and "arg_W" in shapes:
        return _convolution([None, shapes["arg_W"]], made, [])
    written = {
        match.group(1): int(match.group(2)) for line in source if (match := _SIZE.match(line))
    }
    if kind not in {"mm", "bmm"} or len(written) < 3:
        return None
    product = written["M"] * written["N"]
    batch = prod(made) // product if made is not None and product and kind == "bmm" else 1
    return 2 * product * written["K"] * max(batch, 1)


_Shape = tuple[int, ...] | None


def _numbers(layout: Layout) -> _Shape:
    if not all(size.isdecimal() and len(size) < 16 for size in layout.shape):
        return None
    sizes = tuple(int(size) for size in layout.shape)
    return sizes if len(sizes) <= MOST_DIMENSIONS and prod(sizes) < LARGEST else None


def _product(shapes: list[_Shape]) -> int | None:
    if len(shapes) < 2 or shapes[0] is None or shapes[1] is None:
        return None
    left, right = shapes[0], shapes[1]
    if not left or not right:
        return None
    columns = right[-1] if len(right) > 1 else 1
    inner = right[-2] if len(right) > 1 else right[0]
    if left[-1] != inner:
        return None
    return 2 * prod(left) * columns


def _linear(shapes: list[_Shape]) -> int | None:
    """`x` and `weight`; the weight is packed in a private format, so only its size is certain."""
    if len(shapes) < 2 or not shapes[0] or shapes[1] is None:
        return None
    inner = shapes[0][-1]
    return 2 * prod(shapes[0]) // inner * prod(shapes[1]) if inner else None


def _convolution(shapes: list[_Shape], made: _Shape, arguments: list[str]) -> int | None:
    weight = shapes[1] if len(shapes) > 1 else None
    if not weight:
        return None
    transposed = any(argument.replace(" ", "") == "transposed=True" for argument in arguments)
    outer = shapes[0] if transposed else made
    return None if outer is None else 2 * prod(outer) * prod(weight) // max(weight[0], 1)


def _convolution_backward(shapes: list[_Shape], arguments: list[str]) -> int | None:
    """The forward count once for each gradient in the mask, except the bias's."""
    if len(shapes) < 3 or shapes[0] is None or not shapes[2]:
        return None
    mask = next((match for text in arguments if (match := _MASK.match(text))), None)
    wanted = 2 if mask is None else [mask.group(1), mask.group(2)].count("True")
    weight = shapes[2]
    return wanted * 2 * prod(shapes[0]) * prod(weight) // max(weight[0], 1)


def _attention(shapes: list[_Shape], *, backward: bool) -> int | None:
    """Two products forward; five backward, since the probabilities are recomputed."""
    three = shapes[1:4] if backward else shapes[:3]
    if len(three) < 3 or any(not shape or len(shape) < 3 for shape in three):
        return None
    query, key, value = (shape or () for shape in three)
    pairs = prod(query[:-1]) * key[-2]
    width, value_width = query[-1], value[-1]
    if backward:  # scores, gradients of value and probabilities, of query, of key
        return 2 * pairs * (3 * width + 2 * value_width)
    return 2 * pairs * (width + value_width)
