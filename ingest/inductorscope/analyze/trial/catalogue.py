"""The changes that `inductorscope improve` tries: what each is, and for which programs.

To add one, add an entry, or write a package with some: docs/extending.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from inductorscope.formats.change import CUDA_GRAPHS, Change, Mark
from inductorscope.plugins import added

PRODUCTS = frozenset(("mm", "addmm", "bmm", "baddbmm", "_int_mm"))
CONVOLUTION = "convolution"
FROZEN = {"freezing": "True"}
MANY_NODES = 300
"""Graphs of fewer nodes compile so fast that regions save nothing."""


class Known(msgspec.Struct, kw_only=True):
    """What is known of the program."""

    cuda: bool = False
    trains: bool = False
    """Whether it computes gradients."""
    could_train: bool = False
    """Whether its graphs keep what gradients need."""
    optimizer: bool = False
    """Whether an optimizer steps outside of compiled code."""
    breaks: int = 0
    recompiles: int = 0
    nodes: int = 0
    operations: frozenset[str] = frozenset()
    """The names of ATen operations in its graphs."""
    dtypes: frozenset[str] = frozenset()
    marks: tuple[Mark, ...] = ()
    """Sizes that made it compile again."""
    ignored: tuple[str, ...] = ()
    """Functions that only log and break a graph."""
    reordered: tuple[str, ...] = ()
    """Functions that only print and break a graph."""
    threads: int = 0
    """Threads of torch on the CPU."""

    @property
    def products(self) -> bool:
        return bool(self.operations & PRODUCTS) or self.convolves

    @property
    def convolves(self) -> bool:
        return CONVOLUTION in self.operations


class Entry(msgspec.Struct, frozen=True):
    """One change of the catalogue."""

    title: str
    expect: str
    """What it may win, and what it may cost."""
    applies: Callable[[Known], object]
    """Whether a program may win by it: true or false, or what is not empty."""
    change: Change | Callable[[Known], Change]

    def made(self, known: Known) -> Change:
        return self.change if isinstance(self.change, Change) else self.change(known)


def _set(**values: object) -> Change:
    """Sets keys of torch._inductor.config; `__` stands for the dot."""
    return Change(inductor={key.replace("__", "."): repr(each) for key, each in values.items()})


def _dynamo(**values: object) -> Change:
    return Change(dynamo={key: repr(each) for key, each in values.items()})


ENTRIES: tuple[Entry, ...] = (
    Entry(
        "CUDA graphs",
        "Launches all kernels of a graph at once; wins where the device waits for launches.",
        lambda known: known.cuda, Change(inductor={CUDA_GRAPHS: "True"}),
    ),
    Entry(
        "max-autotune without CUDA graphs",
        "Times several kernels for each matrix product and convolution; compiling takes longer.",
        lambda known: known.cuda and known.products, Change(mode="max-autotune-no-cudagraphs"),
    ),
    Entry(
        "max-autotune", "Autotuning and CUDA graphs together.",
        lambda known: known.cuda, Change(mode="max-autotune"),
    ),
    Entry(
        "coordinate descent tuning",
        "Searches block sizes of each Triton kernel; compiling takes longer.",
        lambda known: known.cuda, _set(coordinate_descent_tuning=True),
    ),
    Entry(
        "combo kernels", "Launches small independent kernels as one.",
        lambda known: known.cuda, _set(combo_kernels=True),
    ),
    Entry(
        "no split reductions", "One kernel for each reduction; wins where reductions are small.",
        lambda known: known.cuda, _set(split_reductions=False),
    ),
    Entry(
        "multi-kernels", "Chooses between looped and persistent reductions by timing them.",
        lambda known: known.cuda, _set(triton__multi_kernel=1),
    ),
    Entry(
        "TF32 products",
        "Lets tensor cores compute float32 products, with 10 bits of the mantissa instead of 23.",
        lambda known: known.cuda and known.products and "float32" in known.dtypes,
        Change(float32_products="high"),
    ),
    Entry(
        "ignored log calls",
        "Does not break the graph at functions that only log; they are not called.",
        lambda known: known.ignored, lambda known: Change(ignored=known.ignored),
    ),
    Entry(
        "prints after the graph",
        "Does not break the graph at functions that only print; they are called after it.",
        lambda known: known.reordered, lambda known: Change(reordered=known.reordered),
    ),
    Entry(
        "numbers of tensors inside of graphs", "Does not break the graph at `.item()`.",
        lambda known: known.breaks, _dynamo(capture_scalar_outputs=True),
    ),
    Entry(
        "outputs of unknown size inside of graphs",
        "Does not break the graph at `nonzero`, masks and `unique`.",
        lambda known: known.breaks,
        _dynamo(capture_dynamic_output_shape_ops=True, capture_scalar_outputs=True),
    ),
    Entry(
        "breaks inside of nested calls",
        "Compiles what surrounds a break inside of a called function.",
        lambda known: known.breaks, _dynamo(nested_graph_breaks=True),
    ),
    Entry(
        "dynamic sizes", "Compiles once for all sizes; each kernel may become slower.",
        lambda known: known.recompiles, Change(dynamic=True),
    ),
    Entry(
        "marked sizes", "Compiles once for the sizes that differ between calls.",
        lambda known: known.marks, lambda known: Change(marks=known.marks),
    ),
    Entry(
        "Python numbers as inputs", "Does not compile again for another float argument.",
        lambda known: known.recompiles, _dynamo(specialize_float=False),
    ),
    Entry(
        "numbers of modules as inputs",
        "Does not compile again when an attribute of a module counts up.",
        lambda known: known.recompiles, _dynamo(allow_unspec_int_on_nn_module=True),
    ),
    Entry(
        "no gradients", "Keeps nothing for gradients that are never computed.",
        lambda known: known.could_train and not known.trains, Change(no_grad=True),
    ),
    Entry(
        "frozen weights",
        "Computes with constant weights: they are packed and folded while compiling.",
        lambda known: not known.trains and known.products,
        lambda known: Change(inductor=FROZEN, no_grad=known.could_train),
    ),
    Entry(
        "frozen weights and max-autotune",
        "Packs weights for the generated matrix products of the CPU; compiling takes longer.",
        lambda known: not known.cuda and not known.trains and known.products,
        lambda known: Change(
            inductor=FROZEN | {"max_autotune": "True"}, no_grad=known.could_train
        ),
    ),
    Entry(
        "channels last", "Keeps images in the layout that convolutions compute in.",
        lambda known: known.convolves, Change(channels_last=True),
    ),
    Entry(
        "1×1 convolutions as products",
        "Computes convolutions of one pixel as matrix products, which fuse.",
        lambda known: known.convolves, _set(conv_1x1_as_mm=True),
    ),
    Entry(
        "compiled optimizer", "Updates all parameters in few kernels.",
        lambda known: known.optimizer, Change(optimizer=True),
    ),
    Entry(
        "C++ wrapper", "Calls kernels from C++ instead of Python; wins where steps are short.",
        lambda known: True, _set(cpp_wrapper=True),
    ),
    Entry(
        "half of the threads", "Wins where threads wait for each other, or share a core.",
        lambda known: not known.cuda and known.threads > 1,
        lambda known: Change(threads=known.threads // 2),
    ),
    Entry(
        "smaller chunks for threads", "Uses several threads also for smaller loops.",
        lambda known: not known.cuda and known.threads > 1, _set(cpp__min_chunk_size=128),
    ),
    Entry(
        "aggressive fusion", "Fuses kernels that share little memory.",
        lambda known: True, _set(aggressive_fusion=True),
    ),
    Entry(
        "larger fusions", "Lets more operations into one kernel.",
        lambda known: known.operations, _set(max_fusion_size=256),
    ),
    Entry(
        "benchmarked fusion",
        "Times kernels before and after fusing them; compiling takes longer.",
        lambda known: known.cuda, _set(benchmark_fusion=True),
    ),
    Entry(
        "blocks as regions", "Compiles repeated blocks of a model once; compiling takes less time.",
        lambda known: known.nodes >= MANY_NODES, Change(regions="nested"),
    ),
)  # fmt: skip


def catalogue() -> list[Entry]:
    """Returns our entries and those of other packages."""
    return list({entry.title: entry for entry in (*ENTRIES, *added("changes", Entry))}.values())


def that_apply(known: Known, entries: Iterable[Entry]) -> list[tuple[str, Change]]:
    """Returns titles and changes."""
    return [(entry.title, entry.made(known)) for entry in entries if entry.applies(known)]
