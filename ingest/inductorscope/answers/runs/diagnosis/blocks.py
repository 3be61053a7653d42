"""Causes in what is compiled one by one: equal blocks, and functions that follow each other."""

from collections import Counter, defaultdict
from collections.abc import Sequence

from inductorscope import urls
from inductorscope.analyze.compile.model import Compile
from inductorscope.analyze.compile.recompiles import histories
from inductorscope.answers.runs.diagnosis.cause import Cause
from inductorscope.answers.runs.diagnosis.evidence import Evidence
from inductorscope.answers.runs.instances import instances
from inductorscope.formats.graph.fx_nodes import FxNode
from inductorscope.formats.vocabulary import CPP, FUSED, TRITON
from inductorscope.units import microseconds, percent, plural, seconds

FEWEST = 3
"""The fewest equal blocks: two may be equal by chance."""
FEWEST_INSIDE = 6
"""The fewest equal blocks inside of one graph."""
ALIKE = 0.7
"""Share of a graph's operations that equal blocks must have."""
LEAST_S = 5.0
"""Seconds of compiling that must be saved."""
FEWEST_FUNCTIONS = 4
"""The fewest functions that are compiled one by one: a model, its loss and one more are usual."""
MOSTLY = 0.5
"""Share of a step that their fused kernels must take, of which at most this share is saved."""


def equal_blocks(evidence: Evidence) -> Cause | None:
    """The same code is generated again for each of several equal blocks."""
    story = evidence.story.story
    if story is None:
        return None
    compiles = {compile_.id: compile_ for compile_ in story.compiles if compile_.id is not None}
    best: list[Compile] = []
    for group in instances(evidence.session, evidence.id, evidence.graphs):
        ids = dict.fromkeys((row.compile_id or "").strip("[]") for row in group)
        own = [compiles[name] for name in ids if name in compiles]
        anew = [compile_ for compile_ in own if compile_.misses or not compile_.hits]
        if len(anew) >= FEWEST and _seconds(anew) > _seconds(best):
            best = anew
    again = all(compile_.recompile for compile_ in best[1:])
    if not best or (again and any(history.reached_limit for history in histories(story))):
        return None  # a value that changes in each step, of which the cause on recompiles tells
    whole = max((log.seconds or 0.0 for log in story.logs), default=0.0)
    # The first one has to be compiled in any case, and may have paid for what all need.
    saved = _seconds(best) - max(_seconds([compile_]) for compile_ in best)
    first = best[0]
    took = f"The compiles take {seconds(_seconds(best))}"
    took += f", {percent(_seconds(best) / whole)} of the compile time" if whole else ""
    same = " What the guards tell apart makes no difference to the code."
    return Cause(
        "equal blocks",
        f"`{first.function}` is compiled {plural(len(best), 'time')} to the same code.",
        "Compile it once: decorate it with `torch.compiler.nested_compile_region` and compile the "
        "model that calls it, so that all its calls share one compile.",
        urls.compile_story(evidence.id),
        why=f"{took}: all but the slowest would be saved." + (same if again else ""),
        wins_us=1e6 * saved,
        share=saved / whole if whole else None,
        of="compile time",
        known="estimated",
        lines=evidence.line(first.file, first.first_line),
    )


