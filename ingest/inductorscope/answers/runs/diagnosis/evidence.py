"""The evidence for the checks: everything that the other pages of a run know."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import replace
from sqlalchemy import case, func, select
from sqlalchemy.orm import Session

from inductorscope import urls
from inductorscope.analyze.compile.model import Frame
from inductorscope.analyze.failures.fold import is_library
from inductorscope.analyze.time.costs import LineCostRow
from inductorscope.analyze.time.eager_compiled import code_group
from inductorscope.analyze.time.extern_nodes import operation
from inductorscope.analyze.time.facts import RegionTime, Timeline
from inductorscope.analyze.verdicts import slowdown_warning
from inductorscope.answers.compile.parts import RunStory, read_run_story
from inductorscope.answers.compile.story import STORY
from inductorscope.answers.failures.failures import FailuresPage, failures_page
from inductorscope.answers.machine.text import kernel_of
from inductorscope.answers.missing import NotAnalysed, NotHere, begin
from inductorscope.answers.parts import DEAREST_CALL, GraphRow, kernel_time
from inductorscope.answers.runs.diagnosis.cause import STANDS_OUT, Cause, CauseLine
from inductorscope.answers.time.lines import line_costs
from inductorscope.answers.time.profiles import ProfileShown, profile_tables, shown_profile
from inductorscope.answers.time.roofline import RooflinePage, roofline_page
from inductorscope.answers.time.script import ScriptShown, script_of, script_shown
from inductorscope.formats.capture_facts import ScriptSteps
from inductorscope.formats.graph.fx_nodes import FxNode
from inductorscope.formats.vocabulary import FUSED, SOURCE
from inductorscope.store.contents.texts import text_of
from inductorscope.store.runs.nodes import fx_nodes
from inductorscope.store.tables.models import Artifact, Graph, Kernel, KernelCall, Profile, Run
from inductorscope.store.tables.times import CallTime
from inductorscope.units import microseconds, milliseconds

OWN = 0.2
"""A line of the user's own files is preferred to a line of a library, unless that takes this many
times as long."""
SHOWN_LINES = 2
SHORTER = 0.9
"""A profiled step that takes a smaller part of a timed one is another step."""
SAMPLED_LINES = 3
SAMPLED = 0.05
"""Smallest share of a step of a sampled line."""
FORWARD, BACKWARD = 0.01, ".backward("
"""Smallest share of a line, if the others only run lines backward."""
ROUNDING = 1.01

Place = tuple[str | None, int | None]
"""Path and number of a line."""


class TimedKernel(msgspec.Struct, frozen=True):
    """A kernel of the code with its time per step."""

    id: int
    name: str
    group: str
    """The group by which eager and compiled are compared."""
    category: str
    graph: str
    handle: int | None
    calls: float
    us: float
    """What is typical: the medians of its calls, if the profile's mean is more."""
    mean_us: float
    """As the profile has it."""

    def href(self, run: str) -> str:
        return urls.kernel(run, self.graph, self.name, self.handle)


class Spent(NamedTuple):
    """Nodes of a graph, each with a figure, and the time of their lines."""

    evidence: "Evidence"
    slug: str
    nodes: list[FxNode]
    figures: list[float]
    us: float
    places: list[Place]

    def cause(
        self, kind: str, what: str, fix: str, *, trade: str = "", share: float = 1.0
    ) -> Cause:
        """Returns a cause at these nodes, of which it wins this share at most. `what` ends before
        the time."""
        return Cause(
            kind,
            f"{what} {microseconds(self.us)} of {self.evidence.step}.",
            fix,
            urls.graph(self.evidence.id, self.slug),
            wins_us=self.us * share,
            trade=trade,
            lines=self.evidence.lines_of(self.nodes),
            kernels=self.evidence.kernels_of(self.places),
        )


