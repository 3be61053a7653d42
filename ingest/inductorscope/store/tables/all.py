"""Imports all tables of a database, which registers them."""

from __future__ import annotations

from inductorscope.store.tables.compile import CompileStory
from inductorscope.store.tables.diagnoses import Diagnosis
from inductorscope.store.tables.logins import Login
from inductorscope.store.tables.memory import KernelBenchmark
from inductorscope.store.tables.models import Base
from inductorscope.store.tables.people import (
    AuditEntry,
    Member,
    Person,
    Place,
    Project,
    Share,
    Token,
)
from inductorscope.store.tables.rules import Rule
from inductorscope.store.tables.secrets import FoundSecret
from inductorscope.store.tables.times import (
    LineCost,
    NodeCost,
    Timeline,
    TimelineChunk,
    TraceChunk,
    TraceKernel,
)

BESIDE_MODELS = (
    AuditEntry, CompileStory, Diagnosis, FoundSecret, KernelBenchmark, LineCost, Login, Member,
    NodeCost, Person, Place, Project, Rule, Share, Timeline, TimelineChunk, Token, TraceChunk,
    TraceKernel,
)  # fmt: skip
"""Tables of modules other than `models`."""

TABLES = Base.metadata
