"""Shows the judge exploits, honest kernels and wrong ones, and counts what it says.

python -m bench.judge [--only exploits|honest|wrong] [--name PART] [--data FOLDER] [--out FILE.json]

Honest kernels are harmless edits and Inductor's own of a recorded graph, or with `--data` those of
the runs that were captured there, as they are and tuned; wrong ones differ for some operands that
the guards allow.
"""

import argparse
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from inductorscope.analyze.benchmark.case import KernelCase, NoCase, case_texts, kernel_case
from inductorscope.analyze.judging.verdict import Verdict
from inductorscope.answers.explorer.judging import cases_of
from inductorscope.capturing.judging.order import Order, order_of
from inductorscope.capturing.judging.run import judging
from inductorscope.formats.code.output_code import parse_output_code
from inductorscope.settings import Settings
from inductorscope.store.database.engine import engine_of, sessions
from inductorscope.store.tables.models import Graph, Kernel, KernelCall, Run
from sqlalchemy import select

from bench.judge.edits import HARMLESS, WRONG
from bench.judge.exploits import cpp, python
from bench.judge.subject import ORIGIN, cases, definition, whole

ZOO = Path(__file__).parents[2] / "tests" / "fixtures" / "cpu-ops-zoo"
ROLES = {
    "code": "output_code.py",
    "ir_post": "ir_post_fusion.txt",
    "post_grad": "fx_graph_transformed.py",
}
Shown = tuple[str, str, Order]


def edited(text: str, replaced: tuple[tuple[str, str], ...]) -> str:
    for old, new in replaced:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


def exploits(subject: list[KernelCase]) -> Iterator[Shown]:
    text = definition(subject[0])
    for exploit in [*python.EXPLOITS, *cpp.EXPLOITS]:
        candidate = (
            edited(text, exploit.source)
            if exploit.source
            else whole(subject[0], exploit.before, exploit.kernel)
        )
        yield "exploits", exploit.name, order_of(subject, ORIGIN, candidate)


def own() -> Iterator[Shown]:
    """Inductor's own kernels of a recorded graph."""
    folder = next(ZOO.glob("**/output_code.py")).parent
    texts = {role: (folder / name).read_text() for role, name in ROLES.items()}
    read = case_texts(texts)
    for call in parse_output_code(texts["code"]).calls:
        try:
            case = kernel_case(read, call.kernel, call.handle)
            order = order_of([case], ORIGIN, definition(case))
        except NoCase:
            continue
        yield "honest", f"{call.kernel}:{call.handle}", order


TUNED = (
    ("#pragma GCC ivdep", "#pragma GCC unroll 4"),
    ("num_threads(2)", "num_threads(1)"),
    ("#pragma omp for\n", "#pragma omp for schedule(dynamic, 8)\n"),
    ("#pragma omp for collapse(2)\n", "#pragma omp for\n"),
    ("    {\n", "    {\n// another form\n"),
)


def captured(data: Path) -> list[Shown]:
    """The C++ kernels of all captured runs, as they are and tuned."""
    shown: list[Shown] = []
    query = select(Run.name, Run.id, Graph.slug, Kernel.name, KernelCall.handle)
    query = query.join(Graph, Graph.run_id == Run.id).join(Kernel, Kernel.graph_id == Graph.id)
    query = query.join(KernelCall, KernelCall.kernel_id == Kernel.id).where(Kernel.kind == "cpp")
    with (
        engine_of(Settings(data=data, database_url="")) as engine,
        sessions(engine)() as session,
    ):
        for name, run, graph, kernel, handle in session.execute(query):
            try:
                found = cases_of(session, run, graph, kernel, handle)
                text = definition(found.cases[0])
                tuned = next(text.replace(*pair) for pair in TUNED if pair[0] in text)
                for form, candidate in (("own", text), ("tuned", tuned)):
                    order = order_of(found.cases, found.origin, candidate)
                    shown.append(("honest", f"{name} {form} {kernel[:40]}:{handle}", order))
            except NoCase as error:
                print(f"{name} {kernel}: {error}")
    return shown


def shown(data: Path | None) -> Iterator[Shown]:
    if data is not None:
        yield from captured(data)
        return
    subject = cases()
    text = definition(subject[0])
    yield from exploits(subject)
    for kind, edits in (("wrong", WRONG), ("honest", HARMLESS)):
        for name, replaced in edits:
            yield kind, name, order_of(subject, ORIGIN, edited(text, replaced))
    for file in sorted((Path(__file__).parent / "blind").glob("*.cpp")):
        yield "wrong", f"blind {file.stem}", order_of(subject, ORIGIN, file.read_text())
    yield (
        "honest",
        "test case",
        order_of(subject, ORIGIN, whole(subject[0], "", "return honest(given)")),
    )
    yield "honest", "source alone", order_of(subject, ORIGIN, text.split("'''")[1])
    yield from own()


def reason(verdict: Verdict) -> str:
    found = [*verdict.honest.reasons, *verdict.correct.reasons, verdict.error]
    return "accepted" if verdict.accepted else found[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("exploits", "honest", "wrong"))
    parser.add_argument("--name", default="")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, default=Path(os.devnull))
    given = parser.parse_args()
    found: list[dict[str, object]] = []
    with (
        tempfile.TemporaryDirectory() as data,
        judging(Settings(data=Path(data), database_url="")) as judge,
    ):
        for kind, name, order in shown(given.data):
            if (given.only and kind != given.only) or given.name not in name:
                continue
            verdict = judge.judge(order)
            said = reason(verdict)
            found.append({
                "kind": kind, "name": name, "accepted": verdict.accepted, "said": said,
                "seconds": round(verdict.seconds, 2),
                "judged": verdict.judged and verdict.judged.answer,
                "share": max((shape.share for shape in verdict.shapes), default=0.0),
            })  # fmt: skip
            print(f"{kind:9}{name:36}{verdict.seconds:6.1f} s  {said.splitlines()[0]}", flush=True)
            given.out.write_text(json.dumps(found, indent=1))
    for kind in ("exploits", "wrong", "honest"):
        own_kind = [row for row in found if row["kind"] == kind]
        refused = sum(not row["accepted"] for row in own_kind)
        print(f"{kind}: {refused} of {len(own_kind)} rejected")


if __name__ == "__main__":
    main()
