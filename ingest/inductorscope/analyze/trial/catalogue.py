"""The changes that `inductorscope improve` tries: what each is, and for which programs.

To add one, add an entry. A package adds its own with the entry point `inductorscope.changes`, which
names a sequence of entries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import entry_points

import msgspec

from inductorscope.formats.change import CUDA_GRAPHS, Change, Mark

GROUP = "inductorscope.changes"
PRODUCTS = frozenset(("mm", "addmm", "bmm", "baddbmm", "_int_mm"))
CONVOLUTION = "convolution"


class Known(msgspec.Struct, kw_only=True):
    """What is known of the program."""

    cuda: bool = False
    trains: bool = False
    """Whether it computes gradients."""
    optimizer: bool = False
    """Whether an optimizer steps outside of compiled code."""
    breaks: int = 0
    recompiles: int = 0
    operations: frozenset[str] = frozenset()
    """The names of ATen operations in its graphs."""
    dtypes: frozenset[str] = frozenset()
    marks: tuple[Mark, ...] = ()
    """Sizes that made it compile again."""
    ignored: tuple[str, ...] = ()
    """Functions that only print or log and break a graph."""
    threads: int = 0
    """Threads of torch on the CPU."""

    @property
    def products(self) -> bool:
        return bool(self.operations & PRODUCTS) or CONVOLUTION in self.operations


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One change of the catalogue."""

    name: str
    title: str
    expect: str
    """What it may win, and what it may cost."""
    write: str
    """How to write it."""
    applies: Callable[[Known], bool]
    makes: Callable[[Known], Change]


def _always(change: Change) -> Callable[[Known], Change]:
    return lambda known: change


def _setting(
    name: str, title: str, expect: str, key: str, value: str, applies: Callable[[Known], bool]
) -> Entry:
    """Returns an entry that sets one key of torch._inductor.config."""
    return Entry(
        name=name,
        title=title,
        expect=expect,
        write=f"torch._inductor.config.{key} = {value}",
        applies=applies,
        makes=_always(Change(inductor={key: value})),
    )


def _compiles(
    name: str, title: str, expect: str, write: str, change: Change,
    applies: Callable[[Known], bool],
) -> Entry:  # fmt: skip
    return Entry(
        name=name, title=title, expect=expect, write=write, applies=applies, makes=_always(change)
    )


