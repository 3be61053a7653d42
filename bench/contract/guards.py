"""Are forecasts of guards true? Functions really run with the same shapes.

    python -m bench.contract.guards [PREDICTIONS]

Each function is compiled with one or two shapes, and recorded. Calls with other shapes are forecast
from the record, and really made in another process that began alike. Calls before the first new
compile are decided by recorded guards alone; later ones depend on compiles that do not exist yet.
"""

import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import msgspec
from inductorscope.analyze.guards.forecast import Served
from inductorscope.answers.compile.parts import read_run_story
from inductorscope.answers.compile.shapes import shape_forecasts
from inductorscope.cli.local import read_paths
from inductorscope.formats.call_shapes import Value
from inductorscope.progress import silent
from inductorscope.settings import Settings
from inductorscope.store.database.engine import make_engine, sessions

Values = dict[str, Value]
FUNCTIONS = {
    "pointwise": "return x.sin() + 1",
    "two_tensors": "return (x + 1).sum() * (y - 1).sum()",
    "product": "return x @ y",
    "size_in_python": "return x * 2 if x.shape[0] > 6 else x * 3",
    "remainder": "return x * 2 if x.shape[0] % 4 == 0 else x * 3",
    "view": "return x.reshape(-1, 2) + 1",
    "number": "return x * n if n > 2 else x + n",
    "branch_on_both": "return x.sum() if x.shape[0] == x.shape[1] else x.mean()",
    "flag": "return x + 1 if n else x - 1",
    "rank": "return x.sum(-1) if x.dim() == 2 else x.sum()",
}
NAMES = {"two_tensors": ("x", "y"), "product": ("x", "y"), "number": ("x", "n"), "flag": ("x", "n")}
RUNNER = """\
import json, sys
import torch
import torch._dynamo.utils as utils


def call(compiled, values):
    made = [torch.randn(value) if isinstance(value, list) else value for value in values.values()]
    before = utils.counters["frames"]["ok"]
    with torch.no_grad():
        compiled(*made)
    return utils.counters["frames"]["ok"] - before


def main():
    seen, asked = json.loads(sys.argv[1]), json.loads(sys.argv[2])
    compiled = {name: torch.compile(globals()[name], backend="eager") for name in seen}
    for name, calls in seen.items():
        for values in calls:
            call(compiled[name], values)
    if sys.argv[3] == "run":
        truth = {name: [call(compiled[name], each) for each in asked[name]] for name in asked}
        print(json.dumps(truth))


"""


def values_of(name: str, pick: random.Random) -> Values:
    sizes = (1, 2, 3, 4, 6, 8, 8, 8, 12)
    made: Values = {}
    rows = pick.choice(sizes)
    for argument in NAMES.get(name, ("x",)):
        if argument == "n":
            made["n"] = pick.choice((True, False)) if name == "flag" else pick.choice((1, 2, 3, 5))
        elif name == "product" and argument == "y":
            made["y"] = (8, pick.choice(sizes))
        else:
            last = 8 if name in ("product", "view") or pick.random() < 0.6 else pick.choice(sizes)
            more = (3,) if name == "rank" and pick.random() < 0.3 else ()
            made[argument] = (rows, last, *more)
    return made


def main(wanted: int) -> None:
    pick = random.Random(23)
    counts: Counter[str] = Counter()
    seed = 0
    while counts.total() < wanted:
        seed += 1
        seen = {
            name: [values_of(name, pick) for _ in range(1 + (seed + at) % 2)]
            for at, name in enumerate(FUNCTIONS)
        }
        asked = {name: [values_of(name, pick) for _ in range(6)] for name in FUNCTIONS}
        forecasts, truth = compare(seen, asked)
        for name in FUNCTIONS:
            by = "recorded guards"
            for at, (call, was) in enumerate(zip(forecasts[name], truth[name], strict=True)):
                right = call.compiles == bool(was)
                counts[f"{by}: {'right' if right else 'wrong'}" if call.by else "not told"] += 1
                if not call.by:
                    print(f"{name}: {call.unknown}")
                elif not right:
                    before = [*seen[name], *asked[name][:at]]
                    print(f"{by}, {name}: {asked[name][at]} was {was}, after {before}")
                if call.compiles or not call.by:
                    by = "new compiles"
        print(dict(counts), flush=True)


def compare(
    seen: dict[str, list[Values]], asked: dict[str, list[Values]]
) -> tuple[dict[str, list[Served]], dict[str, list[int]]]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "f.py"
        functions = [
            f"def {name}({', '.join(NAMES.get(name, ('x',)))}):\n    {body}\n\n\n"
            for name, body in FUNCTIONS.items()
        ]
        file.write_text(RUNNER + "".join(functions) + "main()\n")
        texts = [msgspec.json.encode(values).decode() for values in (seen, asked)]
        command = [sys.executable, str(file), *texts]
        done = subprocess.run([*command, "run"], capture_output=True, text=True, check=True)
        traces = Path(folder) / "traces"
        subprocess.run(
            [*command, "record"], check=True, env=os.environ | {"TORCH_TRACE": str(traces)}
        )
        settings = Settings(data=Path(folder) / "data", database_url="")
        run = read_paths(
            settings, [traces, file], name="f", tags=[], origin="ingest", progress=silent
        ).run_id
        engine = make_engine(settings)
        forecasts: dict[str, list[Served]] = {}
        with sessions(engine, read_only=True)() as session:
            story = read_run_story(session, run)
            for name, calls in asked.items():
                rows = shape_forecasts(story, calls)
                [row] = [row for row in rows if row.function == name]
                assert row.forecast is not None, row.missing
                forecasts[name] = row.forecast.calls
        engine.dispose()
        return forecasts, msgspec.json.decode(done.stdout, type=dict[str, list[int]])


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
