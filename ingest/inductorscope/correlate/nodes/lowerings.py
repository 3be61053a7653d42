"""The loop-body operations that FX nodes are lowered to.

Only the top operation counts. Unlisted nodes may absorb any operation: their region of the loop
body ends where the values of their arguments begin.
"""

import re

_STRICT: dict[str, str] = {
    "add": "add sub fma logical_or",
    "sub": "sub add neg fma",
    "rsub": "sub add fma",
    "mul": "mul and_ logical_and bitwise_and",
    "div": "truediv div div_rn mul floordiv truncdiv trunc floor",
    "true_divide": "truediv",
    "neg": "neg",
    "abs": "abs",
    "exp": "exp", "exp2": "exp2", "expm1": "expm1",
    "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p",
    "sqrt": "sqrt", "rsqrt": "rsqrt", "reciprocal": "reciprocal truediv",
    "sin": "sin", "cos": "cos", "tan": "tan", "tanh": "tanh", "sinh": "sinh", "cosh": "cosh",
    "asin": "asin", "acos": "acos", "atan": "atan", "atan2": "atan2", "asinh": "asinh",
    "acosh": "acosh", "atanh": "atanh",
    "erf": "erf", "erfc": "erfc", "erfinv": "erfinv", "lgamma": "lgamma",
    "sigmoid": "sigmoid",
    "relu": "relu maximum",
    "maximum": "maximum", "minimum": "minimum",
    "clamp_min": "maximum", "clamp_max": "minimum",
    "where": "where",
    "lt": "lt", "le": "le", "gt": "gt", "ge": "ge", "eq": "eq", "ne": "ne",
    "logical_not": "logical_not", "bitwise_not": "bitwise_not logical_not",
    "logical_and": "logical_and and_ bitwise_and mul",
    "logical_or": "logical_or or_ bitwise_or",
    "logical_xor": "logical_xor xor bitwise_xor ne",
    "bitwise_and": "bitwise_and and_ logical_and",
    "bitwise_or": "bitwise_or or_ logical_or",
    "bitwise_xor": "bitwise_xor xor logical_xor ne",
    "__and__": "bitwise_and and_ logical_and", "__or__": "bitwise_or or_ logical_or",
    "convert_element_type": "to_dtype index_expr constant",
    "_to_copy": "to_dtype",
    "square": "square mul",
    "floor": "floor", "ceil": "ceil", "round": "round", "trunc": "trunc", "sign": "sign",
    "isnan": "isnan", "isinf": "isinf", "signbit": "signbit",
    "fmod": "fmod mod", "remainder": "remainder mod where",
    "__rshift__": "bitwise_right_shift", "__lshift__": "bitwise_left_shift",
    "rshift": "bitwise_right_shift to_dtype_bitcast", "lshift": "bitwise_left_shift",
    "fma": "fma", "addcmul": "add fma", "addcdiv": "add fma", "lerp": "add where fma",
    "inductor_random": "rand randn",
    "inductor_randint": "randint64",
    "inductor_lookup_seed": "load_seed",
    "bucketize": "bucketize",
    "sort": "sort",
    "iota": "index_expr constant to_dtype add mul",
    "arange": "index_expr constant to_dtype add mul",
    "full": "constant",
    "full_like": "constant",
    "scalar_tensor": "constant index_expr",
    "empty": "constant",
    "new_empty_strided": "constant",
}  # fmt: skip

STRICT: dict[str, frozenset[str]] = {name: frozenset(v.split()) for name, v in _STRICT.items()}
STRICT.update({f"{name}_": operations for name, operations in list(STRICT.items())})

_REDUCES: dict[str, str] = {
    "sum": "sum", "mean": "sum", "amax": "max", "amin": "min", "max": "max argmax",
    "min": "min argmin", "argmax": "argmax", "argmin": "argmin", "any": "any max", "all": "any",
    "prod": "prod", "var_mean": "welford_reduce welford_combine sum",
    "var": "welford_reduce welford_combine sum", "std": "welford_reduce welford_combine sum",
    "prepare_softmax_online": "online_softmax_reduce max sum", "logsumexp": "max sum",
    "_softmax": "max sum", "_log_softmax": "max sum", "norm": "sum max", "xor_sum": "xor_sum",
    "linalg_vector_norm": "sum max min", "native_layer_norm": "welford_reduce sum",
    "cross_entropy": "sum", "nll_loss": "sum",
}  # fmt: skip