class Evidence(msgspec.Struct):
    """A run as the checks see it."""

    session: Session
    run: Run
    story: RunStory
    shown: ProfileShown | None
    script: ScriptShown | None
    step_us: float | None
    step: str
    """`step_us` as text: `each step of 4.20 ms`."""
    graphs: list[GraphRow]
    kernels: list[TimedKernel]
    """The slowest first."""
    costs: list[LineCostRow]
    roofline: RooflinePage | None
    """None if every kernel is too short to matter."""
    failures: FailuresPage | None
    kernel_us: float | None = None
    """Time of all kernels of a profiled step."""
    traces: int = 0
    """Traces of the run whose events were read."""
    read: dict[str, list[FxNode]] = {}
    """See `nodes`."""

    def nodes(self) -> dict[str, list[FxNode]]:
        """Returns the nodes of each graph after Inductor's passes, by its slug."""
        if not self.read:
            query = select(Graph.slug, Graph.id).where(Graph.run_id == self.id)
            query = query.where(Graph.slug.in_([row.slug for row in self.graphs]))
            rows = self.session.execute(query.order_by(Graph.position))
            self.read = {slug: fx_nodes(self.session, graph) for slug, graph in rows}
        return self.read

    def texts(self, role: str) -> Iterator[tuple[str, str]]:
        """Yields the slug and the text of each graph that has one."""
        query = select(Graph.slug, Artifact.digest).join(Artifact, Artifact.graph_id == Graph.id)
        query = query.where(Graph.run_id == self.id, Artifact.role == role)
        for slug, digest in self.session.execute(query).all():
            yield slug, text_of(self.session, digest)

    @property
    def id(self) -> str:
        return self.run.id

    @property
    def disturbed(self) -> list[str]:
        """What slowed the run down while it was measured, as sentences."""
        slow = slowdown_warning(self.kernel_us, self.run.compiled_ms)
        return [*([slow] if slow else []), *(self.run.environment.get("disturbed") or [])]

    @property
    def steps(self) -> ScriptSteps:
        """What the first process of a captured script recorded; empty for other runs."""
        script = script_of(self.run)
        return ScriptSteps() if script is None else script.processes[0]

    @property
    def timeline(self) -> Timeline | None:
        """The timeline of the trace that is shown."""
        return None if self.shown is None else self.shown.timeline

    @property
    def on_device(self) -> bool:
        breakdown = None if self.shown is None else self.shown.breakdown
        return self.run.device_kind != "cpu" if breakdown is None else breakdown.on_device

    @property
    def regions(self) -> list[RegionTime]:
        """The compiled graphs of that trace."""
        return [] if self.shown is None else self.shown.regions

    @property
    def rank(self) -> int | None:
        """The rank whose trace is shown."""
        if self.shown is None:
            return None
        profile = self.session.get_one(Profile, self.shown.id)
        return None if profile.facts.collectives is None else profile.facts.collectives.rank

    def kernels_of(self, places: Collection[Place]) -> dict[int, float]:
        """Returns the kernels that compute these lines, with the lines' share of their time."""
        return {
            int(kernel): us
            for row in self.costs
            if (row.path, row.line) in places
            for kernel, us in row.parts
        }

    def spent(self, nodes: Iterable[FxNode]) -> tuple[float, list[Place]]:
        """Returns the time of the lines of these nodes, and the lines, the dearest first."""
        places = {(node.stack_file, node.stack_line) for node in nodes}
        rows = [row for row in self.costs if (row.path, row.line) in places]
        return sum(row.shared_us for row in rows), [(row.path, row.line) for row in rows]

    def slowest(
        self, find: Callable[[list[FxNode]], list[tuple[FxNode, float]]], least: float = STANDS_OUT
    ) -> Spent | None:
        """Returns what `find` returns of the nodes of a graph, of the graph in which it takes
        longest; None if that is less than a share of a step."""
        spent = []
        for slug, all_nodes in self.nodes().items():
            nodes, figures = [], []
            for node, figure in find(all_nodes):
                nodes.append(node)
                figures.append(figure)
            spent.append(Spent(self, slug, nodes, figures, *self.spent(nodes)))
        best = max(spent, key=lambda own: own.us, default=None)
        return best if best and self.step_us and best.us >= least * self.step_us else None

    def lines(self, kernels: Collection[int], of: float | None = None) -> list[CauseLine]:
        """Returns the lines that these kernels compute, the longest first, in the user's own files
        unless a library's line takes much longer. Lines of a library are followed by the line of
        the user's program that leads to them. If they take longer than `of`, because the cause
        concerns only a part of the kernels' calls, they are named without times."""
        spent = [
            (sum(us for kernel, us in row.parts if kernel in kernels), row)
            for row in self.costs
            if row.path and row.line
        ]
        spent.sort(key=lambda place: -place[0])
        own = [place for place in spent if not is_library(place[1].path or "")]
        if own and own[0][0] > OWN * spent[0][0]:
            spent = own
        slugs = {kernel.id: kernel.graph for kernel in self.kernels}
        lines: list[CauseLine] = []
        graphs: list[str] = []
        for us, row in spent[:SHOWN_LINES]:
            if us and row.path and row.line:
                graphs.append(slugs[next(int(part) for part, _ in row.parts if part in kernels)])
                href = urls.line_in_explorer(self.id, graphs[-1], SOURCE, row.line, path=row.path)
                lines += [replace(line, us=us, href=href) for line in self.line(row.path, row.line)]
        lines = lines if of is None else _within(lines, of)
        return lines if spent is own or not graphs else [*lines, *self.caller(graphs[0])]

    def caller(self, slug: str) -> list[CauseLine]:
        """Returns the line of the user's program that calls what a graph was compiled of."""
        compiled = next(graph.compile_id or "" for graph in self.graphs if graph.slug == slug)
        story = self.story.story
        for compile_ in () if story is None else story.compiles:
            if story is not None and compile_.id == compiled.partition("_")[0]:
                stack = [story.frames[number] for number in compile_.stack]
                return self.own_line(stack[:-1]) or self.own_line(stack)
        return []

    def computing(
        self, what: re.Pattern[str], operators: Collection[str]
    ) -> list[tuple[TimedKernel, list[FxNode]]]:
        """Returns generated kernels that take 1 % of a step and whose text has `what`, each with
        the FX nodes of `operators` that are linked to it there."""
        graphs = {
            graph.slug: graph
            for graph in self.session.scalars(select(Graph).where(Graph.run_id == self.id))
        }
        found = []
        for kernel in self.kernels:
            if kernel.category not in FUSED or kernel.us < STANDS_OUT * (self.step_us or 0.0):
                continue
            try:
                code = kernel_of(self.session, graphs[kernel.graph], kernel.name)
            except NotHere:
                continue
            at = [line for line, text in enumerate(code.text, code.first) if what.search(text)]
            names = {name for line in at for name in code.nodes.get(line, ())}
            nodes = [node for node in self.nodes()[kernel.graph] if node.name in names]
            nodes = [node for node in nodes if operation(node.target) in operators]
            found += [(kernel, nodes)] if nodes else []
        return found

    def lines_of(self, nodes: Iterable[FxNode]) -> list[CauseLine]:
        places = dict.fromkeys((node.stack_file, node.stack_line) for node in nodes)
        return [line for place in places for line in self.line(*place)][:SAMPLED_LINES]

    def own_line(self, stack: Sequence[Frame]) -> list[CauseLine]:
        """Returns the innermost line of a stack in the user's own files."""
        own = [frame for frame in stack if not is_library(frame.file)]
        return self.line(own[-1].file, own[-1].line, own[-1].code) if own else []

    def sampled(self, of: float, again: str = "") -> list[CauseLine]:
        """Returns the lines in which a captured script's steps are longest, outside of compiled
        code, or those that do something `again`. If they take longer than `of`, which concerns only
        a part of them, they are named without times."""
        longest = [] if self.script is None else self.script.lines
        longest = [line for line in longest if not again or line.again == again][:SAMPLED_LINES]
        step = self.step_us or 0.0
        lines = [
            (line.share, replace(shown, us=line.share * step))
            for line in longest
            for shown in self.line(line.path, line.line)
        ]
        most = [line for share, line in lines if share >= SAMPLED]
        if most and all(BACKWARD in line.code for line in most):
            most = [line for share, line in lines if share >= FORWARD]  # what it runs backward
        return _within(most, of)

    def lines_with(self, pattern: re.Pattern[str]) -> Iterator[tuple[Place, re.Match[str]]]:
        """Yields the lines of the user's own files that have a pattern."""
        for path in self.story.sources:
            text = "" if is_library(path) else self.story.source_text(path)
            for number, line in enumerate(text.splitlines(), 1):
                if found := pattern.search(line):
                    yield (path, number), found

    def line(self, path: str | None, line: int | None, code: str | None = None) -> list[CauseLine]:
        """Returns a line that a log names; empty if it names none."""
        if not path or not line:
            return []
        source = self.story.sources.get(path)
        around = self.story.code_around(path, line, code)
        text = next((near.text.strip() for near in around if near.marked), code or "")
        href = "" if source is None else urls.file(self.id, source[0], line=line)
        return [CauseLine(path, line, text, None, href)]


