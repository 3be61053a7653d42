"""The facts about a graph's kernels, from its texts, for every page that shows some of them."""

import msgspec

from inductorscope.analyze.bytes.graph import CallWork, GraphTextsRead, work_of
from inductorscope.analyze.compile.torch_says import LoopNest
from inductorscope.analyze.fusing.chosen import Chosen, chosen_kernels
from inductorscope.analyze.fusing.rules import UnfusedPair, unfused_pairs
from inductorscope.analyze.fusing.vectors import nests_in_code

VERSION = 1
"""Version of these facts. Stored facts of another version are computed again."""


class GraphFacts(msgspec.Struct, frozen=True):
    """The work of a graph's calls, and what was not fused, not vectorised, or tuned."""

    works: list[CallWork]
    apart: list[UnfusedPair]
    nests: list[LoopNest]
    chosen: list[Chosen]
    ir: bool


def facts_of(read: GraphTextsRead, *, ir: bool) -> GraphFacts:
    works = work_of(read)
    return GraphFacts(
        works,
        unfused_pairs(read, works),
        nests_in_code(read.code, read.lines),
        chosen_kernels(read.code, read.lines, works),
        ir,
    )