def equal_inside(evidence: Evidence) -> Cause | None:
    """A graph consists of equal blocks, all of which are traced and lowered."""
    story = evidence.story.story
    compiles = {} if story is None else {compile_.id: compile_ for compile_ in story.compiles}
    best, shown = LEAST_S, None
    for row in evidence.graphs:
        compile_ = compiles.get((row.compile_id or "").strip("[]"))
        us = {} if compile_ is None else compile_.phases
        work_s = sum(us[kind] for kind in us if kind not in (CPP, TRITON)) / 1e6
        if compile_ is None or work_s < best or compile_.outcome == "unfinished":
            continue
        nodes = evidence.nodes()[row.slug]
        times, inside = repeated(nodes)
        share = len(inside) / max(sum(bool(node.stack_file) for node in nodes), 1)
        if times and (saved := work_s * share * (1 - 1 / times)) > best:
            best, shown = saved, (compile_, times, share, work_s, inside)
    if story is None or shown is None:
        return None
    compile_, times, share, work_s, inside = shown
    whole = max((log.seconds or 0.0 for log in story.logs), default=0.0)
    return Cause(
        "equal inside",
        f"{times} equal blocks are compiled as one graph of `{compile_.function}`.",
        "If starting takes too long, decorate the `forward` of a block with "
        "`torch.compiler.nested_compile_region`: blocks that differ in weights alone then share "
        "one compile.",
        urls.compile_story(evidence.id),
        why=f"{percent(share)} of its operations are in them. Everything but compiling kernels "
        f"takes {seconds(work_s)}" + (f" of {seconds(whole)} of compile time." if whole else "."),
        wins_us=1e6 * best,
        share=best / whole if whole else None,
        of="compile time",
        known="at most",
        trade="Kernels no longer fuse across blocks: time a step before and after.",
        lines=evidence.lines_of(inside),
    )


def repeated(nodes: Sequence[FxNode]) -> tuple[int, list[FxNode]]:
    """Returns of how many equal blocks a graph consists, as far as its lines and operators tell,
    and their nodes, first those that each block has once; none if it does not."""

    def key(node: FxNode) -> tuple[str | None, int | None, str]:
        return node.stack_file, node.stack_line, node.target

    counts = Counter(key(node) for node in nodes if node.stack_file)
    likely = {count // part for count in set(counts.values()) for part in (1, 2, 3)}
    for times in sorted((times for times in likely if times >= FEWEST_INSIDE), reverse=True):
        # One line may run twice in each block, and once after them, as a norm does.
        alike = {place for place, count in counts.items() if times <= count and count % times < 2}
        inside = [node for node in nodes if key(node) in alike]
        if len(inside) >= ALIKE * counts.total():
            return times, sorted(inside, key=lambda node: counts[key(node)])
    return 0, []


def _seconds(compiles: list[Compile]) -> float:
    return sum(compile_.took_s for compile_ in compiles)


def one_by_one(evidence: Evidence) -> Cause | None:
    """One line calls several compiled functions, between which nothing fuses."""
    story, step = evidence.story.story, evidence.step_us
    if story is None or not step or any(compile_.breaks for compile_ in story.compiles):
        return None
    callers: dict[tuple[str, int], dict[tuple[str, int], Compile]] = defaultdict(dict)
    for compile_ in story.compiles:
        if len(compile_.stack) > 1 and compile_.file and compile_.first_line:
            frame = story.frames[compile_.stack[-2]]
            callers[frame.file, frame.line][compile_.file, compile_.first_line] = compile_
    place, called = max(callers.items(), key=lambda item: len(item[1]), default=(("", 0), {}))
    ids = {compile_.id for compile_ in called.values()}
    graphs = {row.slug for row in evidence.graphs if (row.compile_id or "").strip("[]") in ids}
    fused = (ran for ran in evidence.kernels if ran.category in FUSED and ran.graph in graphs)
    us = sum(kernel.us for kernel in fused)
    if len(called) < FEWEST_FUNCTIONS or us < MOSTLY * step:
        return None
    names = ", ".join(f"`{compile_.function}`" for compile_ in [*called.values()][:FEWEST])
    return Cause(
        "one by one",
        f"{plural(len(called), 'function')} are compiled one by one, and one line calls all: their "
        f"fused kernels take {microseconds(us)} of {evidence.step}.",
        "Compile what calls them instead, as a whole: then one kernel can do what several do now.",
        urls.compile_story(evidence.id),
        why=f"Each writes to memory what the next one reads: {names}, …",
        concerns=MOSTLY * us / step,
        lines=evidence.line(*place),
    )


CHECKS = (equal_blocks, equal_inside, one_by_one)
