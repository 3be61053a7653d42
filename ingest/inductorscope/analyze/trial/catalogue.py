"""The changes that `inductorscope improve` tries: what each is, and for which programs.

To add one, add an entry, or write a package with some: docs/extending.md.
"""

from collections.abc import Callable, Iterable
from operator import attrgetter

import msgspec

from inductorscope.formats.change import CUDA_GRAPHS, Change, Mark
from inductorscope.plugins import added

PRODUCTS = frozenset(("mm", "addmm", "bmm", "baddbmm", "_int_mm"))
PADDED = Change(inductor={"shape_padding": "True"})
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
    named: tuple[Change, ...] = ()
    """The fixes of its causes, which are tried first, in their order."""

    @property
    def products(self) -> bool:
        return bool(self.operations & PRODUCTS) or self.convolves

    @property
    def convolves(self) -> bool:
        return "convolution" in self.operations


class Entry(msgspec.Struct, frozen=True):
    """One change of the catalogue."""

    title: str
    applies: Callable[[Known], object]
    """Whether a program may win by it: true or false, or what is not empty."""
    change: Change | Callable[[Known], Change]

    def made(self, known: Known) -> Change:
        return self.change if isinstance(self.change, Change) else self.change(known)


def _set(**values: object) -> Change:
    """Sets keys of torch._inductor.config; `__` stands for the dot."""
    return Change(inductor={key.replace("__", "."): repr(value) for key, value in values.items()})


def _dynamo(**values: object) -> Change:
    return Change(dynamo={key: repr(value) for key, value in values.items()})


_CUDA, _BREAKS, _RECOMPILES = map(attrgetter, ("cuda", "breaks", "recompiles"))


def _threaded(known: Known) -> bool:
    return not known.cuda and known.threads > 1


def _infers(known: Known) -> bool:
    """Whether it computes products without gradients."""
    return known.products and not known.trains


def _frozen(**more: str) -> Callable[[Known], Change]:
    return lambda known: Change(inductor={"freezing": "True"} | more, no_grad=known.could_train)


ENTRIES: tuple[Entry, ...] = (
    Entry("CUDA graphs", _CUDA, Change(inductor={CUDA_GRAPHS: "True"})),
    Entry(
        "max-autotune without CUDA graphs",
        lambda known: known.cuda and known.products, Change(mode="max-autotune-no-cudagraphs"),
    ),
    Entry("combo kernels", _CUDA, _set(combo_kernels=True)),
    Entry("coordinate descent tuning", _CUDA, _set(coordinate_descent_tuning=True)),
    Entry("no split reductions", _CUDA, _set(split_reductions=False)),
    Entry("multi-kernels", _CUDA, _set(triton__multi_kernel=1)),
    Entry(
        "TF32 products", lambda known: known.cuda and known.products and "float32" in known.dtypes,
        Change(float32_products="high"),
    ),
    Entry("padded products", lambda known: PADDED in known.named, PADDED),
    Entry(
        "ignored log calls", attrgetter("ignored"), lambda known: Change(ignored=known.ignored),
    ),
    Entry(
        "prints after the graph",
        attrgetter("reordered"), lambda known: Change(reordered=known.reordered),
    ),
    Entry("numbers of tensors inside of graphs", _BREAKS, _dynamo(capture_scalar_outputs=True)),
    Entry(
        "outputs of unknown size inside of graphs", _BREAKS,
        _dynamo(capture_dynamic_output_shape_ops=True, capture_scalar_outputs=True),
    ),
    Entry("breaks inside of nested calls", _BREAKS, _dynamo(nested_graph_breaks=True)),
    Entry("dynamic sizes", _RECOMPILES, Change(dynamic=True)),
    Entry("marked sizes", attrgetter("marks"), lambda known: Change(marks=known.marks)),
    Entry("Python numbers as inputs", _RECOMPILES, _dynamo(specialize_float=False)),
    Entry(
        "numbers of modules as inputs", _RECOMPILES, _dynamo(allow_unspec_int_on_nn_module=True),
    ),
    Entry(
        "no gradients", lambda known: known.could_train and not known.trains, Change(no_grad=True),
    ),
    Entry("frozen weights", _infers, _frozen()),
    Entry(
        "frozen weights and max-autotune",
        lambda known: _infers(known) and not known.cuda, _frozen(max_autotune="True"),
    ),
    Entry("channels last", attrgetter("convolves"), Change(channels_last=True)),
    Entry("1×1 convolutions as products", attrgetter("convolves"), _set(conv_1x1_as_mm=True)),
    Entry("compiled optimizer", attrgetter("optimizer"), Change(optimizer=True)),
    Entry("C++ wrapper", lambda known: True, _set(cpp_wrapper=True)),
    Entry("half of the threads", _threaded, lambda known: Change(threads=known.threads // 2)),
    Entry(
        "workers of data loaders", lambda known: any(loader.workers for loader in known.named),
        lambda known: next(loader for loader in known.named if loader.workers),
    ),
    Entry("smaller chunks for threads", _threaded, _set(cpp__min_chunk_size=128)),
    Entry("aggressive fusion", lambda known: True, _set(aggressive_fusion=True)),
    Entry("larger fusions", attrgetter("operations"), _set(max_fusion_size=256)),
    Entry("benchmarked fusion", _CUDA, _set(benchmark_fusion=True)),
    Entry("blocks as regions", lambda known: known.nodes >= MANY_NODES, Change(regions="nested")),
)  # fmt: skip


def catalogue() -> list[Entry]:
    """Returns our entries and those of other packages."""
    return list({entry.title: entry for entry in (*ENTRIES, *added("changes", Entry))}.values())


def that_apply(known: Known, entries: Iterable[Entry]) -> list[tuple[str, Change]]:
    """Returns titles and changes, those first that the run's causes name."""
    made = [(entry.title, entry.made(known)) for entry in entries if entry.applies(known)]
    named = list(known.named)
    return sorted(made, key=lambda pair: named.index(pair[1]) if pair[1] in named else len(named))
