"""Names kernels by what they compute: `layer_norm + gelu`, with a number that tells them apart."""

import re
from collections.abc import Iterable, Iterator
from functools import cache

import msgspec


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


GENERATED = re.compile(r"[a-z]+_(?:[a-z]{2,6}_)?fused_(\w+?)_(\d+)")
"""Sample: `triton_per_fused__to_copy_add_native_layer_norm_1`, `cpp_fused_gelu_1`"""
LIBRARY = re.compile(r"(extern_kernels\.|torch\.ops\.\w+\.|aten\.|at::)_?(\w+).*", re.DOTALL)
"""Sample: `extern_kernels.addmm`, `torch.ops.aten._scaled_dot_product_cudnn_attention.default`"""
EXTERN = "extern_kernels."
OF_EXTERN = frozenset({"addmm", "addmv", "baddbmm", "bmm", "convolution", "dot", "mm", "mv"})
"""Operations that the code calls in `extern_kernels` too."""
LONG = _words("""
native_layer_norm native_group_norm native_batch_norm native_dropout
_native_batch_norm_legit_functional _native_batch_norm_legit_no_training _native_batch_norm_legit
_fused_rms_norm rms_norm _to_copy _softmax_backward_data _softmax _log_softmax_backward_data
_log_softmax prepare_softmax_online nll_loss_forward nll_loss nll_loss2d_forward mse_loss
max_pool2d_with_indices _low_memory_max_pool2d_with_offsets _low_memory_max_pool_with_offsets
_adaptive_avg_pool2d avg_pool2d embedding_dense _unsafe_index_put _unsafe_index _unsafe_view
_scaled_dot_product_efficient_attention _scaled_dot_product_flash_attention
_scaled_dot_product_cudnn_attention _weight_norm_interface constant_pad_nd convert_element_type
grid_sampler_2d hardtanh index_add index_put index_select leaky_relu linalg_vector_norm
logical_and logical_not logical_or bitwise_and bitwise_not bitwise_or bitwise_xor masked_fill
new_full new_ones new_zeros full_like ones_like zeros_like rand_like randn_like pixel_shuffle
reflection_pad2d scalar_tensor scatter_add select_scatter slice_scatter split_with_sizes
upsample_bicubic2d upsample_bilinear2d upsample_nearest2d var_mean
""")
"""Operations whose names contain underscores, with which Inductor also joins names."""
MINOR = _words("""
add arange bitwise_and bitwise_not cat clone constant_pad_nd convert_element_type copy div eq fill
full full_like ge gt le lt mul ne neg ones_like scalar_tensor sub sum to_copy where zeros_like
""")  # fmt: skip
"""Operations that say little about a kernel, so they come last."""
VIEWS = _words("""
alias as_strided detach expand permute reshape select slice split split_with_sizes squeeze t
transpose unsafe_view unsqueeze view
""")  # fmt: skip
"""Operations that only view memory differently."""
OPERATION = re.compile(
    rf"(?:({'|'.join(sorted(LONG, key=len, reverse=True))})|(_?[a-z0-9]+))((?:_backward)?)(?=_|$)_?"
)
NOISE = re.compile(r"^_?(?:native_)?|_legit.*")
BACKWARD = "_backward"


class ShortName(msgspec.Struct, frozen=True):
    """A kernel's name in tables. Two kernels of a graph never have the same one."""

    operations: str
    """What it computes; the whole name if that is not known."""
    number: str = ""
    """The number at the end of the whole name; empty for a library's kernel."""

    def __str__(self) -> str:
        return f"{self.operations} {self.number}".rstrip()


@cache
def short_name(name: str) -> ShortName:
    if generated := GENERATED.fullmatch(name):
        operations = " + ".join(_operations(generated[1]))
        return ShortName(operations, generated[2]) if operations else ShortName(name)
    library = LIBRARY.fullmatch(name)
    if library is None:
        return ShortName(name)
    is_extern = library[1] == EXTERN
    return ShortName(
        library[2] if is_extern or library[2] not in OF_EXTERN else f"aten.{library[2]}"
    )


def split_names(joined: str, known: Iterable[str] = ()) -> Iterator[str]:
    """Yields `_to_copy` and `add` of `_to_copy_add`. `known`: further names with underscores."""
    longer = sorted((name for name in known if "_" in name), key=len, reverse=True)
    while joined:
        rest = f"{joined}_"
        name = next((name for name in longer if rest.startswith(f"{name}_")), "")
        if not name:
            match = OPERATION.match(joined)
            name = match[0].removesuffix("_") if match else joined.partition("_")[0]
        if name:
            yield name
        joined = joined[len(name) + 1 :]


def _operations(joined: str) -> list[str]:
    """Returns the operations of a generated kernel's name, those that say most first."""
    found = [
        NOISE.sub("", name.removesuffix(BACKWARD)) + BACKWARD * name.endswith(BACKWARD)
        for name in split_names(joined)
    ]
    computing = [name for name in found if name.removesuffix(BACKWARD) not in VIEWS]
    # The backward of an operation also contains nodes of its forward.
    alone = [name for name in computing or found if f"{name}{BACKWARD}" not in found]
    return sorted(dict.fromkeys(alone), key=lambda name: name.removesuffix(BACKWARD) in MINOR)