REDUCES: dict[str, frozenset[str]] = {name: frozenset(v.split()) for name, v in _REDUCES.items()}

# Reductions that over few elements are unrolled into operations on each of them.
UNROLLED = frozenset(
    ["sum", "mean", "prod", "amax", "amin", "any", "all", "max", "min", "argmax", "argmin"]
)

# They copy or gather their input, so a load may be their only trace.
MOVES = frozenset(
    [
        "clone", "rev", "flip", "copy", "copy_", "cat", "repeat", "embedding", "index", "gather",
        "_unsafe_index", "index_select", "constant_pad_nd", "roll", "slice_scatter", "lift",
        "select_scatter", "index_put", "index_put_", "contiguous", "device_put", "stack",
        "_unsafe_masked_index", "_to_copy", "to", "as_strided_scatter", "diagonal_scatter",
        "scatter", "scatter_", "scatter_add", "scatter_reduce", "_unsafe_index_put", "triu", "tril",
        "_unsafe_index_put_",
        "lift_fresh_copy", "as_strided_copy", "reflection_pad1d",
        "reflection_pad2d", "reflection_pad3d", "replication_pad2d", "pixel_shuffle",
        "pixel_unshuffle", "channel_shuffle",
    ]
)  # fmt: skip

SCANS = frozenset(["cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "associative_scan"])

# Their indices are tensors, or computed (reflection, until torch 2.2).
INDEXERS = frozenset(
    [
        "index", "_unsafe_index", "embedding", "gather", "index_select", "_unsafe_masked_index",
        "reflection_pad1d", "reflection_pad2d", "reflection_pad3d",
    ]
)  # fmt: skip

# They choose between pieces by position, and compute the pieces under masks.
MASKS = frozenset(
    [
        "cat", "stack", "constant_pad_nd", "slice_scatter", "select_scatter", "as_strided_scatter",
        "diagonal_scatter", "_unsafe_masked_index", "triu", "tril", "roll", "avg_pool2d",
        "max_pool2d_with_indices", "reflection_pad1d", "reflection_pad2d", "replication_pad2d",
        "_low_memory_max_pool_with_offsets", "_low_memory_max_pool2d_with_offsets",
    ]
)  # fmt: skip

PURE_COPIES = frozenset(["clone", "contiguous", "lift_fresh_copy"])
"""Their values are those of their arguments."""

CHOOSES = frozenset(["where", "ge", "lt", "le", "gt", "eq", "ne", "and_", "logical_and"])
"""How those choose."""

COMPARES = frozenset(["eq", "ne", "lt", "le", "gt", "ge", "isnan", "isinf"])

FILLS = frozenset(
    [
        "full", "full_like", "zeros", "ones", "zeros_like", "ones_like", "empty",
        "new_empty_strided",
    ]
)  # fmt: skip

# They combine many elements into each output element, in dozens of operations.
POOLS = (
    "max_pool", "_low_memory_max_pool", "avg_pool", "_adaptive_avg_pool", "adaptive_max_pool",
    "upsample", "_upsample", "fractional_max_pool", "grid_sampler", "col2im", "im2col",
    "reflection_pad2d_backward",
)  # fmt: skip

# They write into their first argument, in place or in a copy.
SCATTERS = frozenset(
    [
        "index_put", "index_put_", "scatter", "scatter_", "scatter_add", "scatter_add_",
        "scatter_reduce", "scatter_reduce_", "index_add", "_unsafe_index_put", "_unsafe_index_put_",
        "_unsafe_masked_index_put_accumulate", "embedding_dense_backward", "masked_scatter",
        "slice_scatter", "select_scatter", "as_strided_scatter", "copy_", "index_copy",
        "max_pool2d_with_indices_backward", "_adaptive_avg_pool2d_backward",
        "kthvalue", "bernoulli",
    ]
)  # fmt: skip

# Scatters into an empty tensor: each element is chosen by its position.
CHOOSE_BY_PLACE = frozenset(["select_scatter", "slice_scatter"])

# Library kernels compute them; a loop body at most adds a bias to the result.
LIBRARY = frozenset(
    [
        "mm", "addmm", "bmm", "baddbmm", "_int_mm", "_scaled_mm", "convolution",
        "convolution_backward", "_thnn_fused_gru_cell", "_thnn_fused_gru_cell_backward",
        "_thnn_fused_lstm_cell", "_thnn_fused_lstm_cell_backward_impl", "mkldnn_rnn_layer",
        "_linear_pointwise", "_convolution_pointwise", "_cudnn_rnn", "mkl_linear", "_fft_c2c",
    ]
)  # fmt: skip


def by_library(op: str) -> bool:
    return op in LIBRARY or op.startswith(
        ("_scaled_dot_product", "_flash_attention", "_efficient_attention", "_cudnn", "miopen")
    )


_STRIDED = frozenset(
    [
        "_grouped_mm", "_embedding_bag", "_embedding_bag_forward_only", "_pdist_forward",
        "_pdist_backward", "_adaptive_avg_pool2d_backward", "upsample_bicubic2d_backward",
        "miopen_rnn", "miopen_rnn_backward", "view_as_complex", "_weight_norm_interface_backward",
    ]
)  # fmt: skip
_TORCHS_OWN = ("torch.ops.aten.", "torch.ops.prims.", "torch.ops.inductor")


_TAKES_SUBGRAPHS = frozenset(["cond", "invoke_subgraph", "while_loop"])


def asks_for_strides(op: str, target: str) -> bool:
    """Whether its kernel requests its inputs with the strides of the graph, as all custom operators
    do."""
    custom = target.startswith("torch.ops.") and not target.startswith(_TORCHS_OWN)
    custom = custom and op not in _TAKES_SUBGRAPHS
    return custom or op in _STRIDED or by_library(op)


# Their inputs are stored as they are; other extern calls request strides, and copy.
TAKES_AS_IS = frozenset(
    [
        "mm", "addmm", "bmm", "baddbmm", "_int_mm", "bias_addmm", "addmv", "mv", "dot",
        "_scaled_mm", "bucketize", "searchsorted", "convolution",
    ]
)  # fmt: skip


def same_operation(kernel: str, op: str) -> bool:
    """Whether names match: `extern_kernels.bias_addmm` is `addmm`, `torch.ops.aten.sort.stable`
    `sort`."""
    if kernel == op:
        return True
    return kernel.strip("_") in _ALIASES.get(op, ()) or kernel.rstrip("_") == op.rstrip("_")


_ALIASES = {
    "addmm": ("bias_addmm", "mm"),
    "scatter_add": ("scatter_reduce",),
    "inductor_seeds": ("randint",),
    "index_put": ("index_put", "index_put_"),
    "convolution": ("convolution", "mkldnn_convolution_pointwise"),
    "_to_copy": ("to",),
    "baddbmm": ("bmm",),
}


_CPP_CALLED = re.compile(r"aoti_torch_(?:(?:cpu|cuda|xpu|mps)_)?|at::(?:_ops::)?")
_CPP_ENDS = re.compile(r"_out$|_stable$|::call$")


def extern_name(kernel: str) -> str:
    """`torch.ops.aten.sort.stable` → `sort`; `extern_kernels.mm` → `mm`; `` when unknown.

    In C++ `aoti_torch_cpu_addmm_out`, `at::addmm_out` → `addmm`, `at::_ops::sort::call` → `sort`.
    """
    parts = kernel.strip().strip("'\"").split(".")
    if parts[0].startswith(("aoti_torch_", "at::")):
        name = _CPP_CALLED.sub("", parts[0])
        return "" if name.startswith("proxy_executor") else _CPP_ENDS.sub("", name)
    if parts[0] == "torch" and len(parts) > 3:
        return parts[3]
    if parts[0] in ("aten", "prims", "inductor_ops", "_quantized", "quantized") and len(parts) > 1:
        return parts[1]
    return parts[-1] if parts[-1] != "None" else ""
