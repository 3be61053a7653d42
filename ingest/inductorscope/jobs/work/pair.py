"""A pair of captured runs: programs to run again, and their kernels that do the same work."""

import contextlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.analyze.benchmark.case import KernelCase, NoCase
from inductorscope.analyze.measure.result import SAME_CODE
from inductorscope.answers.compare.compare import compare_page
from inductorscope.answers.compare.inputs import OF_EACH_RUN
from inductorscope.answers.compare.page import GroupRow, KernelCalls
from inductorscope.answers.explorer.benchmark import case_of
from inductorscope.answers.missing import NotHere
from inductorscope.capturing.benchmark.text import case_text
from inductorscope.capturing.launch import Swap
from inductorscope.capturing.measure.alone import Cases
from inductorscope.capturing.measure.processes import Arm, main_file
from inductorscope.capturing.spec import CaptureSpec
from inductorscope.formats.secrets import scrub_python
from inductorscope.formats.vocabulary import SOURCE
from inductorscope.jobs.work.diagnosis import captured_spec
from inductorscope.store.contents.texts import read_blob
from inductorscope.store.tables.models import Artifact, Run

SIMDLEN = "cpp.simdlen"


class NoSwap(ValueError):
    """The kernels do not fit; the message is a sentence that says why."""


def swaps_of(
    a: KernelCase, b: KernelCase, a_config: dict[str, str], b_config: dict[str, str]
) -> tuple[Swap, Swap]:
    """Returns what makes A run B's kernel, and B run A's. Raises NoSwap."""
    _check(a, b)
    in_a, in_b = _renamed(b, a.kernel), _renamed(a, b.kernel)
    of_a, of_b = a_config.get(SIMDLEN), b_config.get(SIMDLEN)
    if of_a != of_b and a.kind == "cpp":
        in_a, in_b = _with_vectors(in_a, of_b), _with_vectors(in_b, of_a)
    return Swap(_text(a), in_a), Swap(_text(b), in_b)


def _check(a: KernelCase, b: KernelCase) -> None:
    if not a.definition or not b.definition:
        raise NoSwap("A library computes it.")
    if (a.kind == "cpp") != (b.kind == "cpp"):
        raise NoSwap("One kernel is C++, the other is not.")
    if _roles(a) != _roles(b):
        raise NoSwap("The wrappers pass other buffers to the two kernels.")
    for operand, other in zip(a.operands, b.operands, strict=True):
        if operand.layout != other.layout:
            both = f"`{operand.name}` of one kernel and `{other.name}` of the other"
            raise NoSwap(f"{both} differ in shape, strides or type.")
    if _call(a) != _call(b):
        raise NoSwap("The wrappers call the two kernels with other numbers.")


def _roles(case: KernelCase) -> list[list[str]]:
    return [[name.rstrip("0123456789") for name in operand.pointers] for operand in case.operands]


def _call(case: KernelCase) -> str:
    """The call without names."""
    places = {operand.name: f"#{number}" for number, operand in enumerate(case.operands)}
    places[case.kernel] = "kernel"
    return re.sub(r"[A-Za-z_]\w*", lambda word: places.get(word[0], word[0]), case.call)


def _text(case: KernelCase) -> str:
    return "\n".join(case.definition)


def _renamed(case: KernelCase, name: str) -> str:
    return _text(case).replace(case.kernel, name)


def _with_vectors(definition: str, simdlen: str | None) -> str:
    """Compiles generated code with the vector instructions that it expects."""
    bits = int(simdlen) if simdlen and simdlen.isdecimal() else None
    return f"with torch._inductor.config.patch({{{SIMDLEN!r}: {bits}}}):\n    {definition}"


MOST_GROUPS = 40
MOST_CASES = 8
"""Most kernels on one side of a group that are run by themselves."""
SEVERAL = "Swapping needs one kernel in each program."
# extern_kernels.mm, torch.ops.aten.mm.default
_EXTERN = re.compile(r"^(?:extern_kernels|torch\.ops\.(\w+))\.(\w+)")


@dataclass
class Group:
    """Kernels of both runs that do the same work. Kernels with the same name are in one group,
    since the profiler distinguishes kernels by name."""

    rows: list[GroupRow]
    a: set[str]
    b: set[str]
    """Names that the profiler uses."""
    cases: Cases | None = None
    why_not_alone: str = ""
    swaps: tuple[Swap, Swap] | None = None
    """Makes A run B's kernel, and B run A's."""
    why_not_swapped: str = ""


@dataclass
class Pair:
    """Two runs, ready to be measured."""

    a: Arm
    b: Arm
    groups: dict[str, Group] = field(default_factory=dict)
    """By the profiler's name of a kernel."""
    notes: list[str] = field(default_factory=list)


