"""Records what a program compiles: the exact lines of its code, and the vectorised loops."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from torch._inductor import cpu_vec_isa
from torch._inductor.codegen import cpp

from inductorscope.capturing.inside.loaded import debug_folder
from inductorscope.capturing.inside.untyped import Untyped
from inductorscope.capturing.record.origins import Recorder, after
from inductorscope.capturing.spec import CaptureSpec
from inductorscope.formats.capture_facts import (
    CaptureFacts,
    LoopFacts,
    RecordFacts,
    VectorFacts,
)

MOST = 20_000
MOST_OPS = 35
"""Number of scattered accesses from which torch never vectorises."""


class VectorRecord:
    """The decisions so far. A decision belongs to the kernel that is defined next."""

    def __init__(self) -> None:
        self._pending: dict[tuple[str, ...], LoopFacts] = {}
        self._nests: list[LoopFacts] = []

    def facts(self) -> VectorFacts | None:
        """Returns None if the C++ back end compiled nothing."""
        if not self._nests:
            return None
        isa = cpu_vec_isa.pick_vec_isa()
        return VectorFacts(str(isa) if isa else "", self._nests)

    def forget(self) -> None:
        self._pending.clear()
        self._nests = []

    def decided(self, nest: LoopFacts) -> None:
        """Records a decision; a kernel may be tried several times, of which the last counts."""
        self._pending[tuple(nest.nodes)] = nest

    def defined(self, kernel: str) -> None:
        folder = debug_folder()
        for nest in self._pending.values():
            if len(self._nests) < MOST:
                nest.kernel, nest.graph = kernel, folder.name if folder else ""
                self._nests.append(nest)
        self._pending.clear()


class Compiling:
    """A running record; it must begin before anything is compiled."""

    def __init__(self, spec: CaptureSpec) -> None:
        self._record = _start_record(spec)
        self._vectors = follow_vectorising()

    def forget(self) -> None:
        """Discards the record so far."""
        self._vectors.forget()
        if not isinstance(self._record, RecordFacts):
            self._record.forget()

    def write(self, facts: CaptureFacts, out: Path) -> None:
        """Writes the record so far to `out`, and fills in the facts."""
        facts.vectors = self._vectors.facts()
        record = self._record
        facts.record = record if isinstance(record, RecordFacts) else record.write(out)


_running: list[Compiling] = []


def recording(spec: CaptureSpec) -> Compiling:
    """Starts a record. A process has at most one, which starts again with each capture."""
    if _running:
        _running[0].forget()
    else:
        _running.append(Compiling(spec))
    return _running[0]


def _start_record(spec: CaptureSpec) -> Recording | RecordFacts:
    """Records which operation writes which line, if this torch allows it."""
    if not spec.record:
        return RecordFacts(made=False, reason="It was left out on request.")
    try:
        from inductorscope.capturing.record.install import install

        return install()
    except (ImportError, AttributeError) as error:  # torch's internals differ from its version
        return RecordFacts(made=False, reason=f"This torch does not support it: {error}.")


def follow_vectorising() -> VectorRecord:
    """Installs the hooks; with a torch that decides elsewhere, the record stays empty. Torch's logs
    have not said so since 2.5."""
    record = VectorRecord()

    def decided(tiling: Untyped, _: Untyped, functions: Untyped, sizes: Untyped) -> None:
        record.decided(_nest(functions, sizes, tiling))

    def defined(name: Untyped, *_args: Untyped, **_kwargs: Untyped) -> None:
        record.defined(str(name))

    # Each has a recorder of its own, so that one that fails does not end the other.
    after(Recorder(), cpp.TilingSelect, "select_tiling", decided)
    after(Recorder(), cpp.CppScheduling, "define_kernel", defined)
    return record


def _nest(functions: Untyped, sizes: Untyped, tiling: Untyped) -> LoopFacts:
    factors, loops, *more = tiling
    group, reduction = max(sizes, key=lambda pair: len(pair[1]))
    ranges = [str(size) for size in (*group, *reduction)]
    nodes = [str(getattr(body, "original_fn", body).args[0].get_name()) for body in functions]
    nest = LoopFacts(
        graph="", kernel="", nodes=nodes, ranges=ranges, reductions=len(reduction),
        vectors=[int(factor) for factor in factors], loops=[int(loop) for loop in loops],
    )  # fmt: skip
    if not nest.vectors:
        nest.reason = _reason(functions, nest, more[0] if more else None)
    return nest


def _reason(functions: Untyped, nest: LoopFacts, stats: Untyped) -> str:
    types = cpp._get_dtype_from_loopbodies(cpp._get_loop_body(functions))
    unsupported = sorted(str(kind) for kind in types if kind not in cpp.VECTORIZABLE_DTYPES)
    if unsupported:
        return f"it computes with {', '.join(unsupported)}, which vectors do not support"
    if stats is None:
        return ""
    ops, scattered = sum(stats.op_counter.values()), stats.non_contig_indexing_op_counter
    count = sum(scattered.values())
    most = stats.OVERHEAD_RATIO_THRESHOLD
    if count >= MOST_OPS or (ops and count / ops >= most):
        kinds = ", ".join(f"{number} {kind}" for kind, number in sorted(scattered.items()))
        return (
            f"{count} of {ops} operations ({kinds}) access elements that are not adjacent in "
            f"the loop; torch vectorises below {most:.0%} and {MOST_OPS} of them"
        )
    if not nest.reductions:
        return (
            f"the loop is too short for its {ops} operations: it must reach a quarter of a vector,"
            " or do 10 operations"
        )
    return ""


if TYPE_CHECKING:
    from inductorscope.capturing.record.install import Recording
