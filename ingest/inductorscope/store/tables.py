"""All tables of a database: importing this makes each of them known."""

from __future__ import annotations

from .models import Base
from .models_compile import CompileStory
from .models_diagnoses import Diagnosis
from .models_memory import KernelBenchmark
from .models_times import LineCost, NodeCost, TraceChunk, TraceKernel

BESIDE_MODELS = (
    CompileStory, Diagnosis, KernelBenchmark, LineCost, NodeCost, TraceChunk, TraceKernel,
)  # fmt: skip
"""Tables from modules other than `models`."""

TABLES = Base.metadata