ENTRIES: tuple[Entry, ...] = (
    _compiles(
        "cuda-graphs",
        "CUDA graphs",
        "Launches all kernels of a graph at once; wins where the device waits for launches.",
        "torch.compile(…, mode='reduce-overhead')",
        Change(inductor={CUDA_GRAPHS: "True"}),
        lambda known: known.cuda,
    ),
    _compiles(
        "max-autotune",
        "max-autotune without CUDA graphs",
        "Times several kernels for each matrix product and convolution; compiling takes longer.",
        "torch.compile(…, mode='max-autotune-no-cudagraphs')",
        Change(mode="max-autotune-no-cudagraphs"),
        lambda known: known.cuda and known.products,
    ),
    _compiles(
        "max-autotune-graphs",
        "max-autotune",
        "Autotuning and CUDA graphs together.",
        "torch.compile(…, mode='max-autotune')",
        Change(mode="max-autotune"),
        lambda known: known.cuda,
    ),
    _setting(
        "coordinate-descent", "coordinate descent tuning",
        "Searches block sizes of each Triton kernel; compiling takes longer.",
        "coordinate_descent_tuning", "True", lambda known: known.cuda,
    ),
    _setting(
        "combo-kernels", "combo kernels",
        "Launches small independent kernels as one.",
        "combo_kernels", "True", lambda known: known.cuda,
    ),
    _setting(
        "split-reductions-off", "no split reductions",
        "One kernel for each reduction; wins where reductions are small.",
        "split_reductions", "False", lambda known: known.cuda,
    ),
    _setting(
        "multi-kernel", "multi-kernels",
        "Chooses between looped and persistent reductions by timing them.",
        "triton.multi_kernel", "1", lambda known: known.cuda,
    ),
    _compiles(
        "tf32",
        "TF32 products",
        "Lets tensor cores compute float32 products, with 10 bits of the mantissa instead of 23.",
        "torch.set_float32_matmul_precision('high')",
        Change(float32_products="high"),
        lambda known: known.cuda and known.products and "float32" in known.dtypes,
    ),
    _compiles(
        "channels-last",
        "channels last",
        "Keeps images in the layout that convolutions compute in.",
        "model = model.to(memory_format=torch.channels_last)",
        Change(channels_last=True),
        lambda known: CONVOLUTION in known.operations,
    ),
    _setting(
        "conv1x1-as-mm", "1×1 convolutions as products",
        "Computes convolutions of one pixel as matrix products, which fuse.",
        "conv_1x1_as_mm", "True", lambda known: CONVOLUTION in known.operations,
    ),
    _setting(
        "freezing", "frozen weights",
        "Computes with constant weights: they are packed and folded while compiling.",
        "freezing", "True", lambda known: not known.trains and known.products,
    ),
    _compiles(
        "frozen-autotune",
        "frozen weights and max-autotune",
        "Packs weights for the generated matrix products of the CPU; compiling takes longer.",
        "torch._inductor.config.freezing = True; torch.compile(…, mode='max-autotune')",
        Change(inductor={"freezing": "True", "max_autotune": "True"}),
        lambda known: not known.cuda and not known.trains and known.products,
    ),
    _setting(
        "cpp-wrapper", "C++ wrapper",
        "Calls kernels from C++ instead of Python; wins where steps are short.",
        "cpp_wrapper", "True", lambda known: True,
    ),
    Entry(
        name="half-threads",
        title="half of the threads",
        expect="Wins where threads wait for each other, or share a core.",
        write="torch.set_num_threads(…)",
        applies=lambda known: not known.cuda and known.threads > 1,
        makes=lambda known: Change(threads=known.threads // 2),
    ),
    _setting(
        "small-chunks", "smaller chunks for threads",
        "Uses several threads also for smaller loops.",
        "cpp.min_chunk_size", "128", lambda known: not known.cuda and known.threads > 1,
    ),
    _compiles(
        "compiled-optimizer",
        "compiled optimizer",
        "Updates all parameters in few kernels.",
        "optimizer_step = torch.compile(optimizer.step)",
        Change(optimizer=True),
        lambda known: known.optimizer,
    ),
    _compiles(
        "dynamic",
        "dynamic sizes",
        "Compiles once for all sizes; each kernel may become slower.",
        "torch.compile(…, dynamic=True)",
        Change(dynamic=True),
        lambda known: known.recompiles > 0,
    ),
    Entry(
        name="marked-sizes",
        title="marked sizes",
        expect="Compiles once for the sizes that differ between calls.",
        write="torch._dynamo.mark_dynamic(…) before the call",
        applies=lambda known: bool(known.marks),
        makes=lambda known: Change(marks=known.marks),
    ),
    _compiles(
        "scalar-outputs",
        "numbers of tensors inside of graphs",
        "Does not break the graph at `.item()`.",
        "torch._dynamo.config.capture_scalar_outputs = True",
        Change(dynamo={"capture_scalar_outputs": "True"}),
        lambda known: known.breaks > 0,
    ),
    _compiles(
        "dynamic-outputs",
        "outputs of unknown size inside of graphs",
        "Does not break the graph at `nonzero`, masks and `unique`.",
        "torch._dynamo.config.capture_dynamic_output_shape_ops = True",
        Change(
            dynamo={"capture_dynamic_output_shape_ops": "True", "capture_scalar_outputs": "True"}
        ),
        lambda known: known.breaks > 0,
    ),
    Entry(
        name="ignored-functions",
        title="ignored log calls",
        expect="Does not break the graph at functions that only print or log; they are not called.",
        write="torch._dynamo.config.ignore_logging_functions.add(…)",
        applies=lambda known: bool(known.ignored),
        makes=lambda known: Change(ignored=known.ignored),
    ),
    _compiles(
        "nested-breaks",
        "breaks inside of nested calls",
        "Compiles what surrounds a break inside of a called function.",
        "torch._dynamo.config.nested_graph_breaks = True",
        Change(dynamo={"nested_graph_breaks": "True"}),
        lambda known: known.breaks > 0,
    ),
    _compiles(
        "float-arguments",
        "Python numbers as inputs",
        "Does not compile again for another float argument.",
        "torch._dynamo.config.specialize_float = False",
        Change(dynamo={"specialize_float": "False"}),
        lambda known: known.recompiles > 0,
    ),
    _compiles(
        "module-numbers",
        "numbers of modules as inputs",
        "Does not compile again when an attribute of a module counts up.",
        "torch._dynamo.config.allow_unspec_int_on_nn_module = True",
        Change(dynamo={"allow_unspec_int_on_nn_module": "True"}),
        lambda known: known.recompiles > 0,
    ),
    _setting(
        "aggressive-fusion", "aggressive fusion",
        "Fuses kernels that share little memory.",
        "aggressive_fusion", "True", lambda known: True,
    ),
    _setting(
        "large-fusions", "larger fusions",
        "Lets more operations into one kernel.",
        "max_fusion_size", "256", lambda known: len(known.operations) > 0,
    ),
    _setting(
        "benchmarked-fusion", "benchmarked fusion",
        "Times kernels before and after fusing them; compiling takes longer.",
        "benchmark_fusion", "True", lambda known: known.cuda,
    ),
)  # fmt: skip


def catalogue() -> list[Entry]:
    """Returns our entries and those of other packages."""
    found = {entry.name: entry for entry in ENTRIES}
    for point in entry_points(group=GROUP):
        theirs: Sequence[Entry] = point.load()
        found |= {entry.name: entry for entry in theirs}
    return list(found.values())


def that_apply(known: Known, entries: Iterable[Entry]) -> list[tuple[Entry, Change]]:
    return [(entry, entry.makes(known)) for entry in entries if entry.applies(known)]
