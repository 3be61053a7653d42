"""Measures a planted program beside its planted improvement, what a search found, and modes.

    python -m bench.improve.measure NAME [--found FOLDER] [--processes 6] [--only FORM …]
    python -m bench.improve.measure SCRIPT.py [--change JSON] [-- ARGUMENT …]

`FOLDER` of `--found`: `NAME.json` is what `inductorscope improve --json` printed. `--change` is
such a change of any script, as `{"optimizer": true}`. All forms run in turns, each process fresh;
none of these processes chose anything. Torch's modes take part in every other turn. One form is the
program as it is, again: the judge must not call it faster.
"""

import argparse
import json
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import Any

import msgspec
from inductorscope.analyze.measure.judge import judge
from inductorscope.analyze.trial.numerics import Numerics, compared
from inductorscope.analyze.trial.result import Improvement
from inductorscope.capturing.measure.processes import Arm, Once, Runner
from inductorscope.capturing.measure.turns import times
from inductorscope.capturing.spec import CaptureSpec, SpecError
from inductorscope.capturing.watch import CaptureFailed
from inductorscope.formats.change import Change
from inductorscope.settings import Settings

HERE = Path(__file__).parent
AS_IT_IS = "as it is"
AGAIN = "as it is, again"
MODES = ("reduce-overhead", "max-autotune")
TIMED_S = 1.0


def programs() -> dict[str, dict[str, Any]]:
    table = tomllib.loads((HERE / "table.toml").read_text())
    return {entry["name"]: entry for entry in table["program"]}


def path_of(name: str) -> Path:
    """The program of that name: one of ours, or one of the other corpus."""
    if name.endswith(".py"):
        return Path(name)
    own = HERE / "programs" / f"{name}.py"
    return own if own.exists() else HERE.parent / "diagnosis" / "programs" / f"{name}.py"


def forms(name: str, found: Path | None, change: str, given: list[str]) -> dict[str, Arm]:
    """The forms of a program by their titles, the program as it is first."""
    path = path_of(name)
    spec = CaptureSpec(model=str(path), args=tuple(given))
    entry = programs().get(name, {})
    arms = {title: Arm(title, spec) for title in (AS_IT_IS, AGAIN)}
    changes = {mode: Change(mode=mode) for mode in MODES} if entry else {}
    if change:
        changes["found"] = msgspec.json.decode(change, type=Change)
    if "change" in entry:
        changes["planted"] = msgspec.convert(entry["change"], Change)
    if found is not None and (found / f"{name}.json").exists():
        search = msgspec.json.decode((found / f"{name}.json").read_bytes(), type=Improvement)
        whole = (trial.change for trial in search.trials if trial.title == " + ".join(search.kept))
        best = search.change or next(whole, None)  # a search that was stopped has no change yet
        if best is not None and best != changes.get("planted"):
            changes["found"] = best
    for title, changed in changes.items():
        arms[title] = Arm(title, msgspec.structs.replace(spec, change=changed))
    if "edit" in entry:
        edited = path.read_text().replace(entry["edit"]["old"], entry["edit"]["new"])
        arms["planted"] = Arm("planted", spec, {str(path): edited.encode()})
    return arms


def numerics_of(runner: Runner, arms: dict[str, Arm]) -> dict[str, Any]:
    """What the first steps of each form compute beside eager; also compiles what is timed later."""
    base = runner.look(arms[AS_IT_IS], eager=True)
    found: dict[str, Any] = {}
    for title, arm in [*arms.items()]:
        if title == AGAIN:
            continue
        try:
            looked = base if title == AS_IT_IS else runner.look(arm)
        except (CaptureFailed, SpecError) as failed:
            found[title] = {"failed": str(failed)}
            del arms[title]
            continue
        products = arm.spec.change.float32_products if arm.spec.change else ""
        numbers: Numerics = compared(base.results, looked.results, base.eager, products)
        found[title] = msgspec.to_builtins(numbers)
        found[title]["same code"] = same = looked.structure.codes == base.structure.codes
        found[title]["structure"] = msgspec.to_builtins(looked.structure)
        if title in MODES and same and not looked.structure.cuda_graphs:
            del arms[title]  # nothing to time
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name")
    parser.add_argument("--found", type=Path)
    parser.add_argument("--change", default="", help="JSON, of a script")
    parser.add_argument("--processes", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=540.0)
    parser.add_argument("--numerics", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--only", action="append", help="title of a form, repeatable; default: all")
    parser.add_argument("--out", type=Path, default=Path("improved"))
    own, given = [*sys.argv[1:]], list[str]()
    if "--" in own:
        own, given = own[: own.index("--")], own[own.index("--") + 1 :]
    args = parser.parse_args(own)
    args.out.mkdir(parents=True, exist_ok=True)
    arms = forms(args.name, args.found, args.change, given)
    if args.only:
        arms = {title: arms[title] for title in args.only if title in arms}
    report: dict[str, Any] = {"name": args.name}

    def keep(done: list[Once]) -> None:
        report["ms"] = {title: times(done, title) for title in arms}
        report["process_s"] = sum(once.seconds for once in done) / max(len(done), 1)
        report["disturbed"] = sorted({why for once in done for why in once.disturbed})
        report["judged"] = {}
        for title, ours in report["ms"].items():
            base = report["ms"][AS_IT_IS]
            if title != AS_IT_IS and min(len(ours), len(base)) > 1:
                report["judged"][title] = msgspec.to_builtins(judge(base, ours))
        (args.out / f"{path_of(args.name).stem}.json").write_text(json.dumps(report, indent=1))

    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data=Path(folder) / "data", database_url="")
        runner = Runner(Path(folder), settings, trusted=True, alike=True)
        report["numerics"] = numerics_of(runner, arms) if args.numerics else {}
        keep([])

        began, order, done = time.monotonic(), [*arms.values()], list[Once]()
        for number in range(args.processes):
            for arm in order:
                if arm.label not in MODES or number % 2 == 0:
                    done.append(runner.once(arm, TIMED_S, only_timed=True))
                    keep(done)
            order.reverse()
            if (time.monotonic() - began) * (number + 2) / (number + 1) > args.seconds:
                break
    for title, judged in report["judged"].items():
        low, high = 1 / (1 + judged["high"]), 1 / (1 + judged["low"])
        gain = f"{1 / (1 + judged['shift']):.3f}x (95 %: {low:.3f} to {high:.3f})"
        print(f"{args.name}: {title}: {judged['answer']}, {gain}, n={judged['processes']}")


if __name__ == "__main__":
    main()