def _within(lines: list[CauseLine], of: float) -> list[CauseLine]:
    """Returns the lines, without times if they take longer than `of`."""
    longer = sum(line.us or 0.0 for line in lines) > of * ROUNDING
    return [replace(line, us=None) for line in lines] if longer else lines


def gather(session: Session, run: Run, graphs: list[GraphRow]) -> Evidence:
    """Gathers all facts about a complete run."""
    try:
        begin(STORY)
        story = read_run_story(session, run.id)
    except NotAnalysed:
        story = RunStory(session, run, None)
    profiles = profile_tables(session, run)
    shown = shown_profile(run.id, profiles)
    kernels = _kernels(session, run.id, 1 if shown is None else shown.by)
    step_us, step = _step(session, run, shown)
    failed = run.failure or any(
        not failure.restarted for failure in (story.story.failures if story.story else ())
    )
    return Evidence(
        session, run, story, shown, script_shown(run), step_us=step_us, step=step, graphs=graphs,
        kernels=kernels, costs=line_costs(session, run.id) if kernels else [],
        roofline=(
            roofline_page(session, run.id, most_text=0)
            if kernels and kernels[0].us >= STANDS_OUT * (step_us or 0.0)
            else None
        ),
        failures=failures_page(session, run.id) if failed else None,
        kernel_us=kernel_time(session, run.id),
        traces=sum(profile.facts.breakdown is not None for profile in profiles),
    )  # fmt: skip