def load_pair(session: Session, run: str, other: str) -> Pair:
    """Loads a pair. Raises Refused, WorkRefused or SpecError with a sentence if a run may not be
    run again."""
    specs = captured_spec(session, run), captured_spec(session, other)
    rows = session.get_one(Run, run), session.get_one(Run, other)
    notes: list[str] = []
    if rows[0].torch_version != rows[1].torch_version:
        notes.append(
            "The runs were captured with torch "
            f"{' and '.join(sorted(str(row.torch_version) for row in rows))}; both run with the "
            "one installed here. `inductorscope measure RUN --python …` compares several."
        )
    a, b = (dict(row.environment.get("env") or {}) for row in rows)
    differing = {name for name in {*a, *b} - OF_EACH_RUN if a.get(name) != b.get(name)}
    arms = [
        Arm(label, spec, changed_sources(session, row, spec, notes),
            environment={name: own.get(name) for name in differing})
        for label, spec, row, own in zip("AB", specs, rows, (a, b), strict=True)
    ]  # fmt: skip
    pair = Pair(arms[0], arms[1], notes=notes)
    if run != other:
        pair.groups = groups_of(compare_page(session, run, other).groups[:MOST_GROUPS])
        for group in pair.groups.values():
            if any(row.change != SAME_CODE for row in group.rows):
                _add_cases(session, pair, group, (run, other))
    return pair


def groups_of(rows: Sequence[GroupRow]) -> dict[str, Group]:
    """Returns groups by the name of one of their kernels. Rows that share a name on a side are one
    group."""
    groups: list[Group] = []
    for row in rows:
        a, b = ({_profiled(kernel) for kernel in side} for side in (row.a, row.b))
        new = Group([row], a, b)
        for near in [group for group in groups if group.a & new.a or group.b & new.b]:
            groups.remove(near)
            new = Group(near.rows + new.rows, near.a | new.a, near.b | new.b)
        groups.append(new)
    named: dict[str, Group] = {}
    for group in sorted(groups, key=lambda joined: not joined.a):
        name = min(group.a or group.b)
        # A new kernel of B may have the name of a different kernel of A.
        named[f"{name} of B" if name in named else name] = group
    return named


def _profiled(kernel: KernelCalls) -> str:
    """Returns the profiler's name for a kernel."""
    match = _EXTERN.match(kernel.kernel) if kernel.kind == "extern" else None
    return f"{match[1] or 'aten'}::{match[2]}" if match else kernel.kernel


def _add_cases(session: Session, pair: Pair, group: Group, runs: tuple[str, str]) -> None:
    """Adds the test cases of a group's kernels, and what swaps them."""
    sides = [[kernel for row in group.rows for kernel in row.a],
             [kernel for row in group.rows for kernel in row.b]]  # fmt: skip
    group.why_not_swapped = SEVERAL
    if not all(sides):
        group.why_not_alone = "Only one run has these kernels."
        return
    if max(map(len, sides)) > MOST_CASES:
        group.why_not_alone = "It has too many kernels."
        return
    try:
        cases = [
            [(case_of(session, run, ran.graph, ran.kernel, ran.handle), ran.calls) for ran in side]
            for run, side in zip(runs, sides, strict=True)
        ]
    except (NoCase, NotHere) as error:
        group.why_not_alone = group.why_not_swapped = str(error)
        return
    texts = [[(case_text(case.case, case.origin), calls) for case, calls in side] for side in cases]
    group.cases = Cases(pair.a.spec.device, *texts)
    if len(cases[0]) == len(cases[1]) == 1:
        try:
            group.swaps = swaps_of(
                cases[0][0][0].case, cases[1][0][0].case, pair.a.spec.config, pair.b.spec.config
            )
            group.why_not_swapped = ""
        except NoSwap as error:
            group.why_not_swapped = str(error)


def changed_sources(
    session: Session, run: Run, spec: CaptureSpec, notes: list[str]
) -> dict[str, bytes]:
    """Returns the run's source files that differ from those on the disk by more than secrets."""
    query = select(Artifact.path, Artifact.digest).where(
        Artifact.run_id == run.id, Artifact.role == SOURCE, Artifact.derived.is_(False)
    )
    main = main_file(spec)
    changed: dict[str, bytes] = {}
    for path, digest in session.execute(query):
        text = read_blob(session, digest)
        if text is None or "site-packages" in path:
            continue
        with contextlib.suppress(OSError):
            read = Path(path).read_bytes()
            if read == text or scrub_python(read)[0] == text:
                continue  # a secret was removed from what is stored; the file runs with it
        if main is not None and Path(path).is_relative_to(main.parent):
            changed[path] = text
        else:
            notes.append(f"{path} has changed since {run.name} was captured, and runs as it is.")
    return changed
