"""How many nodes and kernels of two compiles of a program are matched right, and by name alone.

    python -m bench.matching.score OUT [--half tune|hold] [--wrong]
    python -m bench.matching.score --folders A B
    python -m bench.matching.score --sums TRACE TRACE …

OUT is what `bench.matching.record` wrote: each variant is compared with `base` of the newest torch.
`--folders` compares two folders without truth and counts what pairs up, for example two traces.
`--sums` compares each folder with each, and prints by how much the parts of the step's difference
miss it at most.
"""

import argparse
import contextlib
import json
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

from inductorscope.analyze.compare.graphs import match_graphs
from inductorscope.analyze.compare.kernels import Call, match_calls
from inductorscope.answers.compare.compare import compare_page
from inductorscope.answers.compare.sides import Side, load_sides
from inductorscope.cli.local import align_lines, read_paths
from inductorscope.settings import Settings
from inductorscope.store.database.engine import make_engine, sessions
from sqlalchemy.orm import Session

from bench.truth_programs.program import half_of

Marked = dict[tuple[bool, str], set[tuple[str, str]]]
"""Whether backward, and the marker → graph and name of the nodes or kernels that have it."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path, nargs="?")
    parser.add_argument("--half", choices=["tune", "hold"])
    parser.add_argument("--wrong", action="store_true", help="list what is wrong")
    parser.add_argument("--folders", type=Path, nargs=2)
    parser.add_argument("--sums", type=Path, nargs="+")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as data, installation(Path(data)) as runs:
        if options.folders:
            print_pairs(*runs.sides(*options.folders))
            return
        if options.sums:
            print_sums(runs, options.sums)
            return
        base, *others = sorted(options.out.glob("base-*"), key=_version, reverse=True)
        others += [entry for entry in options.out.iterdir() if not entry.name.startswith("base-")]
        whole: Counter[str] = Counter()
        for variant in others:
            counts: Counter[str] = Counter()
            for folder in sorted(variant.iterdir()):
                program = base / folder.name
                if (
                    options.half in (None, half_of(folder.name))
                    and (program / "truth.json").exists()
                ):
                    score(runs, program, folder, counts, wrong=options.wrong)
            print_counts(f"{base.name} beside {variant.name}", counts)
            whole += counts
        print_counts("all", whole)


def _version(folder: Path) -> list[int]:
    return [int(part) for part in folder.name.partition("-")[2].split(".")]


class Runs:
    """A database that folders are read into."""

    def __init__(self, settings: Settings, session: Session) -> None:
        self.settings, self.session = settings, session

    def read(self, folder: Path) -> str:
        run = read_paths(
            self.settings, [folder], name=folder.name, tags=[], origin="ingest",
            progress=lambda *_: None,
        ).run_id  # fmt: skip
        align_lines(self.settings, run, lambda *_: None)
        self.session.rollback()
        return run

    def sides(self, *folders: Path) -> tuple[Side, Side]:
        left, right = load_sides(self.session, *(self.read(folder) for folder in folders))
        match_graphs(left.graphs, right.graphs)
        return left, right


@contextlib.contextmanager
def installation(data: Path) -> Iterator[Runs]:
    settings = Settings(data=data, database_url="")
    from inductorscope.store.database.migrate import migrate

    migrate(settings)
    engine = make_engine(settings)
    with sessions(engine, read_only=True)() as session:
        yield Runs(settings, session)
    engine.dispose()


def score(runs: Runs, one: Path, other: Path, counts: Counter[str], *, wrong: bool) -> None:
    truths = [json.loads((folder / "truth.json").read_text()) for folder in (one, other)]
    # Where graphs have more of an operator, its markers stand for other places.
    seen = [truth["seen"] for truth in truths]
    same = {name for name in seen[0] if seen[0][name] == seen[1].get(name)}
    sides = runs.sides(*(folder / "torch_compile_debug" for folder in (one, other)))
    groups = match_calls(sides[0].calls, sides[1].calls)
    counts["programs"] += 1
    nodes, kernels = (
        [marked(truth, side, kind, same) for truth, side in zip(truths, sides, strict=True)]
        for kind in ("nodes", "kernels")
    )
    by_name = [{(g.slug, n.name): n for g in side.graphs for n in g.nodes} for side in sides]
    for marker in nodes[0].keys() & nodes[1].keys():
        ours, theirs = nodes[0][marker], nodes[1][marker]
        if len(ours) == len(theirs) == 1:
            a, b = by_name[0].get(next(iter(ours))), by_name[1].get(next(iter(theirs)))
            if a is not None and b is not None:
                counts["nodes"] += 1
                counts["nodes right"] += a.partner is b
                counts["nodes wrong"] += a.partner not in (b, None)
                counts["nodes by name"] += a.name == b.name
                counts[f"node {a.how}"] += a.partner is not None
                counts[f"node {a.how} right"] += a.partner is b
                if wrong and a.partner is not b:
                    print(
                        one.name,
                        other.parent.name,
                        a.name,
                        b.name,
                        a.partner and a.partner.name,
                        a.how,
                    )
    _score_kernels(sides, kernels, counts, f"{one.name} {other.parent.name}" if wrong else "")
    for group in groups:
        kinds = [f"change {group.change}"] + ["change moved"] * group.moved
        _score_links(group.left, kernels, counts, kinds)
    for call in (*sides[0].calls, *sides[1].calls):
        call.nodes, call.others = [], []
    match_calls(sides[0].calls, sides[1].calls)
    _score_links(sides[0].calls, kernels, counts)


def _score_links(
    calls: Sequence[Call],
    kernels: list[Marked],
    counts: Counter[str],
    kinds: Sequence[str] = (),
) -> None:
    """Counts pairs of marked kernels, and those that share a marker, by kind: those given, else
    what a call without nodes is known by."""
    held = _markers(kernels)
    for a, b, kind in {
        (_place(call), _place(other), kind)
        for call in calls
        for other in call.others
        for kind in kinds or [f"without nodes {call.known}"]
    }:
        if a in held[0] and b in held[1]:
            counts[kind] += 1
            counts[f"{kind} right"] += bool(held[0][a] & held[1][b])


def _markers(kernels: list[Marked]) -> list[dict[tuple[str, str], set[tuple[bool, str]]]]:
    """The markers of each kernel."""
    held: list[dict[tuple[str, str], set[tuple[bool, str]]]] = [defaultdict(set), defaultdict(set)]
    for side, found in zip(held, kernels, strict=True):
        for marker, places in found.items():
            for place in places:
                side[place].add(marker)
    return held


def _score_kernels(
    sides: tuple[Side, Side], kernels: list[Marked], counts: Counter[str], wrong: str
) -> None:
    of_kernel = _markers(kernels)
    links: set[tuple[tuple[str, str], tuple[str, str]]] = set()
    for call in sides[0].calls:
        for other in call.others:
            a, b = _place(call), _place(other)
            if a in of_kernel[0] and b in of_kernel[1] and (a, b) not in links:
                links.add((a, b))
                right = bool(of_kernel[0][a] & of_kernel[1][b])
                counts["links"] += 1
                counts["links right"] += right
                counts[f"link {call.known}"] += 1
                counts[f"link {call.known} right"] += right
                if wrong and not right:
                    print(wrong, "link", a, b, call.known)
    named = {
        (a, b)
        for a in of_kernel[0]
        for b in of_kernel[1]
        if a[1] == b[1] and _backward(sides[0], a) == _backward(sides[1], b)
    }
    counts["links by name"] += len(named)
    counts["links by name right"] += sum(bool(of_kernel[0][a] & of_kernel[1][b]) for a, b in named)
    for marker in kernels[0].keys() & kernels[1].keys():
        ours, theirs = kernels[0][marker], kernels[1][marker]
        if len(ours) == len(theirs) == 1:
            pair = (next(iter(ours)), next(iter(theirs)))
            counts["markers"] += 1
            counts["markers right"] += pair in links
            counts["markers by name"] += pair in named
            if wrong and pair not in links:
                print(wrong, "marker", marker, *pair)


def _place(call: Call) -> tuple[str, str]:
    return call.graph.slug, call.kernel


def _backward(side: Side, place: tuple[str, str]) -> bool:
    return next((graph.backward for graph in side.graphs if graph.slug == place[0]), False)


def marked(truth: dict[str, Any], side: Side, kind: str, same: set[str]) -> Marked:
    found: Marked = defaultdict(set)
    backward = {graph.slug: graph.backward for graph in side.graphs}
    for graph, things in truth["graphs"].items():
        if graph in backward:
            for name, markers in things[kind].items():
                for marker in markers:
                    if marker.rpartition(" ")[0] in same:
                        found[backward[graph], marker].add((graph, name))
    return found


def print_counts(title: str, counts: Counter[str]) -> None:
    def share(part: str, whole: str) -> str:
        return (
            f"{counts[part]}/{counts[whole]} ({100 * counts[part] / max(counts[whole], 1):.1f} %)"
        )

    print(f"{title}: {counts['programs']} programs")
    print(f"  nodes {share('nodes right', 'nodes')}, wrong {counts['nodes wrong']}; "
          f"by name {share('nodes by name', 'nodes')}")  # fmt: skip
    print(f"  kernels: links right {share('links right', 'links')}, by name "
          f"{share('links by name right', 'links by name')}")  # fmt: skip
    print(f"  kernels: markers found {share('markers right', 'markers')}, by name "
          f"{share('markers by name', 'markers')}")  # fmt: skip
    for kind in sorted(
        key for key in counts if key.startswith(("node ", "link ", "change ", "without "))
    ):
        if not kind.endswith("right"):
            print(f"    {kind}: right {share(f'{kind} right', kind)}")


def print_sums(runs: Runs, folders: list[Path]) -> None:
    ids = [runs.read(folder) for folder in folders]
    missed, steps = 0.0, 0
    for one, other in permutations(ids, 2):
        page = compare_page(runs.session, one, other)
        missed = max(missed, abs(sum(bar.more_us for bar in page.bars) - page.step.more_us))
        steps += bool(page.step.measured)
    print(f"{len(ids) * (len(ids) - 1)} pairs, {steps} with times: within {missed:.2g} µs")


def print_pairs(left: Side, right: Side) -> None:
    """For each direction, the kernels of A that pair up by name, and by what they compute."""
    match_calls(left.calls, right.calls)
    for backward in (False, True):
        ours = [
            call for call in left.calls if call.graph.backward == backward and call.kind != "extern"
        ]
        names = {call.kernel for call in right.calls if call.graph.backward == backward}
        kernels = {call.kernel for call in ours}
        paired = {call.kernel for call in ours if len(call.others) == 1}
        joined = {call.kernel for call in ours if call.others}
        print(f"{'backward' if backward else 'forward'}: {len(kernels)} generated kernels, "
              f"{len(kernels & names)} by name, {len(paired)} pairs by nodes, "
              f"{len(joined)} with a counterpart")  # fmt: skip


if __name__ == "__main__":
    main()
