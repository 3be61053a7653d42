"""Tries the fix of each cause that the corpus bench/diagnosis is said to have.

python -m bench.improve.fixes list DATA… > fixes.json   # DATA: what bench.diagnosis.score wrote
python -m bench.improve.fixes try fixes.json NAME [--seconds 200] [--out FOLDER]
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import msgspec
from inductorscope.answers.parts import graph_rows, run_of
from inductorscope.answers.runs.diagnosis.diagnose import diagnose
from inductorscope.answers.runs.diagnosis.evidence import gather
from inductorscope.answers.trials import words
from inductorscope.capturing.measure.processes import Arm, Runner
from inductorscope.capturing.spec import CaptureSpec
from inductorscope.capturing.trial.trying import Trier, try_change
from inductorscope.cli.app import load_settings
from inductorscope.formats.change import Change
from inductorscope.progress import silent
from inductorscope.settings import Settings
from inductorscope.store.database.engine import engine_of, sessions
from inductorscope.store.database.migrate import migrate

from bench.diagnosis.corpus import read_json, write_json
from bench.improve.measure import path_of


def fixes(data: Path) -> dict[str, list[dict[str, Any]]]:
    """The causes of each program whose fix can be tried, with the change."""
    settings = load_settings(data=data)
    migrate(settings)
    found: dict[str, list[dict[str, Any]]] = {}
    with engine_of(settings) as engine, sessions(engine)() as session:
        for name, run in read_json(data / "corpus-runs.json").items():
            said = diagnose(gather(session, run_of(session, run), graph_rows(session, run)))
            named = [
                {"what": cause.what, "change": msgspec.to_builtins(cause.change)}
                for cause in (*said.causes, *said.more)
                if cause.change is not None
            ]
            if named:
                found[name] = named
    return found


def try_all(name: str, named: list[dict[str, Any]], seconds: float, out: Path) -> None:
    report: dict[str, Any] = {"name": name, "fixes": []}
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data=Path(folder) / "data", database_url="")
        runner = Runner(Path(folder), settings, trusted=True, alike=True)
        trier = Trier(Arm(name, CaptureSpec(model=str(path_of(name)))), runner, silent)
        for fix in named:
            change = msgspec.convert(fix["change"], Change)
            trial = try_change(trier, change.title, change, seconds, lambda _: None)
            outcome = words.outcome(trial)
            report["fixes"].append({**fix, "trial": msgspec.to_builtins(trial), "said": outcome})
            write_json(out / f"fixes-{name}.json", report)
            print(f"{name}: {change.title}: {outcome}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    listing = commands.add_parser("list")
    listing.add_argument("data", type=Path, nargs="+")
    trying = commands.add_parser("try")
    trying.add_argument("list", type=Path)
    trying.add_argument("name")
    trying.add_argument("--seconds", type=float, default=200.0)
    trying.add_argument("--out", type=Path, default=Path("improved"))
    args = parser.parse_args()
    if args.command == "list":
        found: dict[str, Any] = {}
        for data in args.data:
            for name, named in fixes(data).items():
                found.setdefault(name, named)
        json.dump(found, sys.stdout, indent=1)
        return
    args.out.mkdir(parents=True, exist_ok=True)
    try_all(args.name, read_json(args.list)[args.name], args.seconds, args.out)


if __name__ == "__main__":
    main()
