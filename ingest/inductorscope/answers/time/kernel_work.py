"""The work of a kernel's calls, compared with the machine's limits."""

from collections import defaultdict
from collections.abc import Mapping

import msgspec

from inductorscope.analyze.bytes.graph import CallWork
from inductorscope.analyze.bytes.moved import How, least_sure
from inductorscope.analyze.roofline.roofline import Peaks, Standing, standing
from inductorscope.answers.parts import KernelName
from inductorscope.fields import Hidden, Prose, view
from inductorscope.store.tables.models import Kernel

ALIGNED = 8
"""Numbers of 16 bits in the 16 bytes to which fast products need rows aligned."""


class KernelWork(KernelName, frozen=True):
    """Calls of a kernel with the same shapes in one step, from that of its handle on, and how close
    they come to the limits."""

    shapes: str
    """Shapes of the operands, if other calls of the kernel have different ones."""
    calls: int
    time_us: float | None
    each_us: float | None
    bytes: float | None
    """Bytes moved in one step."""
    how: How
    hint: bool
    inductor_bytes: float | None
    products: float | None
    operations: float | None
    dtype: str
    standing: Standing
    blocks: Prose = ""
    """`6 blocks on 132 multiprocessors`; empty if its launch is not known."""
    launch: Hidden[str] = ""
    """The size of its launches, in words."""
    unaligned: Hidden[int] = 0
    """Length of rows of its products, in 16-bit numbers, that does not divide into 16 bytes; 0 if
    all do."""


class _Sum(msgspec.Struct):
    bytes: float | None = 0.0
    how: set[How] = msgspec.field(default_factory=set)
    hint: bool = False
    inductor: float | None = None
    products: float | None = None
    operations: float | None = None
    dtype: str = ""
    unaligned: int = 0


class CallsOfKernel(msgspec.Struct, frozen=True):
    """All calls of a kernel, and the machine that they ran on."""

    graph: str
    kernel: Kernel
    works: list[CallWork]
    peaks: Peaks | None
    step_us: float | None

    def together(self, handle: int | None) -> KernelWork:
        """Returns the work of all calls. `handle`: of the dearest."""
        kernel = self.kernel
        return self._work(self.works, "", handle, kernel.call_count, kernel.time_us)

    def by_shape(self, times: Mapping[int, float]) -> list[KernelWork]:
        """Returns the work of the calls by the shapes of their operands; empty if all have the
        same, or if some call was not measured. `times`: microseconds of the measured calls, by
        handle."""
        if len(self.works) < 2 or not all(work.handle in times for work in self.works):
            return []
        by_shape: dict[str, list[CallWork]] = defaultdict(list)
        for work in self.works:
            by_shape[_shapes(work)].append(work)
        if len(by_shape) < 2:
            return []
        return [
            self._work(
                alike, shapes, max(alike, key=lambda work: times[work.handle]).handle, len(alike),
                sum(times[work.handle] for work in alike),
            )
            for shapes, alike in by_shape.items()
        ]  # fmt: skip

    def like(self, handle: int, times: Mapping[int, float]) -> KernelWork:
        """Returns the work of the calls that have the same shapes as this one, or of all calls if
        shapes are not distinguished."""
        own = next((_shapes(work) for work in self.works if work.handle == handle), None)
        alike = next((row for row in self.by_shape(times) if row.shapes == own), None)
        return alike or self.together(handle)

    def _work(
        self, works: list[CallWork], shapes: str, handle: int | None, calls: int,
        time_us: float | None,
    ) -> KernelWork:  # fmt: skip
        kernel, total = self.kernel, _summed(works)
        # The profile may have seen the code run more than once per step.
        seen = kernel.time_calls
        times = seen / len(self.works) if seen and self.works else 1.0

        def scaled(value: float | None) -> float | None:
            return None if value is None else value * times

        moved = scaled(total.bytes) if works else None
        products, operations = scaled(total.products), scaled(total.operations)
        return view(
            KernelWork,
            total,
            kernel,
            graph=self.graph,
            handle=handle,
            shapes=shapes,
            calls=calls,
            time_us=time_us,
            each_us=None if time_us is None or not calls * times else time_us / (calls * times),
            bytes=moved,
            how=least_sure(total.how),
            inductor_bytes=scaled(total.inductor),
            products=products,
            operations=operations,
            standing=standing(
                self.peaks,
                moved=moved,
                products=products,
                operations=operations,
                dtype=total.dtype,
                time_us=time_us,
                step_us=self.step_us,
                calls=calls * times,
            ),
        )


def _shapes(work: CallWork) -> str:
    """Returns `bf16[32,64,56,56] bf16[64,64,1,1]`."""
    layouts = [access.layout for access in work.bytes.traffic]
    return " ".join(f"{_short(layout.dtype)}[{','.join(layout.shape)}]" for layout in layouts)


def _short(dtype: str) -> str:
    """`bfloat16` → `bf16`."""
    return dtype.replace("float", "f").replace("uint", "u").replace("int", "i")


def _summed(works: list[CallWork]) -> _Sum:
    total = _Sum()
    for work in works:
        moved = work.bytes.total
        total.bytes = None if moved is None or total.bytes is None else total.bytes + moved
        total.how.add(work.bytes.how)
        total.hint = total.hint or work.bytes.hint
        total.inductor = _plus(total.inductor, work.inductor_bytes)
        total.products = _plus(total.products, work.products)
        total.operations = _plus(total.operations, work.operations)
        total.dtype = total.dtype or work.dtype
        if work.products and work.dtype in ("float16", "bfloat16"):
            total.unaligned = total.unaligned or _unaligned(work)
    return total


def _unaligned(work: CallWork) -> int:
    strides = [stride for access in work.bytes.traffic for stride in access.layout.stride]
    lengths = (int(stride) for stride in strides if stride.isdigit() and int(stride) > 1)
    return next((length for length in lengths if length % ALIGNED), 0)


def _plus(sum_so_far: float | None, more: float | None) -> float | None:
    return sum_so_far if more is None else (sum_so_far or 0.0) + more
