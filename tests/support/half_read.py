"""A run in the middle of its reading, for tests that look at it."""

import hashlib
from datetime import UTC, datetime

from inductorscope.store.contents.content import content_of_bytes
from inductorscope.store.database.engine import Sessions
from inductorscope.store.runs.draft import (
    ArtifactDraft,
    GraphDraft,
    KernelDraft,
    LogEntryDraft,
    RunDraft,
    artifact_of,
)
from inductorscope.store.runs.writer import RunWriter, process_reader

LOG = "trace.log"
CODE = b"import torch\ndef call(args):\n    return (args[0] * 3, )\n"


class HalfRead:
    """Writes a run step by step, as a reader does."""

    def __init__(self, sessions: Sessions, name: str) -> None:
        self.draft = RunDraft(
            content_digest=hashlib.sha256(name.encode()).hexdigest(),
            name=name,
            tags=[],
            origin="upload",
            created_at=datetime.now(UTC),
            bytes_in=4096,
        )
        self.id = self.draft.id
        self.writer = RunWriter(sessions, self.draft, process_reader(), lambda session: None)
        assert self.writer.begin(lambda: None, lambda session, run: None)

    def read_log(self) -> None:
        """The records of a log; its end is still to come."""
        entry = LogEntryDraft(
            log=LOG, line=1, lines=4, kind="inductor_output_code", name=None, compile_id="0/0",
            attempt=0, rank=None, pid=1,
        )  # fmt: skip
        code = self._code(f"{LOG}/0_0_0/inductor_output_code_0.py")
        self.writer.add_records([(entry, code)], f"Reading {LOG}")

    def lay_out(self) -> None:
        """Two graphs with their texts, neither linked."""
        self.draft.graphs = [
            GraphDraft(slug, slug, slug, compile_id="0/0") for slug in ("forward", "backward")
        ]
        texts = [self._code(f"{graph.slug}/output_code.py", graph) for graph in self.draft.graphs]
        self.writer.add_graphs(self.draft.graphs, texts)

    def link_one(self) -> None:
        """The first graph's kernels."""
        graph = self.draft.graphs[0]
        graph.kernels = [
            KernelDraft("triton_poi_fused_mul_0", "triton", "triton_pointwise", 2, 3, {})
        ]
        self.writer.fill_graphs([graph], 1, "1 of 2 graphs are linked")

    def finish(self) -> None:
        self.writer.finish([], lambda session, run: None)

    @staticmethod
    def _code(path: str, graph: GraphDraft | None = None) -> ArtifactDraft:
        return artifact_of("code", path, content_of_bytes(CODE), 3, graph=graph)
