"""The table of kernel benchmarks."""

from datetime import datetime

from sqlalchemy import Index, String
from sqlalchemy.orm import Mapped, mapped_column

from inductorscope.store.database.storable import JsonObject
from inductorscope.store.tables.models import Numbered, part_of


class KernelBenchmark(Numbered):
    """A benchmark of one call of a kernel on this installation's machine, or its compile without
    an operation."""

    __tablename__ = "kernel_benchmarks"
    __table_args__ = (Index("ix_kernel_benchmarks_graph_id_kernel", "graph_id", "kernel"),)

    graph_id: Mapped[int] = part_of("graphs")
    kernel: Mapped[str]
    handle: Mapped[int]
    job_id: Mapped[str] = mapped_column(String(40))
    created_at: Mapped[datetime]
    result: Mapped[JsonObject]
    """Output of the test case: times, checks, registers (see `capture.benchmark.runner`); or what
    leaving out an operation changes (see `answers.machine.left_out`)."""
