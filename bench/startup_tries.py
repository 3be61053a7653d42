"""Is a start as long as *What if* predicts? Starts scripts cold, warm and with a package.

`python -m bench.startup_tries WORK SCRIPT...` starts each script in fresh processes, predicts the
others from the phases of the cold start, and prints both in seconds, and in processor time, which a
busy machine disturbs less. Processor time is predicted with the same phases: what they save of the
wall time since the first compile began is saved of the processor time since then.
"""

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
from inductorscope.analyze.compile.start import PACKAGED, WARM, predictions, start_of
from inductorscope.capturing.measure.processes import Arm, Runner
from inductorscope.capturing.script.order import PACKAGE
from inductorscope.capturing.spec import from_builtins
from inductorscope.capturing.watch import CaptureFailed
from inductorscope.formats.capture_facts import ScriptStart
from inductorscope.settings import Settings

ENOUGH = 0.15
COLD = "cold"


class Tried(msgspec.Struct):
    """One kind of start of one script."""

    script: str
    kind: str
    seconds: float
    cpu_s: float
    predicted_s: float
    predicted_cpu_s: float

    @property
    def off(self) -> float:
        return self.predicted_s / self.seconds - 1

    @property
    def cpu_off(self) -> float:
        return self.predicted_cpu_s / self.cpu_s - 1


def tried(script: Path, work: Path) -> Iterator[Tried]:
    with tempfile.TemporaryDirectory(dir=work) as folder:
        runner = Runner(Path(folder), Settings(data=work, database_url=""), trusted=True)
        spec = from_builtins({"model": str(script.resolve())})
        package = {PACKAGE: str(Path(folder) / "package")}
        runner.start(Arm("before", spec))
        predicted: dict[str, float] = {}
        cold = ScriptStart(0.0)
        for kind, label, variables in (
            (COLD, "starts", package), (WARM, "starts", {}), (PACKAGED, "packaged", package),
        ):  # fmt: skip
            facts, story = runner.start(Arm(label, spec, environment=variables))
            start = facts.script[0].start if facts.script else None
            if start is None or start.step_s is None or start.step_cpu_s is None:
                raise CaptureFailed("nothing was compiled")
            (work / f"{script.stem}-{label}-{kind}.json").write_bytes(
                msgspec.json.encode((start, story))
            )
            if kind == COLD:
                cold = start
                found = predictions(story, start_of(story, start))
                predicted = {row.title: row.predicted_s for row in found}
                continue
            whole = cold.step_s or 0.0
            seconds = predicted.get(kind, whole)
            cpu = (cold.step_cpu_s or 0.0) - (cold.compile_cpu_s or 0.0)
            saved = (whole - seconds) / (whole - (cold.compile_s or 0.0)) * cpu
            yield Tried(
                script.stem, kind, start.step_s, start.step_cpu_s, predicted_s=seconds,
                predicted_cpu_s=(cold.step_cpu_s or 0.0) - saved,
            )  # fmt: skip


def main(work: Path, scripts: list[Path]) -> None:
    work.mkdir(parents=True, exist_ok=True)
    every: list[Tried] = []
    for script in scripts:
        try:
            for found in tried(script, work):
                every.append(found)
                print(
                    f"{found.script:24} {found.kind:24} {found.predicted_s:6.1f} "
                    f"{found.seconds:6.1f} s {found.off:+4.0%}   {found.predicted_cpu_s:6.1f} "
                    f"{found.cpu_s:6.1f} s {found.cpu_off:+4.0%}",
                    flush=True,
                )
        except CaptureFailed as failed:
            print(f"{script.stem:24} {failed}", flush=True)
    (work / "tried.json").write_text(json.dumps(msgspec.to_builtins(every)))
    for kind in (WARM, PACKAGED):
        own = [found for found in every if found.kind == kind]
        close, close_cpu = (
            sum(abs(off) <= ENOUGH for off in offs)
            for offs in ([found.off for found in own], [found.cpu_off for found in own])
        )
        print(f"{kind}: {close} of {len(own)} within {ENOUGH:.0%}; in CPU time {close_cpu}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(script) for script in sys.argv[2:]])
