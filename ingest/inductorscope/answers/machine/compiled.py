"""The compiled configurations of kernels, and their texts."""

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.fields import view
from inductorscope.formats.machine.metadata import COMPILED, SOURCE_HASH
from inductorscope.formats.vocabulary import OF_KERNELS
from inductorscope.store.database.storable import JsonObject
from inductorscope.store.runs.nodes import all_kernel_facts, compiled_kernels
from inductorscope.store.tables.models import Artifact, Graph


class Configuration(msgspec.Struct, frozen=True):
    """One configuration of a kernel: Triton's compiled files, or a C++ kernel's library."""

    key: str
    """The name of its folder in Triton's cache."""
    ran: bool
    """Whether it is known to have run, because it is the only one or autotuning chose it."""
    arch: int
    """Compute capability: 90 is 9.0; 0 if unknown."""
    options: JsonObject
    files: dict[str, Artifact]
    """Stage → its file."""
    source: str
    """The stem of the file that its lines refer to; for Triton, the hash of the kernel's source."""


def configurations(session: Session, graph: Graph) -> dict[str, list[Configuration]]:
    """Returns kernel → its configurations, the one that ran first."""
    facts = {
        name: kernel
        for name, kernel in all_kernel_facts(session, graph.id).items()
        if COMPILED in kernel
    }
    if not facts:
        return {}
    files = select(Artifact).where(
        Artifact.run_id == graph.run_id, Artifact.role.in_(OF_KERNELS)
    )  # fmt: skip
    by_path = {file.path: file for file in session.scalars(files)}
    return {
        name: [
            view(
                Configuration,
                compiled,
                files={
                    role: by_path[path] for role, path in compiled.files.items() if path in by_path
                },
                source=kernel[SOURCE_HASH] if compiled.source is None else compiled.source,
            )
            for compiled in compiled_kernels(kernel)
        ]
        for name, kernel in facts.items()
    }
