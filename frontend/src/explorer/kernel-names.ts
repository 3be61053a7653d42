// Names kernels by what they compute: `layer_norm + gelu`, with the number that distinguishes them.
// Pure.
import type { Kernel } from "./shapes";

export interface KernelName {
  operations: string;
  /** The number at the end of the whole name; empty for a library kernel. */
  number: string;
}

/** Sample: `triton_per_fused__to_copy_add_native_layer_norm_1`, `cpp_fused_gelu_1` */
const GENERATED = /^[a-z]+_(?:[a-z]{2,6}_)?fused_(\w+?)(?:_(\d+))?$/;
/** Sample: `extern_kernels.addmm`, `torch.ops.aten._scaled_dot_product_cudnn_attention.default` */
const LIBRARY = /^(?:extern_kernels\.|torch\.ops\.\w+\.|aten\.|at::)_?(\w+)/;

/** Operations whose names contain underscores, with which Inductor also joins names. */
const LONG = [
  "native_layer_norm",
  "native_group_norm",
  "native_batch_norm",
  "native_dropout",
  "_native_batch_norm_legit_functional",
  "_native_batch_norm_legit_no_training",
  "_native_batch_norm_legit",
  "_fused_rms_norm",
  "rms_norm",
  "_to_copy",
  "_softmax_backward_data",
  "_softmax",
  "_log_softmax_backward_data",
  "_log_softmax",
  "prepare_softmax_online",
  "nll_loss_forward",
  "nll_loss",
  "nll_loss2d_forward",
  "mse_loss",
  "max_pool2d_with_indices",
  "_low_memory_max_pool2d_with_offsets",
  "_low_memory_max_pool_with_offsets",
  "_adaptive_avg_pool2d",
  "avg_pool2d",
  "embedding_dense",
  "_unsafe_index_put",
  "_unsafe_index",
  "_unsafe_view",
  "_scaled_dot_product_efficient_attention",
  "_scaled_dot_product_flash_attention",
  "_scaled_dot_product_cudnn_attention",
  "_weight_norm_interface",
  "constant_pad_nd",
  "convert_element_type",
  "grid_sampler_2d",
  "hardtanh",
  "index_add",
  "index_put",
  "index_select",
  "leaky_relu",
  "linalg_vector_norm",
  "logical_and",
  "logical_not",
  "logical_or",
  "bitwise_and",
  "bitwise_not",
  "bitwise_or",
  "bitwise_xor",
  "masked_fill",
  "new_full",
  "new_ones",
  "new_zeros",
  "full_like",
  "ones_like",
  "zeros_like",
  "rand_like",
  "randn_like",
  "pixel_shuffle",
  "reflection_pad2d",
  "scalar_tensor",
  "scatter_add",
  "select_scatter",
  "slice_scatter",
  "split_with_sizes",
  "upsample_bicubic2d",
  "upsample_bilinear2d",
  "upsample_nearest2d",
  "var_mean",
];
/** Operations that say little about a kernel, so they come last. */
const MINOR = new Set(
  (
    "add arange bitwise_and bitwise_not cat clone constant_pad_nd convert_element_type copy div eq " +
    "fill full full_like ge gt le lt mul ne neg ones_like scalar_tensor sub sum to_copy where " +
    "zeros_like"
  ).split(" "),
);
/** Operations that only view memory differently. */
const VIEWS = new Set(
  (
    "alias as_strided detach expand permute reshape select slice split split_with_sizes squeeze t " +
    "transpose unsafe_view unsqueeze view"
  ).split(" "),
);

const OPERATION = new RegExp(
  `(?:(${[...LONG].sort((one, other) => other.length - one.length).join("|")})|(_?[a-z0-9]+))` +
    "((?:_backward)?)(?=_|$)_?",
  "y",
);

function operationsOf(joined: string): string[] {
  const found: string[] = [];
  OPERATION.lastIndex = 0;
  for (let each = OPERATION.exec(joined); each?.[0]; each = OPERATION.exec(joined)) {
    const name = (each[1] ?? each[2] ?? "").replace(/^_?(?:native_)?|_legit.*/g, "");
    found.push(`${name}${each[3]}`);
  }
  const forward = (name: string) => name.replace(/_backward$/, "");
  const computing = found.filter((name) => !VIEWS.has(forward(name)));
  // The backward of an operation also contains nodes of its forward.
  const alone = (computing.length ? computing : found).filter(
    (name) => !found.includes(`${name}_backward`),
  );
  const rank = (name: string) => (MINOR.has(forward(name)) ? 1 : 0);
  return [...new Set(alone)].sort((one, other) => rank(one) - rank(other));
}

function short(name: string): KernelName {
  const [, joined, number] = GENERATED.exec(name) ?? [];
  if (joined) return { operations: operationsOf(joined).join(" + ") || name, number: number ?? "" };
  return { operations: LIBRARY.exec(name)?.[1] ?? name, number: "" };
}

const known = new WeakMap<readonly Kernel[], ReadonlyMap<string, KernelName>>();

/** The short name of each kernel. Kernels with equal short names keep their whole names. */
export function kernelNames(kernels: readonly Kernel[]): ReadonlyMap<string, KernelName> {
  const before = known.get(kernels);
  if (before) return before;
  const names = new Map(kernels.map(({ name }) => [name, short(name)]));
  const written = ({ operations, number }: KernelName) => `${operations} ${number}`;
  const counts = new Map<string, number>();
  for (const each of names.values()) {
    counts.set(written(each), (counts.get(written(each)) ?? 0) + 1);
  }
  for (const [name, each] of names) {
    if ((counts.get(written(each)) ?? 0) > 1) names.set(name, { operations: name, number: "" });
  }
  known.set(kernels, names);
  return names;
}

/** Returns each kernel's name by operations, with the number, as one text. */
export function kernelTitles(kernels: readonly Kernel[]): (kernel: Kernel) => string {
  const names = kernelNames(kernels);
  return ({ name }) => {
    const { operations, number } = names.get(name) ?? { operations: name, number: "" };
    return `${operations} ${number}`.trim();
  };
}