def _step(session: Session, run: Run, shown: ProfileShown | None) -> tuple[float | None, str]:
    line = None if shown is None else shown.timeline
    busy = line.busy_us / shown.by if shown is not None and line else 0.0
    timed = (run.compiled_ms or 0.0) * 1000
    # Shares of a timed step would be wrong if the profile's steps are others.
    others = shown is not None and line and line.span_us / shown.by < SHORTER * timed
    # A profiled step whose work takes longer than a timed step is not typical: it contains a
    # compile, or waits for another rank's.
    if run.compiled_ms and busy <= timed and not others:
        return timed, f"each step of {milliseconds(run.compiled_ms)}"
    if shown is not None and line:
        span = line.span_us / shown.by
        what = "each profiled step of" if shown.steps else "the trace's"
        after = " after its start-up" if line.start_up_us else ""
        if run.compiled_ms:
            after = f" ({milliseconds(run.compiled_ms)} without the profiler)"
        return span, f"{what} {microseconds(span)}{after}"
    known = kernel_time(session, run.id)
    return known, f"{microseconds(known)} of kernel time"


def _kernels(session: Session, run: str, by: int) -> list[TimedKernel]:
    """Returns the kernels, the slowest first. `by`: steps of the profile."""
    query = (
        select(
            Kernel.id, Kernel.name, Kernel.category, Kernel.time_calls, Kernel.call_count,
            Kernel.time_us, Graph.slug, DEAREST_CALL,
        )
        .join(Graph, Graph.id == Kernel.graph_id)
        .where(Graph.run_id == run, Kernel.time_us.is_not(None))
        .order_by(Kernel.time_us.desc(), Kernel.id)
    )  # fmt: skip
    usual = _medians(session, run, by)
    kernels = [
        TimedKernel(
            id=id, name=name, group=code_group(name, category), category=category, graph=slug,
            handle=first, calls=timed or calls, us=min(us, usual.get(id, us)), mean_us=us,
        )
        for id, name, category, timed, calls, us, slug, first in session.execute(query)
    ]  # fmt: skip
    return sorted(kernels, key=lambda kernel: -kernel.us)


def _medians(session: Session, run: str, by: int) -> dict[int, float]:
    """Returns the time of a step of kernels, if each run of a call took its median."""
    query = (
        select(
            KernelCall.kernel_id,
            func.sum(case((CallTime.median_us.is_(None), CallTime.time_us),
                          else_=CallTime.median_us * CallTime.runs / by)),
        )
        .join(CallTime, CallTime.call_id == KernelCall.id)
        .join(Graph, Graph.id == KernelCall.graph_id)
        .where(Graph.run_id == run)
        .group_by(KernelCall.kernel_id)
    )  # fmt: skip
    return {kernel: us for kernel, us in session.execute(query) if us}
