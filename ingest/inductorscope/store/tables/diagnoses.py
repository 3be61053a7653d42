"""The tables of diagnoses and benchmarks: results of running captured code again."""

from datetime import datetime

from sqlalchemy import Index, String
from sqlalchemy.orm import Mapped, mapped_column

from inductorscope.store.database.storable import JsonObject
from inductorscope.store.tables.models import Numbered, part_of


class KernelBenchmark(Numbered):
    """A benchmark of one call of a kernel on this installation's machine, its compile without an
    operation, or the verdict on an edit of it, which no job made."""

    __tablename__ = "kernel_benchmarks"
    __table_args__ = (Index("ix_kernel_benchmarks_graph_id_kernel", "graph_id", "kernel"),)

    graph_id: Mapped[int] = part_of("graphs")
    kernel: Mapped[str]
    handle: Mapped[int]
    job_id: Mapped[str] = mapped_column(String(40))
    created_at: Mapped[datetime]
    result: Mapped[JsonObject]
    """Output of the test case: times, checks, registers (see `capture.benchmark.runner`); or what
    leaving out an operation changes (see `answers.machine.left_out`); or an edit and what the
    judge said of it."""


class Diagnosis(Numbered):
    """A diagnosis of a run: which component fails, which node, the smallest program that fails.

    It is written as it proceeds, so that pages show partial results and a stopped one keeps them.
    """

    __tablename__ = "diagnoses"
    __table_args__ = (Index("ix_diagnoses_run_id_kind", "run_id", "kind"),)

    run_id: Mapped[str] = part_of("runs")
    kind: Mapped[str]
    """`components`, `numbers` or `minify` (see `capturing.diagnosis`), or `measure`."""
    job_id: Mapped[str] = mapped_column(String(40), unique=True)
    created_at: Mapped[datetime]
    complete: Mapped[bool]
    """Whether it ran to its end; if not, its job says why."""
    summary: Mapped[JsonObject]
    """For lists: `verdict`, a sentence, and the facts behind it."""
    payload: Mapped[bytes]
    """The whole result: JSON, packed."""
